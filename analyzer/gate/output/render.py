"""A judgement as text, JSON or Markdown. Pure: a Judgement in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rcp.analyzer.gate.causes import SORTS, Grown
from rcp.analyzer.gate.judgement import Bounded, Figure, Judgement, Tested, Verdict
from rcp.analyzer.text import WIDTH, as_json, duration, table, wrapped

_SIGNS = {
    Verdict.PASS: "✅",
    Verdict.REGRESSION: "❌",
    Verdict.MISSED: "❌",
    Verdict.IMPROVEMENT: "🎉",
    Verdict.INCONCLUSIVE: "❔",
}


def headline(judgement: Judgement) -> str:
    """Return the answer in a sentence."""
    if judgement.refused:
        return f"{Verdict.INCONCLUSIVE}: {judgement.refused}"
    decisive = [one for one in judgement.answers if one.verdict == judgement.verdict]
    told = "; ".join(_sentence(one) for one in decisive[:3])
    more = f"; and {len(decisive) - 3} more" if len(decisive) > 3 else ""
    return f"{judgement.verdict}: {told}{more}"


def _sentence(one: Tested | Bounded) -> str:
    if isinstance(one, Bounded):
        return f"{one.name} has {duration(one.candidate.value_ns)} ({one.why})"
    both = f"{duration(one.base.value_ns)} → {duration(one.candidate.value_ns)}"
    cause = next((grown for grown in one.causes if grown.sort == "culprit"), None)
    cause = cause or next(iter(one.causes), None)
    because = f", {share(cause)} of it {cause.change.what}" if cause else ""
    return f"{one.name} {both} ({one.why}{because})"


def share(grown: Grown) -> str:
    """Return the part of a change in whole percent."""
    return f"{grown.share * 100:.0f} %"


def basis(judgement: Judgement) -> str:
    """Say what the verdict rests on."""
    if judgement.exact:
        return "virtual time: no noise, every difference is real; compared exactly"
    alpha = f"{judgement.alpha * 100:g} % by luck"
    if judgement.confirmed is None:
        return f"unit: the run; Welch and permutation, {alpha}, Holm over all; not confirmed"
    if judgement.confirmed:
        return f"unit: the run; confirmed by fresh runs: all together, {alpha}, Holm over all"
    return f"unit: the run; Welch and permutation, {alpha}, Holm over all; nothing to confirm"


def _interval(one: Tested) -> str:
    return "-" if one.interval is None else f"×{one.interval[0]:.3f} … ×{one.interval[1]:.3f}"


_COLUMNS = ("quantile", "baseline", "candidate", "ratio", "95 % interval", "p", "limit", "verdict")


def _rows(tested: Sequence[Tested]) -> Iterator[tuple[str, ...]]:
    for one in tested:
        yield (
            one.name,
            duration(one.base.value_ns),
            duration(one.candidate.value_ns),
            f"×{one.ratio:.3f}",
            _interval(one),
            "-" if one.p is None else f"{one.p:.2g}",
            f"+{one.limit.growth * 100:g} %",
            str(one.verdict),
        )


_SLO_COLUMNS = ("SLO", "candidate", "requests", "verdict", "")


def _slo_rows(bounded: Sequence[Bounded]) -> Iterator[tuple[str, ...]]:
    for one in bounded:
        told = duration(one.candidate.value_ns)
        yield one.name, told, str(one.candidate.n), str(one.verdict), one.why


def _causes(one: Tested) -> Iterator[str]:
    for sort in SORTS:
        grown = [cause for cause in one.causes if cause.sort == sort]
        if not grown:
            continue
        yield f"what grew around the {one.name}, by {sort}"
        for cause in grown:
            change = cause.change
            head = (
                f"  {share(cause):>6}  +{duration(change.delta_ns)} a request "
                f"({duration(change.a_ns)} → {duration(change.b_ns)})  "
            )
            yield from wrapped(head + change.what, WIDTH - 1, rest=" " * 10)


def _sides(judgement: Judgement) -> str:
    if not judgement.tested:
        return ""
    first = judgement.tested[0]

    def told(figure: Figure) -> str:
        runs = "1 run" if figure.runs == 1 else f"{figure.runs} runs"
        return f"{runs}, {figure.n} requests"

    return f"baseline {told(first.base)}; candidate {told(first.candidate)}"


def text(judgement: Judgement) -> str:
    """Return a judgement under 100 columns; its first line is the answer."""
    lines = wrapped(headline(judgement), WIDTH - 1)
    if judgement.tested:
        lines += ["", *table(_COLUMNS, _rows(judgement.tested))]
    if judgement.bounded:
        lines += ["", *table(_SLO_COLUMNS, _slo_rows(judgement.bounded))]
    for one in judgement.tested:
        if one.verdict == Verdict.INCONCLUSIVE:
            lines += ["", *wrapped(f"{one.name}: {one.why}", WIDTH - 1)]
        if one.causes:
            lines += ["", *_causes(one)]
    lines += ["", *filter(None, [_sides(judgement)]), basis(judgement)]
    for warning in judgement.warnings:
        lines += wrapped(f"note: {warning}", WIDTH - 1, rest="  ")
    return "\n".join(lines) + "\n"


def markdown(judgement: Judgement) -> str:
    """Return a judgement as GitHub and GitLab show it."""
    lines = [f"### {_SIGNS[judgement.verdict]} Latency gate: {headline(judgement)}", ""]
    if judgement.tested:
        lines += [*_pipes(_COLUMNS, _rows(judgement.tested)), ""]
    if judgement.bounded:
        lines += [*_pipes(_SLO_COLUMNS, _slo_rows(judgement.bounded)), ""]
    for one in judgement.tested:
        if one.causes:
            lines += [f"What grew around the {one.name}:", ""]
            rows = [
                (cause.sort, cause.change.what, f"+{duration(cause.change.delta_ns)}", share(cause))
                for cause in one.causes
            ]
            lines += [*_pipes(("by", "what", "a request", "of the change"), rows), ""]
    lines += [". ".join(filter(None, [_sides(judgement), basis(judgement)])) + ".", ""]
    lines += [f"* {warning}" for warning in judgement.warnings]
    return "\n".join(lines).rstrip() + "\n"


def _pipes(names: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def as_object(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as JSON has it; times in ns."""
    return {
        "verdict": str(judgement.verdict),
        "headline": headline(judgement),
        "exact": judgement.exact,
        "confirmed": judgement.confirmed,
        "alpha": None if judgement.exact else judgement.alpha,
        "refused": judgement.refused or None,
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
        "would_be_seen": one.seen,
        "verdict": str(one.verdict),
        "why": one.why,
        "causes": [
            {"by": cause.sort, "share": cause.share, **cause.change._asdict()}
            for cause in one.causes
        ],
    }


def json_text(judgement: Judgement) -> str:
    """Return a judgement as indented JSON."""
    return as_json(as_object(judgement))
