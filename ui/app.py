"""The script that the server runs for every page: it selects the screen.

Screens are scripts, not functions, so that streamlit's test runner can switch to them.
"""

from pathlib import Path

from rcp.ui import places, web

SCRIPTS = {name: Path(__file__).parent / "screens" / f"{name}.py" for name in places.SCREENS}

if __name__ == "__main__":
    web.run_screens(SCRIPTS)
