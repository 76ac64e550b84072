"""The analyzer's queries: one query a file, in ``asked/AREA/NAME.sql``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def sql_file(package: str, name: str) -> str:
    """Return the text of ``<name>.sql`` in a package."""
    return (files(package) / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str) -> str:
    """Return the text of ``asked/<name>.sql``."""
    return sql_file("rcp.analyzer", f"asked/{name}")
