"""Facts about a recording: when, where and how it was made."""

from __future__ import annotations

import json
from typing import Any

from rcp.analyzer.db.store import Store


def facts(store: Store) -> dict[str, Any]:
    """Return the ``meta`` table as a dictionary."""
    return {key: json.loads(value) for key, value in store.query("SELECT key, value FROM meta")}
