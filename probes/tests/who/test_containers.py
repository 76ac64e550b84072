import json
from pathlib import Path

import pytest

from rcp.probes.who.containers import container_cgroup, containers
from rcp.probes.who.roles import RuleError

WEB, DB, POD, NERD = "3f2a" + "0" * 60, "3f7b" + "1" * 60, "aa11" + "2" * 60, "bb22" + "3" * 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with one container of each runtime."""
    for group in (
        f"system.slice/docker-{WEB}.scope",
        f"machine.slice/libpod-{DB}.scope/container",
        f"machine.slice/libpod-conmon-{DB}.scope",
        f"kubepods.slice/kubepods-burstable.slice/cri-containerd-{POD}.scope",
        f"kubepods/besteffort/{NERD}",
        "machine.slice/machine-mail.scope",
        "lxc.payload.build",
        "system.slice/ssh.service",
    ):
        (tmp_path / "cgroup" / group).mkdir(parents=True)
    files = {
        f"var/lib/docker/containers/{WEB}/config.v2.json": {"Name": "/web"},
        "var/lib/containers/storage/overlay-containers/containers.json": [
            {"id": DB, "names": ["db", "postgres"]}
        ],
        f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{POD}/config.json": {
            "annotations": {"io.kubernetes.cri.container-name": "api"}
        },
        f"run/containerd/io.containerd.runtime.v2.task/default/{NERD}/config.json": "damaged",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "var/log/containers").mkdir(parents=True)
    (tmp_path / f"var/log/containers/web-1_shop_cache-{NERD}.log").touch()
    return tmp_path


def found(root: Path, text: str) -> str:
    path = Path(container_cgroup(text, root / "cgroup", root))
    return str(path.relative_to(root / "cgroup"))


@pytest.mark.parametrize(
    ("text", "cgroup"),
    [
        ("web", f"system.slice/docker-{WEB}.scope"),
        ("3f2a", f"system.slice/docker-{WEB}.scope"),
        ("3F2A", f"system.slice/docker-{WEB}.scope"),
        (DB, f"machine.slice/libpod-{DB}.scope"),
        ("postgres", f"machine.slice/libpod-{DB}.scope"),
        ("api", f"kubepods.slice/kubepods-burstable.slice/cri-containerd-{POD}.scope"),
        ("bb22", f"kubepods/besteffort/{NERD}"),
        ("shop/web-1/cache", f"kubepods/besteffort/{NERD}"),
        ("cache", f"kubepods/besteffort/{NERD}"),
        ("mail", "machine.slice/machine-mail.scope"),
        ("build", "lxc.payload.build"),
    ],
)
def test_a_container_is_found_by_name_and_by_the_beginning_of_its_id(
    root: Path, text: str, cgroup: str
) -> None:
    assert found(root, text) == cgroup


def test_monitors_and_services_are_no_containers(root: Path) -> None:
    assert len(list(containers(root / "cgroup", root))) == 6


def error(root: Path, text: str) -> str:
    with pytest.raises(RuleError) as raised:
        container_cgroup(text, root / "cgroup", root)
    return str(raised.value)


def test_an_ambiguous_beginning_lists_what_it_matches(root: Path) -> None:
    message = error(root, "3f")
    assert message.startswith("--container '3f' matches several: ")
    assert "web (3f2a00000000) in system.slice" in message
    assert "db (3f7b11111111) in machine.slice" in message
    assert message.endswith(": give a longer id.")


def test_near_matches_are_listed(root: Path) -> None:
    assert error(root, "postgre") == ("no container 'postgre': did you mean db (3f7b11111111).")
    assert error(root, "3f2b00000000") == (
        "no container '3f2b00000000': did you mean web (3f2a00000000)."
    )


def test_without_a_near_match_the_running_ones_are_listed(root: Path) -> None:
    message = error(root, "zzz")
    assert message.startswith("no container 'zzz': running are ")
    assert message.endswith(" and 1 more.")
    assert error(root, "").startswith("no container '': running are ")


def test_a_host_without_containers_says_so(tmp_path: Path) -> None:
    assert error(tmp_path, "web") == (
        f"--container 'web': no container has a cgroup below {tmp_path / 'cgroup'}."
    )
