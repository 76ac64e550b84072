"""Pages can be found: the index lists each once, and no link leads nowhere."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OWN_INDEX = ("decisions/", "man/")  # decisions/README.md and the manual pages list theirs

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^(```.*?^```|    .*?)$", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]
    return [page for page in found if "scenarios" not in page.parts]  # parts of pages elsewhere


def links(page: Path) -> list[str]:
    text = CODE.sub("", page.read_text())
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as GitHub does."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def test_the_index_lists_every_page_once() -> None:
    count = Counter(link for link in links(DOCS / "README.md") if link.endswith(".md"))
    own = {str(page.relative_to(DOCS)) for page in pages() if page.is_relative_to(DOCS)}
    own = {name for name in own if not name.startswith(OWN_INDEX)} - {"README.md"}
    assert set(count) == own | {"decisions/README.md"}
    assert [link for link, n in count.items() if n > 1] == []


def test_the_list_of_decisions_is_complete() -> None:
    listed = re.findall(r"^\* \[(.*)\]\((.*)\)$", (DOCS / "decisions/README.md").read_text(), re.M)
    titles = {
        page.name: page.read_text().splitlines()[0].removeprefix("# ")
        for page in (DOCS / "decisions").glob("*.md")
        if page.name != "README.md"
    }
    assert {name: title for title, name in listed} == titles


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_leads_nowhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_the_first_screen_of_the_readme_is_short() -> None:
    """What it is, what it shows, how to run it: under 150 words and one picture."""
    first, _, _ = (ROOT / "README.md").read_text().partition("\n## ")
    pictures = re.findall(r"!\[.*?\]\(.*?\)", first, re.DOTALL)
    assert len(pictures) == 1
    assert len(first.replace(pictures[0], "").split()) < 150
