"""The manifest and the image agree with each other, with the unit and with rcp-trace."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from rcp.analyzer.cli import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "contrib/kubernetes"
IMAGE = (FOLDER / "Containerfile").read_text()
UNIT = (ROOT / "contrib/systemd/rcp-trace-agent.service").read_text()


def documents() -> dict[str, dict[str, Any]]:
    loaded = yaml.safe_load_all((FOLDER / "daemonset.yaml").read_text())
    return {document["kind"]: document for document in loaded}


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = documents()["DaemonSet"]["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    (only,) = pod()["containers"]
    found: dict[str, Any] = only
    return found


def config() -> str:
    text: str = documents()["ConfigMap"]["data"]["agent.toml"]
    return text


def test_names_fit_together() -> None:
    kinds = documents()
    assert set(kinds) == {"Namespace", "ConfigMap", "DaemonSet"}
    spec = kinds["DaemonSet"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    namespaces = {kinds[kind]["metadata"]["namespace"] for kind in ("ConfigMap", "DaemonSet")}
    assert namespaces == {kinds["Namespace"]["metadata"]["name"]}
    volumes = {volume["name"]: volume for volume in pod()["volumes"]}
    assert volumes.keys() == {mount["name"] for mount in container()["volumeMounts"]}
    assert volumes["config"]["configMap"]["name"] == kinds["ConfigMap"]["metadata"]["name"]


def test_its_configuration_is_right(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(config())
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert (done.exit_code, done.stderr) == (0, f"rcp-trace: {path} is right.\n")


def test_metrics_are_where_the_probes_and_prometheus_look() -> None:
    port = int(tomllib.loads(config())["metrics"]["listen"].rpartition(":")[2])
    assert [one["containerPort"] for one in container()["ports"]] == [port]
    annotations = documents()["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(port)
    assert f"EXPOSE {port}\n" in IMAGE
    for probe in ("readinessProbe", "livenessProbe"):
        assert container()[probe]["httpGet"] == {"path": "/metrics", "port": "metrics"}


def test_it_has_the_rights_of_the_unit() -> None:
    (listed,) = re.findall(r"^CapabilityBoundingSet=(.*)$", UNIT, re.MULTILINE)
    capabilities = container()["securityContext"]["capabilities"]
    assert capabilities["drop"] == ["ALL"]
    assert [f"CAP_{name}" for name in capabilities["add"]] == listed.split()


def test_what_it_writes_is_a_volume() -> None:
    folder = Path(tomllib.loads(config())["recordings"]["folder"])
    (cache,) = re.findall(r"^ENV XDG_CACHE_HOME=(.*)$", IMAGE, re.MULTILINE)
    mounts = {Path(m["mountPath"]) for m in container()["volumeMounts"] if not m.get("readOnly")}
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    assert folder in mounts
    assert mounts & set(Path(cache).parents)


@pytest.mark.parametrize("args", [container()["args"], None], ids=["manifest", "image"])
def test_its_command_exists(args: list[str] | None) -> None:
    if args is None:
        (text,) = re.findall(r"^CMD (.*)$", IMAGE, re.MULTILINE)
        args = yaml.safe_load(text)
    name, *options = args
    main.commands[name].make_context(name, list(options))


def test_the_image_installs_what_record_needs() -> None:
    installed = set(shlex.split(IMAGE.replace("\\\n", " "), comments=True))
    assert {"python3-bpfcc", "xz-utils", ".[fleet]"} <= installed
    assert (ROOT / "pyproject.toml").exists()
    stages = re.findall(r"^FROM \S+(?: AS (\w+))?$", IMAGE, re.MULTILINE)
    assert set(re.findall(r"--from=(\w+)", IMAGE)) <= set(stages)
