"""A judgement for GitHub: annotations, and a step summary with Markdown and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.output.ccdf import Curve
from rcp.analyzer.gate.output.render import headline, markdown
from rcp.analyzer.gate.policy import Outcome

SUMMARY = "GITHUB_STEP_SUMMARY"

_LEVELS = {
    Verdict.REGRESSION: ("error", "Latency regression"),
    Verdict.MISSED: ("error", "Latency SLO missed"),
    Verdict.INCONCLUSIVE: ("notice", "Latency gate inconclusive"),
    Verdict.IMPROVEMENT: ("notice", "Latency improvement"),
    Verdict.PASS: ("notice", "Latency gate passed"),
}


def _escaped(text: str) -> str:
    """Escape a text: GitHub's workflow commands end at a newline and use % for escapes."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _level(judgement: Judgement, outcome: Outcome) -> str:
    if judgement.verdict == Verdict.INCONCLUSIVE and outcome.fails(judgement):
        return "error"
    if outcome.warning(judgement):
        return "warning"
    return _LEVELS[judgement.verdict][0]


def workflow_commands(judgement: Judgement, outcome: Outcome) -> str:
    """Return the workflow commands that annotate the run."""
    level, title = _level(judgement, outcome), _LEVELS[judgement.verdict][1]
    lines = [f"::{level} title={title}::{_escaped(headline(judgement))}"]
    lines += [f"::notice title=Latency gate::{_escaped(note)}" for note in judgement.warnings]
    return "\n".join(lines) + "\n"


def chart(curves: Sequence[Curve]) -> str:
    """Return both sides' quantiles as a Mermaid chart: GitHub does not show inline SVG."""
    names = [name for name, _ in curves[0].points] if curves else []
    if len(names) < 2:
        return ""
    lines = [
        "```mermaid",
        "xychart-beta",
        f'  title "latency in ms by quantile: {", ".join(curve.name for curve in curves)}"',
        f"  x-axis [{', '.join(names)}]",
        '  y-axis "ms"',
    ]
    for curve in curves:
        lines.append(f"  line [{', '.join(f'{ns / 1e6:.4g}' for _, ns in curve.points)}]")
    return "\n".join([*lines, "```", ""])


def summary(judgement: Judgement, curves: Sequence[Curve]) -> str:
    """Return the Markdown of the step summary."""
    return f"{markdown(judgement)}\n{chart(curves)}"


def append_summary(text: str, environment: Mapping[str, str]) -> None:
    """Append to the step summary if this runs in a GitHub step; raises OSError."""
    path = environment.get(SUMMARY)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
