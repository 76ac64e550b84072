"""Build a run.Request from the command line of `rcp-lab run`."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rcp.lab import kernel, module, payload, rootfs, run, scenario, sources, vm, wheel
from rcp.lab.progress import Progress

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def scenarios_root(checkout: Path | None, scenarios: Path | None) -> Path:
    """Return *scenarios*, else fixtures/scenarios of *checkout* (default: as find_checkout())."""
    return scenarios or sources.find_checkout(checkout) / "fixtures" / "scenarios"


def _environment(pairs: tuple[str, ...]) -> dict[str, str]:
    env = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="-e")
        env[name] = value
    return env


def _inputs(paths: tuple[Path, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in paths:
        name = f"inputs/{path.name}"
        if name in files:
            raise click.BadParameter(f"two inputs are called {path.name!r}", param_hint="--input")
        files[name] = path
    return files


def _what_to_run(
    name: str | None, after: list[str] | None, root: Callable[[], Path]
) -> tuple[scenario.Scenario | None, str]:
    # A scenario, with the words after -- as its arguments, or the words after -- as a command.
    if name is not None:
        found = scenario.find(root(), name)
        script = f"chmod +x run.sh; exec ./run.sh {shlex.join(after or [])}"
        return found, script.rstrip()
    if not after:
        raise click.UsageError("name a scenario, or put a command after --")
    # One word is a shell command, several are an argument list.
    return None, after[0] if len(after) == 1 else shlex.join(after)


def _machine(
    options: dict[str, Any], found: scenario.Scenario | None, source: Path, progress: Progress
) -> vm.Machine:
    mode = options["mode"] or (found.mode if found else "timing")
    if options["accel"] == "kvm" and mode == "timing":
        raise click.UsageError("--timing needs --accel tcg: KVM has no virtual time")
    if options["accel"] == "kvm" and not vm.kvm_usable():
        raise click.UsageError("--accel kvm: /dev/kvm cannot be opened: leave --accel out")
    return vm.Machine(
        mode=mode,
        rootfs=rootfs.ensure(source, progress, options["newest"]),
        accel=options["accel"],
        memory_mb=options["memory_mb"] or (found.memory_mb if found else 2048),
    )


def _with_kernel(
    machine: vm.Machine, name: str, checkout: Path, modules: list[str], progress: Progress
) -> tuple[vm.Machine, dict[str, Path]]:
    # Return the machine with kernel *name*, and the files it needs to load *modules*.
    if name == "stock":
        own = [module_name for module_name in modules if module_name in module.FOLDERS]
        release = machine.rootfs.release
        return machine, {
            f"modules/{item}.ko": module.ensure(checkout, item, release, progress) for item in own
        }
    built = kernel.ensure(checkout, name, progress)
    changed = replace(machine, rootfs=kernel.with_kernel(machine.rootfs, built), kernel=built.key)
    return changed, {"kernel": built.modules}


def from_options(
    options: dict[str, Any], after: list[str] | None, progress: Progress
) -> run.Request:
    """Return the request for these *options* of rcp-lab run and the words *after* --.

    Builds the guest and the wheel if they are missing. Raises click's usage errors for wrong
    options, and LabError for all other faults.
    """
    vm.require()
    checkout = options["checkout"]
    found, command = _what_to_run(
        options["name"], after, lambda: scenarios_root(checkout, options["scenarios_dir"])
    )
    # Check these before building a missing guest.
    env, files = _environment(options["env"]), _inputs(options["inputs"])
    modules = [*(found.modules if found else []), *options["modules"]]
    source = sources.find_checkout(checkout)
    machine, kernel_files = _with_kernel(
        _machine(options, found, source, progress), options["kernel"], source, modules, progress
    )
    env["RCP_LAB_VIRTUAL_TIME"] = "1" if machine.virtual_time else "0"
    env["RCP_LAB_ICOUNT_SHIFT"] = str(vm.ICOUNT_SHIFT) if machine.virtual_time else ""
    job = payload.Job(
        command=command,
        wheel=wheel.ensure(source, progress),
        cwd=f"{payload.GUEST_IN}/scenarios/{found.name}" if found else "/root",
        env=env,
        # All scenarios, because they share helpers.
        files=files | kernel_files | ({"scenarios": found.path.parent} if found else {}),
        modules=modules,
        shift=options["shift"],
    )
    if found:
        progress.stage(f"{found.name}: {found.title} (usually {found.typical_wall_s} s)")
    name = found.name if found else "command"
    return run.Request(
        name=name,
        job=job,
        machine=machine,
        out=options["out"] or run.default_out(name),
        timeout_s=options["timeout_s"] or (found.timeout_s if found else 600),
        output_mb=options["output_mb"],
    )
