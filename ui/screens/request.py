"""Request: its chain of waits as lanes and as text."""

from rcp.analyzer.reports.report import Request, held_up, request, request_range
from rcp.analyzer.text import duration, part_of, plural
from rcp.ui import places, web
from rcp.ui.charts import chain as charts
from rcp.ui.frame import View, show
from rcp.ui.info import chain

_HOW_TO_ZOOM = (
    "Drag over the lanes to zoom, with Shift to move; Shift and the wheel zoom too; a double click "
    "resets. Keys, after a click on the lanes or Tab to them: + and - zoom, ← and → move, ↓ and ↑ "
    "go to the next and the previous segment and show what it was, Esc resets."
)


def _choose(view: View) -> None:
    web.heading("Slowest requests")
    slow = view.recording.ask(chain.slowest, view.role, view.kind)
    if not slow:
        web.empty("No finished requests of this kind.", "Choose other requests on the left.")
    for found in slow:
        web.link(
            "request",
            f"{duration(found.dur_ns)} · {found.name} by {found.comm} at "
            f"{found.offset_ns / 1e9:.3f} s · request {found.request_id}",
            request=found.request_id,
        )


def _lanes(view: View, found: Request) -> None:
    drawn = view.recording.ask(chain.chain, found.request_id)
    if drawn is None:
        web.empty("This request was unfinished at the end of the recording, so it has no path.")
        return
    web.heading(
        "Critical path",
        "Pale bars are waits; the lanes below show what ended them. Hover for stacks, files and "
        "sectors.",
    )
    with web.place("lanes"):
        web.chart(charts.lanes(drawn, web.is_dark()), f"lanes-{found.request_id}")
    web.caption(_HOW_TO_ZOOM)
    if drawn.boosts:
        web.caption(
            f"Dashed, {plural(len(drawn.boosts), 'boost')}: what a critical task waits for became "
            "critical."
        )
    if drawn.n_left_out:
        web.caption(f"{plural(drawn.n_left_out, 'shorter segment')} not shown.")


def _held_up(view: View, found: Request) -> None:
    reasons = view.recording.ask(held_up, found.request_id)
    if not reasons:
        web.say("No inversion delayed this request.")
    for reason in reasons:
        ahead = ""
        if reason.n_ios_ahead:
            ahead = f", {part_of(reason.n_ios_ahead, reason.n_ios_all, 'io')} ahead"
        web.say(f"{duration(reason.dur_ns)} {reason.kind} by {reason.culprit}{ahead}")
        web.caption(reason.chain)


def _perfetto(view: View, found: Request) -> None:
    recording = view.recording
    web.download(
        "Download for Perfetto",
        f"request-{found.request_id}.pftrace",
        lambda: recording.ask(chain.perfetto_slice, found.request_id),
        "application/octet-stream",
    )
    web.caption(
        'Open https://ui.perfetto.dev, choose "Open trace file" and select the file; it stays on '
        "your machine."
    )


def screen(view: View) -> None:
    """Show the screen."""
    here = web.params()
    asked = places.number(here, "request")
    if asked is None:
        web.title("Request")
        _choose(view)
        return
    found = view.recording.ask(request, asked)
    if found is None:
        web.title("Request")
        first, last = view.recording.ask(request_range)
        known = f"request ids are {first} to {last}" if last else "it has no requests"
        web.fail(f"{view.recording.name} has no request {asked}: {known}.")
        _choose(view)
        return
    web.title(f"Request {found.request_id}: {found.name} by {found.comm}")
    took = f"took {duration(found.dur_ns)}" if found.dur_ns is not None else "did not end"
    inverted = f"{duration(found.inverted_ns)} of it in inversions"
    web.say(f"{took}, {inverted}; {found.role} thread {found.tid}")
    _lanes(view, found)
    _held_up(view, found)
    if found.dur_ns is not None:
        web.heading("As text", "to paste into a bug report")
        web.code(view.recording.ask(chain.as_text, found.request_id))
        _perfetto(view, found)


if __name__ == "__main__":
    show("request", screen)
