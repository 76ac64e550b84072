"""An error in the formats of a judgement, so that a CI shows it where it shows verdicts."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rcp.analyzer.gate.output.junit import SUITE
from rcp.probes.contract.printing.json_text import as_json

_COUNTS = {"tests": "1", "failures": "0", "errors": "1", "time": "0"}


def failure(kind: str, message: str) -> str:
    """Return an error in the output format *kind*."""
    if kind == "junit":
        return _junit(message)
    if kind == "json":
        return as_json({"error": message})
    if kind in ("markdown", "github"):
        return f"### ❌ Latency gate: error: {message}\n"
    return f"error: {message}\n"


def annotation(message: str) -> str:
    """Return the workflow command that shows an error in GitHub."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::error title=Latency gate error::{escaped}\n"


def _junit(message: str) -> str:
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in message)
    root = Element("testsuites", {"name": SUITE, **_COUNTS})
    suite = SubElement(root, "testsuite", {"name": SUITE, **_COUNTS, "skipped": "0"})
    case = SubElement(
        suite, "testcase", {"classname": "gate.error", "name": "runs are judged", "time": "0"}
    )
    SubElement(case, "error", {"message": printable, "type": "error"}).text = printable
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, "unicode") + "\n"
