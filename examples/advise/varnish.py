# A backend with pages of 2 to 10 KiB (`serve PORT`), and a client that asks a cache for 20,000 of them, twice (`ask PORT`).
import http.client
import http.server
import sys


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet an answer: two would wait for each other.
    wbufsize = 65536

    def do_GET(self):
        body = b"x" * (2048 + 7919 * int(self.path[1:]) % 8192)
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(2):
        for number in range(20000):
            connection.request("GET", f"/{number}")
            connection.getresponse().read()


verb, port = sys.argv[1], int(sys.argv[2])
if verb == "ask":
    ask(port)
else:
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Pages).serve_forever()
