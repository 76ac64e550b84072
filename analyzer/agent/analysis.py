"""Analyses one recording for the agent: figures for /metrics, and a summary or a store.

The job is JSON as ``probes/agent/analyst.py`` writes it. The result is JSON too:

    dur_ns, n_requests     of the recording; its finished foreground requests
    waits                  [reason, ns] of these
    held_up                [kind, culprit, pattern, requests, ns, worst request, ns of it]
    worst                  [kind of request, request id, ns], the worst of each kind
    recording              path of the store in which request ids count; "" if it was not kept
    n_waiting, problems    summaries that the fleet has not taken, and why
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rcp.analyzer.agent.outbox import send_all
from rcp.analyzer.db.meta import extent
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.fleet.layout import place_of
from rcp.analyzer.fleet.place import add
from rcp.analyzer.fleet.summary import EXEMPLARS_MAX, header_of, rows_of, write_summary
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.loading.opening import open_recording
from rcp.probes.contract.atomic import atomic_replace

_NICENESS = 19


def figures_of(store: Store, recording: str) -> dict[str, Any]:
    """Return what /metrics counts of a recording; *recording* is its path if it is kept."""
    ((n_requests, _),) = store.query(query("report/counts"))
    exemplars = store.query(query("fleet/exemplars"), [EXEMPLARS_MAX])
    return {
        "dur_ns": extent(store).dur_ns,
        "n_requests": int(n_requests),
        "waits": [list(row) for row in store.query(query("agent/waits"))],
        "held_up": [list(row) for row in store.query(query("agent/held_up"))],
        "worst": [[kind, request_id, dur_ns] for kind, request_id, _, dur_ns, *_ in exemplars],
        "recording": recording,
        "n_waiting": 0,
        "problems": [],
    }


def analyse(job: Mapping[str, str]) -> dict[str, Any]:
    """Do a job; return its result."""
    spool = Path(job["spool"])
    if job["store"]:
        target = Path(job["store"])
        if not target.exists():  # else an agent was killed between loading and deleting
            load_spool(spool, target)
        with open_recording(target) as store:
            return figures_of(store, str(target))
    with open_recording(spool) as store:
        found = figures_of(store, "")
        header, rows = header_of(store, host=job["host"]), rows_of(store)
    made = spool.with_name("summary")
    write_summary(header, rows, made)
    add(job["outbox"], place_of(header), made)
    made.unlink()
    if job["fleet"]:
        found["n_waiting"], found["problems"] = send_all(Path(job["outbox"]), job["fleet"])
    return found


def run(job: str, result: str) -> None:
    """Do the job (JSON), and write its result to a file."""
    os.nice(_NICENESS)
    found = analyse(json.loads(job))
    with atomic_replace(Path(result)) as temporary:
        temporary.write_text(json.dumps(found), encoding="utf-8")
