. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

for url in http://registry.example.com/ https://registry.example.com/; do
    for way in '' "$proxy" "${proxy/http:/socks5h:}"; do
        [ "$(curl -sS -x "$way" "$url")" = 'hello from outside' ] || fail "curl $way $url"
    done
    for way in '' "$proxy"; do
        said=$(http_proxy=$way https_proxy=$way wget -q -O - "$url")
        [ "$said" = 'hello from outside' ] || fail "wget $way $url"
    done
done
url=https://registry.example.com/
connects=$(curl -sS -o /dev/null -w '%{num_connects}' "$url" -o /dev/null "$url" -o /dev/null "$url")
[ "$connects" = 100 ] || fail "new connections for each of three requests: $connects"
