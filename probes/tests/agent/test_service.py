"""systemd hears what it has to hear, by the datagrams of sd_notify(3)."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rcp.probes.agent.service import Service

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import Clock


@pytest.fixture
def manager(tmp_path: Path) -> socket.socket:
    where = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    where.bind(str(tmp_path / "notify"))
    where.setblocking(False)
    return where


def heard(manager: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(manager.recv(4096).decode())
        except BlockingIOError:
            return found


def test_what_is_told(manager: socket.socket, tmp_path: Path, clock: "Clock") -> None:
    service = Service({"NOTIFY_SOCKET": str(tmp_path / "notify")}, clock)
    service.ready("keeping the\nlast 30s")
    service.reloading()
    service.stopping()
    assert heard(manager) == [
        "READY=1\nSTATUS=keeping the last 30s",
        f"RELOADING=1\nMONOTONIC_USEC={clock.now_ns // 1000}",
        "STOPPING=1",
    ]


def test_an_abstract_socket_is_told_too(clock: "Clock") -> None:
    name = f"rcp-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.setblocking(False)
        Service({"NOTIFY_SOCKET": f"@{name}"}, clock).stopping()
        assert heard(manager) == ["STOPPING=1"]


def test_signs_of_life_come_before_half_the_limit_has_passed(
    manager: socket.socket, tmp_path: Path, clock: "Clock"
) -> None:
    environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000000"}
    service = Service(environ, clock)
    assert service.alive_every_s == 10
    for _ in range(20):
        service.alive()
        clock.pass_s(1)
    assert heard(manager) == ["WATCHDOG=1"] * 4


def test_the_watchdog_of_another_process_is_not_fed(
    manager: socket.socket, tmp_path: Path, clock: "Clock"
) -> None:
    environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000000"}
    Service({**environ, "WATCHDOG_PID": "1"}, clock).alive()
    assert heard(manager) == []


def test_without_a_manager_nothing_happens(tmp_path: Path, clock: "Clock") -> None:
    Service({}, clock).ready("x")
    Service({"NOTIFY_SOCKET": str(tmp_path / "gone")}, clock).ready("x")
