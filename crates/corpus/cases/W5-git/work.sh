. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

for way in '' "$proxy"; do
    rm -rf clone
    git -c http.proxy="$way" clone -q https://registry.example.com/upstream.git clone
    [ "$(cat clone/README.md)" = 'A project.' ]
    git -c http.proxy="$way" -C clone fetch -q origin
done
