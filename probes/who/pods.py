"""Where a cgroup path says that a task runs: container, runtime, pod. Pure, but for pod_names.

    driver    path                                                                     of
    systemd   system.slice/docker-ID.scope                                             Docker
    systemd   kubepods.slice/…/kubepods-burstable-podUID.slice/cri-containerd-ID.scope Kubernetes
    cgroupfs  docker/ID                                                                Docker
    cgroupfs  kubepods/besteffort/podUID/ID                                            Kubernetes

ID is 64 hexadecimal digits. UID has underscores with the systemd driver, for a dash there means a
folder; a static pod's has neither. Namespace, pod and container are names that only the kubelet
knows: it puts them into the names of its logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_CONTAINER = re.compile(r"(?:.*?:)?(?:([a-z-]+)[-:])?([0-9a-f]{64})(?:\.scope)?")
_UID = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}"
_POD = re.compile(rf"(?:.*-)?pod({_UID})(?:\.slice)?")
_QOS = ("besteffort", "burstable")
_RUNTIMES = {
    "docker": "docker",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "libpod": "podman",
}
_MONITOR = "conmon"  # podman's and CRI-O's own process: its cgroup has the container's id too
_LOG = re.compile(r"([^_]+)_([^_]+)_(.+)-[0-9a-f]{64}\.log")


@dataclass(frozen=True)
class Placed:
    """What a cgroup path tells of a task."""

    container: str
    """64 hexadecimal digits."""
    runtime: str
    """docker, containerd, cri-o or podman; "" where the path does not say it."""
    pod_uid: str
    """With dashes; "" outside Kubernetes."""
    qos: str
    """guaranteed, burstable or besteffort; "" outside Kubernetes."""


@dataclass(frozen=True)
class PodNames:
    """What people call a container in Kubernetes."""

    namespace: str
    pod: str
    container: str
    """"" if only the pod is known."""

    def __str__(self) -> str:
        """Return it as ``--container`` takes it."""
        return "/".join(filter(None, (self.namespace, self.pod, self.container)))


def placed(cgroup: str) -> Placed | None:
    """Return what a cgroup's path says; None outside containers.

    Of nested containers it is the outermost: the one this host's runtime made. So is it below the
    cgroup of a container, where an init has cgroups of its own.
    """
    pod_uid, folders = "", cgroup.strip("/").split("/")
    for n, folder in enumerate(folders):
        if pod := _POD.fullmatch(folder.partition(":")[0]):
            pod_uid = _with_dashes(pod[1])
        found = _CONTAINER.fullmatch(folder)
        if found and _MONITOR not in folder:
            runtime = _RUNTIMES.get(found[1] or "", "")
            if not runtime and n and folders[n - 1] == "docker":
                runtime = "docker"
            return Placed(found[2], runtime, pod_uid, _qos(folders[: n + 1]) if pod_uid else "")
    return None


def _with_dashes(uid: str) -> str:
    return uid.replace("_", "-")


def _qos(folders: list[str]) -> str:
    words = {word for folder in folders for word in re.split(r"[-.:]", folder)}
    return next((qos for qos in _QOS if qos in words), "guaranteed")


def pod_names(where: Placed, root: Path = Path("/")) -> PodNames | None:
    """Return what the kubelet's logs below *root* call a container; None if it has none."""
    for path in (root / "var/log/containers").glob(f"*-{where.container}.log"):
        if found := _LOG.fullmatch(path.name):
            pod, namespace, container = found.groups()
            return PodNames(namespace, pod, container)
    if where.pod_uid:
        for path in (root / "var/log/pods").glob(f"*_*_{where.pod_uid}"):
            namespace, pod, _ = path.name.split("_", 2)
            return PodNames(namespace, pod, "")
    return None
