"""What can go wrong with a fleet of recordings."""

from __future__ import annotations

from rcp.probes.contract.user_error import UserError


class FleetError(UserError):
    """A summary or a fleet cannot be made, read or asked; the message has the remedy."""
