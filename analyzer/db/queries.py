"""The analyzer's queries: one query a file, in ``asked/AREA/NAME.sql``.

A query that several read stands in them as a table: ``FROM "asked/AREA/NAME"``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_SHARED_QUERY = re.compile(r'"asked/(\w+/\w+)"')


@cache
def sql_file(package: str, name: str) -> str:
    """Return the text of ``<name>.sql`` in a package, with the shared queries that it reads."""
    text = (files(package) / f"{name}.sql").read_text(encoding="utf-8")
    return _SHARED_QUERY.sub(lambda found: f"({query(found[1])})", text)


def query(name: str) -> str:
    """Return the text of ``asked/<name>.sql``."""
    return sql_file("rcp.analyzer", f"asked/{name}")
