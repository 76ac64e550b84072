"""k6's summaries: quantiles of ``--summary-export`` and of ``handleSummary``'s data, in ms.

Other forms have averages and a few quantiles of no known number of requests, and are refused:

* the report that k6 prints, whose banner ``--quiet`` leaves out,
* what k6 writes since 1.5 with ``--new-machine-readable-summary``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rcp.analyzer.latencies.document import bytes_of
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Points
from rcp.analyzer.latencies.lines import NO_KIND

_BUILT_IN = (
    rb"(?:http_reqs?(?:_\w+)?|grpc_req_duration|iterations|iteration_duration|checks(?:_\w+)?"
    rb"|data_sent|data_received|vus|vus_max|ws_\w+)"
)
"""k6's own metrics; some of them are in each summary."""

_PRINTED = re.compile(
    rb"^ +execution: local\r?$\n +script: |^ *(?:\xe2\x9c[\x93\x97] )?%s\.{3,}: " % _BUILT_IN,
    re.MULTILINE,
)
_EXPORTED = re.compile(
    rb'"root_group":\s*\{\s*"(?:name|path|id|groups|checks)":'
    rb'|"%s(?:\{[^"]*\})?":\s*\{\s*"(?:avg|min|med|max|p\([\d.]+\)|count|rate|value|passes|fails'
    rb'|type|contains|values|thresholds)":'
    rb'|"state":\s*\{[^{}]*"testRunDurationMs":'
    rb'|"metadata":\s*\{[^{}]*"k6_version":' % _BUILT_IN
)
_K6_QUANTILE = re.compile(r"p\(([\d.]+)\)")
_NAMED = {"med": 0.5, "max": 1.0}
_DURATION, _K6_N, _K6_FAILED = "http_req_duration", "http_reqs", "http_req_failed"
_MS_NS = 1_000_000


def is_k6_summary(head: bytes) -> bool:
    """Whether a file with this head is a summary of k6."""
    form = _EXPORTED if head.lstrip().startswith(b"{") else _PRINTED
    return form.search(head) is not None


def read(path: Path, metric: str) -> Latencies:
    """Return the quantiles of HTTP requests; raise LatencyError for a summary without them."""
    try:
        metrics = {
            name: one.get("values", one)
            for name, one in json.loads(bytes_of(path))["metrics"].items()
        }
        points = Points(_quantiles(metrics[_DURATION]), int(metrics[_K6_N]["count"]))
        # This rate counts what was true: that a request failed.
        n_failed = int(metrics[_K6_FAILED]["passes"]) if _K6_FAILED in metrics else None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _refused(path) from None
    if metric not in ("", _DURATION) or not points.n:
        raise _refused(path)
    failures = None if n_failed is None else Failures(n_failed, points.n)
    return Latencies(
        str(path),
        points={NO_KIND: points},
        warnings=(
            f"{path}: quantiles only; --out csv=FILE writes every latency",
            *(failures.warning(path) if failures else ()),
        ),
        failures=failures,
    )


def _quantiles(trend: dict[str, Any]) -> dict[float, int]:
    found = {}
    for name, value in trend.items():
        match = _K6_QUANTILE.fullmatch(name)
        share = round(float(match[1]) / 100, 6) if match else _NAMED.get(name)
        if share is not None:
            found[share] = round(float(value) * _MS_NS)
    return found


def _refused(path: Path) -> LatencyError:
    return LatencyError(
        f"{path} is k6's summary, which has no latencies of requests: run k6 with --out json=FILE "
        "or --out csv=FILE."
    )
