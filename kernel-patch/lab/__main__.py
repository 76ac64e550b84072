"""The program ``rcp-lab``, also as ``python -m rcp.lab``."""

from typing import NoReturn

from rcp.probes.contract.boundary import run


def main() -> NoReturn:
    """Run rcp-lab."""
    run("rcp-lab", "rcp.lab.cli:main")


if __name__ == "__main__":
    main()
