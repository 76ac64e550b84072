"""The program ``rcp-trace``, also as ``python -m rcp.analyzer``."""

from typing import NoReturn

from rcp.probes.contract.boundary import run


def main() -> NoReturn:
    """Run rcp-trace."""
    run("rcp-trace", "rcp.analyzer.cli:main")


if __name__ == "__main__":
    main()
