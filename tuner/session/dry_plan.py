"""A dry run: the writes that settings would need, as shell commands."""

from __future__ import annotations

from contextlib import suppress

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.session.writer import by_rank


class Plan:
    """Tracks the values that the knobs would have; reads the machine, writes nothing."""

    def __init__(self, catalog: Catalog, lines: list[str]) -> None:
        self._catalog = catalog
        self._lines = lines
        self._before = catalog.current()
        self._now = dict(self._before)
        self._set: set[str] = set()

    def current(self) -> dict[str, Value]:
        """Return the values that the knobs would have."""
        return dict(self._now)

    def apply(self, settings: Settings) -> None:
        """Add the writes for *settings*, and those that undo the settings before.

        The values that the kernel gives other knobs with a scheduler or profile are not predicted.
        """
        handles = self._catalog.handles
        back = {name: self._before[name] for name in self._set if name in self._before}
        wanted = {**back, **settings}
        for handle in by_rank(handles[name] for name in wanted):
            name = handle.name
            if name not in settings and name not in self._set:
                continue  # reset by the write before it
            if self._now.get(name) != wanted[name]:
                self._add(name, wanted[name])
                for other in handle.may_change(handles):
                    self._now.pop(other, None)
                    self._set.discard(other)
            self._now[name] = wanted[name]
            self._set.add(name)
        self._set = set(settings)

    def _add(self, name: str, value: Value) -> None:
        tree, cell = self._catalog.tree, self._catalog.handles[name].cell
        with suppress(KnobError):
            state = cell.state_of(tree, value)
            self._lines += [write.line for write in cell.writes(tree, state)]
