"""Putting every knob back, whether the tuner ends as planned or was killed.

What somebody else set since is left alone, and so is a machine that was started again: its knobs
begin with what its own configuration says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rcp.tuner.errors import KnobError, KnobGoneError, TuneError
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.tree import Step, Tree, no_step
from rcp.tuner.session.journal import Journal, Reading, read, set_aside
from rcp.tuner.session.ledger import Ledger, from_records
from rcp.tuner.session.writer import Putter, by_rank

_PASSES = 3
_GONE = "it is gone with its disk, its scheduler or its task."
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass
class Restoration:
    """What was done about each knob that the tuner touched."""

    restored: dict[str, str] = field(default_factory=dict)
    """Put back, and to what."""
    left: dict[str, str] = field(default_factory=dict)
    """Left as they are, and why."""
    failed: dict[str, str] = field(default_factory=dict)
    """Not as they were, and why; trying again may help."""
    held: set[str] = field(default_factory=set)
    """Knobs that hold what they held before, without a write."""
    rebooted: bool = False
    damaged: tuple[int, ...] = ()
    """Lines of the journal that cannot be read."""
    planned: list[str] = field(default_factory=list)
    """With dry_run: the writes."""

    def lines(self) -> Iterator[str]:
        """Yield what to tell, a line for each knob that is worth one."""
        if self.rebooted:
            yield "the machine was started again since: its knobs are not written."
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged))
            yield f"the journal is damaged at line {numbers}: the rest was used."
        yield from (f"{name}: put back to {value}." for name, value in self.restored.items())
        yield from (f"{name}: left alone: {why}" for name, why in self.left.items())
        yield from (f"{name}: NOT put back: {why}" for name, why in self.failed.items())
        if self.held:
            yield f"{len(self.held)} held what they held before."


def boot_id(tree: Tree) -> str:
    """Return what tells this boot of the machine from others; empty if nothing does."""
    return tree.read(_BOOT_ID) if tree.exists(_BOOT_ID) else ""


def put_back(putter: Putter, damaged: tuple[int, ...] | None = None) -> Restoration:
    """Put back all knobs that were touched; the journal stays open for more.

    After a tuner that was killed, of whose journal lines may be *damaged*, the other knobs are
    looked at too, so that a write which the journal lost does not go unnoticed.
    """
    done = Restoration(damaged=damaged or ())
    putter.must_tell = False  # a full disk is no reason to leave a machine as it is
    ledger = putter.ledger
    newest_first = [
        ledger.handles[name] for name in reversed(ledger.touched) if name in ledger.handles
    ]
    if damaged is not None:
        newest_first += [h for name, h in ledger.handles.items() if name not in ledger.touched]
    pending = [handle for handle in by_rank(newest_first) if not _left_alone(putter, handle, done)]
    # Again, as one bound of two could not pass the other, and a knob's write changes the profile
    # that it belongs to; a profile that is put back last leaves nothing else to do.
    for _ in range(_PASSES):
        writes = putter.n_writes
        for handle in pending:
            _put(putter, handle, done)
        if putter.n_writes == writes:
            break
    return done


def _told(handle: Handle, state: str) -> str:
    return str(handle.cell.value(state)) or "nothing"


def _left_alone(putter: Putter, handle: Handle, done: Restoration) -> bool:
    """Whether somebody else set the knob, before anything is written; says so."""
    ledger, name = putter.ledger, handle.name
    original, found = ledger.original[name], putter.state(handle)
    if name in ledger.aside:
        if found is None or not handle.cell.same(found, original):
            value = _told(handle, ledger.aside[name])
            done.left[name] = f"somebody else set it to {value}."
        return True
    if found is None or handle.cell.same(found, original) or ledger.is_ours(handle, found):
        return False
    if done.damaged and ledger.explains(handle, found):
        return False
    putter.stand_aside(name, found)
    held = _told(handle, original)
    done.left[name] = f"somebody else set it to {_told(handle, found)}; it held {held} before."
    return True


def _put(putter: Putter, handle: Handle, done: Restoration) -> None:
    """Put one knob back unless it holds the same."""
    name, original = handle.name, putter.ledger.original[handle.name]
    # Asked again, as what was put back before it may have reset it, or brought it back.
    found = putter.state(handle)
    if found is None and name not in putter.ledger.touched and not done.damaged:
        return
    if found is None:
        done.left[name] = _GONE
        return
    if putter.ledger.holds(handle, found, original):
        done.failed.pop(name, None)
        if name not in done.restored and name in putter.ledger.touched:
            done.held.add(name)
        return
    try:
        putter.put(handle, original)
    except KnobGoneError:
        done.left[name] = _GONE
        return
    except KnobError as error:
        by_hand = "; ".join(w.line for w in handle.cell.writes(putter.tree, original))
        done.failed[name] = f"{error} By hand: {by_hand}"
        return
    done.failed.pop(name, None)
    done.held.discard(name)
    done.restored[name] = _told(handle, original)


def _after_reboot(tree: Tree, ledger: Ledger) -> Restoration:
    """Compare only: sysfs forgot what the tuner wrote, and what it holds is the machine's own."""
    done = Restoration(rebooted=True)
    for name in ledger.touched:
        handle = ledger.handles.get(name)
        if handle is None:
            continue
        try:
            found = handle.cell.state(tree)
        except KnobError:
            continue  # another scheduler, or no such disk: the machine's own choice
        if handle.cell.same(found, ledger.original[name]):
            done.held.add(name)
        else:
            held = _told(handle, ledger.original[name])
            done.left[name] = f"it holds {_told(handle, found)} since then, and held {held} before."
    return done


