"""What ``doctor`` and ``record`` say of machines, laid out as folders with ``proc`` and ``sys``."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import pytest

from rcp.probes.diagnosis import health_of
from rcp.probes.kernel.active import active_probes
from rcp.probes.kernel.config import read_config
from rcp.probes.kernel.features import Features, read_features, with_types_of
from rcp.probes.kernel.headers import header_macros, version_code
from rcp.probes.kernel.late_modules import absent_modules
from rcp.probes.kernel.obstacles import MOUNT, obstacles, require
from rcp.probes.kernel.probe import PROBES
from rcp.probes.kernel.symbols import kallsyms
from rcp.probes.program import Options, cflags

RELEASE = "6.12.0-test"
TRACEPOINTS = [name for probe in PROBES for name in probe.tracepoints if not probe.is_of_patch]
FUNCTIONS = [name for p in PROBES for name in (*p.functions, *p.optional_functions)]
ROOT, USER = 0x1FFFFFFFFFF, 0
MOUNTED = "tracefs /sys/kernel/tracing tracefs rw 0 0\n"


@dataclass
class Machine:
    """A machine as files below *root*, which can record until something is taken from it."""

    root: Path

    def __post_init__(self) -> None:
        for folder in (
            "proc/self",
            "proc/sys/kernel",
            "sys/kernel/btf",
            "sys/kernel/tracing",
            "boot",
        ):
            (self.root / folder).mkdir(parents=True)
        self.write("proc/sys/kernel/osrelease", f"{RELEASE}\n")
        self.write("proc/sys/kernel/kptr_restrict", "0\n")
        self.write("sys/kernel/btf/vmlinux", "")
        self.capabilities(ROOT)
        self.symbols({"__preempt_count": 0x35008, "__per_cpu_offset": 0xFFFFFFFF00})
        self.mount_tracefs()

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)

    def capabilities(self, mask: int) -> None:
        self.write("proc/self/status", f"Name:\tx\nCapEff:\t{mask:016x}\n")

    def symbols(self, data: dict[str, int], *, without: Iterable[str] = ()) -> None:
        traced = [f"__traceiter_{name.partition(':')[2]}" for name in TRACEPOINTS]
        names = dict.fromkeys((*FUNCTIONS, *traced), 18446744071578845184)
        lines = [
            f"{address:016x} T {name}\n"
            for name, address in {**names, **data}.items()
            if name not in set(without)
        ]
        self.write("proc/kallsyms", "".join(lines))
        kallsyms.cache_clear()

    def mount_tracefs(self) -> None:
        self.write("proc/self/mounts", MOUNTED)
        for name in TRACEPOINTS:
            (self.root / "sys/kernel/tracing/events" / name.replace(":", "/")).mkdir(
                parents=True, exist_ok=True
            )

    def unmount_tracefs(self) -> None:
        self.write("proc/self/mounts", "proc /proc proc rw 0 0\n")
        (self.root / "sys/kernel/tracing").rename(self.root / "unmounted")

    def features(self) -> Features:
        # The types of modules are looked for on the machine that runs this test.
        return replace(read_features(self.root), machine="x86_64", missing_modules=())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_whole_machine_has_no_obstacle(machine: Machine) -> None:
    found = machine.features()
    assert obstacles(found) == []
    assert (found.missing_functions, found.why_no_addresses) == ((), "")
    require(found)


def test_without_tracefs_only_the_mount_is_named(machine: Machine) -> None:
    machine.unmount_tracefs()
    found = machine.features()
    (obstacle,) = obstacles(found)
    assert obstacle.startswith(f"tracefs is not mounted: run `{' '.join(MOUNT)}`")
    assert "`rcp-trace doctor --mount`" in obstacle
    for probe in PROBES:
        assert health_of(probe, found).state == ("foreign" if probe.is_of_patch else "ok")


def test_a_tracepoint_that_is_missing_is_known_without_tracefs(machine: Machine) -> None:
    machine.unmount_tracefs()
    machine.symbols({}, without=["__traceiter_contention_begin"])
    assert "lock:contention_begin" in machine.features().missing_tracepoints
    assert "lock:contention_end" not in machine.features().missing_tracepoints


def test_a_user_without_rights_is_told_nothing_of_tracefs(machine: Machine) -> None:
    machine.unmount_tracefs()  # as it looks to them
    machine.write("proc/self/mounts", MOUNTED)
    machine.capabilities(USER)
    assert obstacles(machine.features()) == [
        "recording needs root, or CAP_BPF and CAP_PERFMON: run it with sudo."
    ]


def take_rights(machine: Machine) -> str:
    machine.capabilities(USER)
    return "sudo"


def take_tracefs(machine: Machine) -> str:
    machine.unmount_tracefs()
    return "mount -t tracefs"


def take_btf(machine: Machine) -> str:
    (machine.root / "sys/kernel/btf/vmlinux").unlink()
    return "CONFIG_DEBUG_INFO_BTF"


def take_a_function(machine: Machine) -> str:
    machine.symbols({}, without=["blk_mq_end_request"])
    return "blk_mq_end_request"


TAKEN = (take_rights, take_tracefs, take_btf, take_a_function)


@pytest.mark.parametrize(
    "taken", [some for n in range(len(TAKEN) + 1) for some in combinations(TAKEN, n)]
)
def test_all_obstacles_are_told_together(machine: Machine, taken: tuple[object, ...]) -> None:
    remedies = [take(machine) for take in TAKEN if take in taken]
    found = obstacles(machine.features())
    assert len(found) == len(remedies)
    for obstacle, remedy in zip(found, remedies, strict=True):
        assert remedy in obstacle
        assert obstacle.endswith(".")


@pytest.mark.parametrize(
    ("data", "restrict", "capabilities", "reason"),
    [
        ({}, 0, ROOT, "CONFIG_KALLSYMS_ALL"),
        ({}, 2, ROOT, "CONFIG_KALLSYMS_ALL"),
        ({"__preempt_count": 0, "__per_cpu_offset": 0}, 2, ROOT, "kernel.kptr_restrict is 2"),
        ({"__preempt_count": 0, "__per_cpu_offset": 0}, 1, USER, "sudo"),
        ({"__preempt_count": 0, "__per_cpu_offset": 0}, 0, USER, "sudo"),
        ({"__per_cpu_offset": 1 << 40}, 0, ROOT, "no address for __preempt_count or pcpu_hot"),
        ({"__preempt_count": 8, "__per_cpu_offset": 1 << 40}, 2, ROOT, ""),
        ({"pcpu_hot": 8, "__per_cpu_offset": 1 << 40}, 0, USER, ""),
    ],
)
def test_the_reason_for_hidden_addresses_is_the_true_one(
    machine: Machine, data: dict[str, int], restrict: int, capabilities: int, reason: str
) -> None:
    machine.symbols(data)
    machine.write("proc/sys/kernel/kptr_restrict", f"{restrict}\n")
    machine.capabilities(capabilities)
    found = machine.features().why_no_addresses
    assert reason in found
    assert bool(reason) == bool(found)
    assert ("kptr_restrict" in found) == ("kptr_restrict" in reason)


@pytest.mark.parametrize("place", ["boot/config-6.12.0-test", "proc/config.gz"])
def test_the_option_that_is_missing_is_named_with_its_file(machine: Machine, place: str) -> None:
    text = (
        "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\n"
        "# CONFIG_BPF_EVENTS is not set\nCONFIG_JBD2=m\nCONFIG_TRACING=y\n"
        "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS=y\n"
    )
    data = text.encode()
    (machine.root / place).write_bytes(gzip.compress(data) if place.endswith("gz") else data)
    config = read_config(RELEASE, machine.root)
    (obstacle,) = obstacles(machine.features(), config)
    assert "without CONFIG_BPF_EVENTS" in obstacle
    assert str(machine.root / place) in obstacle
    by_name = {probe.name: probe for probe in PROBES}
    poor = replace(
        machine.features(),
        missing_tracepoints=by_name["journal_commit"].tracepoints,
        missing_functions=("__blk_throtl_bio",),
    )
    journal = health_of(by_name["journal_commit"], poor, config)
    assert (journal.state, journal.remedy) == ("missing", "run `modprobe jbd2`")
    held = health_of(by_name["io_hold"], poor, config)
    assert held.remedy == "this kernel was built without CONFIG_BLK_DEV_THROTTLING"
    assert health_of(by_name["io_hold"], poor).remedy == "needs CONFIG_BLK_DEV_THROTTLING"


def test_no_option_is_said_to_be_missing_without_a_file_that_says_so(machine: Machine) -> None:
    assert obstacles(machine.features(), read_config(RELEASE, machine.root)) == []
    machine.write(f"boot/config-{RELEASE}", "damaged \0\n")
    assert obstacles(machine.features(), read_config(RELEASE, machine.root)) == []


@pytest.mark.parametrize(
    ("release", "code"),
    [
        ("6.12.0-test", 0x060C00),
        ("6.12.117+deb13-cloud-amd64", 0x060C75),
        ("5.15.300", 0x050FFF),
        ("6.1", 0x060100),
        ("next-20260101", 0),
    ],
)
def test_the_version_is_that_of_the_release(release: str, code: int) -> None:
    assert version_code(release) == code


def test_stacks_are_as_large_as_the_kernel_was_built(machine: Machine) -> None:
    assert header_macros(machine.features())["RCP_THREAD_SIZE"] == 16384
    assert header_macros(machine.features())["RCP_TOP_OF_KERNEL_STACK_PADDING"] == 0
    machine.symbols({"kasan_report": 1, "asm_fred_entrypoint_user": 1})
    assert header_macros(machine.features())["RCP_THREAD_SIZE"] == 32768
    assert header_macros(machine.features())["RCP_TOP_OF_KERNEL_STACK_PADDING"] == 16


@pytest.mark.parametrize("lacks", [("pipe_write",), ("anon_pipe_write",), ()], ids=str)
def test_a_function_has_one_of_its_names(machine: Machine, lacks: tuple[str, ...]) -> None:
    """Without either, pipes are not looked at."""
    probe = next(probe for probe in PROBES if probe.name == "socket")
    machine.symbols({}, without=lacks)
    found = machine.features()
    assert (found.missing_functions, found.idle_functions) == ((), lacks)
    assert (health_of(probe, found).state, absent_modules(found)) == ("ok", [])
    options = cflags(Options(), found)
    assert not [name for name in lacks if f"-DRCP_HAVE_{name}=1" in options]
    machine.symbols({}, without=probe.optional_functions)
    assert health_of(probe, machine.features()).state == "partly"


@pytest.mark.parametrize("loaded", [(), ("dm_mod",), ("dm_mod", "dm_crypt", "loop")], ids=str)
def test_functions_of_modules_that_are_not_loaded_are_not_missing(
    machine: Machine, loaded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dm-crypt there is no io of dm-crypt. A loaded module that lacks one is poorer."""
    monkeypatch.setattr("rcp.probes.kernel.features.may_come", lambda name: False)
    probe = next(probe for probe in PROBES if probe.name == "io_origin")
    machine.symbols({}, without=probe.modules)
    for module in loaded:
        (machine.root / "sys/module" / module).mkdir(parents=True)
    found = machine.features()
    missing = {name for name, module in probe.modules.items() if module in loaded}
    assert set(found.missing_functions) == missing
    assert set(found.idle_functions) == probe.modules.keys() - missing
    assert absent_modules(found) == sorted(set(probe.modules.values()) - set(loaded))
    assert health_of(probe, found).state == ("partly" if loaded else "ok")
    options = cflags(Options(), found)
    assert not [name for name in probe.modules if f"-DRCP_HAVE_{name}=1" in options]


