"""An HTTP server and its client."""

import http.client
import http.server
import socket
import subprocess
import sys
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
for name in ("127.0.0.1", "localhost"):
    connection = http.client.HTTPConnection(name, port, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"hello"
program = (
    "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=10);"
    "c.request('GET', '/'); assert c.getresponse().read() == b'hello'"
)
subprocess.run([sys.executable, "-c", program, str(port)], check=True, timeout=30)
everywhere = socket.create_server(("0.0.0.0", 0))
socket.create_connection(("127.0.0.1", everywhere.getsockname()[1]), timeout=10).close()
server.shutdown()
