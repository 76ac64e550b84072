"""Container and pod from cgroup paths, as the runtimes write them with either driver."""

from pathlib import Path

import pytest

from rcp.probes.who.pods import Placed, PodNames, placed, pod_names

ID = "0123456789abcdef" * 4
UID = "c5d81f55-2a4d-4c6e-9a52-6e1a9d1c8e0f"
UID_ = UID.replace("-", "_")
STATIC = "d4fdb3a1c6a8f0c15d4d8a5a0e9a7b61"
KUBE = "/kubepods.slice/kubepods-burstable.slice"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        # Docker
        (f"/system.slice/docker-{ID}.scope", Placed(ID, "docker", "", "")),
        (f"/docker/{ID}", Placed(ID, "docker", "", "")),
        (f"/system.slice/docker-{ID}.scope/init.scope", Placed(ID, "docker", "", "")),
        # containerd
        (
            f"{KUBE}/kubepods-burstable-pod{UID_}.slice/cri-containerd-{ID}.scope",
            Placed(ID, "containerd", UID, "burstable"),
        ),
        (f"/kubepods/burstable/pod{UID}/{ID}", Placed(ID, "", UID, "burstable")),
        (
            f"/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{ID}.scope",
            Placed(ID, "containerd", UID, "guaranteed"),
        ),
        (f"/kubepods/pod{UID}/{ID}", Placed(ID, "", UID, "guaranteed")),
        (f"/system.slice/nerdctl-{ID}.scope", Placed(ID, "containerd", "", "")),
        (f"/default/{ID}", Placed(ID, "", "", "")),
        # the older form of containerd with the systemd driver
        (
            f"/system.slice/containerd.service/kubepods-besteffort-pod{UID_}.slice:cri-containerd:"
            f"{ID}",
            Placed(ID, "containerd", UID, "besteffort"),
        ),
        # CRI-O
        (
            f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID_}.slice/"
            f"crio-{ID}.scope/container",
            Placed(ID, "cri-o", UID, "besteffort"),
        ),
        (f"/kubepods/besteffort/pod{UID}/crio-{ID}", Placed(ID, "cri-o", UID, "besteffort")),
        (f"{KUBE}/kubepods-burstable-pod{UID_}.slice/crio-conmon-{ID}.scope", None),
        # a static pod
        (
            f"{KUBE}/kubepods-burstable-pod{STATIC}.slice/cri-containerd-{ID}.scope",
            Placed(ID, "containerd", STATIC, "burstable"),
        ),
        # kind: the node is a container of Docker, and its kubelet has a folder of its own
        (
            f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
            f"kubelet-kubepods-burstable-pod{UID_}.slice/cri-containerd-{ID}.scope",
            Placed(ID, "containerd", UID, "burstable"),
        ),
        # cri-dockerd
        (
            f"{KUBE}/kubepods-burstable-pod{UID_}.slice/docker-{ID}.scope",
            Placed(ID, "docker", UID, "burstable"),
        ),
        # Podman
        (f"/machine.slice/libpod-{ID}.scope/container", Placed(ID, "podman", "", "")),
        (
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope",
            Placed(ID, "podman", "", ""),
        ),
        (f"/machine.slice/libpod-conmon-{ID}.scope", None),
        # none
        ("/", None),
        ("", None),
        ("/system.slice/postgresql.service", None),
        ("/user.slice/user-1000.slice/session-2.scope", None),
        (f"{KUBE}/kubepods-burstable-pod{UID_}.slice", None),
        (f"/system.slice/docker-{ID[:12]}.scope", None),
        (f"/system.slice/docker-{ID}0.scope", None),
    ],
)
def test_what_a_path_says(path: str, found: Placed | None) -> None:
    assert placed(path) == found


def test_an_outer_container_is_the_hosts() -> None:
    other = "f" * 64
    found = placed(f"/system.slice/docker-{ID}.scope/kubepods/pod{UID}/{other}")
    assert found == Placed(ID, "docker", "", "")


def test_names_are_those_of_the_kubelets_logs(tmp_path: Path) -> None:
    (tmp_path / "var/log/containers").mkdir(parents=True)
    (tmp_path / f"var/log/containers/web-1_shop_my-nginx-{ID}.log").touch()
    found = pod_names(Placed(ID, "cri-o", UID, "burstable"), tmp_path)
    assert found == PodNames("shop", "web-1", "my-nginx")
    assert str(found) == "shop/web-1/my-nginx"


def test_a_container_without_a_log_has_its_pods_name(tmp_path: Path) -> None:
    (tmp_path / f"var/log/pods/shop_web-1_{UID}").mkdir(parents=True)
    found = pod_names(Placed(ID, "", UID, "burstable"), tmp_path)
    assert str(found) == "shop/web-1"


def test_outside_kubernetes_there_are_no_names(tmp_path: Path) -> None:
    assert pod_names(Placed(ID, "docker", "", ""), tmp_path) is None