def test_probes_of_modules_whose_types_are_known_are_compiled_before_these_are_loaded(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = next(probe for probe in PROBES if probe.name == "io_origin")
    machine.symbols({}, without=probe.modules)
    known = {"dm_crypt", "loop"}
    monkeypatch.setattr("rcp.probes.kernel.features.may_come", known.__contains__)
    found = machine.features()
    later = {name for name, module in probe.modules.items() if module != "dm_mod"}
    assert set(found.later_functions) == later
    assert set(found.idle_functions) == probe.modules.keys()
    options = cflags(Options(), found)
    assert {name for name in probe.modules if f"-DRCP_HAVE_{name}=1" in options} == later
    assert absent_modules(found) == ["dm_crypt", "dm_mod", "loop"]


def test_functions_of_a_module_whose_file_is_damaged_are_not_compiled(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is seen when the types are read, which is only done to compile."""
    probe = next(probe for probe in PROBES if probe.name == "io_origin")
    machine.symbols({}, without=probe.modules)
    monkeypatch.setattr("rcp.probes.kernel.features.may_come", {"dm_crypt", "loop"}.__contains__)
    found = machine.features()
    whole = {name for name, module in probe.modules.items() if module == "loop"}
    narrowed = with_types_of(found, {"", "loop"})
    assert set(narrowed.later_functions) == whole < set(found.later_functions)
    options = cflags(Options(), narrowed)
    assert {name for name in probe.modules if f"-DRCP_HAVE_{name}=1" in options} == whole


def test_so_is_a_probe_of_which_only_modules_have_functions(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = next(probe for probe in PROBES if probe.name == "copy")
    machine.symbols({}, without=probe.modules)
    monkeypatch.setattr("rcp.probes.kernel.features.may_come", lambda name: False)
    assert probe not in active_probes(machine.features())
    monkeypatch.setattr("rcp.probes.kernel.features.may_come", lambda name: name == "dm_snapshot")
    assert probe in active_probes(machine.features())
