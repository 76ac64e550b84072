"""Errors of a what-if question."""

from __future__ import annotations

from rcp.probes.contract.user_error import UserError


class WhatIfError(UserError):
    """The question has no answer in this recording; the message says why and what to ask."""
