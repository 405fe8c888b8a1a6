. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

for scheme in http https; do
    for way in '' "$proxy"; do
        rm -rf apt
        mkdir -p apt/state/lists/partial apt/cache/archives/partial apt/sources
        echo "deb [trusted=yes] $scheme://registry.example.com/debian ./" > apt/sources.list
        touch apt/status
        options=(
            -o Dir::State="$PWD/apt/state" -o Dir::State::status="$PWD/apt/status"
            -o Dir::Cache="$PWD/apt/cache" -o Dir::Etc::SourceList="$PWD/apt/sources.list"
            -o Dir::Etc::SourceParts="$PWD/apt/sources" -o APT::Sandbox::User="$(id -un)"
            -o Dir::Log="$PWD/apt" -o Acquire::http::Proxy="${way:-DIRECT}" -o Acquire::https::Proxy="${way:-DIRECT}"
            -o Acquire::Retries=0
        )
        apt-get "${options[@]}" -q update || fail "update over $scheme by ${way:-name}"
        (cd apt && apt-get "${options[@]}" -q download tiny) || fail "download over $scheme by ${way:-name}"
        dpkg-deb --extract apt/tiny_1.0_all.deb apt/tree
        [ "$(cat apt/tree/usr/share/tiny/hello)" = 'hello from a package' ]
    done
done
