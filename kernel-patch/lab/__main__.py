"""The program ``rcp-lab``, also as ``python -m rcp.lab``."""

from rcp.probes.contract.start import start  # and no more: Ctrl-C is not ours before it has run


def main() -> None:
    """Run rcp-lab; exit with its status."""
    start("rcp-lab", "rcp.lab.cli:main")


if __name__ == "__main__":
    main()
