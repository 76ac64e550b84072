"""A comparison as text, JSON or CSV. Pure: a Diff in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcp.analyzer.compare.by_kind import Delayed, Load
from rcp.analyzer.compare.diff import BEYOND_COMPARED_MIN, Change, Diff, Kind, Quantile
from rcp.analyzer.rows import as_csv
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, signed, wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled

_CHANGES_MAX = 12
"""Changes of one sort in the text. The others are small; JSON and CSV have them all."""

NOTABLE_SHARE = 0.01
"""Share of a request's mean time that a change must be to be named in the verdict."""


def _both(a: str, b: str) -> str:
    return f"{a} in both" if a == b else f"{a} → {b}"


def _headline(kind: Kind) -> str:
    compared = {quantile.name: quantile for quantile in kind.quantiles if not quantile.why_not}
    best = compared.get("p99") or compared.get("p50")
    if best is None:
        return f"too few {kind.name} requests to compare quantiles: {kind.a.n} and {kind.b.n}"
    return f"{kind.name} {best.name} {_both(duration(best.a_ns), duration(best.b_ns))}"


def _causes(kind: Kind) -> Iterator[str]:
    """Yield the culprits that are new, gone, or changed most."""
    mean_ns = max(kind.a.total_ns / kind.a.n, kind.b.total_ns / kind.b.n, 1)
    notable = [c for c in kind.culprits if abs(c.delta_ns) >= NOTABLE_SHARE * mean_ns]
    for status in ("gone", "new"):
        names = [change.what for change in notable if change.status == status]
        if names:
            yield f"{status}: {', '.join(names[:2])}"
    if notable and not any(change.status in ("gone", "new") for change in notable):
        yield f"{notable[0].status}: {notable[0].what}"
    if not notable:
        yield "no culprit changed"


def _delayed(delayed: Delayed, load: Load) -> str:
    """Return what a report's first line says of one recording."""
    if not delayed.n:
        return f"none of {load.n}"
    its = "its" if delayed.n == 1 else "their"
    return f"{delayed.n} of {load.n} for {percent(delayed.share, 0)} of {its} time"


def _delays(kind: Kind) -> str:
    both = _both(_delayed(kind.a_delayed, kind.a), _delayed(kind.b_delayed, kind.b))
    return f"{kind.who} delayed {both}"


def of_their_time(delayed: Delayed) -> str:
    """Return the share of delayed requests' time that inversions took, for a column."""
    return percent(delayed.share) if delayed.n else "-"


def verdict(diff: Diff) -> str:
    """Return the answer in one sentence: about the first kind of request."""
    kind = diff.kinds[0]
    return "; ".join([_headline(kind), _delays(kind), *_causes(kind)]) + "."


def _ratio(quantile: Quantile) -> str:
    if quantile.why_not:
        return quantile.why_not
    return "-" if quantile.ratio is None else f"×{quantile.ratio:.2f}"


def _latencies(kind: Kind, page: Page) -> list[str]:
    rows = [
        ("requests", str(kind.a.n), str(kind.b.n), ""),
        ("per second", f"{kind.a.per_s:.1f}", f"{kind.b.per_s:.1f}", ""),
        *((q.name, duration(q.a_ns), duration(q.b_ns), _ratio(q)) for q in kind.quantiles),
        ("max", duration(kind.a.max_ns), duration(kind.b.max_ns), ""),
        ("delayed", str(kind.a_delayed.n), str(kind.b_delayed.n), ""),
        ("of their time", of_their_time(kind.a_delayed), of_their_time(kind.b_delayed), ""),
    ]
    return fitted(columns("latency", "A", "B", "B/A"), rows, page)


def _numbers(change: Change) -> tuple[str, ...]:
    return (
        *map(duration, (change.a_ns, change.b_ns)),
        signed(change.delta_ns),
        _count(change.a_per_1000),
        _count(change.b_per_1000),
    )


def _count(count: float) -> str:
    return f"{count:.3g}" if count < 100 else f"{count:.0f}"


_CHANGE_COLUMNS = ("A", "B", "change", "A/1000", "B/1000")
_SPARE_CHANGES = ("A/1000", "B/1000", "A", "B")


