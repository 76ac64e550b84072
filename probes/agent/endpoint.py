"""The HTTP server of /metrics. Rendered at most once a second, however many ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, socket
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from rcp.probes.agent.exposition import OPENMETRICS, PLAIN, is_open
from rcp.probes.contract.user_error import UserError

_SAME_FOR_S = 1.0
_READERS_MAX = 16
"""Readers served at once; more are turned away, so that they cannot take the memory."""
_READER_S = 5.0  # a reader that sends nothing does not keep its place


class EndpointError(UserError):
    """The endpoint cannot be opened; the message names the address and the remedy."""


class _Rendered:
    """The text of a scrape, made anew when it is older than a second."""

    def __init__(self, render: Callable[[bool], str]) -> None:
        self._render = render
        self._lock = Lock()
        self._made: dict[bool, tuple[float, bytes]] = {}

    def text(self, openly: bool) -> bytes:
        with self._lock:
            at_s, text = self._made.get(openly, (0.0, b""))
            if not text or time.monotonic() - at_s >= _SAME_FOR_S:
                text = self._render(openly).encode()
                self._made[openly] = (time.monotonic(), text)
            return text


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], rendered: _Rendered) -> None:
        if ":" in address[0]:
            self.address_family = AF_INET6
        self.rendered = rendered
        self._places = BoundedSemaphore(_READERS_MAX)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Say nothing: a reader that went away is no fault of ours."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _READER_S
    server: _Server

    def do_GET(self) -> None:
        """Answer /metrics."""
        if self.path.partition("?")[0] != "/metrics":
            self._answer(404, PLAIN, b"see /metrics\n")
            return
        openly = is_open(self.headers.get("Accept", ""))
        self._answer(200, OPENMETRICS if openly else PLAIN, self.server.rendered.text(openly))

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep no log of readers."""


class Endpoint:
    """A server in threads of its own; a context manager that ends it."""

    def __init__(self, address: tuple[str, int], render: Callable[[bool], str]) -> None:
        """*render* gets whether the reader wants OpenMetrics. Raises EndpointError."""
        host, port = address
        try:
            self._server = _Server(address, _Rendered(render))
        except OSError as error:
            raise EndpointError(
                f"cannot listen on {host}:{port}: {error.strerror}: give another address as "
                "listen in [metrics]."
            ) from error
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Endpoint:
        """Return the endpoint."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
