"""What the analyzer asks of a store: one question a file, in ``asked/AREA/NAME.sql``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """Return the text of ``asked/<name>.sql``."""
    return (files("rcp.analyzer") / "asked" / f"{name}.sql").read_text(encoding="utf-8")
