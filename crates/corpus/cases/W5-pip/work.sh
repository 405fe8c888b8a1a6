. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

for way in '' "$proxy"; do
    rm -rf lib
    https_proxy=$way pip3 install --quiet --disable-pip-version-check --no-cache-dir --retries 0 \
        --index-url https://registry.example.com/simple/ --target lib greeting
    [ "$(PYTHONPATH=lib python3 -c 'import greeting; print(greeting.greet())')" = 'hello from a wheel' ]
done
