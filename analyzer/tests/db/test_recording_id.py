"""An id names what a recording holds, in whatever file it is."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.db.recording_id import recording_id
from rcp.analyzer.db.store import open_store
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.loading.reclassify import reclassify
from rcp.analyzer.loading.role_change import RoleChange
from rcp.fixtures.explored import durations, journal
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import REQUEST, SLEEP
from rcp.probes.contract.spool import pack


def id_of(path: Path) -> str:
    with open_recording(path) as store:
        return recording_id(store)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return journal(3).write(tmp_path / "a.spool")


def test_a_spool_its_pack_and_its_store_have_one_id(spool: Path, tmp_path: Path) -> None:
    packed, store = tmp_path / "b.spool.tar.xz", tmp_path / "c.duckdb"
    pack(spool, packed)
    load_spool(spool, store)
    shutil.copytree(spool, tmp_path / "d.spool")
    ids = {id_of(path) for path in (spool, packed, store, tmp_path / "d.spool")}
    assert len(ids) == 1
    assert len(ids.pop()) == 12


@pytest.mark.parametrize("name", [REQUEST.name, SLEEP.name])
def test_a_cut_copy_has_another_id(spool: Path, name: str) -> None:
    whole = id_of(spool)
    file = spool / f"{name}.bin"
    record = REQUEST if name == REQUEST.name else SLEEP
    file.write_bytes(file.read_bytes()[: -record.size_bytes])
    assert id_of(spool) != whole


def test_other_roles_have_another_id(spool: Path, tmp_path: Path) -> None:
    load_spool(spool, tmp_path / "a.duckdb")
    with open_store(tmp_path / "a.duckdb") as store:
        change = RoleChange(added=["background=comm:jbd2*"])
        reclassify(tmp_path / "a.duckdb", store, change, tmp_path / "b.duckdb")
    assert id_of(tmp_path / "a.duckdb") != id_of(tmp_path / "b.duckdb")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pair=st.tuples(*2 * [st.lists(st.integers(1, 900), max_size=4)]))
def test_recordings_have_one_id_when_their_requests_are_the_same(
    pair: tuple[list[int], list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    one, other = (
        id_of(durations(*made).write(folder / f"{at}.spool")) for at, made in enumerate(pair)
    )
    assert (one == other) == (pair[0] == pair[1])


def test_an_empty_recording_has_an_id(tmp_path: Path) -> None:
    assert id_of(Synth().write(tmp_path / "a.spool"))
