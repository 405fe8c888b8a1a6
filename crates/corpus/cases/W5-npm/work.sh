. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

for way in '' "$proxy"; do
    rm -rf node_modules package-lock.json
    npm install --silent --no-audit --no-fund --cache "$PWD/cache-${#way}" ${way:+"--https-proxy=$way"} \
        --registry=https://registry.example.com/ tiny
    [ "$(node -p 'require("tiny")')" = 'hello from a package' ]
done
