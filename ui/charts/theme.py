"""What all charts have in common. Pure."""

from __future__ import annotations

from typing import Any

from rcp.ui.palette import GRID, INK

Spec = dict[str, Any]
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
            "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12},
            "text": {"color": ink, "fontSize": 12},
        },
        **parts,
    }


DURATION_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs'"
    " : format(datum.value, '~g') + ' ns'"
)
"""A Vega expression that writes the ns of an axis label with a unit people read."""
