"""What all charts have in common. Pure."""

from __future__ import annotations

from typing import Any

from rcp.ui.charts.vega import Spec
from rcp.ui.charts.zoom import zoomable
from rcp.ui.palette import GRID, INK

FONT = "sans-serif"


def base(is_dark: bool, height: int, zoom: str, zoomed_layer: int = 0, **parts: Any) -> Spec:
    """Return a specification with the theme's colours and a height in pixels.

    *zoom* names the axes that can be zoomed (x or xy), those of the layer *zoomed_layer*.
    """
    return zoomable(_themed(is_dark, height, parts), zoom, zoomed_layer)


def _themed(is_dark: bool, height: int, parts: Spec) -> Spec:
    ink, grid = INK[is_dark], GRID[is_dark]
    return {
        "height": height,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": "transparent",
        "config": {
            "font": FONT,
            "view": {"stroke": None},
            "axis": {
                "labelColor": ink,
                "titleColor": ink,
                "tickColor": grid,
                "domainColor": grid,
                "gridColor": grid,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
            },
            "legend": {
                "labelColor": ink,
                "titleColor": ink,
                "labelFontSize": 12,
                "symbolBaseFillColor": ink,  # of shapes that have no colour of their own
            },
            "text": {"color": ink, "fontSize": 12},
        },
        **parts,
    }
