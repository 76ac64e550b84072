"""Ios below dm, md and loop devices are whose they are, as the guest did them."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rcp.analyzer.loading.load import load_in_memory
from rcp.probes.contract.events import IO, IO_CAUSE, IO_ORIGIN, IO_SERVED, TASK, StackedLayer
from rcp.probes.contract.spool import open_spool

pytestmark = pytest.mark.lab
READ, WRITE, FLUSH = 0, 1, 2
LEGS = ("leg9", "leg10", "leg11")
DISKS = ("below", "lower", "copied", "copies", "data", *LEGS)
LARGE = 1 << 20
N_CHUNKS = LARGE >> 16
N_WRITES = 20  # guest_stacked.py: pages that each task reads or writes


class Evidence:
    """The recording of guest_stacked.py and the numbers of its devices."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "stacked.spool"
        spool = open_spool(self.path)
        self.meta, self.lost = spool.meta, spool.counters["lost"]
        self.devices: dict[str, int] = json.loads((folder / "truth.json").read_text())["devices"]
        self.names = {int(t["tid"]): t["comm"].decode() for t in spool.records(TASK)}
        self.ios: dict[int, Any] = {int(io["id"]): io for io in spool.records(IO)}
        self.origins: dict[int, Any] = {int(o["io"]): o for o in spool.records(IO_ORIGIN)}
        self.served, self.causes = spool.records(IO_SERVED), spool.records(IO_CAUSE)

    def on(self, device: str, op: int) -> list[int]:
        """Ids of the ios of one operation on a device."""
        dev = self.devices[device]
        return [n for n, io in self.ios.items() if (io["dev"], io["cmd_flags"] & 0xFF) == (dev, op)]

    def below(self, above: str, disk: str, op: int) -> Counter[str]:
        """Number of ios on a disk for each task that queued them at the device above."""
        ids = [n for n in self.on(disk, op) if n in self.origins]
        mine = [self.origins[n] for n in ids if self.origins[n]["dev"] == self.devices[above]]
        return Counter(self.names[int(origin["tid"])] for origin in mine)


@pytest.fixture(scope="module")
def evidence(lab: None, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    out = tmp_path_factory.mktemp("stacked")
    script = Path(__file__).parent / "guest_stacked.py"
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)),
            *("--timeout", "3600", "--input", str(script)),
            *("--", "python3 $RCP_LAB_IN/inputs/guest_stacked.py"),
        ],
        check=True,
    )
    return Evidence(out)


def test_nothing_is_lost(evidence: Evidence) -> None:
    assert sum(map(sum, evidence.lost.values())) == 0


def test_probes_of_a_module_are_attached_when_it_is_loaded(evidence: Evidence) -> None:
    """The loop devices' tests below see what these record; those of dm-crypt were there before."""
    assert list(evidence.meta["attached_modules"]) == ["loop"]
    assert "late_modules" not in evidence.meta


def test_every_io_below_a_dm_device_has_the_task_that_queued_it_above(evidence: Evidence) -> None:
    ids = [*evidence.on("below", READ), *evidence.on("below", WRITE)]
    assert len(ids) > 4 * N_WRITES
    assert set(ids) <= evidence.origins.keys()
    owners = {evidence.names[int(evidence.origins[n]["tid"])] for n in ids}
    assert not {name for name in owners if name.startswith(("dmcrypt", "kcryptd"))}


def test_each_direct_io_of_a_crypt_device_is_its_own_tasks(evidence: Evidence) -> None:
    assert evidence.below("secret", "below", READ)["secret-read"] == N_WRITES
    assert evidence.below("secret", "below", WRITE)["secret-write"] == N_WRITES
    assert evidence.below("secret", "below", WRITE)["secret-sync"] == N_WRITES


def test_encrypted_pages_have_their_dirtiers(evidence: Evidence) -> None:
    ids = set(evidence.on("below", WRITE))
    caused: Counter[str] = Counter()
    for cause in evidence.causes[np.isin(evidence.causes["io"], list(ids))]:
        caused[evidence.names[int(cause["tid"])]] += int(cause["n_pages"])
    assert caused["secret-sync"] == N_WRITES
    assert caused["secret-late"] == 64


