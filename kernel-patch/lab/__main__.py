"""Lets `python -m rcp.lab` stand in for rcp-lab where no script is installed."""

from rcp.lab.cli import main

if __name__ == "__main__":
    main(prog_name="rcp-lab")
