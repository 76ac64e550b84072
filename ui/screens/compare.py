"""Compare: how two recordings differ, by reason and by pattern, and what may be chance."""

from pathlib import Path

from rcp.analyzer.compare.diff import Quantile
from rcp.analyzer.text import duration, percent, signed
from rcp.ui import web
from rcp.ui.charts import compare as charts
from rcp.ui.frame import View, show
from rcp.ui.info import compare, inversions, overview, population
from rcp.ui.info.compare import Compared, Shift, Side

_SURE = "how sure the analysis is that this was in the way, 0 to 1"
_HALF = "with this added and taken away, the interval holds the true change 95 times in 100"

_LATENCIES = {
    "what": web.Column("", width=140),
    "a": web.Column("A", width=80),
    "b": web.Column("B", width=80),
    "ratio": web.Column("B/A", "told from 1,000 requests on for p99, 10,000 for p99.9", width=80),
}

_NUMBERS = {
    "delta": web.Column("change µs", "of the time per request", "%.1f", width=80),
    "half": web.Column("± µs", _HALF, "%.1f", width=62),
    "a": web.Column("A µs", "per request", "%.1f", width=68),
    "b": web.Column("B µs", "per request", "%.1f", width=68),
    "chance": web.Column("certain", "beyond chance: the interval leaves 0 out", width=62),
}
_REASONS = {"what": web.Column("reason", width=120), **_NUMBERS}
_PATTERNS = {
    "what": web.Column("what happened", width=330),
    "culprit": web.Column("culprit", width=105),
    **_NUMBERS,
    "held": web.Column("of 1000", "requests held up, of 1000, in A and B", width=80),
    "sure": web.Column("sure", _SURE, "%.2f", width=52),
}
_PATTERNS_TOLD = 6
"""Patterns told in words; the others, in a table, changed less."""


def _names(view: View) -> tuple[str, str]:
    assert view.other is not None
    paths = (view.recording.path, view.other.path)
    alike = paths[0].name == paths[1].name

    def told(path: Path) -> str:
        return f"{path.parent.name}/{path.name}" if alike else path.name

    return f"A: {told(paths[0])}", f"B: {told(paths[1])}"


def _ratio(quantile: Quantile) -> str:
    if quantile.why_not:
        return "too few"
    return "-" if quantile.ratio is None else f"×{quantile.ratio:.2f}"


def _latencies(found: Compared) -> None:
    kind = found.kind
    rows = [
        {"what": "requests", "a": f"{kind.a.n:,}", "b": f"{kind.b.n:,}", "ratio": ""},
        {"what": "per second", "a": f"{kind.a.per_s:.1f}", "b": f"{kind.b.per_s:.1f}", "ratio": ""},
        *(
            {"what": q.name, "a": duration(q.a_ns), "b": duration(q.b_ns), "ratio": _ratio(q)}
            for q in kind.quantiles
        ),
        {"what": "max", "a": duration(kind.a.max_ns), "b": duration(kind.b.max_ns), "ratio": ""},
        {
            "what": f"behind {kind.behind}",
            "a": percent(kind.a_behind),
            "b": percent(kind.b_behind),
            "ratio": "",
        },
    ]
    web.table(rows, _LATENCIES, "latencies")


def _row(shift: Shift) -> dict[str, object]:
    change, half = shift.change, shift.give_or_take_ns
    return {
        "what": inversions.sentence(shift.pattern.pattern) if shift.pattern else change.what,
        "culprit": shift.pattern.culprit if shift.pattern else "",
        "delta": change.delta_ns / 1e3,
        "half": None if half is None else half / 1e3,
        "a": change.a_ns / 1e3,
        "b": change.b_ns / 1e3,
        "chance": "too few" if half is None else "yes" if shift.is_beyond_chance else "no",
        "held": f"{change.a_per_1000:.0f} → {change.b_per_1000:.0f}",
        "sure": shift.confidence,
    }


