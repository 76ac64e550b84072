"""The first line of a file as a JSON object, by whose members a format is recognized.

Members by name, not text: a filter such as ``jq`` or a script writes them in another order, with
other spaces.
"""

from __future__ import annotations

import json
from typing import Any


def first_object(head: bytes) -> dict[str, Any]:
    """Return the object that the first line of a file holds; {} if it is none, or is cut off."""
    try:
        value = json.loads(head.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
