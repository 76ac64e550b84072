"""The explorer's own SQL: one question a file, in ``sql/SCREEN/NAME.sql``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """Return the text of ``sql/<name>.sql``."""
    return (files("rcp.ui") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