def _changes(title: str, changes: Sequence[Change], page: Page) -> Iterator[str]:
    yield ""
    shown = changes[:_CHANGES_MAX]
    rows = [(change.what, change.status, *_numbers(change)) for change in shown]
    heads = columns(title, "", *_CHANGE_COLUMNS, left=2, sacrifice=_SPARE_CHANGES)
    yield from fitted(heads, rows, page) if rows else [f"{title}: none"]
    yield from _rest(changes)


def _rest(changes: Sequence[Change]) -> Iterator[str]:
    rest = changes[_CHANGES_MAX:]
    if rest:
        yield f"… {len(rest)} more, {signed(sum(change.delta_ns for change in rest))} in all"


def _patterns(patterns: Sequence[Change], page: Page) -> Iterator[str]:
    if not patterns:
        return
    yield ""
    yield "patterns, time per request, by change"
    for change in patterns[:_CHANGES_MAX]:
        a, b, delta, a_per_1000, b_per_1000 = _numbers(change)
        head = f"{delta}: {a} → {b}, {a_per_1000} → {b_per_1000} of 1000 requests delayed"
        yield from wrapped(head, page.prose, f"  {change.status:<5} ", " " * 10)
        yield from wrapped(change.what, page.prose, " " * 8, " " * 10)
    yield from (f"  {line}" for line in _rest(patterns))


def _kind(kind: Kind, page: Page) -> Iterator[str]:
    yield ""
    yield from page.marked([f"{kind.name} ({kind.role})"], "title")
    lines = [
        *_latencies(kind, page),
        *_changes("time per request", kind.reasons, page),
        *_changes("delay per request", kind.culprits, page),
        *_patterns(kind.patterns, page),
    ]
    yield from (f"  {line}".rstrip() for line in lines)


def _sides(diff: Diff, page: Page) -> Iterator[str]:
    for letter, side in (("A", diff.a), ("B", diff.b)):
        lost = ""
        if side.recorded_share < 1:
            lost = f", {percent(1 - side.recorded_share)} of its sleeps and ios were lost"
        yield from wrapped(f"{side.name}: {duration(side.dur_ns)}{lost}", page.prose, f"{letter}  ")
    for letter, kinds in (("A", diff.only_in_a), ("B", diff.only_in_b)):
        if kinds:
            yield from wrapped(f"only in {letter}: {', '.join(kinds)}", page.prose)


def diff_text(diff: Diff, page: Page = PIPED) -> str:
    """Return a comparison as text that fits a page; its first line is the answer."""
    diff = spelled(diff)
    answer = page.marked(wrapped(verdict(diff), page.prose), "answer")
    lines = [*answer, "", *_sides(diff, page)]
    for kind in diff.kinds:
        lines += _kind(kind, page.narrower(3))
    notes = ["A/1000, B/1000: waits (reasons) or delayed requests (culprits) per 1000 requests"]
    if any(quantile.why_not for kind in diff.kinds for quantile in kind.quantiles):
        notes.append(
            f"a quantile is compared if {BEYOND_COMPARED_MIN} requests of A and of B lie above it"
        )
    lines += ["", *(line for note in notes for line in wrapped(note, page.prose))]
    return "\n".join(lines) + "\n"


def diff_json(diff: Diff) -> str:
    """Return a comparison as JSON: NamedTuples are objects."""
    return as_json({"verdict": verdict(diff), **diff._asdict()})


def _lists(kind: Kind) -> dict[str, list[Change]]:
    return {"reasons": kind.reasons, "culprits": kind.culprits, "patterns": kind.patterns}


def diff_csv(diff: Diff) -> str:
    """Return a comparison's tables as CSV blocks, each below a line ``# name``."""
    columns = ("name", "role")
    blocks: dict[str, tuple[Sequence[str], Sequence[Sequence[object]]]] = {
        "quantiles": (
            (*columns, *Quantile._fields),
            [(kind.name, kind.role, *row) for kind in diff.kinds for row in kind.quantiles],
        )
    }
    for block in ("reasons", "culprits", "patterns"):
        rows = [(kind.name, kind.role, *row) for kind in diff.kinds for row in _lists(kind)[block]]
        blocks[block] = ((*columns, *Change._fields), rows)
    return "\n".join(f"# {name}\n{as_csv(*block)}" for name, block in blocks.items())


def diff_as(kind: str, diff: Diff, page: Page = PIPED) -> str:
    """Return a comparison as ``text``, ``json`` or ``csv``; only text heeds the page."""
    if kind == "json":
        return diff_json(diff)
    return diff_csv(diff) if kind == "csv" else diff_text(diff, page)
