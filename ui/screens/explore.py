"""SQL."""

from rcp.ui import web
from rcp.ui.frame import View, show


def screen(view: View) -> None:
    """Put the screen."""
    web.title("SQL")
    web.empty("This screen is not there yet.")


if __name__ == "__main__":
    show("explore", screen)
