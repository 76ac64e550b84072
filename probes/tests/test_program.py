import re
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.compiled import PREEMPT_COUNT, SELF_PID
from rcp.probes.kernel.active import missing_probes, without
from rcp.probes.kernel.features import Features, RecordError
from rcp.probes.kernel.probe import PROBES
from rcp.probes.program import (
    BPF_DIR,
    Cgroup,
    GlobError,
    GlobTable,
    Options,
    Target,
    cflags,
    compile_globs,
    source_text,
)
from rcp.probes.requests.points import Requests


def matches(table: GlobTable, comm: str) -> bool:
    """What task.bpf.c:comm_matches does, one byte at a time."""
    state = table.start
    for byte in comm.encode():
        state = (state & table.step[byte]) << 1 | state & table.loop
    return bool(state & table.accept)


@pytest.mark.parametrize(
    ("pattern", "comm", "expected"),
    [
        ("postgres", "postgres", True),
        ("postgres", "postgresql", False),
        ("redis-*", "redis-server", True),
        ("*flush*", "kworker/u8:flush-259", True),
        ("kworker/?:*", "kworker/3:1H", True),
        ("kworker/?:*", "kworker/u4:1", False),
        ("*", "", True),
    ],
)
def test_globs_match_as_written(pattern: str, comm: str, expected: bool) -> None:
    assert matches(compile_globs([pattern]), comm) is expected


patterns = st.text("ab*?", max_size=10)


@given(st.lists(patterns, min_size=1, max_size=4), st.text("ab", max_size=15))
def test_globs_agree_with_fnmatch(globs: list[str], comm: str) -> None:
    assert matches(compile_globs(globs), comm) == any(fnmatchcase(comm, g) for g in globs)


def test_globs_too_long_for_the_kernel_are_refused() -> None:
    with pytest.raises(GlobError) as error:
        compile_globs(["a" * 40, "b" * 40])
    assert str(error.value) == (
        "the --comm patterns together are too long (82 of 64 characters): give fewer; "
        "thread names have at most 15 characters."
    )


def test_flags_carry_the_target_and_what_the_kernel_has(features: Features) -> None:
    features = replace(features, missing_functions=("wait_transaction_locked",))
    options = Options(target=Target(cgroup=Cgroup("/db", id=77, level=2)))
    flags = cflags(options, features)
    assert {
        f"-DRCP_SELF_PID={SELF_PID}",
        "-DRCP_TARGET_ALL=0",
        "-DRCP_TARGET_CGROUP=77",
        "-DRCP_TARGET_LEVEL=2",
        f"-DRCP_PREEMPT_COUNT_ADDR={PREEMPT_COUNT:#x}ULL",
        "-DRCP_SLEEP_PAGES=4096",
        "-DRCP_HAVE_jbd2_journal_wait_updates=1",
    } <= set(flags)
    assert "-DRCP_HAVE_wait_transaction_locked=1" not in flags


def test_nothing_chosen_means_everyone() -> None:
    assert Target().is_everyone
    assert not replace(Target(), command=True).is_everyone


def test_the_command_is_the_target_where_no_other_was_chosen() -> None:
    assert Target(command=True).is_the_command
    assert not Target().is_the_command
    cgroup = Cgroup("/db", 77, 2)
    for chosen in (Target(pids=(1,)), Target(comms=("postgres",)), Target(cgroup=cgroup)):
        assert not replace(chosen, command=True).is_the_command


def test_every_probe_file_is_compiled_and_every_file_is_a_probe(features: Features) -> None:
    text = source_text(features, Requests(), "struct page {};")
    order = ('"kernel.h"', "struct page {};", '"events.h"', '"common.h"', '"sleep.bpf.c"')
    assert sorted(order, key=text.index) == list(order)
    for probe in PROBES:
        assert f'#line 1 "{probe.source}"' in text
    assert {p.name for p in BPF_DIR.glob("*.bpf.c")} == {p.source for p in PROBES}


def test_chosen_syscalls_are_hooked_by_the_functions_that_have_types(features: Features) -> None:
    text = source_text(features, Requests(syscalls={74: "fsync", 162: "sync"}), "")
    assert text.endswith(
        "\nREQUEST_SYSCALL(__x64_sys_fsync, 74, 1)\nREQUEST_SYSCALL(__do_sys_sync, 162, 0)"
    )


def test_the_hooks_a_probe_declares_are_those_in_its_source() -> None:
    for probe in PROBES:
        source = (BPF_DIR / probe.source).read_text()
        for tracepoint in probe.tracepoints:
            name = tracepoint.split(":")[1]
            assert f"({name})" in source or f", {name})" in source, tracepoint
        for function in (*probe.functions, *probe.optional_functions):
            assert re.search(rf"\bK(RET)?FUNC_PROBE\({function}\b", source), function


def test_a_probe_that_lacks_a_hook_is_left_out_and_the_rest_is_compiled(features: Features) -> None:
    poorer = without(features, ["lock_wait", "jbd2:jbd2_run_stats"])
    left_out = [probe.name for probe in missing_probes(poorer)]
    assert left_out == ["lock_wait", "journal_commit"]
    waits = next(probe for probe in PROBES if probe.name == "buffer_wait")
    assert waits in missing_probes(without(features, waits.optional_functions))
    assert waits not in missing_probes(without(features, waits.optional_functions[:1]))
    text, flags = source_text(poorer, Requests(), ""), cflags(Options(), poorer)
    assert "lock_wait.bpf.c" not in text
    assert "journal.bpf.c" not in text
    assert "sleep.bpf.c" in text
    assert "-DRCP_PROBE_sleep=1" in flags
    assert "-DRCP_PROBE_lock_wait=1" not in flags
    assert "-DRCP_HAVE_wait_transaction_locked=1" not in flags


def test_only_a_known_probe_or_hook_can_be_left_out(features: Features) -> None:
    assert without(features, ["wait_transaction_locked"]).missing_functions == (
        "wait_transaction_locked",
    )
    with pytest.raises(RecordError) as error:
        without(features, ["journal"])
    assert str(error.value) == (
        "--without journal: no optional probe and no kernel hook has this name: `rcp-trace doctor` "
        "lists the probes."
    )


def test_the_shortest_wait_holds_from_the_first_event(features: Features) -> None:
    assert "-DRCP_MIN_WAIT_NS=20000ULL" in cflags(Options(min_wait_ns=20_000), features)
    assert "-DRCP_MIN_WAIT_NS=0ULL" in cflags(Options(), features)
