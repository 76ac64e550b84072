"""Compare: how two recordings differ, by reason and by pattern, and what is significant."""

from rcp.analyzer.compare.diff import Quantile
from rcp.analyzer.compare.render import of_their_time
from rcp.analyzer.text import duration, signed
from rcp.ui import ahead, web
from rcp.ui.charts import compare as charts
from rcp.ui.frame import View, names_of, show
from rcp.ui.info import compare, inversions, overview, population
from rcp.ui.info.compare import Compared, Shift, Side

_SURE = "confidence of the analysis that this delayed the requests, 0 to 1"
_HALF = "half of the 95 % confidence interval of the change"

_LATENCIES = {
    "what": web.Column("figure", width=192),
    "a": web.Column("A", width=72),
    "b": web.Column("B", width=72),
    "ratio": web.Column("B/A", "p99 needs 1,000 requests, p99.9 needs 10,000", width=70),
}

_NUMBERS = {
    "delta": web.Column("change µs", "change of the time per request", "%.1f", width=80),
    "half": web.Column("± µs", _HALF, "%.1f", width=62),
    "a": web.Column("A µs", "time per request", "%.1f", width=68),
    "b": web.Column("B µs", "time per request", "%.1f", width=68),
    "significant": web.Column("significant", "the 95 % interval excludes 0", width=80),
}
_REASONS = {"what": web.Column("reason", width=120), **_NUMBERS}
_PATTERNS = {
    "what": web.Column("wait chain", width=330),
    "culprit": web.Column("culprit", width=105),
    **_NUMBERS,
    "delayed": web.Column("of 1000", "delayed requests per 1000, in A and B", width=80),
    "confidence": web.Column("confidence", _SURE, "%.2f", width=80),
}
_PATTERNS_SHOWN = 6
"""Patterns shown as text; the table also has the others, which changed less."""


def _names(view: View) -> tuple[str, str]:
    a, b = names_of(view)
    return f"A: {a}", f"B: {b}"


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
            "what": f"delayed by {kind.who}",
            "a": f"{kind.a_delayed.n:,}",
            "b": f"{kind.b_delayed.n:,}",
            "ratio": "",
        },
        {
            "what": "for, of their time",
            "a": of_their_time(kind.a_delayed),
            "b": of_their_time(kind.b_delayed),
            "ratio": "",
        },
    ]
    web.table(rows, _LATENCIES, "latencies")


def _row(shift: Shift) -> dict[str, object]:
    change, half = shift.change, shift.half_interval_ns
    return {
        "what": inversions.sentence(shift.pattern.pattern) if shift.pattern else change.what,
        "culprit": shift.pattern.culprit if shift.pattern else "",
        "delta": change.delta_ns / 1e3,
        "half": None if half is None else half / 1e3,
        "a": change.a_ns / 1e3,
        "b": change.b_ns / 1e3,
        "significant": "too few" if half is None else "yes" if shift.is_significant else "no",
        "delayed": f"{change.a_per_1000:.0f} → {change.b_per_1000:.0f}",
        "confidence": shift.confidence,
    }


def _pattern(view: View, shift: Shift) -> None:
    """Describe one pattern and link to its requests."""
    assert view.other is not None
    assert shift.pattern is not None
    change, half, pattern = shift.change, shift.half_interval_ns, shift.pattern
    web.say(inversions.sentence(pattern.pattern))
    interval = "" if half is None else f" ± {duration(half)}"
    chance = "" if half is None or shift.is_significant else "; not significant"
    web.caption(
        f"{pattern.kind} by {pattern.culprit}: {signed(change.delta_ns)}{interval} per request "
        f"({duration(change.a_ns)} → {duration(change.b_ns)}){chance}; delayed requests per 1000: "
        f"{change.a_per_1000:.1f} → {change.b_per_1000:.1f}; confidence {shift.confidence:.2f}"
    )
    here, there = view.recording, view.other
    key_here, key_there = shift.keys
    for name, one, other, key in (
        ("A", here, there, key_here),
        ("B", there, here, key_there),
    ):
        if key:
            web.link(
                "inversions",
                f"Requests in {name} delayed by {pattern.culprit}",
                file=one.path,
                id=one.id,
                other=other.path,
                other_id=other.id,
                inversion=pattern.kind,
                culprit=pattern.culprit,
                pattern=key,
            )


def _patterns(view: View, title: str, shifts: list[Shift]) -> None:
    if not shifts:
        return
    web.heading(f"{title} ({len(shifts)})", "patterns of inversions, significant changes first")
    for shift in shifts[:_PATTERNS_SHOWN]:
        _pattern(view, shift)
    if len(shifts) > _PATTERNS_SHOWN:
        with web.folded(f"All {len(shifts)} as a table"):
            web.table([_row(shift) for shift in shifts], _PATTERNS, f"all-{title}")


def _comparison(view: View, a: Side, b: Side) -> None:
    assert view.other is not None
    names = _names(view)
    kinds = [kind.name for kind in view.recording.ask(population.kinds) if kind.role == view.role]
    name = view.kind or (kinds[0] if len(kinds) == 1 else "")
    found = compare.compared(a, b, names, name, view.role)
    web.say(found.verdict)
    wide, narrow = web.columns(4, 3)
    with wide:
        web.heading("Latency", "share of requests that took longer (CCDF); both axes logarithmic")
        both = (view.recording, view.other)
        curves = [overview.ask_ccdf(one.ask, view.role, view.kind) for one in both]
        web.chart(charts.ccdf(curves, names, web.is_dark()), "both")
    with narrow:
        _latencies(found)
    web.heading(
        "By reason",
        "what the requests' own threads did or waited for; the thin lines are 95 % intervals",
    )
    web.chart(charts.reasons(found.reasons, web.is_dark()), "reasons")
    if found.reasons and found.reasons[0].half_interval_ns is None:
        web.caption(f"Intervals need at least {compare.REQUESTS_MIN} requests in both recordings.")
    with web.folded("As a table"):
        web.table([_row(shift) for shift in found.reasons], _REASONS, "reason-rows")
    _patterns(view, "Only in A", found.vanished)
    _patterns(view, "Only in B", found.appeared)
    _patterns(view, "Changed", found.changed)
    if not (found.vanished or found.appeared or found.changed):
        web.say("The same inversion patterns in both recordings, none changed.")


def screen(view: View) -> None:
    """Show the screen."""
    web.title("Compare")
    if view.why_no_other:
        web.fail(view.why_no_other)
        web.link("compare", "Choose another one", other=None, other_id=None)
        return
    if view.other is None:
        web.empty(
            "Nothing to compare with.",
            'Choose a second recording under "Compare with" on the left, or start '
            "`rcp-trace explore before.duckdb after.duckdb`.",
        )
        return
    both = (view.recording, view.other)
    for one in both:  # the tables of the one are built while the other is asked
        one.prepare()
    sides = [one.ask_inversions(compare.side, view.role, view.kind) for one in both]
    a, b = sides
    if a is not None and b is not None:
        _comparison(view, a, b)
        ahead.ask_sides(both, view.role, view.kind)
        return
    for name, side in zip(_names(view), sides, strict=True):
        if side is None:
            web.empty(f"{name} has no finished requests of this kind.")
    web.say("Choose a kind of request on the left that both recordings have.")


if __name__ == "__main__":
    show("compare", screen)
