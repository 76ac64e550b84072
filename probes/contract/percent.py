"""Shares as per cent, in the one form that all commands and pages print. Pure."""

from __future__ import annotations


def percent(share: float | None, decimals: int | None = 1, *, sign: bool = False) -> str:
    """Return a share of 0 to 1 in per cent, ``65.2 %``; "-" for None.

    With *decimals* None it has as many as it needs, ``5 %``; with *sign* growth begins with ``+``.
    """
    if share is None:
        return "-"
    form = "g" if decimals is None else f".{decimals}f"
    return f"{share * 100:{'+' if sign else ''}{form}} %"
