"""Any settings in any order, ended anywhere: the last say what is held, and all comes back."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.fixtures.scenarios.knobs.contract import values_of
from rcp.fixtures.scenarios.knobs.kill import KillAt, in_child, narrowed, tune
from rcp.tuner.errors import AdminChangedError
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.search.space import Space
from rcp.tuner.session.restore import recover
from rcp.tuner.session.session import KnobSession

_SLOW = settings(max_examples=60, derandomize=True)


@contextmanager
def machines() -> Iterator[tuple[FakeMachine, Path]]:
    """A patched machine that an administrator set up, and a folder for the journal, in memory."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="rcp-", dir=memory if memory.is_dir() else None))
    try:
        machine = fake_machine(root / "machine", patched=True)
        machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
        machine.store("/sys/block/sda/queue/iosched/front_merges", "0")
        machine.store("/sys/block/sdb/queue/scheduler", "rcp")
        machine.store("/sys/kernel/rcp/profile", "rcp")
        machine.store("/sys/block/sdb/queue/iosched/tokens", "5")
        machine.store("/proc/sys/vm/dirty_bytes", str(100 << 20))
        yield machine, root / "journal"
    finally:
        shutil.rmtree(root)


with machines() as (_machine, _):
    KNOBS = {knob.name: knob for knob in catalog(_machine, "sda").knobs}


@st.composite
def trials(draw: st.DrawFn) -> Settings:
    """Settings of some knobs that exist together."""
    scheduler = draw(st.sampled_from(values_of(KNOBS["disk.scheduler"])))
    chosen: dict[str, Value] = {"disk.scheduler": scheduler, "rcp.dirty.enable": 1}
    fitting = [name for name, knob in KNOBS.items() if knob.exists(chosen)]
    if draw(st.booleans()):
        chosen.pop("rcp.dirty.enable")
    names = st.lists(st.sampled_from(fitting), max_size=5, unique=True)
    for name in draw(names):
        if name != "disk.scheduler":
            chosen[name] = draw(st.sampled_from(values_of(KNOBS[name])))
    return Space(tuple(KNOBS.values())).within(chosen)


@_SLOW
@given(st.lists(trials(), max_size=3), trials())
def test_what_is_held_depends_on_the_last_settings_alone(
    earlier: list[Settings], last: Settings
) -> None:
    with machines() as (machine, folder):
        before = machine.contents()
        with KnobSession(catalog(machine, "sda"), folder) as session:
            session.apply(last)
            alone = machine.contents()
            for other in earlier:
                session.apply(other)
            session.apply(last)
            assert machine.contents() == alone
        assert machine.contents() == before


@_SLOW
@given(st.lists(trials(), min_size=1, max_size=3), st.integers(30, 150), st.integers(1, 60))
def test_killed_anywhere_and_again_while_restoring(
    several: list[Settings], step: int, again: int
) -> None:
    with machines() as (machine, folder):
        before = machine.contents()
        in_child(partial(tune, catalog(machine, "sda"), folder, several, KillAt(step)))
        killer = KillAt(again)
        in_child(partial(recover, FakeMachine(machine.root, killer), folder, killer))
        recover(machine, folder)
        assert machine.contents() == before


@_SLOW
@given(st.lists(trials(), min_size=1, max_size=3))
def test_of_a_catalog_of_few_knobs_all_comes_back(several: list[Settings]) -> None:
    """What writing a knob resets is put back also where it is no knob of the catalog."""
    with machines() as (machine, folder):
        before = machine.contents()
        names = dict.fromkeys(name for chosen in several for name in chosen)
        few = narrowed(catalog(machine, "sda"), names)
        with KnobSession(few, folder) as session:
            for chosen in several:
                session.apply(chosen)
        assert machine.contents() == before


PLACES = (
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/sys/class/bdi/8:0/max_ratio",
    "/sys/block/sda/queue/max_sectors_kb",
)


@_SLOW
@given(st.lists(trials(), min_size=2, max_size=3), st.sampled_from(PLACES))
def test_what_an_administrator_sets_stays(several: list[Settings], place: str) -> None:
    with machines() as (machine, folder):
        before = machine.contents()
        with KnobSession(catalog(machine, "sda"), folder) as session:
            session.apply(several[0])
            machine.store(place, "77")
            try:
                for other in several[1:]:
                    session.apply(other)
            except AdminChangedError as error:
                assert error.found == "77"
        after = machine.contents()
        assert after.pop(place) == "77"
        before.pop(place)
        # The other of the pair reads 0 while the administrator's is active.
        for contents in (before, after):
            contents.pop("/proc/sys/vm/dirty_ratio")
        assert after == before
