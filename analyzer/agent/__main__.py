"""Does one job of an agent: ``python -m rcp.analyzer.agent JOB RESULT``."""

from __future__ import annotations

import sys

from rcp.probes.contract.user_error import UserError


def main() -> None:
    """Run a job; a fault of the recording is one line and status 2."""
    from rcp.analyzer.agent.analysis import run

    try:
        run(*sys.argv[1:])
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
