"""Overview: the answer, latencies, what requests waited for, and when they were slow."""

from typing import Any

from rcp.analyzer.latencies.slo import Slo, SloError, parse
from rcp.analyzer.text import duration, plural
from rcp.probes.contract.percent import percent
from rcp.ui import ahead, places, web
from rcp.ui.charts import overview as charts
from rcp.ui.charts import timeline as time_charts
from rcp.ui.frame import View, offer_roles, show
from rcp.ui.info import answer, inversions, overview, population, timeline
from rcp.ui.info.answer import Worst
from rcp.ui.info.health import Health, health
from rcp.ui.info.overview import Bound, Curve
from rcp.ui.palette import colour
from rcp.ui.parts import forecast

_WORST = (
    "The patterns of inversion that took most time from the slowest 1 % of requests. Choose one "
    "to see its requests; their numbers are the report's. What would be gained is a bound: the "
    "quantile of the same requests, with the time in this pattern subtracted from each, if nothing "
    "else takes its place."
)
_OF_THEIR_TIME = "share of the delayed requests' own time that inversions took"


def _slos() -> tuple[Slo, ...]:
    text = web.ask_text("SLO", "slo", example="p999=50ms,p99=10ms@fsync")
    if not text:
        return ()
    try:
        return parse(text)
    except SloError as error:
        web.fail(str(error))
        return ()


def _ends(view: View) -> tuple[int, ...]:
    return view.recording.ask(population.limits, view.role, view.kind)


def _verdict(bound: Bound) -> str:
    measured = f"Measured {duration(bound.measured_ns)}"
    if bound.shortage:
        return f"{bound.shortage} {measured}."
    met = "met" if bound.is_met else "missed"
    return (
        f"{bound.text}: {met}. {measured}; {plural(bound.n_slower, 'request')} took longer than "
        f"{duration(bound.bound_ns)}."
    )


def _judge(view: View) -> tuple[tuple[Slo, ...], Curve]:
    """Show the SLO and whether the requests shown meet it."""
    narrow, wide = web.columns(1, 3)
    with narrow:
        slos = _slos()
    curve = overview.ask_curve(view.recording.ask, view.role, view.kind, slos)
    with wide:
        if not web.params().get("slo"):
            web.caption("An SLO, such as p99=10ms, is judged here: met or missed.")
        for bound in curve.bounds:
            web.say(_verdict(bound))
        if slos and not curve.bounds:
            web.say("The SLO is for a kind of request that is not shown.")
    return slos, curve


def _gained(one: Worst, share: float | None) -> str:
    if one.gain is None or share is None:
        return "too few requests to say what would be gained"
    name, now, then = f"p{share * 100:g}", *map(duration, (one.gain.now_ns, one.gain.without_ns))
    if now == then:
        return f"without it {name} would stay at {now}"
    return f"without it {name} would fall from {now} to {then} at best"


def _worst(view: View, slos: tuple[Slo, ...]) -> None:
    """Show the patterns that cost the slowest requests most, each a link to its requests."""
    of = (view.role, view.kind)
    share = answer.judged_share(view.recording.ask_inversions(overview.totals, *of).n, slos)
    found = view.recording.ask_inversions(answer.worst, *of, share)
    web.heading("Worst patterns", _WORST)
    if not found:
        web.say("No inversion delayed these requests.")
    for one in found:
        pattern = one.pattern
        chain, bar, gained = web.columns(5, 2.5, 2.5)
        with chain:
            web.link("inversions", inversions.sentence(pattern.pattern), pattern=pattern.key)
            web.caption(pattern.title)
        with bar:
            part = f"{percent(pattern.slow_share)} of the slowest 1 %'s time"
            web.bar(pattern.slow_share or 0, part, colour(pattern.kind))
        with gained:
            web.caption(_gained(one, share))


def _latency(view: View, curve: Curve) -> tuple[Any, Any]:
    """Show the curve, and a predicted one; return the places for their choice and beside them."""
    wide, narrow = web.columns(4, 1)
    with wide:
        web.heading("Latency", "share of requests that took longer (CCDF); both axes logarithmic")
        choice = web.place("whatif")
        predicted = forecast.asked(view)
        drawn = (curve.points, curve.marks, curve.bounds, web.is_dark())
        web.chart(charts.ccdf(*drawn, predicted), "ccdf")
        if predicted:
            forecast.explain(predicted)
    with narrow:
        totals = web.place()
        if predicted:
            forecast.figures(predicted)
    return choice, totals


def _totals(view: View) -> None:
    totals = view.recording.ask_inversions(overview.totals, view.role, view.kind)
    web.metric("requests", f"{totals.n:,}")
    web.metric("delayed", f"{totals.n_held_up:,}", "requests with an inversion")
    web.metric("of their time", percent(totals.share, 0), _OF_THEIR_TIME)


