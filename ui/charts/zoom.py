"""Axes that can be zoomed: what ``ui/zoom.js`` needs of a specification. Pure.

Vega-Lite's own drag moves a plot. The script turns drags and keys into turns of the wheel, which
zoom about a point. The cursor over the plot tells the user, and the script, which
axes can be zoomed.
"""

from __future__ import annotations

from typing import Any

from rcp.ui.charts.vega import Spec

_CURSORS = {"x": "col-resize", "y": "row-resize", "xy": "crosshair"}
_KEYS = {"x": "shiftKey", "y": "altKey"}


def _zooming(axes: str) -> list[Spec]:
    """Return the parameters of a layer whose axes (x, y or xy) can be zoomed.

    The wheel alone scrolls the page; with Shift it zooms x, with Alt y. A drag with Shift moves the
    plot.
    """
    return [
        {
            "name": f"zoom_{axis}",
            "bind": "scales",
            "select": {
                "type": "interval",
                "encodings": [axis],
                "zoom": f"wheel![event.{_KEYS[axis]}]",
                "translate": "[mousedown[event.shiftKey], window:mouseup] > window:mousemove!",
            },
        }
        for axis in axes
    ]


def zoomable(spec: Spec, axes: str, at_layer: int = 0) -> Spec:
    """Return a specification whose axes can be zoomed; of one with layers, by that layer."""
    # What lies outside of the zoomed axes would be drawn beside the plot.
    clipped = {
        **spec,
        "view": {"cursor": _CURSORS[axes]},
        "config": {**spec["config"], "mark": {"clip": True}},
    }
    if "layer" not in spec:
        return {**clipped, "params": _with_zoom(spec, axes)}
    layers = list(spec["layer"])
    layers[at_layer] = {**layers[at_layer], "params": _with_zoom(layers[at_layer], axes)}
    return {**clipped, "layer": layers}


def _with_zoom(unit: dict[str, Any], axes: str) -> list[Spec]:
    return [*unit.get("params", []), *_zooming(axes)]
