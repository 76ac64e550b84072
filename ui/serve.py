"""``python -m rcp.ui.serve OPTION…``: the explorer's server, which opens its recording on start.

A browser needs a second until it requests a page; the recording opens in that time.
"""

from __future__ import annotations

import runpy
import sys
import threading
from pathlib import Path

from rcp.probes.contract.boundary import end_on_ctrl_c, leave

_SCRIPT = Path(__file__).with_name("app.py")


def main() -> None:
    """Serve until a signal; OPTIONs are those of ``streamlit run``."""
    end_on_ctrl_c()  # until the server has a handler of its own: what follows imports for a second
    from rcp.ui import frame
    from rcp.ui.source import given

    threading.Thread(target=frame.open_ahead, args=[given()[0]], name="ahead").start()
    sys.argv = ["streamlit", "run", str(_SCRIPT), *sys.argv[1:]]
    try:
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        # A recording that is still being opened is refused more threads from here on: no news.
        threading.excepthook = lambda _args: None
        leave(ended.code if isinstance(ended.code, int) else 0)


if __name__ == "__main__":
    main()
