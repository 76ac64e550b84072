"""Running containers, found in the cgroup tree: id, names, cgroup.

A runtime puts a container's id into the name of its cgroup: docker-ID.scope, libpod-ID.scope,
cri-containerd-ID.scope, crio-ID.scope, or a bare ID below docker/ or kubepods/ with the cgroupfs
driver. Names come from the runtimes' own files; without a readable one only the id is known.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.probes.who.pods import placed, pod_names
from rcp.probes.who.roles import CGROUP_ROOT, RuleError

_BY_ID = re.compile(r"(?:.*[-:])?([0-9a-f]{64})(?:\.scope)?")
_BY_NAME = re.compile(r"machine-(.+)\.scope|lxc\.payload\.(.+)")
_MONITOR = "conmon"  # the monitor process of podman and CRI-O: its cgroup has the id too
_ID_CHARS_SHOWN = 12  # characters of an id, as the runtimes print them
_LISTED = 5


@dataclass(frozen=True)
class Container:
    """One running container."""

    id: str
    """64 hexadecimal digits, or the name where the runtime has no ids."""
    names: tuple[str, ...]
    cgroup: Path

    def __str__(self) -> str:
        """Return the name and the short id."""
        short = self.id[:_ID_CHARS_SHOWN]
        return f"{self.names[0]} ({short})" if self.names and self.names[0] != self.id else short


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # another runtime, no permission, or being written
        return None


def _docker_names(container: str, root: Path) -> list[str]:
    config = _json(root / f"var/lib/docker/containers/{container}/config.v2.json")
    name = config.get("Name") if isinstance(config, dict) else None
    return [name.lstrip("/")] if isinstance(name, str) else []


def _podman_names(container: str, root: Path) -> list[str]:
    known = _json(root / "var/lib/containers/storage/overlay-containers/containers.json")
    for entry in known if isinstance(known, list) else []:
        if isinstance(entry, dict) and entry.get("id") == container:
            return [str(name) for name in entry.get("names") or []]
    return []


def _containerd_names(container: str, root: Path) -> list[str]:
    tasks = root / "run/containerd/io.containerd.runtime.v2.task"
    names = []
    for config in (_json(path) for path in tasks.glob(f"*/{container}/config.json")):
        notes = config.get("annotations") if isinstance(config, dict) else None
        for key in ("io.kubernetes.cri.container-name", "nerdctl/name"):
            if isinstance(notes, dict) and notes.get(key):
                names.append(str(notes[key]))
    return names


def names_of(container: str, cgroup: str, root: Path = Path("/")) -> tuple[str, ...]:
    """Return the names that the runtimes and the kubelet below ``root`` give a container id."""
    sources = (_docker_names, _podman_names, _containerd_names)
    names = [name for source in sources for name in source(container, root)]
    where = placed(cgroup)
    in_pod = pod_names(where, root) if where else None
    if in_pod:
        names += [str(in_pod), *filter(None, [in_pod.container])]
    return tuple(dict.fromkeys(names))


def containers(cgroups: Path = CGROUP_ROOT, root: Path = Path("/")) -> Iterator[Container]:
    """Yield the containers that have a cgroup now."""
    for folder, below, _ in os.walk(cgroups):
        for name in list(below):
            by_id, by_name = _BY_ID.fullmatch(name), _BY_NAME.fullmatch(name)
            if _MONITOR in name or not (by_id or by_name):
                continue
            below.remove(name)  # do not descend: nested cgroups belong to the container
            path = Path(folder, name)
            if by_id:
                inside = path.relative_to(cgroups).as_posix()
                yield Container(by_id[1], names_of(by_id[1], inside, root), path)
            elif by_name:
                label = by_name[1] or by_name[2]
                yield Container(label, (label,), path)


def container_cgroup(text: str, cgroups: Path = CGROUP_ROOT, root: Path = Path("/")) -> str:
    """Return the cgroup path of the container with this name or id prefix.

    Raises RuleError, with similar names, when none or several match.
    """
    running = list(containers(cgroups, root))
    named = [c for c in running if text in c.names]
    matches = named or [c for c in running if text and c.id.startswith(text.lower())]
    if len(matches) == 1:
        return str(matches[0].cgroup)
    if matches:
        listed = ", ".join(f"{c} in {c.cgroup.parent.name}" for c in matches[:_LISTED])
        raise RuleError(f"--container {text!r} matches several: {listed}: give a longer id.")
    if not running:
        raise RuleError(f"--container {text!r}: no container has a cgroup below {cgroups}.")
    raise RuleError(f"no container {text!r}: {_near(text, running)}.")


def _near(text: str, running: list[Container]) -> str:
    words = {word: c for c in running for word in (*c.names, c.id[:_ID_CHARS_SHOWN])}
    close = difflib.get_close_matches(text, words, _LISTED, cutoff=0.5)
    close += [word for word in words if text and text in word and word not in close]
    if close:
        return "did you mean " + " or ".join(dict.fromkeys(str(words[word]) for word in close))
    rest = f" and {len(running) - _LISTED} more" if len(running) > _LISTED else ""
    return "running are " + ", ".join(str(c) for c in running[:_LISTED]) + rest
