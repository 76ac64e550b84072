"""An answer to a what-if question as text, JSON or CSV. Pure: an Outlook in, text out."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.analyzer.rows import as_csv
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import brief_duration, duration, plural, wrapped
from rcp.analyzer.whatif.answer import FigureAfter, KindAfter, Outlook
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.page import PIPED, Page

_PACE_SAID = 1.02


def sentence(answer: Outlook) -> str:
    """Return the answer in plain English: about the kind of request that takes most time."""
    kind = answer.kinds[0]
    told = _figure(kind, "p99")
    change = answer.change[:1].upper() + answer.change[1:]
    if not kind.n_faster:
        return f"{change}, {kind.request} requests would take as long as they did."
    before, after = brief_duration(told.recorded_ns), brief_duration(told.predicted_ns)
    if before == after or told.predicted_ns > told.recorded_ns:
        told_text = f"{kind.request} p99 would stay at {before}"
    else:
        between = f"{brief_duration(told.low_ns)} to {brief_duration(told.high_ns)}"
        told_text = f"{kind.request} p99 would be {after} ({between}) instead of {before}"
    mean = _figure(kind, "mean")
    share = (mean.recorded_ns - mean.predicted_ns) / max(mean.recorded_ns, 1)
    return (
        f"{change}, {told_text}. {kind.n_faster} of {plural(kind.n, 'request')} would be faster, "
        f"and all together would take {percent(share, 0)} less time."
    )


def _figure(kind: KindAfter, name: str) -> FigureAfter:
    return next(figure for figure in kind.figures if figure.name == name)


def _notes(answer: Outlook) -> Iterator[str]:
    if answer.arrivals == "open":
        how = "requests come by a schedule of their own, however long the last one took"
    else:
        how = "a client asks again after its answer and the pause that was recorded"
    found = "found in the recording" if answer.is_detected else "as given"
    yield f"Arrivals: {answer.arrivals} ({found}): {how}."
    faster = [
        f"{kind.request} requests would come {kind.pace:.2f} times as fast"
        for kind in answer.kinds
        if kind.pace >= _PACE_SAID
    ]
    if faster:
        yield f"{'; '.join(faster)}."
    yield (
        "Range: from every wait gone for what the culprit used, to only the time gone that "
        "inversions blame on it."
    )


def _text(answer: Outlook, page: Page) -> str:
    rows = [
        (
            kind.request,
            figure.name,
            duration(figure.recorded_ns),
            duration(figure.predicted_ns),
            duration(figure.low_ns),
            duration(figure.high_ns),
        )
        for kind in answer.kinds
        for figure in kind.figures
    ]
    heads = columns("request", "figure", "recorded", "predicted", "lowest", "highest", left=2)
    lines = [*wrapped(sentence(answer), page.prose), "", *fitted(heads, rows, page), ""]
    for note in _notes(answer):
        lines += wrapped(note, page.prose)
    return "\n".join(lines)


def answer_as(kind: str, answer: Outlook, page: Page = PIPED) -> str:
    """Return an answer as ``text``, ``json`` or ``csv``; CSV has one row per figure."""
    if kind == "json":
        return as_json({"sentence": sentence(answer), **answer._asdict()})
    if kind == "csv":
        rows = [(one.request, one.n, *figure) for one in answer.kinds for figure in one.figures]
        return as_csv(("request", "n", *FigureAfter._fields), rows)
    return _text(answer, page)
