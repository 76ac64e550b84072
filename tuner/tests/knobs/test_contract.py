"""What every knob promises, on machines of files; test_lab_knobs.py asks the kernel the same."""

from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.blame.candidates import KINDS
from rcp.fixtures.fake_machine import fake_machine
from rcp.fixtures.scenarios.knobs import contract
from rcp.tuner.knobs.catalog import Catalog, catalog
from rcp.tuner.knobs.knob import existing
from rcp.tuner.search.space import Space
from rcp.tuner.session.session import KnobSession


@pytest.fixture(params=["stock", "rcp"])
def knobs(request: pytest.FixtureRequest, in_memory: Path) -> Catalog:
    return catalog(fake_machine(in_memory / "machine", patched=request.param == "rcp"), "sda")


def test_every_knob_takes_its_values_and_gives_them_back(knobs: Catalog, in_memory: Path) -> None:
    before = contract.witness(knobs.tree)
    rows = list(contract.rows(knobs, in_memory / "journal"))
    assert [row for row in rows if not contract.near(row)] == []
    assert contract.witness(knobs.tree) == before
    assert {row.knob for row in rows} == {knob.name for knob in knobs.knobs}
    assert min(sum(row.knob == knob.name for row in rows) for knob in knobs.knobs) >= 2


def test_what_a_search_asks_for_is_taken(knobs: Catalog, in_memory: Path) -> None:
    space, random = Space(knobs.knobs), np.random.default_rng(0)
    settings = space.draw(random)
    with KnobSession(knobs, in_memory / "journal", yes=True) as session:
        for _ in range(100):
            session.apply(settings)
            held = session.current()
            # a profile of which a knob was set reads "custom"
            assert {name for name in settings if held[name] != settings[name]} <= {"rcp.profile"}
            settings = space.vary(settings, random)


def test_every_knob_is_told_whole(knobs: Catalog) -> None:
    names = {knob.name for knob in knobs.knobs}
    for knob in knobs.knobs:
        assert knob.what, knob
        assert knob.allows(knob.default), knob
        assert knob.needs.keys() <= names, knob
        assert set(knob.helps) <= set(KINDS), knob
        assert knob.helps, knob
        if knob.scale == "choice":
            assert len(knob.choices) > 1, knob
        else:
            assert knob.unit, knob
            assert knob.low < knob.high, knob
            assert knob.scale != "log" or knob.low > 0, knob


def test_a_knob_is_there_only_under_what_it_needs(knobs: Catalog) -> None:
    now = knobs.current()
    for knob in knobs.knobs:
        there = knobs.available(knob.name)
        scheduler = knob.needs.get("disk.scheduler")
        if knob.name.startswith("iosched."):
            assert scheduler
            assert there == (now["disk.scheduler"] in scheduler), knob
        else:
            assert there, knob
    settings = {knob.name: knob.default for knob in knobs.knobs}
    left = existing(knobs.knobs, settings)
    assert [name for name in left if name.startswith("iosched.")] == []
