"""What all charts have in common. Pure."""

from __future__ import annotations

from typing import Any

from rcp.ui.charts.vega import Spec
from rcp.ui.palette import GRID, INK

FONT = "sans-serif"


def base(is_dark: bool, height: int, **parts: Any) -> Spec:
    """Return a specification with the theme's colours and a height in pixels."""
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
