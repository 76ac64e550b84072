"""Colours: one per wait reason, the same on every screen. Pure.

Reasons of a family share a hue and differ in lightness. Hues of different families stay
distinguishable with the common kinds of colour blindness; a test computes the distance. Every
colour contrasts with the background of both themes, so a recording looks the same in either.
"""

from __future__ import annotations

from collections.abc import Iterable

REASON_COLOURS = {
    # on and for the CPU: greys
    "cpu": "#7f7f7f",
    "runqueue": "#a9a9a9",
    "cpu_max": "#5d6770",
    "interrupt": "#8a949c",
    # locks and other threads: purples
    "lock": "#8c2360",
    "condition": "#cc79a7",
    "futex": "#8e5bb0",
    "sysv_sem": "#b48ad6",
    "file_lock": "#6b3f8f",
    "mmap_lock": "#a64d85",
    "quota": "#9a6fae",
    # the journal: blues
    "journal_commit": "#0072b2",
    "journal_handle": "#4a9fd8",
    "journal_space": "#2f5fa8",
    "log_force": "#5b7fc4",
    # pages and buffers: yellows
    "page_lock": "#b8860b",
    "page_writeback": "#e69f00",
    "buffer_lock": "#c9a227",
    "buffer_shadow": "#d8b94a",
    # memory: olives
    "reclaim": "#6b7a1e",
    "memcg_limit": "#8a9a2b",
    "compaction": "#55611f",
    "swap_in": "#a3b13d",
    "swap_out": "#7c8f45",
    "refault": "#96a15a",
    # admission: reds
    "admission_slot": "#d55e00",
    "admission_tag": "#e8804a",
    "dirty_throttle": "#c0392b",
    # the block layer: greens
    "queue": "#117a5b",
    "device": "#2bbd92",
    "flush": "#83cbb4",
    # the outside: browns
    "in_progress": "#7d5a2f",
    "eventfd": "#94806a",
    "fuse": "#6e5a3a",
    "nfs": "#bd8f52",
    "timer": "#8c6d46",
    "network": "#a5855b",
    "pipe": "#76624a",
    "poll": "#b39b7d",
    "unknown": "#999999",
}
"""Keyed by the reasons of analyzer/arrays/reasons.py; kinds of segment and inversion share them."""

OTHER_COLOUR = "#999999"
SERIES = ("#0072b2", "#d55e00")
"""Recordings A and B, wherever two are on one plot."""

SLO_COLOUR = "#d55e00"
ACCENT = "#0072b2"
PREDICTED = "#117a5b"
"""A predicted curve, beside a recorded one in ACCENT."""

_ALIASES = {"io_dependency": "device", "io": "device"}

INK = {False: "#31333f", True: "#fafafa"}
"""Text and axes by whether the theme is dark."""
GRID = {False: "#e3e5ea", True: "#3a3d46"}
HEAT = {False: ["#9ecae1", "#08306b"], True: ["#31557a", "#e3f1ff"]}
"""Few and many: a single request must be visible, because the tail consists of single requests."""

NOTE = {False: "#5c5e68", True: "#b6b8c0"}
"""Captions: less than the text, but with a contrast of more than 4.5 to the paper."""

LINK = {False: "#00609a", True: "#7cc0ee"}
PAPER = {False: "#ffffff", True: "#0e1117"}


def colour(reason: str) -> str:
    """Return the colour of a reason, kind of segment or kind of inversion."""
    return REASON_COLOURS.get(_ALIASES.get(reason, reason), OTHER_COLOUR)


def scale(reasons: Iterable[str]) -> dict[str, list[str]]:
    """Return a Vega-Lite colour scale of these reasons, in the palette's own order."""
    order = list(REASON_COLOURS)
    names = sorted(
        set(reasons), key=lambda name: (order.index(name) if name in order else len(order), name)
    )
    return {"domain": names, "range": [colour(name) for name in names]}
