"""/metrics over HTTP: whoever asks, and however many."""

import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from rcp.fixtures.processes import HANG_S
from rcp.probes.agent.endpoint import Endpoint, EndpointError

LOCAL = ("127.0.0.1", 0)


@pytest.fixture(autouse=True)
def _readers_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off no reader whose machine is busy."""
    monkeypatch.setattr("rcp.probes.agent.endpoint._Handler.timeout", HANG_S)


def asked(port: int, path: str = "/metrics", accept: str = "") -> tuple[str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=HANG_S) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_reader_chooses_the_format() -> None:
    with Endpoint(LOCAL, lambda is_open: f"open {is_open}\n") as endpoint:
        kind, text = asked(endpoint.port, accept="application/openmetrics-text;version=1.0.0")
        assert (kind.split(";")[0], text) == ("application/openmetrics-text", "open True\n")
        kind, text = asked(endpoint.port)
        assert (kind.split(";")[0], text) == ("text/plain", "open False\n")


def test_other_paths_are_not_found() -> None:
    with (
        Endpoint(LOCAL, lambda is_open: "x") as endpoint,
        pytest.raises(urllib.error.HTTPError, match="404"),
    ):
        asked(endpoint.port, "/")


def test_many_readers_cost_one_rendering() -> None:
    rendered = []

    def render(is_open: bool) -> str:
        rendered.append(is_open)
        return "x" * 100_000

    with Endpoint(LOCAL, render) as endpoint, ThreadPoolExecutor(8) as readers:
        texts = list(readers.map(lambda _: asked(endpoint.port)[1], range(64)))
    assert set(map(len, texts)) == {100_000}
    assert len(rendered) < 64


def test_readers_that_say_nothing_do_not_take_all_the_memory() -> None:
    with Endpoint(LOCAL, lambda is_open: "x") as endpoint:
        address = ("127.0.0.1", endpoint.port)
        silent = [socket.create_connection(address, HANG_S) for _ in range(16)]
        late = socket.create_connection(address, HANG_S)
        assert late.recv(100).startswith(b"HTTP/1.1 503 ")
        for one in (*silent, late):
            one.close()


def test_an_address_in_use_is_named() -> None:
    with Endpoint(LOCAL, lambda is_open: "x") as endpoint:
        port = endpoint.port
        with pytest.raises(EndpointError) as raised:
            Endpoint(("127.0.0.1", port), lambda is_open: "x")
    assert str(raised.value) == (
        f"cannot listen on 127.0.0.1:{port}: Address already in use: give another address as "
        "listen in [metrics]."
    )
