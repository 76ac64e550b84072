"""`python -m rcp.lab`: the same as rcp-lab, where no script is installed."""

from rcp.lab.cli import main

if __name__ == "__main__":
    main(prog_name="rcp-lab")
