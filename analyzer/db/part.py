"""A part of a recording's requests as a store of its own: every query then is about that part.

The tables that say something about a request are narrowed to the part, by views of their names that
only this connection sees. On these the views of the schema are made again. So one SQL text serves
the whole and a part, and no query can forget the part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rcp.analyzer.db.modules import read_modules
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store

_NUMBERED = ("pattern_number", "inversion_pattern")
_NARROWED = ("request", "inversion", "edge", "segment")
_VIEW = re.compile(r"^CREATE VIEW", re.MULTILINE)


def part_of(store: Store, request_ids: Sequence[int]) -> Store:
    """Return a store of some requests, which the caller closes; *store* stays whole."""
    part = store.beside()
    ((database,),) = part.query("SELECT current_database()")
    recording = '"' + str(database).replace('"', '""') + '"'
    ids = "CREATE TEMP TABLE part AS SELECT unnest($1::INTEGER[]) AS request_id"
    part.write(ids, [list(request_ids)])
    for name in _NARROWED:
        part.write(query(f"part/{name}").replace('"recording"', recording))
    for module in read_modules():
        if not module.is_table:
            part.write(_VIEW.sub("CREATE TEMP VIEW", module.text.partition("COMMENT ON")[0]))
    part.write("ALTER VIEW inversion_pattern RENAME TO pattern_of_part")
    for name in _NUMBERED:
        part.write(query(f"part/{name}").replace('"recording"', recording))
    return part
