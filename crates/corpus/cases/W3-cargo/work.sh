. "$(dirname "$0")/lib.sh"
set -eu
PATH=$(dirname "$CARGO"):$PATH
export PATH
cargo build --offline --quiet
cargo test --offline --quiet
[ -d target/debug ]
