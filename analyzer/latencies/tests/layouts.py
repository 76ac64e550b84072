"""Writes latencies in the layout that each program documents, for tests to read.

The layouts of k6, vegeta, wrk, wrk2 and hyperfine were compared with what k6 1.8, vegeta 12, wrk
4.1, wrk2 (44a94c1) and hyperfine 1.15 wrote: fixtures/latencies/generators. YCSB's are those of its
exporters, JMeter's those of its manual, OTLP's those of opentelemetry-proto's examples.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

Writer = Callable[[Sequence[int]], str]
"""Latencies in ns to the text of a file."""

EPOCH_NS = 1_795_439_778_707_021_450
JMETER_HEADING = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,"
    "failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)


def lines(ns: Sequence[int]) -> str:
    return "".join(f"{one}ns\n" for one in ns)


def fio_log(ns: Sequence[int]) -> str:
    return "".join(f"{row}, {one}, 0, 4096, {row * 4096}\n" for row, one in enumerate(ns))


def pgbench(ns: Sequence[int]) -> str:
    return "".join(f"0 {row} {one // 1000} 0 1767225615 {row}\n" for row, one in enumerate(ns))


def csv(ns: Sequence[int]) -> str:
    return "n,latency_ns\n" + "".join(f"{row},{one}\n" for row, one in enumerate(ns))


def json_lines(ns: Sequence[int]) -> str:
    rows = [{"level": "info", "n": row, "took_us": one / 1000} for row, one in enumerate(ns)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def k6_json(ns: Sequence[int]) -> str:
    head = {
        "type": "Metric",
        "data": {"name": "http_req_duration", "type": "trend", "contains": "time"},
        "metric": "http_req_duration",
    }
    rows = [
        {
            "metric": metric,
            "type": "Point",
            "data": {
                "time": f"2026-11-23T13:16:{row % 60:02}.855816523+02:00",
                "value": value,
                "tags": {"method": "GET", "name": "http://a/b", "expected_response": "true"},
            },
        }
        for row, one in enumerate(ns)
        for metric, value in (("http_reqs", 1), ("http_req_duration", one / 1e6))
    ]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in [head, *rows])


def k6_csv(ns: Sequence[int]) -> str:
    return (
        "metric_name,timestamp,metric_value,expected_response,method,name,extra_tags\n"
        + "".join(
            f"http_reqs,1795439780,1.000000,true,GET,http://a/b,\n"
            f"http_req_duration,1795439780,{one / 1e6:.6f},true,GET,http://a/b,\n"
            for one in ns
        )
    )


def vegeta_json(ns: Sequence[int]) -> str:
    rows = [
        {
            "attack": "",
            "seq": row,
            "code": 200,
            "timestamp": f"2026-11-23T13:16:{row % 60:02}.70702145Z",
            "latency": one,
            "bytes_out": 0,
            "bytes_in": 2,
            "error": "",
            "body": "b2s=",
            "method": "GET",
            "url": "http://a/",
            "headers": {"Date": ["Mon"]},
        }
        for row, one in enumerate(ns)
    ]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def vegeta_csv(ns: Sequence[int]) -> str:
    return "".join(
        f"{EPOCH_NS + row},200,{one},0,2,,b2s=,,{row},GET,http://a/,QQ==\n"
        for row, one in enumerate(ns)
    )


def vegeta_csv_before_12_9(ns: Sequence[int]) -> str:
    return "".join(f"{EPOCH_NS + row},200,{one},0,2,,b2s=,,{row}\n" for row, one in enumerate(ns))


def ycsb_raw(ns: Sequence[int]) -> str:
    rows = "".join(f"READ,{1511992463001 + row},{one // 1000}\n" for row, one in enumerate(ns))
    return (
        "READ latency raw data: op, timestamp(ms), latency(us)\n"
        + rows
        + f"[READ], Total Operations, {len(ns)}\n"
    )


def jmeter_csv(ns: Sequence[int]) -> str:
    return f"{JMETER_HEADING}\n" + "".join(
        f'{1509841690552 + row},{one // 10**6},login,200,"OK, well",users 1-1,text,true,,2781,133,'
        f"1,1,http://a/,1,0,0\n"
        for row, one in enumerate(ns)
    )


def jmeter_xml(ns: Sequence[int]) -> str:
    rows = "".join(
        f'<httpSample t="{one // 10**6}" it="0" lt="1" ct="0" ts="{1509841690552 + row}" s="true" '
        f'lb="login" rc="200" rm="OK" tn="users 1-1" dt="text" by="2781"/>\n'
        for row, one in enumerate(ns)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n'
    return f"{head}{rows}</testResults>\n"


def hyperfine(ns: Sequence[int]) -> str:
    times = [one / 1e9 for one in ns]
    result = {"command": "./bench", "mean": 0.1, "times": times, "exit_codes": [0] * len(ns)}
    return json.dumps({"results": [result]}, indent=2)


def otlp_spans(ns: Sequence[int]) -> str:
    spans = [
        {
            "traceId": f"{row:032x}",
            "spanId": f"{row:016x}",
            "name": "GET /cart",
            "kind": 2,
            "startTimeUnixNano": str(EPOCH_NS),
            "endTimeUnixNano": str(EPOCH_NS + one),
        }
        for row, one in enumerate(ns)
    ]
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]})


EXACT: Mapping[str, Writer] = {
    "lines": lines,
    "fio-log": fio_log,
    "pgbench": pgbench,
    "csv": csv,
    "jsonl": json_lines,
    "k6": k6_json,
    "k6, csv": k6_csv,
    "vegeta": vegeta_json,
    "vegeta, csv": vegeta_csv,
    "vegeta, csv before 12.9": vegeta_csv_before_12_9,
    "ycsb": ycsb_raw,
    "jmeter": jmeter_csv,
    "jmeter, xml": jmeter_xml,
    "hyperfine": hyperfine,
    "otlp": otlp_spans,
}
"""Formats with every latency, by the name of the format; at least to the ms."""


def otlp_histogram(ns: Sequence[int]) -> str:
    bounds_ms = [float(2**power) for power in range(-3, 12)]
    counts = _counts([one / 1e6 for one in ns], bounds_ms)
    point = {
        "timeUnixNano": str(EPOCH_NS),
        "count": str(len(ns)),
        "bucketCounts": [str(n) for n in counts],
        "explicitBounds": bounds_ms,
        "max": max(ns) / 1e6,
        "min": min(ns) / 1e6,
    }
    return otlp_metric("ms", "histogram", [point])


def otlp_metric(unit: str, kind: str, points: Sequence[object], temporality: object = 1) -> str:
    table = {"aggregationTemporality": temporality, "dataPoints": points}
    metric = {"name": "http.server.duration", "unit": unit, kind: table}
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]})


def otlp_exponential(ns: Sequence[int]) -> str:
    scale, offset, size = 2, -60, 200  # in s: base 2 ** 0.25
    bounds = [2.0 ** ((offset + place) / 4) for place in range(size + 1)]
    point = {
        "count": len(ns),
        "scale": scale,
        "zeroCount": "0",
        "positive": {
            "offset": offset,
            "bucketCounts": [str(n) for n in _counts([one / 1e9 for one in ns], bounds)[1:-1]],
        },
    }
    return otlp_metric("s", "exponentialHistogram", [point])


def prometheus_text(ns: Sequence[int]) -> str:
    bounds = [0.001, 0.01, 0.1, 1.0, 10.0]
    so_far = [sum(one / 1e9 <= bound for one in ns) for bound in bounds]
    rows = [
        f'request_seconds_bucket{{path="/a{{}}",le="{bound}"}} {n}'
        for bound, n in [*zip(bounds, so_far, strict=True), ("+Inf", len(ns))]
    ]
    head = "# HELP request_seconds Time.\n# TYPE request_seconds histogram\n"
    return head + "\n".join(rows) + f"\nrequest_seconds_count {len(ns)}\n"


def prometheus_query(ns: Sequence[int]) -> str:
    bounds = [2.0 ** (power / 8) for power in range(-80, 40)]
    counts = _counts([one / 1e9 for one in ns], bounds)[1:-1]
    buckets = [
        [0, str(low), str(high), str(n)]
        for low, high, n in zip(bounds, bounds[1:], counts, strict=False)
        if n
    ]
    value = {"count": str(len(ns)), "sum": "1", "buckets": buckets}
    result = [{"metric": {"__name__": "request_seconds"}, "histogram": [1795439780.1, value]}]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


def vegeta_histogram(ns: Sequence[int]) -> str:
    ends_ms = [0, 1, 10, 100, 1000, 10000]
    rows = []
    for low, high in zip(ends_ms, [*ends_ms[1:], None], strict=True):
        n = sum(low * 10**6 <= one and (high is None or one < high * 10**6) for one in ns)
        rows.append(f"[{low}ms,  {'+Inf' if high is None else f'{high}ms'}]  {n}  1.00%  ####")
    return "Bucket         #    %       Histogram\n" + "\n".join(rows) + "\n"


def ycsb_histogram(ns: Sequence[int]) -> str:
    in_ms = [one // 10**6 for one in ns]
    rows = [
        ("Operations", len(ns)),
        ("AverageLatency(us)", 1.5),
        ("LatencyVariance(us)", 2.5),
        ("MaxLatency(us)", max(ns) // 1000),
        ("95thPercentileLatency(us)", 1000),
        ("99thPercentileLatency(us)", 1000),
        *((str(ms), in_ms.count(ms)) for ms in range(1000)),
        (">1000", sum(ms >= 1000 for ms in in_ms)),
    ]
    return "[OVERALL], RunTime(ms), 5000\n" + "".join(
        f"[READ], {name}, {value}\n" for name, value in rows
    )


def _counts(values: Sequence[float], bounds: Sequence[float]) -> list[int]:
    """Count values by bucket; a bucket includes its upper bound."""
    found = [0] * (len(bounds) + 1)
    for value in values:
        found[sum(bound < value for bound in bounds)] += 1
    return found


COUNTED: Mapping[str, Writer] = {
    "otlp": otlp_histogram,
    "otlp, exponential": otlp_exponential,
    "prometheus": prometheus_text,
    "prometheus, query": prometheus_query,
    "vegeta-report": vegeta_histogram,
    "ycsb": ycsb_histogram,
}
"""Formats with counts by bucket."""
