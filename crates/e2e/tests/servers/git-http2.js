// A server that speaks HTTP/2 only, and Git: `git http-backend`.
//
//     git-http2.js LOG ROOT CERTIFICATE KEY
//
// It writes its port, then a line of JSON to LOG for each request of Git.
const fs = require("fs");
const http2 = require("http2");
const { spawn } = require("child_process");

const [log, root, cert, key] = process.argv.slice(2);
const note = (entry) => fs.appendFileSync(log, JSON.stringify(entry) + "\n");

function user(headers) {
  const token = fs.readFileSync(root + "/git-token");
  const pair = Buffer.concat([Buffer.from("x-access-token:"), token]).toString("base64");
  return headers.authorization === "Basic " + pair ? "ann" : null;
}

function answer(stream, output) {
  const end = output.indexOf("\r\n\r\n");
  const fields = { ":status": 200 };
  for (const line of output.subarray(0, end).toString().split("\r\n")) {
    const at = line.indexOf(": ");
    const [name, value] = [line.slice(0, at).toLowerCase(), line.slice(at + 2)];
    if (name === "status") fields[":status"] = parseInt(value, 10);
    else fields[name] = value;
  }
  stream.respond(fields);
  stream.end(output.subarray(end + 4));
}

function serve(stream, headers, body) {
  const [path, query] = headers[":path"].split("?");
  const who = user(headers);
  note({ kind: "git", path, length: body.length, user: who });
  if (!who) {
    stream.respond({ ":status": 401, "www-authenticate": 'Basic realm="git"' });
    return stream.end();
  }
  const env = {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: root + "/git",
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "safe.directory",
    GIT_CONFIG_VALUE_0: "*",
    PATH_INFO: decodeURIComponent(path.slice("/git".length)),
    QUERY_STRING: query || "",
    REQUEST_METHOD: headers[":method"],
    CONTENT_TYPE: headers["content-type"] || "",
    CONTENT_LENGTH: String(body.length),
    REMOTE_USER: who,
  };
  const git = spawn("git", ["http-backend"], { env });
  const output = [];
  git.stdout.on("data", (data) => output.push(data));
  git.on("close", () => answer(stream, Buffer.concat(output)));
  git.stdin.end(body);
}

// For how long a client may say nothing.
const impatient = fs.existsSync(root + "/patience");
const patience = impatient ? 1000 * parseFloat(fs.readFileSync(root + "/patience")) : 0;

const server = http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
server.on("stream", (stream, headers) => {
  const body = [];
  stream.on("data", (data) => body.push(data));
  stream.on("end", () => serve(stream, headers, Buffer.concat(body)));
  stream.on("error", () => {});
});
server.on("session", (session) => session.setTimeout(patience, () => session.close()));
server.listen(0, "127.0.0.1", () => console.log("port " + server.address().port));
