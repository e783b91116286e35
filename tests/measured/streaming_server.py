"""A small server that streams as OpenAI-compatible ones do; what it does wrong is asked for by the model's name."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = 6
"""Tokens of an answer, sent two a chunk."""


class Server(ThreadingHTTPServer):
    """Counts requests and keeps what they asked for."""

    daemon_threads = True
    # Five, the default, refuses some of the twenty that connect at once.
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict] = []
        self.keys: list[str] = []
        self.lock = threading.Lock()

    def handle_error(self, *_):
        """A client that gave up closes its end; the thread's complaint about that is nobody's business."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append({**body, "path": self.path})
            self.server.keys.append(self.headers.get("Authorization", ""))
            number = len(self.server.asked)
        self._answer(body, number)

    def _answer(self, body, number):
        model = body["model"]
        if model == "refuses" or (model == "sometimes" and number % 3 == 0):
            self._plain(503, {"error": {"message": "no slot\nis free"}})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if model == "hangs":
            time.sleep(1.0)
            return
        for part in range(TOKENS // 2):
            if model == "slow":
                time.sleep(0.02)
            if model == "breaks" and part == 1:
                return
            if model == "errs" and part == 1:
                self._event({"error": {"message": "out of memory"}})
                return
            if model == "garbles" and part == 1:
                self.wfile.write(b"data: {not json\n\n")
                return
            self._event({"choices": [self._piece(body, "ab", None)]})
        self._event({"choices": [self._piece(body, "", "stop")]})
        if model != "silent" and body.get("stream_options", {}).get("include_usage"):
            text = body["prompt"] if "prompt" in body else body["messages"][0]["content"]
            # Two tokens a word, so that a client that aims at a length has something to learn.
            counted = 2 * len(text.split())
            self._event(
                {
                    "choices": [],
                    "usage": {
                        "prompt_tokens": counted,
                        "completion_tokens": TOKENS,
                        "prompt_tokens_details": {"cached_tokens": 4},
                    },
                }
            )
        self.wfile.write(b": a comment\n\ndata: [DONE]\n\n")

    def _piece(self, body, text, reason):
        if "prompt" in body:
            return {"text": text, "finish_reason": reason}
        return {"delta": {"content": text}, "finish_reason": reason}

    def _event(self, value):
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def _plain(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving() -> Iterator[Server]:
    """The server, in a thread."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
