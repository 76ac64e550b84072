"""A judgement as text, JSON or Markdown. Pure: a Judgement in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rcp.analyzer.gate.causes import GROUPINGS, Cause
from rcp.analyzer.gate.judgement import Bounded, Failing, Figure, Judgement, Tested, Verdict
from rcp.analyzer.gate.output.failed import failed_sentence, failing_object, shares
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, plural, wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.marked import Mark
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled

_SIGNS = {
    Verdict.PASS: "✅",
    Verdict.REGRESSION: "❌",
    Verdict.MISSED: "❌",
    Verdict.IMPROVEMENT: "🎉",
    Verdict.INCONCLUSIVE: "❔",
}
_MARKS: dict[Verdict, Mark] = {
    Verdict.PASS: "good",
    Verdict.IMPROVEMENT: "good",
    Verdict.INCONCLUSIVE: "poor",
    Verdict.REGRESSION: "bad",
    Verdict.MISSED: "bad",
}


def headline(judgement: Judgement) -> str:
    """Return the verdict and its reasons in a sentence."""
    if judgement.refused:
        return f"{Verdict.INCONCLUSIVE}: {judgement.refused}"
    decisive = [one for one in judgement.answers if one.verdict == judgement.verdict]
    sentences = "; ".join(sentence(one) for one in decisive[:3])
    more = f"; and {len(decisive) - 3} more" if len(decisive) > 3 else ""
    return f"{judgement.verdict}: {sentences}{more}"


def sentence(one: Tested | Bounded | Failing) -> str:
    """Return an answer with its figures and its reason."""
    if isinstance(one, Failing):
        return f"{one.name} {shares(one)} ({one.why})"
    if isinstance(one, Bounded):
        return f"{one.name}: measured {duration(one.candidate.value_ns)} ({one.why})"
    both = f"{duration(one.base.value_ns)} → {duration(one.candidate.value_ns)}"
    cause = next((cause for cause in one.causes if cause.by == "culprit"), None)
    cause = cause or next(iter(one.causes), None)
    because = f", {share(cause)} of it {cause.change.what}" if cause else ""
    return f"{one.name} {both} ({one.why}{because})"


def share(cause: Cause) -> str:
    """Return a cause's share of a change in whole per cent."""
    return percent(cause.share, 0)


def basis(judgement: Judgement) -> str:
    """Return the method behind the verdict, in a sentence."""
    if judgement.exact:
        return "virtual time has no noise: every difference is real, values are compared exactly"
    alpha = f"alpha {percent(judgement.alpha, None)} over all quantiles"
    order = "in turn, so compared within blocks of four" if judgement.in_turn else "in any order"
    tests = f"unit: the run, {order}; permutation test, {alpha}"
    for one in judgement.tested:
        if one.adjusted_for:
            tests += f"; {one.name} adjusted for {one.adjusted_for}"
    if judgement.confirmed is None:
        return f"{tests}; not confirmed"
    return tests + _confirmation(judgement.confirmed, judgement.is_decided)


def _confirmation(has_fresh_runs: bool, is_decided: bool) -> str:
    if has_fresh_runs and is_decided:
        return " and looks; confirmed by fresh runs, judged together with the first"
    if has_fresh_runs:
        return " and looks; fresh runs, judged together with the first, did not decide"
    if is_decided:
        return "; no confirmation needed"
    return "; no fresh runs made, as they would not decide"


def _interval(one: Tested) -> str:
    return "-" if one.interval is None else f"×{one.interval[0]:.3f} … ×{one.interval[1]:.3f}"


_VERDICT_COLUMNS = (
    "quantile",
    "baseline",
    "candidate",
    "ratio",
    "95 % interval",
    "p",
    "limit",
    "verdict",
)

_SPARE_VERDICTS = ("p", "95 % interval", "limit", "baseline")


def _rows(tested: Sequence[Tested]) -> Iterator[tuple[str, ...]]:
    for one in tested:
        yield (
            one.name,
            duration(one.base.value_ns),
            duration(one.candidate.value_ns),
            f"×{one.ratio:.3f}",
            _interval(one),
            "-" if one.p is None else f"{one.p:.2g}",
            percent(one.limit.growth, None, sign=True),
            str(one.verdict),
        )


_SLO_COLUMNS = ("SLO", "candidate", "requests", "verdict", "")


def _slo_rows(bounded: Sequence[Bounded]) -> Iterator[tuple[str, ...]]:
    for one in bounded:
        value = duration(one.candidate.value_ns)
        yield one.name, value, str(one.candidate.n), str(one.verdict), one.why


def _where(one: Tested) -> str:
    return f"{'in' if one.limit.is_tail else 'around'} the {one.name}"


def _causes(one: Tested, page: Page) -> Iterator[str]:
    for by in GROUPINGS:
        causes = [cause for cause in one.causes if cause.by == by]
        if not causes:
            continue
        yield f"what grew {_where(one)}, by {by}"
        for cause in causes:
            change = cause.change
            head = (
                f"  {share(cause):>6}  +{duration(change.delta_ns)} per request "
                f"({duration(change.a_ns)} → {duration(change.b_ns)})  "
            )
            yield from wrapped(head + change.what, page.prose, rest=" " * 10)


