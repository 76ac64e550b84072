"""What every program of rcp does first: from here on Ctrl-C ends it without a word.

Imports next to nothing: until the handler is set, Ctrl-C prints Python's traceback.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # type checkers take it for typing's, which is slow to import
if TYPE_CHECKING:
    from typing import NoReturn


def _end(_number: int, _frame: object) -> NoReturn:
    os._exit(128 + signal.SIGINT)


def start(program: str, where: str) -> NoReturn:
    """Run the click command *where* (``MODULE:NAME``) as *program*, inside ``boundary.run``."""
    # Ignored, as under nohup, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from rcp.probes.contract.boundary import run

    run(program, where)
