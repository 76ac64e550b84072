"""Restore every knob, at the end of a session or after a tuner that was killed.

Knobs that somebody else set meanwhile are left alone. After a reboot nothing is written: the knobs
then have the values of the machine's own configuration.
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
from rcp.tuner.session.writer import KnobWriter, by_rank

_PASSES = 3
_GONE_TEXT = "its disk, its scheduler or its task is gone."
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass
class Restoration:
    """The result for each knob that the tuner wrote or reset."""

    restored: dict[str, str] = field(default_factory=dict)
    """Restored, with the value."""
    left: dict[str, str] = field(default_factory=dict)
    """Not written, with the reason."""
    failed: dict[str, str] = field(default_factory=dict)
    """Not restored, with the reason; a retry may help."""
    unchanged: set[str] = field(default_factory=set)
    """Knobs that already have their original value."""
    rebooted: bool = False
    damaged: tuple[int, ...] = ()
    """Lines of the journal that cannot be read."""
    is_lost: bool = False
    """Whether a damaged journal names no knob at all."""
    set_aside: Path | None = None
    """The new path of a damaged journal."""
    planned: list[str] = field(default_factory=list)
    """With dry_run: the writes, as shell commands."""

    def lines(self) -> Iterator[str]:
        """Yield the result as text, a line for each knob that changed or failed."""
        if self.rebooted:
            yield "the machine was rebooted since: no knob is written."
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged))
            yield f"the journal is damaged at line {numbers}: the other lines were used."
        if self.is_lost:
            yield "no line names a knob: compare the knobs with your own notes."
        if self.set_aside is not None:
            yield f"the damaged journal is now {self.set_aside}."
        yield from (f"{name}: restored to {value}." for name, value in self.restored.items())
        yield from (f"{name}: left alone: {why}" for name, why in self.left.items())
        yield from (f"{name}: NOT restored: {why}" for name, why in self.failed.items())
        if self.unchanged:
            yield f"{len(self.unchanged)} already had their original value."


def boot_id(tree: Tree) -> str:
    """Return the kernel's ID of this boot; empty if there is none."""
    return tree.read(_BOOT_ID) if tree.exists(_BOOT_ID) else ""


def restore_all(writer: KnobWriter, damaged: tuple[int, ...] | None = None) -> Restoration:
    """Restore all knobs that were written or reset; the journal stays open.

    *damaged* is None at the end of a session. After a tuner that was killed it holds the damaged
    lines of its journal; then the other knobs are checked too, in case their record was lost.
    """
    done = Restoration(damaged=damaged or ())
    writer.needs_journal = False  # restore even when the journal's disk is full
    ledger = writer.ledger
    newest_first = [
        ledger.handles[name] for name in reversed(ledger.touched) if name in ledger.handles
    ]
    if damaged is not None:
        newest_first += [h for name, h in ledger.handles.items() if name not in ledger.touched]
    pending = [
        handle for handle in by_rank(newest_first) if not _is_left_alone(writer, handle, done)
    ]
    # Several passes: of two bounds one may have to move before the other can, and writing a knob
    # changes its profile.
    for _ in range(_PASSES):
        writes = writer.n_writes
        for handle in pending:
            _restore_knob(writer, handle, done)
        if writer.n_writes == writes:
            break
    return done


def _value_text(handle: Handle, state: str) -> str:
    return str(handle.cell.value(state)) or "nothing"


def _is_left_alone(writer: KnobWriter, handle: Handle, done: Restoration) -> bool:
    """Whether somebody else set the knob; notes that in *done*. Called before any write."""
    ledger, name = writer.ledger, handle.name
    original, found = ledger.original[name], writer.state(handle)
    if name in ledger.aside:
        if found is None or not handle.cell.same(found, original):
            value = _value_text(handle, ledger.aside[name])
            done.left[name] = f"somebody else set it to {value}."
        return True
    if found is None or handle.cell.same(found, original) or ledger.is_ours(handle, found):
        return False
    if done.damaged and ledger.explains(handle, found):
        return False
    writer.stand_aside(name, found)
    before = _value_text(handle, original)
    done.left[name] = (
        f"somebody else set it to {_value_text(handle, found)}; it was {before} originally."
    )
    return True