def _pattern(view: View, shift: Shift) -> None:
    """Tell of one pattern, and lead to its requests."""
    assert view.other is not None
    assert shift.pattern is not None
    change, half, pattern = shift.change, shift.give_or_take_ns, shift.pattern
    web.say(inversions.sentence(pattern.pattern))
    give = "" if half is None else f" ± {duration(half)}"
    chance = "" if half is None or shift.is_beyond_chance else "; may be chance"
    web.caption(
        f"{pattern.kind} by {pattern.culprit}: {signed(change.delta_ns)}{give} per request "
        f"({duration(change.a_ns)} → {duration(change.b_ns)}){chance}; {change.a_per_1000:.1f} → "
        f"{change.b_per_1000:.1f} of 1000 requests held up; confidence {shift.confidence:.2f}"
    )
    here, there = view.recording.path, view.other.path
    for name, file, other, took_ns in (
        ("A", here, there, change.a_ns),
        ("B", there, here, change.b_ns),
    ):
        if took_ns:
            web.link(
                "inversions",
                f"requests of {name} that {pattern.culprit} held up so",
                file=file,
                other=other,
                inversion=pattern.kind,
                culprit=pattern.culprit,
            )


def _patterns(view: View, title: str, shifts: list[Shift]) -> None:
    if not shifts:
        return
    web.heading(f"{title} ({len(shifts)})", "what held requests up, the most certain first")
    for shift in shifts[:_PATTERNS_TOLD]:
        _pattern(view, shift)
    if len(shifts) > _PATTERNS_TOLD:
        with web.folded(f"All {len(shifts)} as a table"):
            web.table([_row(shift) for shift in shifts], _PATTERNS, f"all-{title}")


def _told(view: View, a: Side, b: Side) -> None:
    assert view.other is not None
    names = _names(view)
    kinds = [kind.name for kind in view.recording.ask(population.kinds) if kind.role == view.role]
    name = view.kind or (kinds[0] if len(kinds) == 1 else "")
    found = compare.compared(a, b, names, name, view.role)
    web.say(found.verdict)
    wide, narrow = web.columns(3, 2)
    with wide:
        web.heading("Latency", "part of the requests that took longer; both axes logarithmic")
        of = (view.role, view.kind)
        curves = [one.ask(overview.ccdf, *of) for one in (view.recording, view.other)]
        web.chart(charts.ccdf(curves, names, web.is_dark()), "both")
    with narrow:
        _latencies(found)
    web.heading("By reason", "what requests' own threads did; black or white: the 95 % interval")
    web.chart(charts.reasons(found.reasons, web.is_dark()), "reasons")
    if found.reasons and found.reasons[0].give_or_take_ns is None:
        web.caption(f"What chance may do is told from {compare.REQUESTS_MIN} requests on in both.")
    with web.folded("As a table"):
        web.table([_row(shift) for shift in found.reasons], _REASONS, "reason-rows")
    _patterns(view, "What vanished", found.vanished)
    _patterns(view, "What appeared", found.appeared)
    _patterns(view, "What changed", found.changed)
    if not (found.vanished or found.appeared or found.changed):
        web.say("No pattern of inversions came, went or changed.")


def screen(view: View) -> None:
    """Put the screen."""
    web.title("Compare")
    if view.other is None:
        web.empty(
            "There is nothing to compare with.",
            "Choose a second recording under Compare with at the left, or start "
            "`rcp-trace explore before.duckdb after.duckdb`.",
        )
        return
    sides = [one.ask(compare.side, view.role, view.kind) for one in (view.recording, view.other)]
    a, b = sides
    if a is not None and b is not None:
        _told(view, a, b)
        return
    for name, side in zip(_names(view), sides, strict=True):
        if side is None:
            web.empty(f"{name} has no finished request of this kind.")
    web.say("Choose other requests at the left: their kind must be in both.")


if __name__ == "__main__":
    show("compare", screen)
