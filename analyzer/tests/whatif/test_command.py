"""``rcp-trace whatif``: what it prints, and what it answers to questions that have no answer."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, world
from rcp.fixtures.synth import READ

ErrorOf = Callable[..., str]


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A recording of two reads of 1 µs: a backup's lock delays one of them by 700 ns."""
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1800, waker=BACKUP, stack=["down_read"])
    synth.request(READER, 5000, 6000, nr=READ)
    return synth.write(tmp_path / "slow.spool")


def told(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["whatif", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_answer_is_a_sentence_and_a_table(slow: Path) -> None:
    text = told(slow, "--without", "backup")
    assert text.startswith("Without backup, read p99 would stay at 1 µs. 1 of 2 requests would be")
    assert "all together would take 35 % less time." in " ".join(text.split())
    (mean,) = [line.split() for line in text.splitlines() if " mean " in line]
    assert mean == ["read", "mean", "1.00", "µs", "650", "ns", "650", "ns", "650", "ns"]


def test_nothing_in_the_way_is_said_so(slow: Path) -> None:
    assert told(slow, "--without", "other").startswith(
        "Without other, read requests would take as long as they did."
    )


def test_json_and_csv_have_every_figure(slow: Path) -> None:
    found = json.loads(told(slow, "--without", "role:background", "--format", "json"))
    (kind,) = found["kinds"]
    figures = {figure["name"]: figure for figure in kind["figures"]}
    assert list(figures) == ["mean", "p50", "p99", "p99.9", "max"]
    assert (figures["mean"]["recorded_ns"], figures["mean"]["predicted_ns"]) == (1000, 650)
    assert found["arrivals"] in ("open", "closed")
    assert found["is_detected"] is True
    text = told(slow, "--without", "backup", "--arrivals", "open", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == list(figures)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "nothing is changed: name work with --without, or a device with --faster."),
        (["--without", "nobody"], "the recording has no task 'nobody'. Culprits: backup."),
        (
            ["--without", "reader"],
            "reader makes the requests: a what-if takes away other work. Culprits: backup.",
        ),
        (["--without", "#7"], "the recording has no inversion #7: they go from #1 to #1."),
        (["--without", "role:boss"], "there is no role 'boss': use one of"),
        (["--without", "pid:x"], "'pid:x' has no number: write pid:1234."),
        (["--faster", "nvme0n1"], "--faster 'nvme0n1': write DEVICE=FACTOR, such as nvme0n1=2x."),
        (["--faster", "nvme0n1=0.5x"], "--faster 'nvme0n1=0.5x': write DEVICE=FACTOR"),
        (["--faster", "sda=2x"], "the recording has no device 'sda'; it has: nvme0n1."),
    ],
)
def test_a_question_without_an_answer_is_one_line(
    slow: Path, error_of: ErrorOf, arguments: list[str], error: str
) -> None:
    assert error_of("whatif", slow, *arguments).startswith(error)


def test_a_recording_without_foreground_requests_is_an_error(
    tmp_path: Path, error_of: ErrorOf
) -> None:
    message = error_of("whatif", world().write(tmp_path / "x.spool"), "--without", "backup")
    assert message.startswith("the recording has no finished foreground request")
