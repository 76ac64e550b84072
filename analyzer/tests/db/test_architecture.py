"""Section 4 of docs/architecture.md against the schema of the store."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rcp.analyzer.db.modules import LAYERS
from rcp.analyzer.db.store import Store

PAGE = Path(__file__).parents[3] / "docs/architecture.md"


@pytest.fixture(scope="module")
def section() -> str:
    """Section 4, from its heading to the next one."""
    match = re.search(r"^## 4\. .*?(?=^## )", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[0]


def test_the_tables_it_lists_exist(section: str) -> None:
    listed = re.findall(r"\w+", "".join(re.findall(r"^    .*\n", section, re.MULTILINE)))
    with Store.create(None) as store:
        assert set(listed) <= set(store.tables())
    assert len(listed) > 10


def test_it_names_the_layers_in_their_order(section: str) -> None:
    (chain,) = re.findall(r"\w+(?: → \w+)+", section)
    assert tuple(chain.split(" → ")) == LAYERS
