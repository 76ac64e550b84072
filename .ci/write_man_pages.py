"""Write a manual page for each command of rcp's programs: python write_man_pages.py FOLDER."""

import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from click_man.core import write_man_pages

PROGRAMS = {
    "rcp-trace": "rcp.analyzer.cli",
    "rcp-tune": "rcp.tuner.cli",
    "rcp-lab": "rcp.lab.cli",
    "rcp-run": "rcp.mark.cli",
}


def main(folder: Path) -> None:
    """Write the pages of all programs to *folder*."""
    for program, module in PROGRAMS.items():
        write_man_pages(
            program,
            import_module(module).main,
            version=version("rcp-trace"),
            target_dir=str(folder),
            date=None,
        )
    for page in folder.glob("*.1"):
        text = page.read_text(encoding="utf-8")
        # No date, so that writing the pages again changes nothing.
        text = re.sub(r'(?m)^(\.TH .*)"\d{4}-\d{2}-\d{2}"', r'\1""', text, count=1)
        page.write_text(_with_names_of_pages(text), encoding="utf-8")


def _with_names_of_pages(text: str) -> str:
    r"""Refer to the page rcp-trace-gate(1): click-man writes \fBrcp-trace gate(1)\fP."""
    return re.sub(
        r"(?m)^(  See \\fB)(.+)(\(1\)\\fP)", lambda m: m[1] + m[2].replace(" ", "-") + m[3], text
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
