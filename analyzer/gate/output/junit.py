"""A judgement as JUnit XML, which Jenkins, GitLab, GitHub's reporters and Azure read.

A regression or a missed SLO is a failure. Inconclusive is an error if it fails the build, and
skipped otherwise.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rcp.analyzer.gate.judgement import Bounded, Judgement, Tested, Verdict
from rcp.analyzer.gate.output.render import headline, sentence, text
from rcp.analyzer.gate.policy import Outcome

SUITE = "rcp-trace gate"

_FAILURES = (Verdict.REGRESSION, Verdict.MISSED)


def _cases(judgement: Judgement) -> list[tuple[str, str, Verdict, str]]:
    """Return class, name, verdict and message of each quantile and SLO."""
    if judgement.refused:
        return [("verdict", "data suffices", Verdict.INCONCLUSIVE, judgement.refused)]
    failing = judgement.failing
    return [
        *([("failures", failing.name, failing.verdict, sentence(failing))] if failing else []),
        *(("regression", one.name, one.verdict, _message(one)) for one in judgement.tested),
        *(("slo", one.name, one.verdict, _message(one)) for one in judgement.bounded),
    ]


def _message(one: Tested | Bounded) -> str:
    return f"{one.name}: {one.why}"


def junit(judgement: Judgement, outcome: Outcome) -> str:
    """Return the XML, with the whole text in the system-out."""
    cases = _cases(judgement)
    fails = outcome.fails(judgement)
    n_failures = sum(verdict in _FAILURES for *_, verdict, _ in cases)
    n_unclear = sum(verdict == Verdict.INCONCLUSIVE for *_, verdict, _ in cases)
    n_errors = n_unclear if fails else 0
    counts = {
        "tests": str(len(cases)),
        "failures": str(n_failures),
        "errors": str(n_errors),
        "time": "0",
    }
    root = Element("testsuites", {"name": SUITE, **counts})
    skipped = str(n_unclear - n_errors)
    suite = SubElement(root, "testsuite", {"name": SUITE, **counts, "skipped": skipped})
    for group, name, verdict, message in cases:
        case = SubElement(
            suite, "testcase", {"classname": f"gate.{group}", "name": name, "time": "0"}
        )
        if verdict in _FAILURES:
            fault = SubElement(case, "failure", {"message": message, "type": str(verdict)})
            fault.text = headline(judgement)
        elif verdict == Verdict.INCONCLUSIVE and fails:
            SubElement(case, "error", {"message": message, "type": str(verdict)})
        elif verdict == Verdict.INCONCLUSIVE:
            SubElement(case, "skipped", {"message": message})
    SubElement(suite, "system-out").text = text(judgement)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, "unicode") + "\n"
