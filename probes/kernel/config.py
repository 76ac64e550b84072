"""How the running kernel was built: its configuration, where a file has it."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_LINE = re.compile(r"^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$", re.MULTILINE)


@dataclass(frozen=True)
class KernelConfig:
    """Options by name; unset ones are "n"."""

    path: Path | None = None
    """The file they are from; None when no file has them."""
    options: Mapping[str, str] = field(default_factory=dict)

    def lacks(self, option: str) -> bool:
        """Whether the kernel certainly was built without it.

        An option whose conditions are not met is not in the file at all.
        """
        return self.path is not None and self.options.get(option, "n") == "n"

    def is_module(self, option: str) -> bool:
        """Whether it is a module."""
        return self.options.get(option) == "m"


NO_CONFIG = KernelConfig()


def read_config(release: str, root: Path = Path("/")) -> KernelConfig:
    """Return the configuration of kernel *release*, empty where no file can be read."""
    places = ("proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config")
    for path in (root / place for place in places):
        try:
            data = path.read_bytes()
            text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError):
            continue
        found = {m[1] or m[3]: m[2] if m[1] else "n" for m in _LINE.finditer(text)}
        if found:
            return KernelConfig(path, found)
    return NO_CONFIG
