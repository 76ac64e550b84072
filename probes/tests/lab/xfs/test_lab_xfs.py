"""Changes in XFS's log are whose they are, and as many as XFS itself counts."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from rcp.probes.contract.events import (
    IO_SERVED,
    JOURNAL_BLOCK,
    JOURNAL_COMMIT,
    TASK,
    StackedLayer,
)
from rcp.probes.contract.spool import open_spool

pytestmark = pytest.mark.lab
N_FILES, N_PROGRAMS = 300, 30  # guest_xfs.py
Rows = npt.NDArray[np.void]


class Evidence:
    """The recording of guest_xfs.py, and XFS's counters."""

    def __init__(self, folder: Path) -> None:
        spool = open_spool(folder / "xfs.spool")
        self.truth: dict[str, dict[str, int]] = json.loads((folder / "truth.json").read_text())
        self.names = {int(t["tid"]): t["comm"].decode() for t in spool.records(TASK)}
        self.lost = spool.counters["lost"]
        dev = self.truth["dev"]["number"]
        commits, blocks = spool.records(JOURNAL_COMMIT), spool.records(JOURNAL_BLOCK)
        self.commits: Rows = commits[commits["dev"] == dev]
        self.blocks: Rows = blocks[blocks["dev"] == dev]
        self.served: Rows = spool.records(IO_SERVED)

    def commits_of(self, task: str) -> Rows:
        """Return the rows of the checkpoints while the task of that name did its work."""
        begin, end = self.truth[task]["begin_ns"], self.truth[task]["end_ns"]
        found: Rows = self.commits[(self.commits["ts"] > begin) & (self.commits["ts"] < end)]
        return found

    def blocks_of(self, task: str) -> Counter[str]:
        """Return whose blocks these checkpoints have."""
        numbers = self.commits_of(task)["transaction"]
        found = Counter[str]()
        for row in self.blocks[np.isin(self.blocks["transaction"], numbers)]:
            found[self.names[int(row["tid"])]] += int(row["n_blocks"])
        return found


@pytest.fixture(scope="module")
def evidence(lab: None, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    out = tmp_path_factory.mktemp("xfs")
    script = Path(__file__).parent / "guest_xfs.py"
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)),
            *("--timeout", "3600", "--input", str(script)),
            *("--", "python3 $RCP_LAB_IN/inputs/guest_xfs.py"),
        ],
        check=True,
    )
    return Evidence(out)


def test_nothing_is_lost(evidence: Evidence) -> None:
    assert sum(map(sum, evidence.lost.values())) == 0


@pytest.mark.parametrize("task", ["create", "remove", "many"])
def test_no_more_is_recorded_than_xfs_wrote_and_most_of_it(evidence: Evidence, task: str) -> None:
    """What it wrote more is headers, and the rest of the last buffer."""
    rows = evidence.commits_of(task)
    _, first = np.unique(rows["transaction"], return_index=True)
    recorded, written = rows["n_blocks"][first].sum(), evidence.truth[task]["log_blocks"]
    assert written / 2 < recorded <= written


def test_what_is_changed_again_is_one_change(evidence: Evidence) -> None:
    assert evidence.truth["touch"]["transactions"] >= N_FILES
    assert 0 < evidence.blocks_of("touch")["touch"] < N_FILES / 10


def test_a_removed_file_is_freed_for_who_removed_it(evidence: Evidence) -> None:
    """Workers do that, in transactions of theirs."""
    of = evidence.blocks_of("remove")
    assert of["remove"] > 0.9 * of.total()
    owners = {
        (evidence.names[int(row["owner_tid"])], evidence.names[int(row["tid"])].split("/")[0])
        for row in evidence.served[evidence.served["layer"] == StackedLayer.XFS]
    }
    assert owners == {("remove", "kworker")}


def test_each_of_many_tasks_has_its_changes(evidence: Evidence) -> None:
    of = evidence.blocks_of("many")
    assert {f"program-{number}" for number in range(N_PROGRAMS)} <= of.keys()
    assert not [name for name in of if name.startswith("kworker")]


@pytest.mark.parametrize("task", ["create", "touch", "remove"])
def test_a_checkpoint_is_written_by_a_worker_and_who_needs_it_then_taken_note_of(
    evidence: Evidence, task: str
) -> None:
    rows = evidence.commits_of(task)
    for number in np.unique(rows["transaction"]):
        of = np.sort(rows[rows["transaction"] == number], order="ts")
        names = [evidence.names[int(tid)].split("/")[0] for tid in of["tid"]]
        assert names == ["kworker", task, "kworker", "xfsaild"]
        assert (of["end_ns"][:-1] <= of["ts"][1:]).all()
