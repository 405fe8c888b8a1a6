"""A server on the host's loopback: files, a Git repository, a large body, a slow one, a websocket.

    origin.py LOG ROOT [CERTIFICATE KEY]

It writes its port, then a line of JSON to LOG for each connection and each request.
"""
import base64
import hashlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

LOG, ROOT = sys.argv[1:3]
TLS = None
if len(sys.argv) > 3:
    TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    TLS.load_cert_chain(*sys.argv[3:5])
BLOCK = bytes(range(256)) * 256
WRITING = threading.Lock()


def log(**entry):
    with WRITING, open(LOG, "a") as file:
        file.write(json.dumps(entry) + "\n")


def patience():
    """For how many seconds a client may say nothing."""
    path = os.path.join(ROOT, "patience")
    return float(open(path).read()) if os.path.exists(path) else 120


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=ROOT)

    def setup(self):
        log(kind="connection")
        self.request.settimeout(patience())
        if TLS:
            self.request = TLS.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def note(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        log(kind="request", method=self.command, path=self.path, headers=headers)

    def do_GET(self):
        self.note()
        path, _, query = self.path.partition("?")
        if path == "/big":
            self.big(int(query))
        elif path == "/slow":
            self.slow()
        elif path == "/endless":
            self.endless()
        elif path in ("/redirect", "/around"):
            self.redirect(query or path)
        elif path == "/websocket":
            self.websocket()
        elif path.startswith("/git/"):
            self.git(path, query, b"")
        else:
            super().do_GET()

    def do_POST(self):
        self.note()
        path, _, query = self.path.partition("?")
        body = self.body()
        if path.startswith("/git/"):
            self.git(path, query, body)
        else:
            self.answer(200, "text/plain", b"posted %d\n" % len(body))

    def body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def big(self, blocks):
        self.send_response(200)
        self.send_header("Content-Length", str(blocks * len(BLOCK)))
        self.end_headers()
        for _ in range(blocks):
            self.wfile.write(BLOCK)

    def slow(self):
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        while True:
            self.wfile.write(b"a line\n")
            time.sleep(0.02)

    def endless(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        while True:
            self.wfile.write(b"a line\n" * 1024)

    def redirect(self, to):
        self.send_response(302)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def websocket(self):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        length = self.rfile.read(2)[1] & 127
        mask = self.rfile.read(4)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
        self.wfile.write(bytes([0x81, length]) + text.upper())
        self.close_connection = True

    def user(self):
        """Who asks, where a file says which password is right; anybody where none does."""
        try:
            token = open(ROOT + "/git-token").read()
        except FileNotFoundError:
            return ""
        pair = base64.b64encode(b"x-access-token:" + token.encode()).decode()
        return "ann" if self.headers.get("authorization") == "Basic " + pair else None

    def git(self, path, query, body):
        user = self.user()
        log(kind="git", path=path, length=len(body), user=user)
        if path.startswith("/git/garbage.git/git-receive-pack"):
            return self.answer(200, "application/x-git-receive-pack-result", b"what is this?")
        if user is None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": ROOT + "/git",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "PATH_INFO": urllib.parse.unquote(path[len("/git"):]),
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
        }
        if user:
            environment["REMOTE_USER"] = user
        done = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, env=environment
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(fields.get("Status", "200").split()[0])
        self.answer(status, fields.get("Content-Type", "text/plain"), rest)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        log(kind="error", what=repr(sys.exc_info()[1]))


server = Server(("127.0.0.1", 0), Handler)
print("port", server.server_address[1], flush=True)
server.serve_forever()
