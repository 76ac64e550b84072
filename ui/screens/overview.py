"""Overview: how slow requests were, when, and what they waited for."""

from rcp.analyzer.render import duration
from rcp.ui import web
from rcp.ui.charts import overview as charts
from rcp.ui.frame import View, show
from rcp.ui.info import overview, population


def _bands(view: View) -> None:
    web.heading("Where the time went", "by how slow requests were; click a bar for an example")
    waits = view.recording.ask(overview.band_waits, view.role, view.kind)
    web.chart(charts.band_waits(waits, web.is_dark()), "bands", selecting=True)
    for band in reversed(view.recording.ask(population.bands, view.role, view.kind)):
        name, slowest, typical = web.columns(2, 1, 1)
        with name:
            web.say(
                f"{population.BAND_NAMES[band.band]}: {band.n} requests of "
                f"{duration(band.shortest_ns)} to {duration(band.longest_ns)}"
            )
        with slowest:
            web.link("request", "slowest one", request=band.slowest_id)
        with typical:
            web.link("request", "typical one", request=band.typical_id)


def screen(view: View) -> None:
    """Put the screen."""
    points = view.recording.ask(overview.ccdf, view.role, view.kind)
    web.title(view.recording.name)
    if not points:
        web.empty("No request of this kind finished.", "Choose other requests at the left.")
        return
    web.heading("Latency")
    web.chart(charts.ccdf(points, web.is_dark()), "ccdf")
    _bands(view)


if __name__ == "__main__":
    show("overview", screen)
