"""Write the table of formats into a page: python write_formats.py PAGE.

Between its two marks the page has what the readers of latencies declare of themselves.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rcp.analyzer.latencies.declared import Format
from rcp.analyzer.latencies.formats import FORMATS

_PLACE = re.compile(r"(?<=<!-- formats, by make docs -->\n).*?(?=<!-- end of formats -->)", re.S)
_HEADS = (
    "format",
    "file",
    "unit",
    "kinds",
    "timed from intended start",
    "what can be judged",
    "failed requests",
    "a cut file is",
)


def table() -> str:
    """Return the table, a row for each form of a format."""
    # Those of any program last, as they are tried.
    rows = [_HEADS, tuple("---" for _ in _HEADS), *(row for one in FORMATS for row in _rows(one))]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rows(one: Format) -> Iterator[tuple[str, ...]]:
    for form in one.forms:
        file = form.file
        if one.versions and form is one.forms[0]:
            file += f" ({one.versions})"
        yield (
            f"`{one.name}`",
            file,
            one.unit,
            form.kinds,
            form.open_loop,
            form.judged,
            form.failed,
            str(form.whole),
        )


def main(page: Path) -> None:
    """Replace the table in *page*."""
    text, n = _PLACE.subn(lambda _: f"\n{table()}\n", page.read_text(encoding="utf-8"))
    if n != 1:
        raise SystemExit(f"{page} has {n} places for the table of formats: leave one.")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
