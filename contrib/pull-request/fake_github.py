"""The comments of one pull request, as GitHub's API serves them: `fake_github.py STATE REFUSALS`.

STATE is a file with the comments, written after each change. REFUSALS is a file; if it exists, each change is refused
as for the token of a fork. The port is printed first.
"""

import http.server
import json
import os
import re
import sys
import urllib.parse

STATE, REFUSALS = sys.argv[1:]
LIST = re.compile(r"/repos/owner/name/issues/7/comments")
ONE = re.compile(r"/repos/owner/name/issues/comments/(\d+)")
LONGEST = 65_536


class Api(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        address = urllib.parse.urlparse(self.path)
        if not LIST.fullmatch(address.path):
            return self.answer(404, {"message": "Not Found"})
        query = urllib.parse.parse_qs(address.query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        return self.answer(200, comments()[(page - 1) * size : page * size])

    def do_POST(self):
        if not LIST.fullmatch(self.path):
            return self.answer(404, {"message": "Not Found"})
        rows = comments()
        number = 1 + max((row["id"] for row in rows), default=0)
        return self.change(rows, {"id": number, "user": {"type": "Bot"}}, 201)

    def do_PATCH(self):
        match = ONE.fullmatch(self.path)
        rows = comments()
        own = [row for row in rows if match and row["id"] == int(match[1])]
        if not own:
            return self.answer(404, {"message": "Not Found"})
        rows.remove(own[0])
        return self.change(rows, own[0], 200)

    def change(self, rows, row, code):
        if self.headers["Authorization"] != "Bearer secret":
            return self.answer(401, {"message": "Bad credentials"})
        if os.path.exists(REFUSALS):
            return self.answer(403, {"message": "Resource not accessible by integration"})
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if len(body) > LONGEST:
            return self.answer(422, {"message": "Body is too long"})
        row |= {"body": body, "html_url": f"https://github.invalid/comment/{row['id']}"}
        with open(STATE, "w", encoding="utf-8") as file:
            json.dump([*rows, row], file)
        return self.answer(code, row)

    def answer(self, code, value):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def comments():
    with open(STATE, encoding="utf-8") as file:
        return json.load(file)


server = http.server.HTTPServer(("127.0.0.1", 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
