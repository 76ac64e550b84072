"""Cells over texts as the kernel prints them: what they read, and what they would write."""

from pathlib import Path

import pytest

from rcp.tuner.errors import KnobGoneError
from rcp.tuner.knobs.cell import Cell, ChosenCell, CommitCell, PairCell
from rcp.tuner.knobs.group_cell import CostCell, IoprioCell, LineCell
from rcp.tuner.knobs.handle import Handle, from_json
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree

_MAX = LineCell("/io.max", "8:0", "wbps", "max")
_LATENCY = LineCell("/io.latency", "8:0", "target", "0")
_WEIGHT = LineCell("/io.weight", "default", "", "")
_COST = CostCell("/io.cost.qos", "8:0")
_SCHEDULER = ChosenCell("/scheduler")
_COMMIT = CommitCell("8:0", "/srv")
_PAIR = PairCell("/dirty_bytes", "/dirty_ratio", "20")

_QOS = "enable=1 ctrl=user rpct=95.00 rlat=500 wpct=95.00 wlat=500 min=10.00 max=100.00"
_MOUNT = "29 1 8:0 / {} rw,relatime shared:1 - ext4 /dev/sda rw{}"


@pytest.mark.parametrize(
    ("cell", "text", "value", "line"),
    [
        (_MAX, "", 0, "echo '8:0 wbps=max' > /io.max"),
        (_MAX, "8:0 rbps=9 wbps=max riops=max wiops=5", 0, "echo '8:0 wbps=max' > /io.max"),
        (
            _MAX,
            "8:16 wbps=7\n8:0 rbps=max wbps=1048576",
            1048576,
            "echo '8:0 wbps=1048576' > /io.max",
        ),
        (_LATENCY, "", 0, "echo '8:0 target=0' > /io.latency"),
        (_LATENCY, "8:0 target=300", 300, "echo '8:0 target=300' > /io.latency"),
        (_WEIGHT, "default 100\n8:0 50", 100, "echo 'default 100' > /io.weight"),
        (_COST, "", 0, "echo '8:0 enable=0 ctrl=auto' > /io.cost.qos"),
        (_COST, f"8:0 {_QOS}", 500, f"echo '8:0 {_QOS}' > /io.cost.qos"),
        (_SCHEDULER, "mq-deadline kyber [bfq] none", "bfq", "echo bfq > /scheduler"),
        (_SCHEDULER, "none", "none", "echo none > /scheduler"),
    ],
)
def test_what_is_read_is_what_would_be_written_back(
    tmp_path: Path, cell: LineCell | CostCell | ChosenCell, text: str, value: Value, line: str
) -> None:
    tree = Tree(tmp_path)
    tree.path(cell.place).write_text(f"{text}\n")
    state = cell.state(tree)
    assert cell.value(state) == value
    assert cell.same(state, cell.state_of(tree, value))
    (write,) = cell.writes(tree, state)
    assert write.line == line


@pytest.mark.parametrize(
    ("n_bytes", "ratio", "value", "line"),
    [
        ("0", "35", 0, "echo 35 > /dirty_ratio"),
        ("4096000", "0", 4096000, "echo 4096000 > /dirty_bytes"),
    ],
)
def test_a_pair_goes_back_through_the_active_one(
    tmp_path: Path, n_bytes: str, ratio: str, value: int, line: str
) -> None:
    tree = Tree(tmp_path)
    tree.path("/dirty_bytes").write_text(n_bytes)
    tree.path("/dirty_ratio").write_text(ratio)
    state = _PAIR.state(tree)
    assert _PAIR.value(state) == value
    assert [write.line for write in _PAIR.writes(tree, state)] == [line]


@pytest.mark.parametrize(("options", "value"), [("", 5), (",commit=30,data=ordered", 30)])
def test_the_commit_interval_is_shown_unless_it_is_the_default(
    tmp_path: Path, options: str, value: int
) -> None:
    tree = Tree(tmp_path)
    path = tree.path("/proc/self/mountinfo")
    path.parent.mkdir(parents=True)
    path.write_text(_MOUNT.format("/srv", options) + "\n")
    state = _COMMIT.state(tree)
    assert _COMMIT.value(state) == value
    (write,) = _COMMIT.writes(tree, state)
    assert write.line == f"mount -o remount,commit={value} /srv"
    path.write_text(_MOUNT.format("/other", options) + "\n")
    with pytest.raises(KnobGoneError) as error:
        _COMMIT.state(tree)
    assert str(error.value) == "/srv: gone: 8:0 is not mounted there now."


def test_priorities_are_compared_thread_by_thread(tmp_path: Path) -> None:
    cell = IoprioCell(("post*",), (7,))
    for pid, tid, comm in (
        (7, 7, "own (x) y"),
        (7, 8, "thread"),
        (9, 9, "postgres"),
        (10, 10, "z"),
    ):
        folder = Tree(tmp_path).path(f"/proc/{pid}/task/{tid}")
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{tid} ({comm}) S " + " ".join(map(str, range(1, 49))))
    assert cell.state_of(Tree(tmp_path), "idle") == "7.19=idle 8.19=idle 9.19=idle"
    assert cell.value("7.19=idle 8.19=idle") == "idle"
    assert cell.value("7.19=idle 8.19=be/4") == "mixed"
    assert cell.value("") == "none"
    # A thread that ended, or came, is no change; a tid used again is another thread.
    assert cell.same("7.19=idle 8.19=idle", "8.19=idle 9.19=rt/4")
    assert cell.same("7.19=idle", "7.20=be/4")
    assert not cell.same("7.19=idle 8.19=idle", "7.19=idle 8.19=be/0")
    lines = [write.line for write in cell.writes(Tree(tmp_path), "7.19=rt/4 8.5=idle 9.19=idle")]
    assert lines == ["ionice -c 1 -n 4 -p 7", "ionice -c 3 -p 9"]


@pytest.mark.parametrize(
    "cell", [_MAX, _COST, _SCHEDULER, _COMMIT, _PAIR, IoprioCell(("a",), (1,))]
)
def test_a_handle_survives_the_journal(cell: Cell) -> None:
    handle = Handle("name", cell, 2, ("iosched.*",), ("disk.wbt_lat_usec",))
    assert from_json(handle.to_json()) == handle
