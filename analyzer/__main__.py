"""The program ``rcp-trace``, also as ``python -m rcp.analyzer``."""

from rcp.probes.contract.start import start  # and no more: Ctrl-C is not ours before it has run


def main() -> None:
    """Run rcp-trace; exit with its status."""
    start("rcp-trace", "rcp.analyzer.cli:main")


if __name__ == "__main__":
    main()
