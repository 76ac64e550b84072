"""The composite action: its form, and its own shell, run as GitHub runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from rcp.analyzer.gate.tests.conftest import MakeRuns

ROOT = Path(__file__).parents[3]
# How a runner calls the shell of a step with `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


@pytest.fixture
def action() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return told


def step_of(action: dict[str, Any], name: str) -> dict[str, Any]:
    (step,) = [step for step in action["runs"]["steps"] if step["name"] == name]
    return dict(step)


def run_step(step: dict[str, Any], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    script = folder / "step.sh"
    script.write_text(step["run"])
    return subprocess.run(
        [*BASH, str(script)],
        cwd=folder,
        env={**os.environ, "RUNNER_TEMP": str(folder / "runner"), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def judged(action: dict[str, Any], folder: Path, **inputs: str) -> tuple[int, str, str]:
    """Run the step that judges; return its exit status, the step's summary, and its stderr."""
    program = folder / "runner/rcp/bin/rcp-trace"
    if not program.exists():
        program.parent.mkdir(parents=True)
        program.symlink_to(Path(sys.executable).with_name("rcp-trace"))
    step = step_of(action, "Judge latencies")
    given = {name: spec.get("default", "") for name, spec in action["inputs"].items()} | inputs
    wanted = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    for file in files.values():
        (folder / file).write_text("")
    done = run_step(step, folder, **wanted, **{k: str(folder / v) for k, v in files.items()})
    assert (folder / "output").read_text() == f"exit-status={done.returncode}\n"
    return done.returncode, (folder / "summary.md").read_text(), done.stderr


def test_the_step_passes_on_the_gates_verdict(
    action: dict[str, Any], make_runs: MakeRuns, tmp_path: Path
) -> None:
    make_runs("old")
    make_runs("new", factor=1.4)
    make_runs("same")
    files = {"baseline": "old*.txt", "junit": "gate.xml"}
    status, summary, _ = judged(action, tmp_path, candidate="new*.txt", slo="p50=1s", **files)
    assert status == 1
    assert summary.startswith("### ❌ Latency gate: regression: p99 ")
    assert "<failure " in (tmp_path / "gate.xml").read_text()
    options = {"options": "--max-regression p50=30%", "max-regression": "p99=20%"}
    status, summary, _ = judged(action, tmp_path, candidate="same*.txt", **files, **options)
    assert status == 0
    assert summary.startswith("### ✅ Latency gate: pass")
    assert "<failure " not in (tmp_path / "gate.xml").read_text()


def test_two_commands_are_measured_in_turn(action: dict[str, Any], tmp_path: Path) -> None:
    program = tmp_path / "bench.py"
    program.write_text(
        "import os, random, sys\n"
        "open('order', 'a').write(sys.argv[2])\n"
        "generator = random.Random(os.path.getsize('order'))\n"
        "for _ in range(3000):\n"
        "    print(f'{generator.lognormvariate(0, 0.5) * float(sys.argv[1]):.6f}ms')\n"
    )
    command = f"{sys.executable} bench.py"
    inputs = {"a": f"{command} 1 a", "b": f"{command} 2 b", "runs": "6", "junit": "gate.xml"}
    status, summary, stderr = judged(action, tmp_path, **inputs)
    assert status == 1, stderr
    assert summary.startswith("### ❌ Latency gate: regression: p99 ")
    order = (tmp_path / "order").read_text()
    assert order.startswith("abbaabbaabba")
    assert order.count("a") == order.count("b") > 6  # confirmed by fresh runs
    assert "<failure " in (tmp_path / "gate.xml").read_text()


def test_an_error_leaves_a_junit_file(action: dict[str, Any], tmp_path: Path) -> None:
    inputs = {"a": "true", "b": "true", "runs": "1", "junit": "gate.xml"}
    status, summary, stderr = judged(action, tmp_path, **inputs)
    assert status == 2
    assert "<error " in (tmp_path / "gate.xml").read_text()
    assert summary.startswith("### ❌ Latency gate: error: ")
    assert "rcp-trace: error: " in stderr


def test_one_command_alone_is_an_error(action: dict[str, Any], tmp_path: Path) -> None:
    status, _, stderr = judged(action, tmp_path, a="true")
    assert status == 2
    assert "printed" in stderr or "no latencies" in stderr or "--b" in stderr


def test_the_policy_on_noise_is_an_input(
    action: dict[str, Any], make_runs: MakeRuns, tmp_path: Path
) -> None:
    for name, factors in (("old", (0.5, 1, 2, 0.7, 3)), ("new", (0.6, 1, 2, 0.9, 3))):
        for number, factor in enumerate(factors):
            (path,) = make_runs(f"{name}-{number}-", 1, factor, 3000)
            path.rename(tmp_path / f"{name}{number}.txt")
    files = {"candidate": "new?.txt", "baseline": "old?.txt"}
    for policy, status in (("pass", 0), ("warn", 0), ("fail", 3)):
        found, summary, _ = judged(action, tmp_path, inconclusive=policy, **files)
        assert found == status
        assert summary.startswith("### ❔ Latency gate: inconclusive: p99 ")
    short = {"candidate": "new0.txt", "baseline": "old0.txt"}
    assert judged(action, tmp_path, **short)[0] == 3


