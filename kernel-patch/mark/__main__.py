"""The program ``rcp-run``, also as ``python -m rcp.mark``."""

from rcp.probes.contract.start import start  # and no more: Ctrl-C is not ours before it has run


def main() -> None:
    """Run rcp-run; exit with its status."""
    start("rcp-run", "rcp.mark.cli:main")


if __name__ == "__main__":
    main()
