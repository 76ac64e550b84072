"""The program ``rcp-run``, also as ``python -m rcp.mark``."""

from typing import NoReturn

from rcp.probes.contract.boundary import run


def main() -> NoReturn:
    """Run rcp-run."""
    run("rcp-run", "rcp.mark.cli:main")


if __name__ == "__main__":
    main()
