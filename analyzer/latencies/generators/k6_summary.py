"""k6's summaries, which rcp refuses: they have averages and a few quantiles, of no known number of
requests. Their forms:

* the report that k6 prints, whose banner ``--quiet`` leaves out,
* ``--summary-export``, and the data of ``handleSummary`` that scripts write as JSON,
* the same since k6 1.5 with ``--new-machine-readable-summary``.
"""

from __future__ import annotations

import re
from pathlib import Path

from rcp.analyzer.latencies.latency import LatencyError

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


def is_k6_summary(head: bytes) -> bool:
    """Whether a file with this head is a summary of k6."""
    form = _EXPORTED if head.lstrip().startswith(b"{") else _PRINTED
    return form.search(head) is not None


def refused(path: Path) -> LatencyError:
    """Return the error for a summary."""
    return LatencyError(
        f"{path} is k6's summary, which has no latencies of requests: run k6 with --out json=FILE "
        "or --out csv=FILE."
    )