def _answer(view: View) -> tuple[Slo, ...]:
    """Show the answer, then the curve. The curve is computed first: it takes least time.

    Return the SLOs.
    """
    sentence = web.place("answer")
    slos, curve = _judge(view)
    patterns = web.place("patterns")
    choice, beside = _latency(view, curve)
    view.recording.prepare()  # while the browser draws the curve
    with sentence:
        web.lead(view.recording.ask(answer.answer).sentence)
    with patterns:
        _worst(view, slos)
    with beside:
        _totals(view)
    with choice:
        forecast.choose(view)
    return slos


def _example(view: View, example: timeline.Example) -> None:
    web.link(
        "request",
        f"{duration(example.dur_ns)} · {example.name} by {example.comm} at "
        f"{example.offset_ns / 1e9:.3f} s · request {example.request_id}",
        request=example.request_id,
    )


def _pick_cell(picked: web.Selected) -> None:
    """Put the chosen cell of the heatmap into the address."""
    cell = picked[0] if picked else None
    web.set_param("cell", f"{cell['time_step']}.{cell['latency_step']}" if cell else "")


def _over_time(view: View) -> None:
    web.heading("Over time", "each cell counts requests: click one to see its slowest requests")
    axis = view.recording.ask(timeline.axis)
    cells = view.recording.ask(timeline.heat, view.role, view.kind)
    first = places.pair({"cell": web.at_first("heat", web.params().get("cell", ""))}, "cell")
    found = view.recording.ask(timeline.activity)
    with web.place("together"):  # zooming one of these charts zooms all
        web.chart(time_charts.heat(cells, axis, web.is_dark(), first), "heat", on_pick=_pick_cell)
        picked = places.pair(web.params(), "cell")
        if picked:
            for example in view.recording.ask(timeline.examples, view.role, view.kind, *picked):
                _example(view, example)
        for name, spec in time_charts.activity(found, axis, web.is_dark()).items():
            web.chart(spec, f"activity-{name}")


def _bands(view: View) -> None:
    of = (view.role, view.kind, _ends(view))
    waits = view.recording.ask(overview.band_waits, *of)
    web.heading(
        "Where the time went",
        "what the requests' own threads did or waited for, by band of latency",
    )
    if waits:
        tail = max(wait.band for wait in waits)
        worst = next(wait for wait in waits if wait.band == tail)
        web.say(
            f"In the slowest band ({population.BAND_NAMES[tail]}), requests spend "
            f"{percent(worst.share)} of their time in {worst.reason}."
        )
    web.chart(charts.band_waits(waits, web.is_dark()), "bands")
    for band in reversed(view.recording.ask(population.bands, *of)):
        name, slowest, typical = web.columns(4, 1, 1)
        with name:
            web.say(
                f"{population.BAND_NAMES[band.band]}: {plural(band.n, 'request')}, "
                f"{duration(band.shortest_ns)} to {duration(band.longest_ns)}"
            )
        with slowest:
            web.link("request", "the slowest", request=band.slowest_id)
        with typical:
            web.link("request", "a typical one", request=band.typical_id)


def _health(view: View, found: Health) -> None:
    header = found.header
    web.caption(
        f"{header.host} · kernel {header.kernel} · {header.clock} · "
        f"{duration(header.dur_ns)} recorded"
        + (f" · id {view.recording.id}" if view.recording.id else "")
    )
    if view.recording.is_running:
        web.warn("This recording is still running: the page shows what was written so far.")
    elif found.incomplete:
        web.warn(found.incomplete)
    if not found.has_foreground:
        offer_roles(view)


def _trust(found: Health) -> None:
    with web.folded("Health of the recording", is_open=bool(found.lost)):
        for lost in found.lost:
            web.say(f"{lost.probe}: {lost.n:,} of its events lost ({percent(lost.share)})")
        if not found.lost:
            web.say("No events were lost.")
        for note in found.notes:
            web.say(note)
        if found.is_virtual:
            web.say("Virtual time: the lab's clock counts the guest's instructions.")
        web.say(f"ended by {found.header.ended}")
        if found.header.cost:
            web.say(found.header.cost)
        for rule in found.header.rules:
            web.say(rule)


def screen(view: View) -> None:
    """Show the screen."""
    found = view.recording.ask(health)
    web.title(view.recording.name)
    _health(view, found)
    if not _ends(view):
        web.lead(view.recording.ask(answer.answer).sentence)
        web.empty("No finished requests of this kind.", "Choose other requests on the left.")
    else:
        slos = _answer(view)
        _bands(view)
        _over_time(view)
        ahead.ask_others(view.recording, view.role, view.kind, slos)
    _trust(found)


if __name__ == "__main__":
    show("overview", screen)
