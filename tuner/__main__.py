"""The program ``rcp-tune``, also as ``python -m rcp.tuner``."""

from typing import NoReturn

from rcp.probes.contract.boundary import run


def main() -> NoReturn:
    """Run rcp-tune."""
    run("rcp-tune", "rcp.tuner.cli:main")


if __name__ == "__main__":
    main()