def planned(tree: Tree, reading: Reading) -> Restoration:
    """Say what ``recover`` would do, and write nothing."""
    ledger = from_records(reading.records)
    if ledger.boot_id and ledger.boot_id != boot_id(tree):
        return _after_reboot(tree, ledger)
    done = Restoration(damaged=reading.damaged)
    touched = ledger.handles if reading.damaged else ledger.touched
    for handle in by_rank(ledger.handles[n] for n in touched if n in ledger.handles):
        _plan(tree, ledger, handle, done)
    return done


def _plan(tree: Tree, ledger: Ledger, handle: Handle, done: Restoration) -> None:
    original = ledger.original[handle.name]
    try:
        found: str | None = handle.cell.state(tree)
    except KnobError:
        found = None  # it comes back with its scheduler
    if found is not None and ledger.holds(handle, found, original):
        done.held.add(handle.name)
        return
    explained = found is None or ledger.is_ours(handle, found)
    explained = explained or bool(done.damaged and ledger.explains(handle, found or ""))
    if handle.name in ledger.aside or not explained:
        done.left[handle.name] = f"somebody else set it to {_told(handle, found or '')}."
        return
    try:
        done.planned += [write.line for write in handle.cell.writes(tree, original)]
    except KnobError as error:
        done.failed[handle.name] = str(error)


def recover(tree: Tree, folder: Path, step: Step = no_step) -> Restoration | None:
    """Finish what the folder's journal left unfinished; None if there is nothing.

    The caller holds the lock. Raises JournalError.
    """
    reading = read(folder)
    if reading is None or not reading.unfinished:
        return None
    ledger = from_records(reading.records)
    damaged = reading.damaged
    if (ledger.n_knobs > len(ledger.original) or not reading.records) and not damaged:
        damaged = (len(reading.records) + 1,)  # cut short
    rebooted = bool(ledger.boot_id) and ledger.boot_id != boot_id(tree)
    journal = Journal.reopen(reading, step)
    try:
        putter = Putter(tree, journal, ledger)
        done = _after_reboot(tree, ledger) if rebooted else put_back(putter, damaged)
        done.damaged = damaged
        if not done.failed and not damaged:
            finish(putter, done)
    finally:
        journal.close()
    if damaged and not done.failed:
        set_aside(reading, "damaged")
    return done


def finish(putter: Putter, done: Restoration) -> None:
    """Say in the journal that nothing is left to restore."""
    putter.tell({"kind": "end", "restored": done.restored, "left": done.left})


def failed_text(done: Restoration) -> str:
    """Return the names that could not be put back, for one line."""
    return "; ".join(f"{name}: {why}" for name, why in done.failed.items())


class NotRestoredError(TuneError):
    """Knobs do not hold what they held before; the text says which and how to put them back."""

    def __init__(self, done: Restoration) -> None:
        super().__init__(f"{failed_text(done)}. Then run `rcp-tune restore`.")
        self.restoration = done
