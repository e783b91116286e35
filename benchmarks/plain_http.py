"""Plain requests to the server, on one connection that is kept as a browser keeps it."""

from __future__ import annotations

import http.client
import threading
from urllib.parse import urlsplit

TIMEOUT_S = 60.0


class AppError(RuntimeError):
    """The page showed an exception, or the server refused."""


class Http:
    """Plain requests over one connection that is kept, one after the other from whatever thread."""

    def __init__(self, address: str) -> None:
        self._where = urlsplit(address)
        self._connection: http.client.HTTPConnection | None = None
        self._in_use = threading.Lock()

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPMessage, bytes]:
        """Headers and body of the answer; AppError where the server refuses."""
        with self._in_use:
            return self._ask(method, path, body, headers or {})

    def _ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPMessage, bytes]:
        while True:
            kept = self._connection is not None
            if self._connection is None:
                host, port = self._where.hostname or "", self._where.port
                self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
            try:
                self._connection.request(method, f"{self._where.path}{path}", body, headers)
                answer = self._connection.getresponse()
                break
            except (ConnectionError, http.client.RemoteDisconnected):
                # Servers close idle connections; browsers then ask once more on a new one.
                self.close()
                if not kept:
                    raise
        got = answer.read()
        if answer.status >= 400:
            raise AppError(f"{method} {path}: {answer.status} {got[:200]!r}")
        return answer.headers, got

    def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
