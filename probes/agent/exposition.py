"""Metrics as OpenMetrics text, or as Prometheus' older text format.

Not prometheus_client's encoder: it looks at every letter of every label in Python, 0.14 s of CPU
for 10,000 series. Labels do not change, so the text of a series is made once, and a scrape takes
0.01 s (``python -m rcp.probes.bench.scrape``). In the tests prometheus_client's parser judges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_LABEL_CHARS_MAX = 200
"""Longer values are cut: the shape of a chain can be of any length."""


def label_value(text: str) -> str:
    """Return a value as labels have it: cut, and without what is no character."""
    shown = text.encode("utf-8", "replace").decode()
    return shown if len(shown) <= _LABEL_CHARS_MAX else f"{shown[: _LABEL_CHARS_MAX - 1]}…"


def labels_text(labels: Iterable[tuple[str, str]]) -> str:
    """Return labels in braces; nothing for none."""
    inside = ",".join(f'{name}="{label_value(v).translate(_ESCAPED)}"' for name, v in labels)
    return f"{{{inside}}}" if inside else ""


@dataclass(frozen=True)
class Exemplar:
    """A request that stands for many."""

    labels: str
    value: float
    at_s: float
    """When, in s since 1970."""

    def __str__(self) -> str:
        """Return it as it stands behind a sample."""
        return f" # {self.labels} {self.value!r} {self.at_s:.3f}"


@dataclass
class Series:
    """One line of a family; a histogram has a line for each bucket."""

    labels: str
    value: float = 0.0
    exemplar: Exemplar | None = None


@dataclass
class Buckets:
    """The lines of one histogram."""

    labels: tuple[tuple[str, str], ...]
    le: Sequence[str]
    upto: list[int]
    sum_s: float = 0.0
    exemplars: dict[int, Exemplar] = field(default_factory=dict)
    heads: tuple[str, ...] = ()
    """Labels of each bucket, made once."""


class Family:
    """Metrics of one name."""

    def __init__(self, name: str, kind: str, help: str, labels: Sequence[str] = ()) -> None:
        """*name* is without _total; *labels* are names."""
        self.name, self.kind, self.help, self.labels = name, kind, help, tuple(labels)
        self.series: dict[tuple[str, ...], Series] = {}
        self.histograms: dict[tuple[str, ...], Buckets] = {}
        if not labels and kind != HISTOGRAM:
            self.of()  # a counter that says 0 can be told from one that is not there

    def of(self, *values: str) -> Series:
        """Return the series with these labels."""
        if values not in self.series:
            pairs = zip(self.labels, values, strict=True)
            self.series[values] = Series(labels_text(pairs))
        return self.series[values]

    def add(self, amount: float, *values: str) -> None:
        """Count *amount* more."""
        self.of(*values).value += amount

    def put(self, value: float, *values: str) -> None:
        """Replace the value."""
        self.of(*values).value = value

    def buckets(self, le: Sequence[str], *values: str) -> Buckets:
        """Return the histogram with these labels."""
        if values not in self.histograms:
            labels = tuple(zip(self.labels, values, strict=True))
            heads = tuple(labels_text([*labels, ("le", bound)]) for bound in le)
            self.histograms[values] = Buckets(labels, le, [0] * len(le), heads=heads)
        return self.histograms[values]

    def lines(self, is_open: bool) -> Iterator[str]:
        """Yield the family's lines; *is_open* is whether they are OpenMetrics."""
        suffix = "_total" if self.kind == COUNTER else ""
        head = self.name if is_open else self.name + suffix
        yield f"# HELP {head} {self.help.translate(_ESCAPED)}"
        yield f"# TYPE {head} {self.kind}"
        if is_open and head.endswith("_seconds"):
            yield f"# UNIT {head} seconds"
        name = self.name + suffix
        for one in list(self.series.values()):
            more = one.exemplar if is_open and one.exemplar and self.kind == COUNTER else ""
            yield f"{name}{one.labels} {_number(one.value)}{more}"
        for found in list(self.histograms.values()):
            yield from self._histogram(found, is_open)

    def _histogram(self, found: Buckets, is_open: bool) -> Iterator[str]:
        for place, (head, n) in enumerate(zip(found.heads, found.upto, strict=True)):
            exemplar = found.exemplars.get(place) if is_open else None
            yield f"{self.name}_bucket{head} {n}{exemplar or ''}"
        labels = labels_text(found.labels)
        yield f"{self.name}_count{labels} {found.upto[-1]}"
        yield f"{self.name}_sum{labels} {_number(found.sum_s)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def is_open(accept: str) -> bool:
    """Tell from an Accept header whether the reader wants OpenMetrics; others get plain text."""
    return "application/openmetrics-text" in accept


def text_of(families: Iterable[Family], is_open: bool) -> str:
    """Return what a scrape gets."""
    lines = [line for family in families for line in family.lines(is_open)]
    if is_open:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"
