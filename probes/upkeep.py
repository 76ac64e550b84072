"""What a recording needs while it runs: its cost is kept below a bound, what comes is noted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rcp.probes.contract.meta_text import attached_module, late_module
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.cost.between import Between, nothing
from rcp.probes.cost.budget import TICK_NS, Budget
from rcp.probes.cost.cost import Cost, CostMeter
from rcp.probes.cost.shedding import Shedding
from rcp.probes.devices import NewDevices
from rcp.probes.drain import Source
from rcp.probes.kernel.late_modules import LateModules


class Upkeep:
    """Measures the cost of a recording; with a bound, makes the source record less."""

    def __init__(
        self,
        source: Source,
        spool: SpoolWriter,
        meta: dict[str, Any],
        max_cpu: float | None,
        say: Callable[[str], None],
    ) -> None:
        """``max_cpu`` is in CPUs, None: no bound. Updates ``meta``, here and in the spool."""
        self._source, self._spool, self._meta, self._say = source, spool, meta, say
        self._meter = CostMeter(source.program_fds, always=max_cpu is not None)
        self._budget = Budget(max_cpu, time.monotonic_ns()) if max_cpu is not None else None
        self._shedding = Shedding()
        self._late = LateModules(meta.get("absent_modules", ()))
        self._loaded: list[str] = []
        self._new_devices = NewDevices(meta)
        self._is_starting = True
        self._started_ns = time.monotonic_ns()
        self._next_tick_ns = self._started_ns + TICK_NS
        if self._budget and not self._meter.can_measure_probes:
            say("this kernel does not measure BPF run times: --max-cpu bounds the recorder only.")

    def look(self, between: Between = nothing) -> None:
        """Look for modules, and once a second for devices, which takes ms where there are many.

        ``between`` is called between two steps.
        """
        self._loaded += self._late.take()
        between()
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_tick_ns:
            self._meter.tick()
            self._look_for_devices(between)
            self._next_tick_ns = now_ns + TICK_NS

    def step(self) -> float:
        """Do what is due; return the seconds until the next call."""
        self._attach_modules()
        now_ns = time.monotonic_ns()
        if self._budget is None:
            return TICK_NS / 1e9
        if self._budget.is_due(now_ns):
            self._check(self._budget, now_ns)
        self._apply(self._budget.shedding(now_ns))
        return self._budget.next_change_s(now_ns)

    def _check(self, budget: Budget, now_ns: int) -> None:
        used = self._meter.cpus_used()
        # The first second has work that is done once: threads that run already, first calls of
        # everything. It would cut down recordings that need a fifth of their bound.
        changed = budget.tick(0.0 if self._is_starting else used, now_ns)
        self._is_starting = False
        if changed:
            self._say(changed)
            self._meta["shedding"] = budget.as_dict(now_ns)
            self._spool.write_meta(self._meta)

    def _look_for_devices(self, between: Between) -> None:
        """Note devices that have come."""
        if self._new_devices.take(between):
            self._spool.write_meta(self._meta)

    def _attach_modules(self) -> None:
        """Attach the probes of modules that have come; note those for which it is too late."""
        loaded, self._loaded = self._loaded, []
        for name in loaded:
            with self.excused():
                attached = self._source.attach_module(name)
            if attached:
                now_ns = time.monotonic_ns()
                self._meta.setdefault("attached_modules", {})[name] = now_ns
                self._say(attached_module(name, now_ns - self._started_ns) + ".")
                self._meter.watch(self._source.program_fds)
            else:
                self._note_late(name)
        if loaded:
            self._spool.write_meta(self._meta)

    def _note_late(self, name: str) -> None:
        self._meta.setdefault("late_modules", []).append(name)
        self._say(late_module(name) + ".")

    def _apply(self, shedding: Shedding) -> None:
        if shedding != self._shedding:
            self._source.shed(shedding)
            self._shedding = shedding

    @contextmanager
    def excused(self) -> Iterator[None]:
        """Leave what is done meanwhile out of the bound, since recording less would not save it.

        A dump takes a fifth of a second of CPU time. With a bound of 5 % each one counted as a
        load far above it, and the next recordings had less in them.
        """
        before_s = time.process_time()
        try:
            yield
        finally:
            self._meter.excuse(time.process_time() - before_s)

    @property
    def level(self) -> int:
        """How far recording is cut down: a position in ``shedding.STEPS``."""
        return self._budget.level if self._budget else 0

    def cost_so_far(self, n_events: int) -> Cost:
        """Return what recording has cost until now."""
        return self._meter.cost(n_events, self._spool.written_bytes)

    def close(self, n_events: int) -> dict[str, Any]:
        """Stop measuring; return the cost, for ``end.json``."""
        late = [*self._loaded, *self._late.take()]
        for name in late:
            self._note_late(name)
        if self._new_devices.take() or late:
            self._spool.write_meta(self._meta)
        cost = self._meter.cost(n_events, self._spool.written_bytes).as_dict()
        self._meter.close()
        if self._budget and self._budget.level_max:
            self._meta["shedding"] = self._budget.as_dict(time.monotonic_ns())
            self._spool.write_meta(self._meta)
        return cost
