from dataclasses import replace
from typing import Any

import pytest

from rcp.probes.diagnosis import Diagnosis, as_text, health_of
from rcp.probes.kernel.active import active_probes, missing_probes, without
from rcp.probes.kernel.features import Features, RecordError, read_features
from rcp.probes.kernel.late_modules import absent_modules
from rcp.probes.kernel.obstacles import require
from rcp.probes.kernel.probe import PROBES


@pytest.mark.parametrize(
    ("lack", "message"),
    [
        (
            {"may_load_bpf": False},
            "recording needs root, or CAP_BPF and CAP_PERFMON: run it with sudo.",
        ),
        (
            {"machine": "aarch64"},
            "recording on aarch64 is not supported: the ring buffer is read with x86 memory "
            "ordering.",
        ),
        (
            {"tracefs": None},
            "tracefs is not mounted: run `mount -t tracefs tracefs /sys/kernel/tracing`, or "
            "`rcp-trace doctor --mount`.",
        ),
        (
            {"has_btf": False},
            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
            "CONFIG_DEBUG_INFO_BTF, as Debian's are.",
        ),
        (
            {"missing_tracepoints": ("block:block_getrq", "jbd2:jbd2_run_stats")},
            "this kernel lacks block:block_getrq, which every recording needs: "
            "`rcp-trace doctor` lists what each probe needs.",
        ),
        (
            {"missing_functions": ("blk_mq_end_request", "jbd2_log_wait_commit")},
            "this kernel lacks blk_mq_end_request, which every recording needs: "
            "`rcp-trace doctor` lists what each probe needs.",
        ),
    ],
)
def test_what_recording_lacks_is_named_with_its_remedy(
    features: Features, lack: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecordError) as error:
        require(replace(features, **lack))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"missing_functions": ("wait_transaction_locked",)},
    ],
    ids=["complete", "an optional function missing"],
)
def test_require_does_not_raise_on_a_kernel_that_can_record(
    features: Features, change: dict[str, Any]
) -> None:
    require(replace(features, **change))  # the check is that it does not raise


def test_features_are_read_without_privileges() -> None:
    assert read_features().release


def test_doctor_says_what_a_missing_piece_costs(features: Features) -> None:
    journal = next(p for p in PROBES if p.name == "journal_commit")
    partly = health_of(journal, replace(features, missing_functions=("wait_transaction_locked",)))
    assert (partly.state, partly.missing) == ("partly", ("wait_transaction_locked",))
    missing = health_of(journal, replace(features, missing_tracepoints=("jbd2:jbd2_run_stats",)))
    assert (missing.state, missing.cost) == (
        "missing",
        "commits and their phases are unknown, as on a kernel without ext4",
    )
    block = next(p for p in PROBES if p.name == "io")
    lost = health_of(block, replace(features, missing_tracepoints=("block:block_getrq",)))
    assert (lost.state, lost.cost) == ("missing", "no recording")
    text = as_text(Diagnosis("6.12", "", loaded=True, interrupts_told_apart=True, probes=(partly,)))
    assert text == (
        "kernel 6.12\n"
        "\n"
        "partly   journal_commit  when jbd2 committed, in which phases, and who waited\n"
        "                         lacks wait_transaction_locked: waits in it get their reason from "
        "the stack, without the journal\n"
        "\n"
        "Ready: every probe was loaded, attached and detached."
    )


def test_what_is_for_a_module_that_is_not_loaded_is_not_missing(features: Features) -> None:
    xfs = [p for p in PROBES if p.name.startswith("xfs_")]
    idle = tuple(name for probe in xfs for name in probe.hooks)
    without_xfs = replace(features, idle_functions=idle)
    assert not [probe for probe in missing_probes(without_xfs) if probe in xfs]
    assert {health_of(probe, without_xfs).state for probe in xfs} == {"idle"}
    assert "xfs" in absent_modules(without_xfs)
    left_out = replace(without_xfs, left_out=tuple(probe.name for probe in xfs))
    assert "xfs" not in absent_modules(left_out)
    health = (health_of(xfs[0], without_xfs),)
    text = as_text(Diagnosis("6.12", "", loaded=True, interrupts_told_apart=True, probes=health))
    assert text.splitlines()[2:4] == [
        "idle     xfs_log         who changed how much of XFS's log",
        "                         its kernel module is not loaded, so there is nothing to record",
    ]


def test_what_only_the_patched_kernel_has_is_not_missing_on_others(features: Features) -> None:
    policy = next(p for p in PROBES if p.name == "policy_event")
    stock = replace(features, missing_tracepoints=policy.tracepoints)
    assert policy not in missing_probes(stock)
    assert policy not in active_probes(stock)
    assert health_of(policy, stock).state == "foreign"
    text = as_text(
        Diagnosis(
            "6.12", "", loaded=True, interrupts_told_apart=True, probes=(health_of(policy, stock),)
        )
    )
    assert text.splitlines()[2:4] == [
        "foreign  policy_event    which decisions the kernel's rcp policies made, and their inputs",
        "                         needs the patched kernel",
    ]


def test_a_patched_kernel_that_lacks_a_hook_is_reported(features: Features) -> None:
    policy = next(p for p in PROBES if p.name == "policy_event")
    assert policy in active_probes(features)
    older = replace(features, missing_tracepoints=("rcp:rcp_throttle",))
    assert policy in missing_probes(older)
    assert health_of(policy, older).state == "missing"
    assert policy in missing_probes(without(features, ["policy_event"]))
    unreadable = health_of(policy, replace(features, missing_modules=("rcp_iosched",)))
    assert (unreadable.state, unreadable.missing) == ("partly", ("the types of rcp_iosched",))
    assert "ios delayed for a token are not recorded" in unreadable.cost
