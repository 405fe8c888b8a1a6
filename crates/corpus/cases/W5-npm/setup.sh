. "$(dirname "$0")/lib.sh"
set -eu

www=$ROOT/internet/www
mkdir -p "$www/tarballs" "$OUTSIDE/package"
printf '{"name": "tiny", "version": "1.0.0"}\n' > "$OUTSIDE/package/package.json"
printf 'module.exports = "hello from a package"\n' > "$OUTSIDE/package/index.js"
tar -C "$OUTSIDE" -czf "$www/tarballs/tiny-1.0.0.tgz" package
dist='{"tarball": "https://registry.example.com/tarballs/tiny-1.0.0.tgz"}'
version="{\"name\": \"tiny\", \"version\": \"1.0.0\", \"dist\": $dist}"
printf '{"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": %s}}\n' "$version" > "$www/tiny"
printf '{"name": "scratch", "version": "1.0.0"}\n' > package.json
