"""Overview: latencies, when requests were slow, concurrent activity, and what they waited for."""

from rcp.analyzer.latencies.slo import Slo, SloError, parse
from rcp.analyzer.text import duration, plural
from rcp.probes.contract.percent import percent
from rcp.ui import web
from rcp.ui.charts import overview as charts
from rcp.ui.charts import timeline as time_charts
from rcp.ui.frame import View, offer_roles, show
from rcp.ui.info import overview, population, timeline
from rcp.ui.info.health import Health, health


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


def _latency(view: View) -> None:
    of = (view.role, view.kind)
    wide, narrow = web.columns(3, 1)
    with narrow:
        slos = _slos()
        bounds = view.recording.ask(overview.bounds, *of, slos)
        for bound in bounds:
            verdict = "met" if bound.is_met else "not met"
            web.say(
                f"{bound.text}: {verdict}. Measured {duration(bound.measured_ns)}; "
                f"{plural(bound.n_slower, 'request')} took longer than {duration(bound.bound_ns)}."
            )
        if slos and not bounds:
            web.say("The SLO is for a kind of request that is not shown.")
    with wide:
        web.heading("Latency", "share of requests that took longer (CCDF); both axes logarithmic")
        ends = _ends(view)
        exact = tuple(sorted({*ends, *(bound.measured_ns for bound in bounds)}))
        points = view.recording.ask(overview.ccdf, *of, exact)
        marks = view.recording.ask(overview.marks, *of, ends)
        web.chart(charts.ccdf(points, marks, bounds, web.is_dark()), "ccdf")
    with narrow:  # after the chart: this may block until the inversion tables are ready
        totals = view.recording.ask_inversions(overview.totals, *of)
        web.metric("requests", f"{totals.n:,}")
        web.metric("delayed requests", f"{totals.n_held_up:,}", "requests with an inversion")
        share = totals.held_up_ns / totals.dur_ns if totals.dur_ns else 0
        web.metric("time in inversions", percent(share), "share of all requests' time")


def _example(view: View, example: timeline.Example) -> None:
    web.link(
        "request",
        f"{duration(example.dur_ns)} · {example.name} by {example.comm} at "
        f"{example.offset_ns / 1e9:.3f} s · request {example.request_id}",
        request=example.request_id,
    )


def _over_time(view: View) -> None:
    web.heading("Over time", "each cell counts requests: click one to see its slowest requests")
    axis = view.recording.ask(timeline.axis)
    cells = view.recording.ask(timeline.heat, view.role, view.kind)
    picked = web.chart(time_charts.heat(cells, axis, web.is_dark()), "heat", selecting=True)
    for cell in picked[:1]:
        steps = int(cell["time_step"]), int(cell["latency_step"])
        for example in view.recording.ask(timeline.examples, view.role, view.kind, *steps):
            _example(view, example)
    found = view.recording.ask(timeline.activity)
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
            f"The {population.BAND_NAMES[tail]} of requests spend {percent(worst.share)} of their "
            f"time in {worst.reason}."
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
    )
    if view.recording.is_running:
        web.warn("This recording is still running: the page shows what was written so far.")
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
        web.empty("No finished requests of this kind.", "Choose other requests on the left.")
    else:
        _latency(view)
        _bands(view)
        _over_time(view)
    _trust(found)


if __name__ == "__main__":
    show("overview", screen)
