"""Profiles: their files are whole, their evidence is in the pages, and machines can use them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.cli import main
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.group_cell import Group, Groups
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.profiles.profile import (
    Profile,
    ProfileCandidate,
    ProfileError,
    fitted,
    load,
    names,
    parse,
    split,
    usable,
)
from rcp.tuner.search.profile_starts import profile_starts
from rcp.tuner.search.space import Space

ROOT = Path(__file__).resolve().parents[3]
GROUPS = Groups(foreground=Group(pids=(1,), cgroup="fg"), background=Group(pids=(2,), cgroup="bg"))
ALL = [(load(name), one) for name in names() for one in load(name).candidate]
IDS = [f"{profile.name}-{one.name}" for profile, one in ALL]


def machine_at(root: Path, *, patched: bool = True) -> FakeMachine:
    machine = fake_machine(root, patched=patched, disks=("sda",))
    machine.put("/sys/fs/cgroup/io.cost.qos", "")
    for group in ("fg", "bg"):
        machine.put(f"/sys/fs/cgroup/{group}/io.weight", "default 100")
    return machine


@pytest.fixture
def knobs(tmp_path: Path) -> tuple[Knob, ...]:
    """All knobs that rcp-tune knows."""
    return catalog(machine_at(tmp_path / "all"), "sda", groups=GROUPS).knobs


def test_the_four_are_there() -> None:
    assert names() == ["mixed", "postgresql", "redis", "rocksdb"]


@pytest.mark.parametrize(("profile", "one"), ALL, ids=IDS)
def test_each_value_has_a_reason_a_source_and_a_knob_that_takes_it(
    profile: Profile, one: ProfileCandidate, knobs: tuple[Knob, ...]
) -> None:
    by_name = {knob.name: knob for knob in knobs}
    assert one.setting
    assert any(setting.needed for setting in one.setting)
    assert len(one.about) <= 62  # as much as a line of the list has room for
    for setting in one.setting:
        assert by_name[setting.knob].allows(setting.value), setting
        assert len(setting.why) > 20
        is_paper = re.search(r"\((FAST|ICS|SOSP|HotStorage) '\d\d\)", setting.source)
        assert is_paper or (ROOT / setting.source).is_file(), setting.source
    (found,) = fitted(f"{profile.name}:{one.name}", knobs)
    assert found.is_usable
    assert found.left_out == {}


@pytest.mark.parametrize(("profile", "one"), ALL, ids=IDS)
def test_evidence_is_what_its_page_says_and_its_absence_is_said(
    profile: Profile, one: ProfileCandidate
) -> None:
    assert bool(one.evidence) != bool(one.no_evidence), profile.name
    for evidence in one.evidence:
        page = (ROOT / evidence.source).read_text()
        assert evidence.quotes
        for quote in (evidence.command, *evidence.quotes):
            assert quote in page, quote
        # What a virtual machine measured is said to be that.
        assert "irtual time" in evidence.measured
    for setting in one.setting:
        # A factor in a reason is one of the page.
        for factor in re.findall(r"(\d+\.\d+) times as high", setting.why):
            assert f"{factor} times the latency" in (ROOT / setting.source).read_text()


def _is_known(commit: str) -> bool:
    ask = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(ask, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("profile", "one"), ALL, ids=IDS)
def test_the_commit_of_evidence_has_the_figures(profile: Profile, one: ProfileCandidate) -> None:
    for evidence in one.evidence:
        if not _is_known(evidence.commit):
            continue  # a shallow clone, or none: there is nothing to compare with
        show = ["git", "-C", str(ROOT), "show", f"{evidence.commit}:{evidence.source}"]
        page = subprocess.run(show, capture_output=True, text=True, check=False)
        assert page.returncode == 0, page.stderr
        figures = [figure for quote in evidence.quotes for figure in re.findall(r"\d+\.\d+", quote)]
        assert figures
        assert [figure for figure in figures if figure not in page.stdout] == []


@pytest.mark.parametrize("name", names())
def test_a_search_begins_with_its_candidates_after_the_defaults(
    name: str, knobs: tuple[Knob, ...]
) -> None:
    space = Space(knobs)
    found = profile_starts(name, knobs)
    assert [start.why.split(":")[0] for start in found] == [
        f"profile {name}, candidate {one.name}" for one in load(name).candidate
    ]
    for start, one in zip(found, load(name).candidate, strict=True):
        assert space.complete(start.settings) == start.settings
        for setting in one.setting:
            assert start.settings[setting.knob] == setting.value
        if start.settings.get("rcp.profile") == "ld":
            # Or the search would reset what the kernel's profile sets.
            assert start.settings["iosched.tokens"] == 8


def test_a_candidate_that_lacks_what_it_needs_is_not_used_and_says_so(tmp_path: Path) -> None:
    plain = catalog(machine_at(tmp_path / "plain", patched=False), "sda").knobs
    found = fitted("postgresql", plain)
    assert [one.is_usable for one in found] == [False, True]
    assert found[0].left_out == {
        "disk.scheduler": "it does not take rcp here: bfq, kyber, mq-deadline, none",
        "rcp.profile": "this machine does not have it",
    }
    assert [one.candidate.name for one in usable("postgresql", found)] == ["stock"]
    with pytest.raises(ProfileError) as refused:
        profile_starts("postgresql:patched", plain)
    assert str(refused.value).startswith(
        "profile postgresql:patched cannot be used here: patched: disk.scheduler: it does not take"
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("mysql", "there is no profile 'mysql': there are mixed, postgresql, redis, rocksdb"),
        ("redis:fast", "profile redis has no candidate 'fast': it has patched, stock"),
    ],
)
def test_an_unknown_one_is_told(name: str, fault: str) -> None:
    with pytest.raises(ProfileError) as refused:
        split(name)
    assert str(refused.value) == fault
    for words in (
        ["profiles", "show", name],
        ["profiles", name],
        ["--slo", "p99=1s", "--start", name, "--", "true"],
    ):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stderr) == (2, f"rcp-tune: error: {fault}.\n")


def test_a_name_alone_shows_the_profile() -> None:
    long = CliRunner().invoke(main, ["profiles", "show", "redis"])
    short = CliRunner().invoke(main, ["profiles", "redis"])
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    assert "redis:patched: " in short.stdout


def test_an_unknown_key_in_a_file_is_refused() -> None:
    with pytest.raises(ProfileError, match="Setting has no key 'wy'"):
        parse("x", '[[candidate]]\n[[candidate.setting]]\nknob = "a"\nwy = "typo"\n')


def invoke(machine: FakeMachine, *words: str, status: int = 0) -> Result:
    result = CliRunner().invoke(main, list(words), obj=machine)
    assert result.exit_code == status, result.output + result.stderr
    return result


@pytest.mark.parametrize("words", [["profiles"], ["profiles", "list"]])
def test_the_list_says_what_was_measured(tmp_path: Path, words: list[str]) -> None:
    machine = machine_at(tmp_path)
    lines = invoke(machine, *words).stdout.splitlines()
    assert len(lines) == 1 + len(ALL)
    assert max(map(len, lines)) <= 100
    found = json.loads(invoke(machine, *words, "--format", "json").stdout)
    assert [one["name"] for one in found] == names()
    redis = next(one for one in found if one["name"] == "redis")
    assert {one["measured"] for one in redis["candidates"]} == {False}


@pytest.mark.parametrize("name", [*names(), "rocksdb:stock-syncs"])
def test_a_profile_is_shown_whole(tmp_path: Path, name: str) -> None:
    machine = machine_at(tmp_path)
    text = " ".join(invoke(machine, "profiles", "show", name).stdout.split())
    table = json.loads(invoke(machine, "profiles", "show", name, "--format", "json").stdout)
    profile, wanted = split(name)
    for one in profile.candidate:
        assert (f"{profile.name}:{one.name}: " in text) == (wanted in ("", one.name))
        if wanted not in ("", one.name):
            continue
        for setting in one.setting:
            assert f"{setting.knob} = {setting.value} {setting.why} ({setting.source})" in text
        for evidence in one.evidence:
            assert evidence.command in text
            assert f"commit {evidence.commit}" in text
    assert table["candidate"][0]["setting"][0]["why"]


def test_a_profile_is_kept_and_verified_without_what_the_machine_lacks(tmp_path: Path) -> None:
    machine = machine_at(tmp_path / "plain", patched=False)
    result = invoke(machine, "keep", "postgresql", "--format", "tuned")
    assert "/sys/block/sda/queue/max_sectors_kb=138\n" in result.stdout
    assert "rcp" not in result.stdout.partition("[main]")[2].replace("rcp-tune", "")
    assert result.stderr.splitlines()[0].startswith(
        "rcp-tune: profile postgresql, candidate patched: not used: disk.scheduler: it does not "
    )
    assert "no result for this machine: see `rcp-tune --start postgresql`" in result.stderr
    found = invoke(machine, "verify", "postgresql", status=1)
    assert "disk.max_sectors_kb: 1280, kept as 138" in found.stdout
    groups = ["--foreground", "cgroup:/fg", "--background", "cgroup:/bg"]
    assert "foreground.io_weight" in invoke(machine, "keep", "rocksdb:stock-reads", *groups).stdout
    patched = machine_at(tmp_path / "patched")
    assert "rcp.profile" in invoke(patched, "keep", "postgresql").stdout


WORKLOAD = """#!/bin/sh
value=$(cat machine/sys/block/sda/queue/max_sectors_kb)
yes "$((value / 10))ms" | head -n 1000
echo "background=$value bytes/s"
"""


def test_a_tuning_starts_with_a_profile_and_is_resumed_with_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    machine = machine_at(tmp_path / "machine", patched=False)
    Path("wl.sh").write_text(WORKLOAD)
    Path("wl.sh").chmod(0o755)
    words = ["--slo", "p99=20ms", "--source", "lines", "--journal", "journal", "--no-record"]
    words += ["--trials", "2", "--confirm", "1", "--no-ablation", "--start", "postgresql"]
    dry = invoke(machine, *words, "--dry-run", "--", "./wl.sh").stdout
    assert "  profile postgresql, candidate stock: smaller I/O and early writeback: " in dry
    result = invoke(machine, *words, "--", "./wl.sh")
    assert "rcp-tune: profile postgresql, candidate patched: not used: " in result.stderr
    assert "met, and confirmed by 1 fresh run\n" in result.stdout
    assert "settings (profile postgresql, candidate stock: smaller I/O" in result.stdout
    rows = json.loads(invoke(machine, "show", "--format", "json").stdout)
    assert rows[1]["settings"]["disk.max_sectors_kb"] == 138
    other = [*words[:-1], "redis", "--resume", "--", "./wl.sh"]
    assert "was begun with start postgresql, not redis" in invoke(machine, *other, status=2).stderr
