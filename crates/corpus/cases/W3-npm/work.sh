set -eu
npm install --offline --no-audit --no-fund --silent
[ -L node_modules/greet ]
[ -L node_modules/.bin/greet ]
npm test --silent | grep -q hello