def _restore_knob(writer: KnobWriter, handle: Handle, done: Restoration) -> None:
    """Restore one knob unless it already has its original state."""
    name, original = handle.name, writer.ledger.original[handle.name]
    # Read again: restoring another knob may have reset it, or made it exist again.
    found = writer.state(handle)
    if found is None and name not in writer.ledger.touched and not done.damaged:
        return
    if found is None:
        done.left[name] = _GONE_TEXT
        return
    if writer.ledger.holds(handle, found, original):
        done.failed.pop(name, None)
        if name not in done.restored and name in writer.ledger.touched:
            done.unchanged.add(name)
        return
    try:
        writer.write(handle, original)
    except KnobGoneError:
        done.left[name] = _GONE_TEXT
        return
    except KnobError as error:
        by_hand = "; ".join(w.line for w in handle.cell.writes(writer.tree, original))
        done.failed[name] = f"{error} By hand: {by_hand}"
        return
    done.failed.pop(name, None)
    done.unchanged.discard(name)
    done.restored[name] = _value_text(handle, original)


def _after_reboot(tree: Tree, ledger: Ledger) -> Restoration:
    """Compare only: the reboot dropped the tuner's writes; the values are the machine's own."""
    done = Restoration(rebooted=True)
    for name in ledger.touched:
        handle = ledger.handles.get(name)
        if handle is None:
            continue
        try:
            found = handle.cell.state(tree)
        except KnobError:
            continue  # another scheduler or disk: the machine's own configuration
        if handle.cell.same(found, ledger.original[name]):
            done.unchanged.add(name)
        else:
            before = _value_text(handle, ledger.original[name])
            done.left[name] = f"it is {_value_text(handle, found)} now and was {before} before."
    return done


def planned(tree: Tree, reading: Reading) -> Restoration:
    """Return what ``recover`` would do, without a write."""
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
        done.unchanged.add(handle.name)
        return
    explained = found is None or ledger.is_ours(handle, found)
    explained = explained or bool(done.damaged and ledger.explains(handle, found or ""))
    if handle.name in ledger.aside or not explained:
        done.left[handle.name] = f"somebody else set it to {_value_text(handle, found or '')}."
        return
    try:
        done.planned += [write.line for write in handle.cell.writes(tree, original)]
    except KnobError as error:
        done.failed[handle.name] = str(error)


def recover(tree: Tree, folder: Path, step: Step = no_step) -> Restoration | None:
    """Restore the knobs of the folder's unfinished journal; None if there is nothing to do.

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
        writer = KnobWriter(tree, journal, ledger)
        done = _after_reboot(tree, ledger) if rebooted else restore_all(writer, damaged)
        done.damaged, done.is_lost = damaged, bool(reading.damaged) and not ledger.original
        if not done.failed and not damaged:
            finish(writer, done)
    finally:
        journal.close()
    if damaged and not done.failed:
        done.set_aside = set_aside(reading, "damaged")
    return done


def finish(writer: KnobWriter, done: Restoration) -> None:
    """Record in the journal that nothing is left to restore."""
    writer.record({"kind": "end", "restored": done.restored, "left": done.left})


def failed_text(done: Restoration) -> str:
    """Return the knobs that could not be restored with the reasons, in one line."""
    return "; ".join(f"{name}: {why}" for name, why in done.failed.items())


class NotRestoredError(TuneError):
    """Knobs could not be restored; the text says which, and how to restore them."""

    def __init__(self, done: Restoration) -> None:
        super().__init__(f"{failed_text(done)}. Then run `rcp-tune restore`.")
        self.restoration = done
