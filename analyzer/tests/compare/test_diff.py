"""Two hand-made recordings in, what changed out."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.compare.by_kind import Delayed
from rcp.analyzer.compare.diff import Change, DiffError, Quantile, compare
from rcp.analyzer.compare.render import diff_text, verdict
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.answer import answer
from rcp.fixtures.synth import READ, Synth
from rcp.probes.contract.events import WaitReason

Load = Callable[[Synth], Store]
MS = 1_000_000


def requests(n: int, slow: int, *, fast_ns: int = 1000, slow_ns: int = 5000) -> Synth:
    """``n`` fsyncs, the first ``slow`` held up by the checkpointer's lock but for 1000 ns."""
    synth = Synth([("foreground", "comm:writer"), ("background", "comm:checkpointer")])
    fg, bg = synth.task("writer", tid=10, target=True), synth.task("checkpointer", tid=20)
    synth.first_seen(bg, 1)
    synth.first_seen(fg, 1)
    for at in range(n):
        ts = (at + 1) * MS
        is_slow = at < slow
        synth.request(fg, ts, ts + (slow_ns if is_slow else fast_ns))
        if is_slow:
            synth.sleep(
                fg, ts + 500, ts + slow_ns - 500, waker=bg, owner=bg, reason=WaitReason.LOCK
            )
    return synth


def test_a_culprit_that_went_is_told(load: Load) -> None:
    found = compare(load(requests(100, 50)), load(requests(200, 0)))
    (kind,) = found.kinds
    assert (kind.name, kind.role, kind.a.n, kind.b.n) == ("fsync", "foreground", 100, 200)
    # Half of A's requests took 5000 ns, 4000 of them behind the checkpointer's lock.
    assert kind.a.total_ns == 50 * 5000 + 50 * 1000
    assert (kind.a_delayed, kind.b_delayed) == (Delayed(50, 4000 / 5000), Delayed(0, 0))
    (culprit,) = kind.culprits
    assert culprit.what == "lock by checkpointer"
    assert (culprit.a_ns, culprit.b_ns, culprit.delta_ns) == (2000, 0, -2000)
    assert (culprit.a_per_1000, culprit.b_per_1000, culprit.status) == (500, 0, "gone")
    assert [(c.what, c.delta_ns, c.status) for c in kind.reasons] == [
        ("lock", -2000, "gone"),
        ("cpu", 0, "same"),
    ]
    (pattern,) = kind.patterns
    assert pattern.what == "fsync → lock (checkpointer): lock by checkpointer"


def test_the_verdict_is_one_sentence(load: Load) -> None:
    found = compare(load(requests(100, 60)), load(requests(200, 0)))
    assert verdict(found) == (
        "fsync p50 5.00 µs → 1.00 µs; background work delayed 60 of 100 for 80 % of their time → "
        "none of 200; gone: lock by checkpointer."
    )


def test_a_diff_has_the_numbers_of_the_reports_sentence(load: Load) -> None:
    a, b = load(requests(100, 60)), load(requests(200, 1, slow_ns=9000))
    (kind,) = compare(a, b).kinds
    for store, told in ((a, kind.a_delayed), (b, kind.b_delayed)):
        said = answer(store)
        assert (told.n, told.share) == (said.n_held_up, said.share)
        words = said.sentence.partition(" delayed ")[2].partition(". ")[0]
        count, _, share = words.replace(" foreground fsync requests,", "").partition(" for ")
        assert f"{count} for {share}" in verdict(compare(a, b))


def test_the_other_way_round_it_is_new(load: Load) -> None:
    found = compare(load(requests(200, 0)), load(requests(100, 60)))
    assert verdict(found).endswith(
        "none of 200 → 60 of 100 for 80 % of their time; new: lock by checkpointer."
    )


def test_a_culprit_in_both_is_more_or_less(load: Load) -> None:
    found = compare(load(requests(100, 60)), load(requests(100, 20)))
    assert verdict(found).endswith("; less: lock by checkpointer.")
    assert found.kinds[0].culprits[0].delta_ns == -4000 * 40 / 100


def test_a_quantile_with_too_few_requests_above_it_is_not_compared(load: Load) -> None:
    found = compare(load(requests(1000, 0)), load(requests(999, 0, fast_ns=2000)))
    assert found.kinds[0].quantiles == [
        Quantile("p50", 1000, 2000, 2.0, ""),
        Quantile("p99", 1000, 2000, None, "needs 1000 requests"),
        Quantile("p99.9", 1000, 2000, None, "needs 10000 requests"),
    ]
    assert verdict(found).startswith("fsync p50 1.00 µs → 2.00 µs; ")
    enough = compare(load(requests(1000, 0)), load(requests(1000, 0, fast_ns=3000)))
    assert verdict(enough).startswith("fsync p99 1.00 µs → 3.00 µs; ")


def test_too_few_for_anything_says_so(load: Load) -> None:
    found = compare(load(requests(3, 1)), load(requests(4, 1)))
    assert verdict(found).startswith("too few fsync requests to compare quantiles: 3 and 4; ")


def test_without_role_rules_every_culprit_counts(load: Load) -> None:
    def unruled(n_slow: int) -> Synth:
        synth = requests(20, n_slow)
        synth.meta["roles"] = [{"role": "foreground", "rule": "comm:writer"}]
        return synth

    (kind,) = compare(load(unruled(20)), load(unruled(0))).kinds
    assert (kind.who, kind.a_delayed, kind.b_delayed.n) == ("other work", Delayed(20, 0.8), 0)


