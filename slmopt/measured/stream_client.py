"""One request to an OpenAI-compatible endpoint, streamed and timed: chat or plain completions.

Tokens are those of the usage field (``stream_options.include_usage``); chunks are counted, never taken for tokens, since a
chunk may hold several. The clock starts when the request is sent over a connection that stands, and ends with the last
piece of text.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from slmopt.specs.base import SpecError

Api = Literal["chat", "completions"]

PATHS: Final[dict[Api, str]] = {"chat": "/chat/completions", "completions": "/completions"}
LONGEST_LINE: Final = 1 << 20
LONGEST_WORDS: Final = 160
"""Characters of a server's own words that an error keeps."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, and what every one of them carries. ``timeout_s`` is for a whole request."""

    scheme: Literal["http", "https"]
    host: str
    port: int | None
    path: str
    model: str
    api: Api
    timeout_s: float
    key: str = ""
    extra: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        url: str,
        model: str,
        *,
        api: Api = "chat",
        timeout_s: float = 120.0,
        key: str = "",
        extra: tuple[tuple[str, Any], ...] = (),
    ) -> Endpoint:
        """The endpoint at a base URL such as http://localhost:8080/v1; a full path is taken as well.

        Raises :class:`SpecError` where the URL is none.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise SpecError(
                f"url = {url[:80]!r}: {error}; give one such as http://localhost:8080/v1."
            ) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecError(
                f"url = {url[:80]!r}: it must begin with http:// or https:// and name a host, such as http://localhost:8080/v1."
            )
        path = parts.path.rstrip("/")
        known: tuple[Api, ...] = ("chat", "completions")
        for name in known:
            if path.endswith(PATHS[name]):
                path, api = path.removesuffix(PATHS[name]), name
                break
        base = path or "/v1"
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        return cls(scheme, parts.hostname, port, f"{base}{PATHS[api]}", model, api, timeout_s, key, extra)

    def body(self, prompt: str, output_tokens: int) -> bytes:
        """The request's JSON."""
        values: dict[str, Any] = {
            "model": self.model,
            "max_tokens": output_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **dict(self.extra),
        }
        if self.api == "chat":
            values["messages"] = [{"role": "user", "content": prompt}]
        else:
            values["prompt"] = prompt
        return json.dumps(values).encode()


@dataclass(slots=True)
class Timing:
    """What one request took, in seconds; None where it has none. ``error`` is empty where it completed."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    chunk_gap_s: float | None = None
    e2e_s: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    chunks: int = 0
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class _FailedError(Exception):
    """A request that did not complete, in a few words."""


def request(endpoint: Endpoint, prompt: str, output_tokens: int) -> Timing:
    """Send one prompt and time its stream; whatever goes wrong is told in ``error``."""
    timing = Timing()
    deadline = time.perf_counter() + endpoint.timeout_s
    connection = _connection(endpoint)
    try:
        connection.connect()
        start = time.perf_counter()
        _stream(connection, endpoint, endpoint.body(prompt, output_tokens), timing, start, deadline)
    except TimeoutError:
        timing.error = f"time-out after {endpoint.timeout_s:g} s"
    except _FailedError as error:
        timing.error = str(error)
    except ssl.SSLError as error:
        timing.error = f"TLS: {error.reason or error}"
    except (OSError, http.client.HTTPException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        timing.error = f"{type(error).__name__}: {why}"[:LONGEST_WORDS]
    finally:
        connection.close()
    return timing


def _connection(endpoint: Endpoint) -> http.client.HTTPConnection:
    if endpoint.scheme == "https":
        return http.client.HTTPSConnection(endpoint.host, endpoint.port, timeout=endpoint.timeout_s)
    return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=endpoint.timeout_s)


def _stream(
    connection: http.client.HTTPConnection,
    endpoint: Endpoint,
    body: bytes,
    timing: Timing,
    start: float,
    deadline: float,
) -> None:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    socket = connection.sock
    connection.request("POST", endpoint.path, body, headers)
    response = connection.getresponse()
    if response.status != 200:
        words = response.read(4096).decode("utf-8", "replace")
        raise _FailedError(f"HTTP {response.status}: {_short(_message(words))}")
    first = last = None
    finished = False
    for event in _events(response, socket, deadline):
        if event == "[DONE]":
            finished = True
            break
        value = _json(event)
        if value.get("error"):
            raise _FailedError(f"the server said: {_short(_message(event))}")
        _take_usage(timing, value)
        text, ended = _piece(value)
        finished = finished or ended
        if text:
            now = time.perf_counter()
            first = now if first is None else first
            last = now
            timing.chunks += 1
    if first is not None and last is not None:
        timing.ttft_s, timing.e2e_s = first - start, last - start
        if timing.chunks > 1:
            timing.chunk_gap_s = (last - first) / (timing.chunks - 1)
        if timing.output_tokens is not None and timing.output_tokens > 1 and last > first:
            timing.tpot_s = (last - first) / (timing.output_tokens - 1)
    if not finished:
        raise _FailedError("the stream ended before it was finished")
    if first is None:
        raise _FailedError("the stream held no text")


def _events(response: http.client.HTTPResponse, socket: Any, deadline: float) -> Iterator[str]:
    """The data of each server-sent event."""
    while True:
        left = deadline - time.perf_counter()
        if left <= 0:
            raise TimeoutError
        if socket is not None:
            # A closed socket has no time-out to set, and its reader says what there is to say.
            with contextlib.suppress(OSError):
                socket.settimeout(left)
        line = response.readline(LONGEST_LINE)
        if not line:
            return
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("data:"):
            yield text.removeprefix("data:").strip()


def _json(event: str) -> dict[str, Any]:
    try:
        value = json.loads(event)
    except (ValueError, RecursionError):
        raise _FailedError(f"a chunk is no JSON: {_short(event)}") from None
    if not isinstance(value, dict):
        raise _FailedError(f"a chunk is no JSON object: {_short(event)}")
    return value


def _piece(value: dict[str, Any]) -> tuple[str, bool]:
    """The text of a chunk (thinking counts as text), and whether it says that the stream has its end."""
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", False
    choice = choices[0]
    delta = choice.get("delta")
    parts = delta if isinstance(delta, dict) else choice
    texts = (parts.get(name) for name in ("content", "reasoning_content", "reasoning", "text"))
    return "".join(text for text in texts if isinstance(text, str)), bool(choice.get("finish_reason"))


def _take_usage(timing: Timing, value: dict[str, Any]) -> None:
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return
    timing.prompt_tokens = _count(usage.get("prompt_tokens"), timing.prompt_tokens)
    timing.output_tokens = _count(usage.get("completion_tokens"), timing.output_tokens)
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict):
        timing.cached_tokens = _count(details.get("cached_tokens"), timing.cached_tokens)


def _count(value: object, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _message(text: str) -> str:
    """What a server says of an error, out of whatever it wraps it in."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = value.get("error", value) if isinstance(value, dict) else value
    message = error.get("message", error) if isinstance(error, dict) else error
    return str(message)


def _short(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= LONGEST_WORDS else f"{plain[: LONGEST_WORDS - 1]}…"