@pytest.mark.parametrize("name", ["direct-read", "direct-write"])
def test_each_direct_io_of_a_loop_device_is_part_of_one(evidence: Evidence, name: str) -> None:
    op = READ if name.endswith("read") else WRITE
    assert evidence.below("direct", "lower", op)[name] == N_WRITES
    for number in evidence.on("direct", op):
        io = evidence.ios[number]
        if evidence.names.get(int(io["submitter_tid"])) != name:
            continue
        parts = [n for n, o in evidence.origins.items() if o["parent_io"] == number]
        assert sum(int(evidence.ios[n]["bytes"]) for n in parts) == io["bytes"]


def test_every_io_of_a_loop_device_has_its_worker(evidence: Evidence) -> None:
    served = set(evidence.served["io"].tolist())
    for device in ("buffered", "direct"):
        ids = [n for op in (READ, WRITE, FLUSH) for n in evidence.on(device, op)]
        assert len(ids) > 2 * N_WRITES
        assert set(ids) <= served
    serving = evidence.served["layer"] == StackedLayer.LOOP
    workers = {evidence.names[int(tid)] for tid in evidence.served["tid"][serving]}
    assert all(name.startswith("kworker/") for name in workers)


def test_what_kcryptd_encrypts_and_decrypts_is_for_the_task_above(evidence: Evidence) -> None:
    rows = evidence.served[evidence.served["layer"] == StackedLayer.CRYPT]
    assert (rows["end_ns"] > rows["ts"]).all()
    assert set(rows["dev"]) == {evidence.devices["secret"]}
    owners = Counter(evidence.names[int(tid)] for tid in rows["owner_tid"])
    assert {owners[name] for name in ("secret-read", "secret-write", "secret-sync")} <= {20, 21, 22}
    assert not {name for name in owners if name.startswith(("dmcrypt", "kcryptd"))}


def test_what_kcryptd_decrypts_is_the_io_below_that_had_ended(evidence: Evidence) -> None:
    rows = evidence.served[evidence.served["layer"] == StackedLayer.CRYPT]
    of_reader = [row for row in rows if evidence.names[int(row["owner_tid"])] == "secret-read"]
    ios = [evidence.ios[int(row["io"])] for row in of_reader if row["io"]]
    assert len(ios) >= N_WRITES
    below = {*evidence.on("below", READ)}
    assert {int(io["id"]) for io in ios} <= below
    for io, row in zip(ios, (row for row in of_reader if row["io"]), strict=True):
        assert io["completed_ns"] <= row["ts"]
    of_writer = [row for row in rows if evidence.names[int(row["owner_tid"])] == "secret-write"]
    assert of_writer
    assert not any(row["io"] for row in of_writer)


def test_pages_that_a_loop_devices_worker_dirties_are_its_users(evidence: Evidence) -> None:
    ids = evidence.on("lower", WRITE)
    rows = evidence.causes[np.isin(evidence.causes["io"], ids)]
    names = {evidence.names[int(tid)] for tid in rows["tid"]}
    assert {"buffered-sync", "buffered-write", "buffered-late"} <= names


def test_paths_go_through_the_layers(evidence: Evidence) -> None:
    """What a loop device adds to a write is a small part of it; the disk takes 200 us."""
    with load_in_memory(evidence.path) as store:
        rows = store.query(
            """
            SELECT task.comm, device.name, sum(segment.dur) // count(DISTINCT request_id)
            FROM segment JOIN request USING (request_id) JOIN task ON task.utid = request.utid
            JOIN io USING (io_id) JOIN device ON device.dev = io.dev
            WHERE kind = 'device' AND (task.comm LIKE 'direct-%' OR task.comm LIKE 'secret-%')
            GROUP BY ALL
            """
        )
    ns = {(task, device): int(dur) for task, device, dur in rows}
    assert ns["secret-write", "nullb5"] >= 200_000
    assert ns["direct-write", "nullb6"] >= 200_000
    assert ns["secret-read", "nullb5"] >= 200_000
    assert ns["direct-read", "nullb6"] >= 200_000
    # A worker ends it, and none of it is left that is the device's.
    assert ns.get(("direct-write", "direct.img (loop1)"), 0) < 50_000


