"""Text fits the terminal; where there is none, nothing is left out."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

WIDTHS = (60, 80, 120)
NAMES = ("wal-writer", "checkpointer", "kworker/u8:2")


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    synth = Synth(
        [
            ("foreground", "comm:wal-writer"),
            ("background", "comm:checkpointer"),
            ("background", "cmdline:postgres: autovacuum worker [a-z]+ of the fleet's database .*"),
        ],
        host={"name": "db7.example.org", "kernel": "6.12.38+deb13-cloud-amd64"},
    )
    fg, bg, helper = (synth.task(name, tid=10 + at) for at, name in enumerate(NAMES))
    for at in range(40):
        begin = 1_000_000 * (at + 1)
        synth.request(fg, begin, begin + 900_000)
        synth.sleep(fg, begin + 10, begin + 890_000, waker=helper, reason=WaitReason.JOURNAL_COMMIT)
        synth.sleep(helper, begin + 20, begin + 880_000, waker=bg, reason=WaitReason.LOCK)
    folder = tmp_path_factory.mktemp("widths")
    load_spool(synth.write(folder / "x.spool"), folder / "x.duckdb")
    return folder / "x.duckdb"


def printed(file: Path, width: int | None, *command: str) -> list[str]:
    words = [file.name if word == "FILE" else word for word in command]
    with chdir(file.parent):
        result = CliRunner(env={"COLUMNS": str(width or "")}).invoke(main, words)
    assert result.exit_code in (0, 1), result.output
    return result.stdout.splitlines()


COMMANDS = (
    ("report", "FILE"),
    ("report", "FILE", "--slowest", "3"),
    ("path", "FILE", "1"),
    ("roles", "FILE"),
    ("diff", "FILE", "FILE"),
    ("sql", "FILE", "FROM inversion_pattern"),
    ("sql", "FILE", "FROM task"),
    ("doctor", "--no-load"),
)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_as_long_as_the_terminal_is_wide_unless_a_word_is(
    long_names: Path, command: tuple[str, ...], width: int
) -> None:
    for line in printed(long_names, width, *command):
        indented_word = len(line) - len(line.lstrip()) + max(map(len, line.split()), default=0)
        assert len(line) < width or len(line) <= indented_word, line


@pytest.mark.parametrize("command", COMMANDS)
def test_the_words_are_the_same_at_every_width(long_names: Path, command: tuple[str, ...]) -> None:
    """Wrapping breaks between words; what a table leaves out, it names."""
    whole = set(" ".join(printed(long_names, None, *command)).split())
    for width in WIDTHS:
        shown = " ".join(printed(long_names, width, *command))
        made_up = {"row", "value", "line:", "a", "would", "not", "fit", "terminal)", "the"}
        made_up |= {"row,", "rows,", "table", "fit"}
        of_layout = made_up | {"(too", "wide", "to", "show:", "…", *map(str, range(1, 50))}
        known = {word.strip("(),") for word in whole | of_layout}
        assert {word.strip("(),") for word in shown.split()} <= known | {""}


@pytest.mark.parametrize("width", [40, 50, 60])
def test_requests_of_one_kind_stay_told_apart(long_names: Path, width: int) -> None:
    lines = printed(long_names, width, "report", "FILE")
    head = lines[lines.index("Requests") + 1].split()
    assert head[:2] == ["request", "role"] and "p99" in head


def test_a_pipe_gets_every_column(long_names: Path) -> None:
    roles = printed(long_names, None, "roles", "FILE")
    assert roles[0].split("  ")[-1] == "bytes"
    widest = max(roles, key=len)
    waits = printed(long_names, None, "report", "FILE")
    assert len(widest) > WIDTHS[1] and "(too wide" not in " ".join([*roles, *waits])


def test_the_gate_fits_too(long_names: Path, tmp_path: Path) -> None:
    for side in "ab":
        for run in range(8):
            values = "".join(f"{1000 + 7 * at + run}us\n" for at in range(1500))
            (tmp_path / f"{side}{run}.txt").write_text(values)
    a, b = (sorted(str(path) for path in tmp_path.glob(f"{side}*.txt")) for side in "ab")
    lines = printed(long_names, 60, "gate", *b, *(w for one in a for w in ("--baseline", one)))
    assert lines
    assert all(len(line) < 60 for line in lines), lines
