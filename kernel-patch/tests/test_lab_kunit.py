"""The disk model's KUnit tests, as a program of this host."""

import re

import pytest

from rcp.lab import kunit
from rcp.lab.progress import Progress
from rcp.lab.sources import find_checkout


@pytest.mark.lab
def test_model_passes_its_unit_tests_under_the_sanitizers(lab):
    status, text = kunit.run(find_checkout(), Progress())
    results = re.findall(r"^(ok|not ok) (\d+) (\w+)$", text, re.MULTILINE)
    assert [name for verdict, _, name in results if verdict != "ok"] == [], text
    assert status == 0, text
    assert len(results) == 23
    assert "curve hdd7200 bytes 4096 depth 32" in text
