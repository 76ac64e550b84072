from dataclasses import replace
from typing import Any

import pytest

from rcp.probes.diagnosis import Diagnosis, as_text, health_of
from rcp.probes.kernel.active import active_probes, missing_probes, without
from rcp.probes.kernel.features import Features, RecordError, read_features, require
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
            "tracefs is not mounted: run `mount -t tracefs tracefs /sys/kernel/tracing`.",
        ),
        (
            {"has_btf": False},
            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
            "CONFIG_DEBUG_INFO_BTF, as Debian's are.",
        ),
        (
            {"headers": None},
            "the headers of exactly this kernel (6.12.0-test) are not installed: "
            "run `apt-get install linux-headers-6.12.0-test`.",
        ),
        (
            {"missing_tracepoints": ("block:block_getrq", "jbd2:jbd2_run_stats")},
            "this kernel lacks block:block_getrq, without which nothing can be recorded: "
            "`rcp-trace doctor` lists what each probe needs.",
        ),
        (
            {"missing_functions": ("blk_mq_end_request", "jbd2_log_wait_commit")},
            "this kernel lacks blk_mq_end_request, without which nothing can be recorded: "
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


def test_a_complete_kernel_and_embedded_headers_are_enough(features: Features) -> None:
    require(features)
    require(replace(features, headers=None, kernel_headers_embedded=True))
    require(replace(features, missing_functions=("wait_transaction_locked",)))


def test_this_machine_can_be_looked_at_without_any_rights() -> None:
    assert read_features().release


def test_doctor_says_what_a_missing_piece_costs(features: Features) -> None:
    journal = next(p for p in PROBES if p.name == "journal_commit")
    partly = health_of(journal, replace(features, missing_functions=("wait_transaction_locked",)))
    assert (partly.state, partly.missing) == ("partly", ("wait_transaction_locked",))
    missing = health_of(journal, replace(features, missing_tracepoints=("jbd2:jbd2_run_stats",)))
    assert (missing.state, missing.cost) == (
        "missing",
        "commits and their phases are not known, as on a kernel without ext4",
    )
    block = next(p for p in PROBES if p.name == "io")
    lost = health_of(block, replace(features, missing_tracepoints=("block:block_getrq",)))
    assert (lost.state, lost.cost) == ("missing", "no recording")
    text = as_text(Diagnosis("6.12", "", loaded=True, interrupts_told_apart=True, probes=(partly,)))
    assert text == (
        "kernel 6.12\n"
        "\n"
        "partly   journal_commit  what jbd2 did when, and who waited for it\n"
        "                         lacks wait_transaction_locked: waits in it are named from the "
        "stack, without the journal\n"
        "\n"
        "Ready: every probe was loaded and attached, and detached again."
    )


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
        "foreign  policy_event    what the kernel's rcp policies decided about whom, and by which "
        "numbers",
        "                         patched kernel only: this one has no such policies",
    ]


def test_a_patched_kernel_that_lacks_one_of_its_hooks_is_told(features: Features) -> None:
    policy = next(p for p in PROBES if p.name == "policy_event")
    assert policy in active_probes(features)
    older = replace(features, missing_tracepoints=("rcp:rcp_throttle",))
    assert policy in missing_probes(older)
    assert health_of(policy, older).state == "missing"
    assert policy in missing_probes(without(features, ["policy_event"]))
    unreadable = health_of(policy, replace(features, missing_modules=("rcp_iosched",)))
    assert (unreadable.state, unreadable.missing) == ("partly", ("the types of rcp_iosched",))
    assert "ios held for a token are not told" in unreadable.cost
