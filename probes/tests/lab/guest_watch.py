"""Part of guest_waits.py: look at a task that sleeps, by the kernel's own word in /proc."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rcp.probes.tests.lab.guest_tasks import Work, end, task
else:
    from guest_tasks import Work, end, task

N_LOOKS = 1000
OTHER_WAITS = {"jbd2_journal_lock_updates", "jbd2_log_wait_commit"}
"""Waits of their own that others lead to: a fast commit first waits for open handles."""

truth: dict[str, Any] = {}
"""What was seen, by the name of the wait."""


def stack_of(pid: int) -> list[str]:
    """Return the functions a process sleeps in, innermost first."""
    lines = Path(f"/proc/{pid}/stack").read_text().splitlines()
    return [line.split()[1].split("+")[0] for line in lines]


def is_asleep(pid: int) -> bool:
    """Whether a process sleeps; one that lost the CPU meanwhile has a stack as well."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "SD"


def is_in(function: str, stack: list[str]) -> bool:
    """Whether such a function is what waits in this stack, and not another that it called."""
    depths = [depth for depth, frame in enumerate(stack) if re.fullmatch(function, frame)]
    return bool(depths) and OTHER_WAITS.isdisjoint(stack[: depths[0]])


def look(name: str, pid: int, function: str) -> None:
    """Note when the process sleeps in such a function of the kernel, and its whole stack.

    /proc leaves the scheduler's own functions out, like __mutex_lock and do_nanosleep.
    """
    truth[name] = {"pid": pid, "at_ns": 0, "stack": []}
    for _ in range(N_LOOKS):
        time.sleep(0.001)
        try:
            before, at_ns, after = stack_of(pid), time.monotonic_ns(), stack_of(pid)
        except ProcessLookupError:
            return  # it has ended and was never seen there
        if before == after and is_asleep(pid) and is_in(function, after):
            truth[name] = {"pid": pid, "at_ns": at_ns, "stack": after}
            return


def seen(name: str, function: str, work: Work, release: Work = lambda: None) -> None:
    """Let a task of that name wait, look at it, let it go on."""
    pid = task(name, work)
    look(name, pid, function)
    release()
    end(pid)
