"""The systemd unit: verified by systemd, and no more than the agent needs."""

import configparser
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main

UNIT = Path(__file__).parents[3] / "contrib/systemd/rcp-trace-agent.service"


def service() -> dict[str, str]:
    unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    return dict(unit["Service"])


def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    # The program is not installed where tests run: any that exists takes its place.
    text = UNIT.read_text().replace("/usr/bin/rcp-trace", "/bin/true")
    (tmp_path / UNIT.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert own == []


def test_a_fault_in_a_unit_would_be_found(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    text = UNIT.read_text().replace("/usr/bin/rcp-trace", "/bin/true")
    (tmp_path / UNIT.name).write_text(text.replace("MemoryMax=2G", "MemoryMux=2G"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "MemoryMux" in done.stderr


def test_it_has_no_more_rights_than_it_uses() -> None:
    found = service()
    assert found["CapabilityBoundingSet"].split() == [
        *("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SYSLOG"),
    ]
    assert (found["NoNewPrivileges"], found["ProtectSystem"]) == ("yes", "strict")
    assert {"MemoryMax", "CPUQuota", "WatchdogSec"} <= found.keys()
    assert found["Type"] == "notify"


def test_its_command_exists() -> None:
    program, name, *options = shlex.split(service()["ExecStart"])
    assert program == "/usr/bin/rcp-trace"
    command = main.commands[name]
    command.make_context(name, list(options))
    assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0
