"""What a probe declares: its question and the kernel hooks it uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Probe:
    """One BPF source file and the kernel hooks it uses."""

    name: str
    """The record type it fills, or the kind of wait it adds to ``sleep``."""
    source: str
    question: str
    tracepoints: tuple[str, ...] = ()
    """Required tracepoints, as ``group:name``."""
    functions: tuple[str, ...] = ()
    """Required kernel functions (fentry/fexit)."""
    optional_functions: tuple[str, ...] = ()
    """Kernel functions it uses if the kernel has them."""
    newer_names: Mapping[str, str] = field(default_factory=dict)
    """Optional functions by their names of today, and the ones that these had before."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Modules of optional functions: one that is not loaded has nothing that could be missed."""
    without_optional: str = ""
    """What a missing optional function costs the verdicts."""
    needs_any: bool = False
    """It needs at least one of its optional functions."""
    without: str = ""
    """What a missing probe costs the verdicts; empty when it is essential."""
    module: str = ""
    """Kernel module whose structs it reads if their BTF is available."""
    without_module: str = ""
    """What it costs the verdicts if not."""
    config: str = ""
    """Kernel option without which its hooks are missing; empty when there is none."""
    kernel_module: str = ""
    """Kernel module that may have its hooks."""
    is_of_patch: bool = False
    """Its tracepoints are in the patched kernel only."""

    @property
    def essential(self) -> bool:
        """Whether every recording needs it."""
        return not self.without

    def is_idle(self, idle: Collection[str]) -> bool:
        """Whether all that it hooks is in *idle*, functions of modules that are not loaded."""
        return bool(self.hooks) and set(self.hooks) <= set(idle)

    @property
    def hooks(self) -> tuple[str, ...]:
        """All tracepoints and functions it uses."""
        return (*self.tracepoints, *self.functions, *self.optional_functions)
