// A server that speaks HTTP/2 and nothing else: http2.js CERTIFICATE KEY [PATIENCE]. It writes its port;
// a client that says nothing for so many seconds is left.
'use strict';
const fs = require('fs');
const http2 = require('http2');

const [cert, key] = process.argv.slice(2, 4).map((file) => fs.readFileSync(file));
const server = http2.createSecureServer({ cert, key, allowHTTP1: false });
server.on('stream', (stream, headers) => {
  stream.respond({ ':status': 200, 'content-type': 'text/plain' });
  stream.end(`hello over two: ${headers[':path']}\n`);
});
const patience = 1000 * (process.argv[4] || 0);
server.on('session', (session) => session.setTimeout(patience, () => session.close()));
server.listen(0, '127.0.0.1', () => console.log('port', server.address().port));