def test_options_may_have_quotes(
    action: dict[str, Any], make_runs: MakeRuns, tmp_path: Path
) -> None:
    make_runs("old")
    options = "-o 'what was found' --slo p50=1s"
    status, _, stderr = judged(action, tmp_path, candidate="old*.txt", options=options)
    assert (status, stderr) == (0, "")
    assert "Latency gate: pass" in (tmp_path / "what was found").read_text()
    step, env = step_of(action, "Judge latencies"), {"OPTIONS": "--slo 'p50"}
    done = run_step(step, tmp_path, **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "unmatched single quote" in done.stderr


def test_a_pattern_without_files_is_an_error(action: dict[str, Any], tmp_path: Path) -> None:
    status, summary, stderr = judged(action, tmp_path, candidate="none*.txt", slo="p50=1s")
    message = "no candidate given: name its runs before --baseline."
    assert (status, summary) == (2, f"### ❌ Latency gate: error: {message}\n")
    assert stderr == f"rcp-trace: error: {message}\n"


def test_the_first_step_installs_what_the_second_runs(
    action: dict[str, Any], make_runs: MakeRuns, tmp_path: Path
) -> None:
    """With the network left out: setuptools and rcp's dependencies are those of this checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    checkout, tools = tmp_path / "checkout", tmp_path / "tools"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, checkout / name)
    packages = sysconfig.get_path("purelib")  # Debian's Python names several folders for it
    tools.mkdir()
    (tools / "setuptools").symlink_to(Path(packages) / "setuptools")
    done = run_step(
        step_of(action, "Install rcp"),
        tmp_path,
        GITHUB_ACTION_PATH=str(checkout),
        PYTHONPATH=str(tools),
        PIP_NO_INDEX="1",
        PIP_NO_DEPS="1",
        PIP_NO_BUILD_ISOLATION="0",  # pip reads it as the option's value: 0 is without isolation
    )
    assert done.returncode == 0, done.stderr
    (lib,) = (tmp_path / "runner/rcp/lib").glob("python3*")
    (lib / "site-packages/checkout.pth").write_text(f"{packages}\n")
    installed = lib / "site-packages/rcp"
    assert (installed / "analyzer/sql").is_dir()
    make_runs("old")
    status, summary, stderr = judged(action, tmp_path, candidate="old*.txt", slo="p50=1s")
    assert (status, stderr) == (0, "")
    assert summary.startswith("### ✅ Latency gate: pass")


def check_schema(name: str, file: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is missing: `make setup`")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{name}"]
    done = subprocess.run([*words, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_has_the_form_that_github_asks_for(tmp_path: Path) -> None:
    check_schema("github-actions", ROOT / "action.yml")
    bad = tmp_path / "action.yml"
    bad.write_text((ROOT / "action.yml").read_text().replace("shell: bash", "shel: bash"))
    with pytest.raises(AssertionError, match="shel"):
        check_schema("github-actions", bad)


def _workflow(page: str) -> str:
    """Return the GitHub workflow of a page."""
    text = (ROOT / page).read_text()
    snippet = re.search(r"^ {4}on: pull_request\n(?: {4}.*\n|\n(?= {4}))+", text, re.MULTILINE)
    assert snippet
    return textwrap.dedent(snippet[0])


@pytest.mark.parametrize("page", ["README.md", "docs/gate.md"])
def test_the_github_example_is_a_workflow_that_confirms(
    action: dict[str, Any], tmp_path: Path, page: str
) -> None:
    file = tmp_path / "latency.yml"
    file.write_text(_workflow(page))
    check_schema("github-workflows", file)
    steps = yaml.safe_load(file.read_text())["jobs"]["latency"]["steps"]
    (step,) = [step for step in steps if "/rcp@" in step.get("uses", "")]
    assert {"a", "b"} <= step["with"].keys() <= action["inputs"].keys()


def test_the_gitlab_snippet_of_the_docs_has_the_form_that_gitlab_asks_for(tmp_path: Path) -> None:
    page = (ROOT / "docs/gate.md").read_text()
    snippet = re.search(r"^GitLab:\n\n((?: {4}.*\n)+)", page, re.MULTILINE)
    assert snippet
    file = tmp_path / "gitlab-ci.yml"
    file.write_text(textwrap.dedent(snippet[1]))
    check_schema("gitlab-ci", file)


def test_the_steps_are_good_shell(action: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: run `make setup`")
    for number, step in enumerate(action["runs"]["steps"]):
        script = tmp_path / f"step{number}.sh"
        names = "".join(f"{name}=\n" for name in step.get("env", {}))
        script.write_text(f"#!/bin/bash\nset -eo pipefail\n{names}{step['run']}")
        done = subprocess.run(
            ["shellcheck", str(script)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_every_input_is_described(action: dict[str, Any]) -> None:
    assert all(spec["description"] for spec in action["inputs"].values())


def test_failed_requests_are_limited(action: dict[str, Any], tmp_path: Path) -> None:
    """By default, and by the input of the name."""
    head = "timeStamp,elapsed,label,success\n"
    for name, success in (("old", "true"), ("new", "false")):
        for number in range(6):
            rows = (f"{row},{100 + row % 97 + number},x,{success}\n" for row in range(2000))
            (tmp_path / f"{name}{number}.jtl").write_text(head + "".join(rows))
    files = {"candidate": "new*.jtl", "baseline": "old*.jtl"}
    status, summary, _ = judged(action, tmp_path, **files)
    assert status == 1
    assert summary.startswith("### ❌ Latency gate: regression: failed requests 0.0 % → 100.0 %")
    assert judged(action, tmp_path, **files, **{"max-failed": "100%"})[0] == 0
