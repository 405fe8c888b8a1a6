. "$(dirname "$0")/lib.sh"
set -eu

# The way without any setting, and then by whichever proxy is here.
proxy=http://127.0.0.53:3128
(exec 3<> /dev/tcp/127.0.0.53/3128) 2> /dev/null || proxy=http://127.0.0.1:3128

PATH=$(dirname "$CARGO"):$PATH
export PATH CARGO_TERM_COLOR=never
for way in '' "$proxy"; do
    rm -rf target Cargo.lock
    export CARGO_HOME=$PWD/cargo-home-${#way} CARGO_HTTP_PROXY=$way
    cargo fetch --quiet
    [ "$(cargo run --quiet)" = 'hello from a crate' ]
done
