"""This example receives webhooks from Hooklatch. It verifies the signature and
applies each webhook-id once."""

import base64
import hashlib
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

TOLERANCE = 300  # seconds
KEY = base64.b64decode(os.environ["APP_SECRET"].removeprefix("whsec_"))

# In your program this is a table with a unique webhook_id. Insert with ON
# CONFLICT DO NOTHING, in the transaction of your own writes.
applied = set()
lock = Lock()


def verify(headers, body: bytes) -> bool:
    """Checks the signature over the bytes as received. Parse them afterwards."""
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    # During a secret rotation, the header has several signatures: one must match.
    given = headers.get("webhook-signature", "").encode().split()
    return any([hmac.compare_digest(signature, want) for signature in given])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not verify(self.headers, body):
            self.answer(401)
            return
        webhook_id = self.headers["webhook-id"]
        with lock:
            what = "known" if webhook_id in applied else "applied"
            applied.add(webhook_id)  # apply the event's changes in the same transaction
            print(what, webhook_id, self.headers["content-type"], len(body), flush=True)
        self.answer(204)  # a duplicate gets the same response

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 0))), Receiver)
print("listening", server.server_port, flush=True)
server.serve_forever()
