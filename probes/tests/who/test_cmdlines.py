"""What a recording tells of command lines."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rcp.probes.contract.events import CMDLINE
from rcp.probes.contract.options import FULL, NAME
from rcp.probes.kernel.features import Features
from rcp.probes.plan import Plan, describe
from rcp.probes.program import Options
from rcp.probes.who.cmdlines import (
    arguments_to_store,
    cmdlines,
    cmdlines_to_store,
    redacted,
)


def test_command_lines_are_those_of_running_processes() -> None:
    command = ["cat", "-", "--", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()  # only now is its exec over, and its command line in place
        found, names = cmdlines(), cmdlines(NAME)
        process.kill()
    assert found[str(process.pid)] == "cat - -- -"
    assert names[str(process.pid)] == "cat"
    assert str(os.getpid()) not in found


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["psql", "postgres://joe:hunter2@db/shop"], "psql postgres://joe:***@db/shop"),
        (["psql", "host=db password='hunter 2' user=joe"], "psql host=db password=*** user=joe"),
        (["app", "--password", "hunter2", "-v"], "app --password *** -v"),
        (["app", "--db-pass=hunter 2", "-v"], "app --db-pass=*** -v"),
        (["app", "--password", "-v"], "app --password -v"),
        (["app --secret hunter2 --port 5"], "app --secret *** --port 5"),
        (["env", "PGPASSWORD=hunter2", "psql"], "env PGPASSWORD=*** psql"),
        (["java", "-Dapi.key=hunter2"], "java -Dapi.key=***"),
        (["/usr/bin/mysql", "-phunter2", "shop"], "/usr/bin/mysql -p*** shop"),
        (["mysql", "-p", "shop"], "mysql -p shop"),
        (["redis-cli", "-a", "hunter2", "ping"], "redis-cli -a *** ping"),
        (["curl", "-u", "joe:hunter2", "http://h/?token=hunter2&x=1"], None),
        (["curl", "-H", "Authorization: Bearer hunter2"], "curl -H Authorization: Bearer ***"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(command: list[str], shown: str | None) -> None:
    text = " ".join(redacted(command))
    assert "hunter2" not in text
    assert text == shown or shown is None


@pytest.mark.parametrize(
    "command",
    [
        ["app", "--password-file", "/etc/secret"],
        ["app", "--password-file=/etc/secret", "--bypass", "--compass=1"],
        ["postgres: joe shop [local] COMMIT"],
        ["pass", "show", "mail"],
        ["cp", "-p", "a", "b"],
        [],
    ],
)
def test_the_rest_is_left_alone(command: list[str]) -> None:
    assert redacted(command) == command


def test_a_name_is_one_word_of_the_program() -> None:
    assert arguments_to_store(["postgres: joe shop [local] SELECT"], NAME) == ["postgres:"]
    assert arguments_to_store(["/opt/app", "--port", "5"], NAME) == ["/opt/app"]
    assert arguments_to_store(["/opt/app", "--port", "5"], FULL) == ["/opt/app", "--port", "5"]
    assert arguments_to_store([], NAME) == []


def test_secrets_on_the_recorders_own_command_line_are_hidden_too(
    tmp_path: Path, features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("mysql", "-phunter2", "shop")
    monkeypatch.setattr("sys.argv", ["rcp-trace", "record", "--", *command])
    plan = Plan(tmp_path / "x", Options(), features, [], command=command)
    assert describe(plan)["argv"] == ["rcp-trace", "record", "--", "mysql", "-p***", "shop"]
    meta = describe(replace(plan, cmdline=NAME))
    assert meta["argv"] == ["rcp-trace", "record", "--", "mysql"]
    assert all(" " not in text for text in meta["cmdlines"].values())


@pytest.mark.parametrize(
    ("memory", "arg_bytes", "how", "text"),
    [
        (b"sleep\x001\x00HOME=/root", 8, FULL, b"sleep 1"),
        (b"mysql\x00-phunter\x00shop\x00", 20, FULL, b"mysql -p*** shop"),
        (b"mysql\x00-phunter\x00shop\x00", 20, NAME, b"mysql"),
        # Redis' title: its arguments' last NUL is written over, so the rest of them is not meant
        (b"redis-rdb-bgsave *:6379".ljust(30, b"\0") + b".", 31, FULL, b"redis-rdb-bgsave *:6379"),
        (b"postgres: joe shop idle".ljust(60, b"\0"), 60, FULL, b"postgres: joe shop idle"),
        (b"java\0" + b"x" * 123, 4096, FULL, b"java " + b"x" * 123),
        (b"", 0, FULL, b""),
    ],
)
def test_secrets_of_a_process_that_ended_are_hidden(
    memory: bytes, arg_bytes: int, how: str, text: bytes
) -> None:
    rows = np.array([(7, 42, arg_bytes, memory)], CMDLINE.dtype)
    assert cmdlines_to_store(rows, how)["text"].tolist() == [text]
