"""Perfetto tracks that belong to no thread: devices, journals, inversions, counters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.export import lanes
from rcp.analyzer.export.wire import Packets, Slice


class Wake(NamedTuple):
    """A thread woken by the completion of an io."""

    flow: int
    comm: str
    reason: str


class Io(NamedTuple):
    """An io with names instead of keys."""

    io_id: int
    dev: int
    op: str
    bytes: int
    sector: int
    queued_ns: int
    issued_ns: int
    completed_ns: int
    submitter: str | None
    role: str | None
    file: str | None
    causes: str | None


class Commit(NamedTuple):
    """A jbd2 commit."""

    dev: int
    ts: int
    dur: int | None
    transaction_id: int
    comm: str
    locking_ns: int | None
    flushing_ns: int | None
    logging_ns: int | None
    n_handles: int
    n_blocks: int
    n_blocks_logged: int


_DIRTY = """
    SELECT ts, any_value({column}) FROM throttle WHERE ts >= $1 AND ts < $2 GROUP BY ts ORDER BY ts
"""


def device_names(store: Store) -> dict[int, str]:
    """Return the names of the devices that had ios or commits, by device number."""
    return dict(sorted(store.query(query("export/devices")), key=lambda row: str(row[1])))


def _ios(store: Store, lo_ns: int, hi_ns: int) -> dict[int, list[Io]]:
    by_device = defaultdict(list)
    for io in store.rows(Io, query("export/ios"), [lo_ns, hi_ns]):
        by_device[io.dev].append(io)
    return by_device


def _io_name(io: Io) -> str:
    return f"{io.op} by {io.submitter or '?'}"


def _device_slice(io: Io) -> Slice:
    return Slice(
        io.issued_ns,
        io.completed_ns,
        _io_name(io),
        {
            "io": io.io_id,
            "op": io.op,
            "bytes": io.bytes,
            "sector": io.sector,
            "submitter": io.submitter,
            "role": io.role,
            "file": io.file,
            "causes": io.causes,
        },
    )


def write_ios(
    packets: Packets,
    store: Store,
    names: Mapping[int, str],
    window: tuple[int, int],
    wakes: Mapping[int, Sequence[Wake]],
) -> None:
    """Write each device's ios, Q→D as ``queued`` and D→C as ``device``.

    The ``device`` slice has all arguments of the io, the ``queued`` slice only its number.
    ``wakes`` are the threads that an io's completion woke: one mark each, where the flow arrives.
    """
    top = packets.track("Block devices")
    for dev, ios in _ios(store, *window).items():
        parent = packets.track(names[dev], top)
        for lane in lanes.disjoint((io.queued_ns, io.issued_ns, io) for io in ios):
            track = packets.track("queued (Q→D)", parent, 0)
            packets.slices(
                track,
                (Slice(io.queued_ns, io.issued_ns, _io_name(io), {"io": io.io_id}) for io in lane),
            )
        ios.sort(key=lambda io: (io.issued_ns, io.io_id))
        for lane in lanes.disjoint((io.issued_ns, io.completed_ns, io) for io in ios):
            track = packets.track("device (D→C)", parent, 1)
            packets.slices(
                track,
                (
                    piece
                    for io in lane
                    for piece in (
                        _device_slice(io),
                        *(_wake_mark(io, wake) for wake in wakes.get(io.io_id, ())),
                    )
                ),
            )


def _wake_mark(io: Io, wake: Wake) -> Slice:
    at = io.completed_ns
    return Slice(at, at, f"wakes {wake.comm}", {"reason": wake.reason}, [wake.flow])


def _phases(commit: Commit) -> list[Slice]:
    end = None if commit.dur is None else commit.ts + commit.dur
    begins = [
        (name, ts)
        for name, ts in (
            ("locking", commit.locking_ns),
            ("flushing", commit.flushing_ns),
            ("logging", commit.logging_ns),
        )
        if ts is not None
    ]
    ends = [ts for _, ts in begins[1:]] + [end]
    return [Slice(ts, last, name) for (name, ts), last in zip(begins, ends, strict=True)]


def write_journals(
    packets: Packets, store: Store, names: Mapping[int, str], window: tuple[int, int]
) -> None:
    """Write each journal's commits, with their phases inside them.

    Workers write the log of XFS, several at a time, so each has a track.
    """
    commits: dict[tuple[int, str], list[Slice]] = defaultdict(list)
    for commit in store.rows(Commit, query("export/commits"), window):
        args = {
            "transaction": commit.transaction_id,
            "thread": commit.comm,
            "handles": commit.n_handles,
            "blocks": commit.n_blocks,
            "blocks_logged": commit.n_blocks_logged,
        }
        end = None if commit.dur is None else commit.ts + commit.dur
        is_worker = (commit.comm or "").startswith("kworker/")
        of = commits[commit.dev, f" by {commit.comm}" if is_worker else ""]
        of.append(Slice(commit.ts, end, "commit", args))
        of += [] if is_worker else _phases(commit)
    for (dev, by), slices in commits.items():
        packets.slices(packets.track(f"Journal of {names[dev]}{by}"), slices)


def write_inversions(
    packets: Packets, store: Store, window: tuple[int, int], request_ids: Sequence[int]
) -> None:
    """Mark the start of each inversion of the selected requests (of all, if none is selected)."""
    track = packets.track("Inversions")
    for ts, kind, culprit, args in store.query(
        query("export/inversions"), [*window, list(request_ids)]
    ):
        packets.instant(track, ts, f"{kind} by {culprit}", args)


def write_policies(packets: Packets, store: Store, window: tuple[int, int]) -> None:
    """Mark each decision of the patched kernel's policies; other kernels have none."""
    found = store.query(query("export/policies"), window)
    track = packets.track("Decisions of the kernel's policies") if found else 0
    for ts, kind, comm, args in found:
        packets.instant(track, ts, f"{kind or '?'} of {comm or '?'}", args)


def _write_counter(
    packets: Packets, name: str, unit: str, values: Sequence[tuple[int, ...]]
) -> None:
    if not values:
        return
    track = packets.counter_track(name, None, unit)
    for ts, value in values:
        packets.counter(track, ts, value)


def write_counters(
    packets: Packets, store: Store, names: Mapping[int, str], window: tuple[int, int]
) -> None:
    """Write counters: ios of each device, and dirty pages as throttled writers saw them."""
    for dev, name in names.items():
        for column, what in (("n_queued", "queued"), ("n_at_device", "at the device")):
            rows = store.query(query("export/in_flight").format(column=column), [*window, dev])
            _write_counter(packets, f"{name}: ios {what}", "ios", rows)
    for column, name in (("dirty_pages", "dirty pages"), ("limit_pages", "dirty page limit")):
        _write_counter(packets, name, "pages", store.query(_DIRTY.format(column=column), window))
