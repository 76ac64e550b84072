"""What ``rcp-trace gate save --keep`` says of saves that it can neither count nor remove."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.gate.tests.conftest import Gate, MakeRuns


def test_damaged_saves_that_are_left_in_place_are_told(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path
) -> None:
    base, runs = tmp_path / "b", make_runs("x", 6)
    for _ in range(3):
        gate("save", *runs, "-o", base)
    (base / "000002/save.json").write_text("{")
    told = gate("save", *runs, "-o", base, "--keep", 3)
    assert (told.exit_code, told.stderr) == (
        0,
        f"rcp-trace: warning: {base}: 1 save could not be read and was left in place (000002): "
        "remove its folder, or restore what is damaged.\n",
    )
    for name in ("000003", "000004"):
        (base / name / "save.json").unlink()
    again = gate("save", *runs, "-o", base, "--keep", 3).stderr
    assert "3 saves could not be read and were left in place (000002, 000003, 000004)" in again
    assert gate("save", *runs, "-o", base, "--keep", 1).stderr == ""  # they went with older ones


def test_many_damaged_saves_are_one_short_line(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path
) -> None:
    for number in range(1, 10):
        (tmp_path / f"b/{number:06}").mkdir(parents=True)
    (line,) = gate(
        "save", *make_runs("x", 6), "-o", tmp_path / "b", "--keep", 3
    ).stderr.splitlines()
    assert "9 saves could not be read and were left in place" in line
    assert "(000001, 000002, 000003, 000004, 000005 and 4 more)" in line