def test_kinds_only_one_has_are_named(load: Load) -> None:
    other = requests(20, 0)
    other.request(10, 900 * MS, 900 * MS + 50, nr=READ)
    found = compare(load(requests(20, 0)), load(other))
    assert [kind.name for kind in found.kinds] == ["fsync"]
    assert (found.only_in_a, found.only_in_b) == ([], ["read (foreground)"])


def test_nothing_in_common_is_refused(load: Load) -> None:
    other = Synth([("foreground", "comm:reader")])
    other.request(other.task("reader", tid=10, target=True), 100, 200, nr=READ)
    with pytest.raises(DiffError) as refused:
        compare(load(requests(2, 0)), load(other), ("a.duckdb", "b.duckdb"))
    assert str(refused.value) == (
        "nothing to compare: no kind of request is in both: "
        "a.duckdb has fsync (foreground); b.duckdb has read (foreground)."
    )
    with pytest.raises(DiffError, match="b has no finished request"):
        compare(load(requests(2, 0)), load(Synth()), ("a", "b"))


def test_the_text_is_narrow_and_says_everything(load: Load) -> None:
    lines = diff_text(compare(load(requests(100, 50)), load(requests(200, 0)))).splitlines()
    assert max(map(len, lines)) < 100
    for line in (
        "A  A: 100.0 ms",
        "fsync (foreground)",
        "  requests           100      200",
        "  p50            1.00 µs  1.00 µs                 ×1.00",
        "  p99            5.00 µs  1.00 µs   needs 1000 requests",
        "  delayed             50        0",
        "  of their time   80.0 %        -",
        "  lock              gone  2.00 µs     0 ns  -2.00 µs     500       0",
        "  cpu               same  1.00 µs  1.00 µs      0 ns    1500    1000",
        "    gone  -2.00 µs: 2.00 µs → 0 ns, 500 → 0 of 1000 requests delayed",
        "          fsync → lock (checkpointer): lock by checkpointer",
    ):
        assert line in lines, "\n".join(lines)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


@pytest.fixture
def spools(tmp_path: Path) -> tuple[Path, Path]:
    return (
        requests(100, 60).write(tmp_path / "a.spool"),
        requests(200, 0).write(tmp_path / "b.spool"),
    )


def test_json_holds_every_number(spools: tuple[Path, Path]) -> None:
    output = json.loads(run(*spools, "--format", "json").stdout)
    assert output["verdict"].startswith("fsync p50")
    assert output["a"]["name"] == str(spools[0])
    (kind,) = output["kinds"]
    assert kind["b"]["n"] == 200
    assert kind["quantiles"][0] == {
        "name": "p50", "a_ns": 5000, "b_ns": 1000, "ratio": 0.2, "why_not": "",
    }  # fmt: skip
    assert kind["culprits"][0]["what"] == "lock by checkpointer"


def test_csv_has_a_row_a_change(spools: tuple[Path, Path]) -> None:
    blocks = run(*spools, "--format", "csv").stdout.split("\n\n")
    reasons = next(block for block in blocks if block.startswith("# reasons\n"))
    rows = list(csv.DictReader(io.StringIO(reasons.partition("\n")[2])))
    assert [(row["name"], row["what"], row["delta_ns"]) for row in rows] == [
        ("fsync", "lock", "-2400.0"),
        ("fsync", "cpu", "0.0"),
    ]


def test_a_refusal_is_one_line(spools: tuple[Path, Path], tmp_path: Path) -> None:
    empty = Synth().write(tmp_path / "empty.spool")
    result = run(spools[0], empty)
    assert result.exit_code == 2
    assert result.stderr == (
        "rcp-trace: error: nothing to compare: no kind of request is in both: "
        f"{spools[0]} has fsync (foreground); {empty} has no finished request.\n"
    )


def test_the_page_shows_what_diff_prints(
    fixtures_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (fixtures_dir.parent / "docs/comparing.md").read_text()
    example = page.partition("rcp-trace diff wal-vs")[2].partition("\nFor each kind")[0]
    excerpts = [line.removeprefix("    ") for line in example.splitlines()[1:]]
    monkeypatch.chdir(fixtures_dir / "recordings")
    printed = run("wal-vs-checkpoint.spool.tar.xz", "wal-alone.spool.tar.xz").stdout.splitlines()
    shown = [line for line in excerpts if line.strip() not in ("", "…")]
    assert len(shown) > 20
    rest = iter(printed)
    assert [line for line in shown if line not in rest] == []


def test_a_recording_does_not_differ_from_itself(fixtures_dir: Path) -> None:
    packed = fixtures_dir / "recordings/wal-vs-checkpoint.spool.tar.xz"
    output = json.loads(run(packed, packed, "--format", "json").stdout)
    assert "in both" in output["verdict"]
    assert output["verdict"].endswith("no culprit changed.")
    assert len(output["kinds"]) == 3
    for kind in output["kinds"]:
        assert kind["a"] == kind["b"]
        assert {quantile["ratio"] for quantile in kind["quantiles"]} <= {1.0, None}
        changes = [Change(**change) for part in ("reasons", "culprits", "patterns")
                   for change in kind[part]]  # fmt: skip
        assert changes
        assert {(change.delta_ns, change.status) for change in changes} == {(0, "same")}
    foreground = output["kinds"][0]
    assert foreground["a_delayed"]["share"] > 0.1
    total = sum(change["a_ns"] for change in foreground["reasons"]) * foreground["a"]["n"]
    assert total == pytest.approx(foreground["a"]["total_ns"])
