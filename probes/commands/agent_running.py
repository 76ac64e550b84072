"""What ``rcp-trace agent`` does: attach, record until a signal, read the configuration again."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

from rcp.probes.agent.endpoint import Endpoint
from rcp.probes.agent.metrics import Metrics
from rcp.probes.agent.service import Service
from rcp.probes.agent.session import Session, Surroundings
from rcp.probes.attach import Probes
from rcp.probes.commands.agent_config import Config
from rcp.probes.commands.common import say
from rcp.probes.commands.selection import Selection, require_machine, select
from rcp.probes.contract.durations import duration_text
from rcp.probes.contract.user_error import UserError
from rcp.probes.flight.flight import FlightPlan, announce
from rcp.probes.plan import Plan, describe
from rcp.probes.signals import Signals

# As in record.py: a drain costs most of a millisecond, a full ring costs records.
_SLOWEST_DRAIN_S = 0.5
_FASTEST_DRAIN_S = 0.005
_BUSY_FILL = 0.125
_STATUS_S = 30.0

ReadConfig = Callable[[], Config]


class AgentError(UserError):
    """The agent cannot start; the message gives the remedy."""


def run_agent(read: ReadConfig, analyst_argv: tuple[str, ...]) -> None:
    """Run until SIGTERM or SIGINT. Raises UserError."""
    config = read()
    selection = select(config.targets)
    require_machine(selection.features)
    service, signals = Service(), Signals(usr1=True, hup=True)
    metrics = Metrics(config.max_series)
    metrics.put("rcp_started_time_seconds", time.time())
    metrics.put("rcp_agent_info", 1, version("rcp-trace"), platform.release())
    around = Surroundings(metrics, analyst_argv, say)
    with ExitStack() as stack:
        stack.enter_context(_sole_user(config.settings.folder))
        if config.listen:
            stack.enter_context(Endpoint(config.listen, metrics.text))
            say("metrics are at http://{}:{}/metrics.".format(*config.listen))
        stack.enter_context(signals.caught())
        running: tuple[Config, Selection] | None = (config, selection)
        while running:
            running = _Run(*running, read, service, signals, around).until_changed()
    say("ended.")


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    """Make *folder* and lock it: two agents would delete each other's files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise AgentError(
            f"cannot write {folder}: {error.strerror}: give another folder in [recordings]."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise AgentError(
            f"another agent uses {folder}: stop it, or give another folder in [recordings]."
        ) from None
    finally:
        os.close(lock)


class _Run:
    """From one attachment of the probes to the next."""

    def __init__(
        self,
        config: Config,
        selection: Selection,
        read: ReadConfig,
        service: Service,
        signals: Signals,
        around: Surroundings,
    ) -> None:
        self._config, self._selection, self._read = config, selection, read
        self._service, self._signals, self._around = service, signals, around

    def until_changed(self) -> tuple[Config, Selection] | None:
        """Record; return what to record next, None at the end."""
        settings, options = self._config.settings, self._selection.options
        plan = FlightPlan(
            settings.keep_ns, settings.triggers, settings.after_ns, 1, lambda _: settings.folder
        )
        whole = Plan(
            settings.folder,
            options,
            self._selection.features,
            self._selection.roles,
            flight=plan,
            cmdline=settings.cmdline,
        )
        say("attaching the probes (the first time they are compiled, usually 2-10 s)…")
        with Probes(options, self._selection.features, os.getpid()) as probes:
            try:
                session = Session(
                    probes, settings, describe(whole), options.requests.names, self._around
                )
            except OSError as error:
                raise AgentError(f"cannot write {settings.folder}: {error.strerror}.") from error
            try:
                say(announce(plan))
                self._service.ready(f"keeping the last {duration_text(settings.keep_ns)}")
                return self._loop(session)
            finally:
                if self._signals.received:
                    self._service.stopping()
                session.close()

    def _loop(self, session: Session) -> tuple[Config, Selection] | None:
        pause_s, status_s = 0.0, time.monotonic() + _STATUS_S
        while not self._signals.received:
            busy = session.fill > _BUSY_FILL
            wait_s = session.step()
            pause_s = _FASTEST_DRAIN_S if busy else min(pause_s * 2 or wait_s, _SLOWEST_DRAIN_S)
            self._service.alive()
            if self._signals.take_usr1():
                session.flight.trigger_now()
            if self._signals.take_hup() and (fresh := self._reloaded()):
                return fresh
            if time.monotonic() >= status_s:
                status_s = time.monotonic() + _STATUS_S
                self._service.status(session.status)
            self._signals.wait(min(pause_s, wait_s))
        return None

    def _reloaded(self) -> tuple[Config, Selection] | None:
        """Read the configuration again; None if it is wrong, or the same."""
        self._service.reloading()
        try:
            config = self._read()
            self._check_fixed(config)
            if config == self._config:
                say("the configuration has not changed.")
                return None
            found = config, select(config.targets)
        except UserError as error:
            for message in error.messages:
                say(f"{message.rstrip('.')}. The former configuration stays in force.")
            self._around.metrics.add("rcp_reloads", 1, "failed")
            return None
        else:
            self._around.metrics.add("rcp_reloads", 1, "ok")
            say("the configuration was read again.")
            return found
        finally:
            self._service.ready("the configuration was read again")

    def _check_fixed(self, config: Config) -> None:
        """Raise AgentError where a setting changed that counts from the start only."""
        before = self._config
        fixed = {
            "folder in [recordings]": config.settings.folder != before.settings.folder,
            "listen in [metrics]": config.listen != before.listen,
            "max_series in [metrics]": config.max_series != before.max_series,
        }
        for name, is_changed in fixed.items():
            if is_changed:
                raise AgentError(f"{name} changed: restart the agent for that.")
