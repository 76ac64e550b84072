"""One SQL statement over many recordings: asked of each, and the answers put together.

    each    SELECT name, count(*) AS n FROM request GROUP BY name      on every recording
    merge   SELECT name, sum(n) FROM part GROUP BY name                on the table of all answers

Without a statement for merging, the rows are printed one recording after the other. rcp cannot know
how answers add up: counts do, averages and percentiles do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rcp.analyzer.db.store import Result, Store, StoreError
from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.listing import Failure
from rcp.analyzer.fleet.spread.partition import Partial

SOURCE = "recording"
"""Column with the path of the recording that a row is of."""

CONCATENATE = f"SELECT * FROM part ORDER BY {SOURCE}"


class Together(NamedTuple):
    """The answers of many recordings as one."""

    result: Result
    n_answered: int
    failed: list[Failure]
    lacks: dict[str, str]
    """By recording that answered: what it lacks, as a sentence."""


def together(parts: Mapping[str, Partial], merge: str | None) -> Together:
    """Merge the answers of recordings; raise FleetError when there is none."""
    failed = [Failure(name, one.why_not) for name, one in sorted(parts.items()) if one.why_not]
    answers = {name: one.answer for name, one in sorted(parts.items()) if not one.why_not}
    if not answers:
        more = f"; so did {len(failed) - 1} more" if len(failed) > 1 else ""
        raise FleetError(f"{failed[0].place} failed ({failed[0].why}){more}.")
    with Store.create(None, "the recordings", ["SET preserve_insertion_order = true"]) as store:
        store.insert_packed("part", answers, SOURCE)
        try:
            result = store.ask(merge or CONCATENATE)
        except StoreError as error:
            raise FleetError(f"--merge: {error}") from error
    lacks = {name: one.lack for name, one in sorted(parts.items()) if one.lack}
    return Together(result, len(answers), failed, lacks)
