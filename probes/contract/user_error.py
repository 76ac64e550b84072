"""Errors that users can act on."""

from __future__ import annotations


class UserError(Exception):
    """What a user gave cannot be used; the message names the thing, the fault and the remedy.

    The programs print it in one line and exit with status 2 (``cli_error.OneLineGroup``).
    """

    @property
    def messages(self) -> list[str]:
        """The message, or several where several things are to be mended."""
        return [str(self)]