def test_devices_have_the_names_they_have(evidence: Evidence) -> None:
    labels = {int(number): label for number, label in evidence.meta["device_labels"].items()}
    names = {name: labels.get(number) for name, number in evidence.devices.items()}
    assert names == {
        **dict.fromkeys(DISKS),
        **{name: name for name in ("plain", "secret", "origin", "thin", "raid")},
        "buffered": "buffered.img",
        "direct": "direct.img",
    }


@pytest.mark.parametrize(
    ("above", "disk", "op", "large"),
    [
        ("origin", "copied", READ, N_CHUNKS),
        ("thin", "data", READ, 0),
        ("thin", "data", WRITE, N_CHUNKS),
    ],
)
def test_what_is_copied_for_a_snapshot_is_for_who_overwrites_it(
    evidence: Evidence, above: str, disk: str, op: int, large: int
) -> None:
    """Each small write is to another chunk, which is read, and written elsewhere.

    The large one has whole chunks. The thin device has them written without a copy.
    """
    chunks = [n for n in evidence.on(disk, op) if evidence.ios[n]["bytes"] == 64 << 10]
    owners = Counter(evidence.names[int(evidence.origins[n]["tid"])] for n in chunks)
    expected = Counter({f"{above}-write": N_WRITES, f"{above}-late": N_WRITES})
    assert owners == expected + Counter({f"{above}-large": large})


@pytest.mark.parametrize(
    ("above", "disks", "least", "most"),
    [
        ("origin", ("copied",), LARGE, LARGE),
        ("thin", ("data",), LARGE, LARGE),
        ("raid", LEGS, LARGE * 3 // 2, LARGE * 2),
    ],
)
def test_a_bio_in_many_parts_stays_its_tasks(
    evidence: Evidence, above: str, disks: tuple[str, ...], least: int, most: int
) -> None:
    """Of a RAID 5 of three disks, parity is half of what is written, or all: for each disk."""
    ids = [n for disk in disks for n in evidence.on(disk, WRITE) if n in evidence.origins]
    mine = [n for n in ids if evidence.names[int(evidence.origins[n]["tid"])] == f"{above}-large"]
    assert least <= sum(int(evidence.ios[n]["bytes"]) for n in mine) <= most


def test_so_is_what_a_snapshot_notes(evidence: Evidence) -> None:
    """After each copy it writes which chunks it has."""
    owners = evidence.below("origin", "copies", WRITE)
    assert set(owners) == {"origin-write", "origin-late", "origin-large"}
    assert owners["origin-write"] == 2 * N_WRITES
    assert N_WRITES < owners["origin-late"] <= 2 * N_WRITES


@pytest.mark.parametrize(("op", "n"), [(READ, 1), (WRITE, 2)])
def test_what_md_reads_and_writes_is_for_who_writes_to_the_stripe(
    evidence: Evidence, op: int, n: int
) -> None:
    """A stripe of three disks: to write a page, the other is read, and it and parity written."""
    ids = [n for leg in LEGS for n in evidence.on(leg, op)]
    owners = Counter(evidence.names[int(evidence.origins[n]["tid"])] for n in ids)
    assert owners["raid-write"] == owners["raid-late"] == n * N_WRITES
    assert {*owners} - {"raid-large"} == {"raid-write", "raid-late"}


@pytest.mark.parametrize("layer", [StackedLayer.COPY, StackedLayer.STRIPE])
def test_their_workers_work_for_who_writes(evidence: Evidence, layer: StackedLayer) -> None:
    rows = evidence.served[evidence.served["layer"] == layer]
    owners = Counter(evidence.names[int(tid)] for tid in rows["owner_tid"])
    names = ("origin", "thin") if layer == StackedLayer.COPY else ("raid",)
    expected = {f"{name}-{how}" for name in names for how in ("write", "late")}
    assert {*owners} == {*expected, f"{names[0]}-large"}
    assert min(owners[name] for name in expected) >= 2 * N_WRITES
    assert (rows["end_ns"] > rows["ts"]).all()
