"""What rcp's kernel policy has done, as columns of the store's tables. Pure."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.db.arrow import Coded
from rcp.analyzer.db.columns import Columns, missing, null_if
from rcp.probes.contract.events import (
    INHERITANCE,
    POLICY_EVENT,
    FoundBy,
    InheritanceKind,
    MarkSource,
    Mechanism,
    PolicyKind,
    PolicyLevel,
)


def _coded(codes: npt.NDArray[np.integer], kind: type[IntEnum]) -> Coded:
    """Return the names of codes, NULL for a code without a name."""
    labels = {int(member): member.name.lower() for member in kind}
    known = np.isin(codes, list(labels))
    codes = np.where(known, codes.astype(np.int32), -1)
    return Coded(codes, [labels.get(code, "") for code in range(max(labels) + 1)])


def policy_event(trace: Trace) -> Columns:
    """Columns of ``policy_event``."""
    rows = trace.rows[POLICY_EVENT.name]
    kind = rows["kind"]
    is_mark, is_held = kind == PolicyKind.MARK, kind == PolicyKind.IO_HELD
    is_starved = kind == PolicyKind.IO_STARVED
    known_limit = rows["limit"] != 0
    level = _coded(rows["level"], PolicyLevel)
    unknown_level = ~is_mark & (rows["level"] == PolicyLevel.NONE)
    source = _coded(rows["source"], MarkSource)
    columns: Columns = {
        "policy_event_id": np.arange(1, len(rows) + 1, dtype=np.int32),
        "kind": _coded(kind, PolicyKind),
        "utid": missing(trace.utids[POLICY_EVENT.name]),
        "io_id": null_if(rows["io"], rows["io"] == 0),
        "dev": null_if(rows["dev"], rows["dev"] == 0),
        "ts": rows["ts"].astype(np.int64),
        "dur": null_if(rows["dur_ns"].astype(np.int64), is_mark),
        "level": Coded(np.where(unknown_level, -1, level.codes), level.labels),
        "source": Coded(np.where(is_mark, source.codes, -1), source.labels),
        "ioprio": null_if(rows["ioprio"], ~is_mark | (rows["source"] != MarkSource.IOPRIO)),
    }
    for name, of, has in (
        ("n_used", "used", known_limit),
        ("n_allowed", "limit", known_limit),
        ("since_critical_dur", "critical_ns", is_held & (rows["critical_ns"] != 0)),
        ("n_critical", "n_critical", is_starved),
        ("n_noncritical", "n_noncritical", is_starved),
    ):
        columns[name] = null_if(rows[of].astype(np.int64), ~has)
    return columns


def inheritance(trace: Trace) -> Columns:
    """Columns of ``inheritance``."""
    rows = trace.rows[INHERITANCE.name]
    kind = rows["kind"]
    is_loan, is_promotion = kind == InheritanceKind.LOAN, kind == InheritanceKind.PROMOTION

    def only(coded: Coded, where: npt.NDArray[np.bool_]) -> Coded:
        return Coded(np.where(where, coded.codes, -1), coded.labels)

    return {
        "inheritance_id": np.arange(1, len(rows) + 1, dtype=np.int32),
        "kind": _coded(kind, InheritanceKind),
        "ts": rows["ts"].astype(np.int64),
        "utid": missing(trace.utids[INHERITANCE.name]),
        "mechanism": only(_coded(rows["mechanism"], Mechanism), is_loan),
        "helper_utid": missing(trace.utids["helper"]),
        "depth": null_if(rows["depth"].astype(np.int32), ~is_loan),
        "io_id": null_if(rows["io"], rows["io"] == 0),
        "queued_dur": null_if(rows["waited_ns"].astype(np.int64), ~is_promotion),
        "found_by": only(_coded(rows["found_by"], FoundBy), is_promotion),
    }
