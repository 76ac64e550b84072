"""The explorer's own SQL: one question a file, in ``sql/SCREEN/NAME.sql``."""

from __future__ import annotations

from rcp.analyzer.db.queries import sql_file


def query(name: str) -> str:
    """Return the text of ``sql/<name>.sql``."""
    return sql_file("rcp.ui", f"sql/{name}")
