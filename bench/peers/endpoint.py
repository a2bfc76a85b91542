"""A model's server on loopback, whose every answer is computed from the request."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_MODELS: Final = {
    "object": "list",
    "data": [{"id": "scripted", "context_length": 128_000}],
    # Codex asks for a list of this name.
    "models": [],
}
Answer = Callable[[str, Mapping[str, Any]], tuple[bytes, str]]
"""The answer to a body that was sent to a path, and its media type."""


@dataclass
class Exchange:
    """A request with its size in bytes: when it was there, and when the last byte of its answer was sent.

    Both times are in seconds on the clock of `time.perf_counter`; `answered` is 0 until then.
    """

    body: Mapping[str, Any]
    size: int
    came: float
    answered: float = 0.0


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed leaves its connection; only that is passed over."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def endpoint(answer: Answer) -> Iterator[tuple[str, list[Exchange]]]:
    """The base URL of the server, and the requests that it gets."""
    exchanges: list[Exchange] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            came = time.perf_counter()
            exchange = Exchange(json.loads(content), len(content), came)
            exchanges.append(exchange)
            self._send(*answer(self.path, exchange.body))
            exchange.answered = time.perf_counter()

        def do_GET(self) -> None:
            self._send(json.dumps(_MODELS).encode(), "application/json")

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", exchanges
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
