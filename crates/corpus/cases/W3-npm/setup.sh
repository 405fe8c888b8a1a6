set -eu
. "$(dirname "$0")/lib.sh"
mkdir -p packages/greet
printf '{"name": "greet", "version": "1.0.0", "bin": {"greet": "greet.js"}}\n' > packages/greet/package.json
printf '#!/usr/bin/env node\nconsole.log("hello")\n' > packages/greet/greet.js
chmod 755 packages/greet/greet.js
printf '{"name": "scratch", "version": "1.0.0", "scripts": {"test": "greet"}, "dependencies": {"greet": "file:packages/greet"}}\n' > package.json
git add .
git commit -q -m 'A package'
