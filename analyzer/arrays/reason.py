"""What rcp knows about one wait reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rcp.probes.contract.events import WaitReason

Functions = Mapping[str, tuple[str, ...]]
"""By kernel file, the functions whose frame on a stack identifies the reason."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A wait reason, which is also a kind of segment."""

    name: str
    recorded: WaitReason | None = None
    """The code recorded by a probe that knows the reason without the stack."""
    functions: Functions = field(default_factory=dict)
    """Searched on the kernel stack first."""
    callers: Functions = field(default_factory=dict)
    """They wait for a lock themselves: then this is the reason, and not ``lock``."""
    contexts: Functions = field(default_factory=dict)
    """Whatever the kernel waits for within them is this reason, if it is a page, a buffer, a
    device, a commit or a timer: the task needs something else, and these are the means."""
    completions: Functions = field(default_factory=dict)
    """Searched second: they sleep in schedule_timeout() but do not wait for a timer."""
    generic: Functions = field(default_factory=dict)
    """Searched last: many kinds of wait end in them, so any more specific frame wins."""
    paper: str = ""
    """Name in Table 2 of the RCP paper (FAST '17), whose wait sites are those of Linux 3.13."""
    is_external: bool = False
    """Waits for something outside the storage stack: a timer, a peer, a client."""
    is_peer: bool = False
    """Waits for a peer that serves the waiter, as the other end of a pipe does."""
    is_exclusive: bool = False
    """Waits for a resource that one task holds at a time."""
    is_joint: bool = False
    """Waits until another task has done what the waiter would have to do itself."""
    may_time_out: bool = False
    """A timer may end it without any task's work."""
    is_pool: bool = False
    """Waits for a unit of a shared pool: the task that frees one is not the one that filled it."""
    io_stage: str = ""
    """What an io does during a segment of this kind."""
    culprit_step: str = ""
    """Text before the culprit at the end of a chain, where the culprit is not a waker on it."""