def _sides(judgement: Judgement) -> str:
    if not judgement.tested:
        return ""
    first = judgement.tested[0]

    def size(figure: Figure) -> str:
        return f"{plural(figure.runs, 'run')}, {plural(figure.n, 'request')}"

    return f"baseline {size(first.base)}; candidate {size(first.candidate)}"


def _notes(judgement: Judgement) -> list[str]:
    told = (_sides(judgement), failed_sentence(judgement.failing), basis(judgement))
    return [sentence for sentence in told if sentence]


def text(judgement: Judgement, page: Page = PIPED) -> str:
    """Return a judgement as text that fits a page; its first line is the verdict."""
    judgement = spelled(judgement)
    head = wrapped(headline(judgement), page.prose)
    lines = page.marked_word(head, str(judgement.verdict), _MARKS[judgement.verdict])
    if judgement.tested:
        heads = columns(*_VERDICT_COLUMNS, sacrifice=_SPARE_VERDICTS)
        lines += ["", *fitted(heads, _rows(judgement.tested), page)]
    if judgement.bounded:
        heads = columns(*_SLO_COLUMNS, sacrifice=("requests",))
        heads[-1] = heads[-1]._replace(is_left=page.is_bounded)
        lines += ["", *fitted(heads, _slo_rows(judgement.bounded), page)]
    for one in judgement.tested:
        if one.verdict == Verdict.INCONCLUSIVE:
            lines += ["", *wrapped(f"{one.name}: {one.why}", page.prose)]
        if one.causes:
            lines += ["", *_causes(one, page)]
    lines.append("")
    for sentence in _notes(judgement):
        lines += wrapped(sentence, page.prose)
    for warning in judgement.warnings:
        lines += wrapped(f"note: {warning}", page.prose, rest="  ")
    return "\n".join(lines) + "\n"


def markdown(judgement: Judgement) -> str:
    """Return a judgement as Markdown for GitHub and GitLab."""
    judgement = spelled(judgement)
    lines = [f"### {_SIGNS[judgement.verdict]} Latency gate: {headline(judgement)}", ""]
    if judgement.tested:
        lines += [*_pipes(_VERDICT_COLUMNS, _rows(judgement.tested)), ""]
    if judgement.bounded:
        lines += [*_pipes(_SLO_COLUMNS, _slo_rows(judgement.bounded)), ""]
    for one in judgement.tested:
        if one.causes:
            lines += [f"What grew {_where(one)}:", ""]
            rows = [
                (cause.by, cause.change.what, f"+{duration(cause.change.delta_ns)}", share(cause))
                for cause in one.causes
            ]
            lines += [*_pipes(("by", "what", "per request", "share of the change"), rows), ""]
    lines += [". ".join(_notes(judgement)) + ".", ""]
    lines += [f"* {warning}" for warning in judgement.warnings]
    return "\n".join(lines).rstrip() + "\n"


def _pipes(names: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def as_object(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as an object for JSON; times in ns."""
    return {
        "verdict": str(judgement.verdict),
        "headline": headline(judgement),
        "exact": judgement.exact,
        "confirmed": judgement.confirmed and judgement.is_decided,
        "alpha": None if judgement.exact else judgement.alpha,
        "in_turn": judgement.in_turn,
        "refused": judgement.refused or None,
        "setup_is_short": judgement.setup_is_short,
        "quantiles": [_tested_object(one) for one in judgement.tested],
        "slos": [
            {
                "slo": one.slo.text,
                "bound_ns": one.slo.bound_ns,
                "candidate": _figure_object(one.candidate),
                "met_in": one.met_in,
                "verdict": str(one.verdict),
                "why": one.why,
            }
            for one in judgement.bounded
        ],
        "failed": failing_object(judgement.failing),
        "warnings": list(judgement.warnings),
    }


def _figure_object(figure: Figure) -> dict[str, float]:
    return {
        "value_ns": round(figure.value_ns),
        "runs": figure.runs,
        "requests": figure.n,
        "beyond": figure.n_beyond,
    }


def _tested_object(one: Tested) -> dict[str, Any]:
    return {
        "kind": one.kind or None,
        "quantile": one.limit.name,
        "limit": one.limit.growth,
        "baseline": _figure_object(one.base),
        "candidate": _figure_object(one.candidate),
        "ratio": one.ratio,
        "interval": list(one.interval) if one.interval else None,
        "p": one.p,
        "would_be_seen": one.detectable,
        "runs_needed": one.runs_needed,
        "adjusted_for": one.adjusted_for or None,
        "verdict": str(one.verdict),
        "why": one.why,
        "causes": [
            {"by": cause.by, "share": cause.share, **cause.change._asdict()} for cause in one.causes
        ],
    }


def json_text(judgement: Judgement) -> str:
    """Return a judgement as indented JSON."""
    return as_json(as_object(judgement))
