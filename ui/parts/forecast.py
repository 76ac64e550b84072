"""The choice of a what-if, and the numbers that are predicted beside those that were recorded."""

from __future__ import annotations

from rcp.analyzer.arrays.roles import FOREGROUND
from rcp.analyzer.text import brief_duration, plural
from rcp.analyzer.whatif.errors import WhatIfError
from rcp.ui import web
from rcp.ui.frame import View
from rcp.ui.info import whatif
from rcp.ui.info.whatif import Forecast

_AS_RECORDED = "nothing"
_FIGURES_SHOWN = ("p50", "p99", "p99.9")


def choose(view: View) -> None:
    """Show what can be taken away; only foreground requests are predicted."""
    if view.role != FOREGROUND:
        return
    found = view.recording.ask_inversions(whatif.choices)
    words = {_AS_RECORDED: "(as recorded)", **{one.key: one.words for one in found}}
    if found:
        web.choose(
            "What if",
            list(words),
            "whatif",
            words=words.__getitem__,
            help="predicts the latencies without some work, as `rcp-trace whatif` does",
        )


def asked(view: View) -> Forecast | None:
    """Return the prediction that the address asks for, if any; show why there is none."""
    key = web.params().get("whatif", "")
    if not key or view.role != FOREGROUND:
        return None
    try:
        with web.waiting("predicting"):
            kept = view.recording.ask(whatif.memory)
            return view.recording.ask(whatif.forecast, key, view.kind, kept)
    except WhatIfError as error:
        web.fail(str(error))
        return None


def explain(forecast: Forecast) -> None:
    """Say that the second curve is a prediction, and of what."""
    change = forecast.change[:1].upper() + forecast.change[1:]
    web.caption(
        f"{change}, {forecast.n_faster} of {plural(forecast.n, 'request')} would be faster. "
        "This is a prediction by a model, not a measurement. The pale area is its range."
    )


def figures(forecast: Forecast) -> None:
    """Show each quantile as predicted, and as recorded."""
    for one in forecast.figures:
        if one.name in _FIGURES_SHOWN:
            web.metric(f"{one.name} predicted", brief_duration(one.predicted_ns))
            web.caption(
                f"recorded {brief_duration(one.recorded_ns)}; range {brief_duration(one.low_ns)} "
                f"to {brief_duration(one.high_ns)}"
            )
