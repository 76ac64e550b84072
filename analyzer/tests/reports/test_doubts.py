"""Confidence in words, and why it is not full."""

import pytest

from rcp.analyzer.reports.doubts import confidence_word, notes, why_lowered


@pytest.mark.parametrize(
    ("confidence", "word"),
    [(1.0, "high"), (0.8, "high"), (0.79, "medium"), (0.5, "medium"), (0.4, "low")],
)
def test_confidence_has_a_word(confidence: float, word: str) -> None:
    assert confidence_word(confidence) == word


@pytest.mark.parametrize(
    ("confidence", "role", "share", "reasons"),
    [
        (1.0, "background", 1.0, []),
        (0.5, "unknown", 1.0, ["no role rule names the culprit"]),
        (0.9, "background", 0.9, ["10 % of events lost"]),
        (0.75, "background", 1.0, ["other tasks contributed, or the culprit is inferred"]),
        (
            0.2,
            "unknown",
            0.9,
            [
                "10 % of events lost",
                "no role rule names the culprit",
                "other tasks contributed, or the culprit is inferred",
            ],
        ),
    ],
)
def test_what_lowers_confidence_is_told(
    confidence: float, role: str, share: float, reasons: list[str]
) -> None:
    assert why_lowered(confidence, role, share) == reasons


def test_missing_probes_are_told() -> None:
    assert notes({"end": {}, "missing_probes": ["throttle"]}, 0) == [
        "the probe throttle could not run: `rcp-trace doctor` lists what that costs"
    ]


def test_a_module_that_could_not_be_read_is_told() -> None:
    assert notes({"end": {}, "missing_modules": ["rcp_iosched"]}, 0) == [
        "the types of rcp_iosched could not be read: `rcp-trace doctor` lists what that costs"
    ]
