"""The program ``rcp-tune``, also as ``python -m rcp.tuner``."""

from rcp.probes.contract.start import start  # and no more: Ctrl-C is not ours before it has run


def main() -> None:
    """Run rcp-tune; exit with its status."""
    start("rcp-tune", "rcp.tuner.cli:main")


if __name__ == "__main__":
    main()
