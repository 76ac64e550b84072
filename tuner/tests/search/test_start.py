"""Settings to start with, and the knobs to move first, by the causes found."""

from rcp.tuner.search.start import Gains, groups, starts, worth_first
from rcp.tuner.tests.knob_rows import choice, number

SCHEDULER = choice(
    "disk.scheduler",
    default="none",
    choices=("none", "mq-deadline", "rcp"),
    helps=("queue", "device"),
)
TOKENS = number(
    "iosched.tokens",
    backend="rcp",
    default=1,
    low=1,
    high=4,
    needs={"disk.scheduler": ("rcp",)},
    helps=("queue", "device"),
)
DIRTY = number(
    "vm.dirty_bytes",
    unit="bytes",
    default=0,
    low=1 << 22,
    high=1 << 30,
    choices=(0,),
    helps=("dirty_throttle", "condition"),
)
KNOBS = (SCHEDULER, TOKENS, DIRTY)
CUT = number("disk.max_sectors_kb", unit="KiB", default=1280, low=4, high=1280, helps=("device",))


def test_all_that_the_knobs_can_be_set_to_without_causes() -> None:
    assert [dict(start.settings) for start in starts(KNOBS)] == [
        {"disk.scheduler": "none", "vm.dirty_bytes": 0},
        {"disk.scheduler": "rcp", "iosched.tokens": 2, "vm.dirty_bytes": 0},
        # eight tokens are more than this knob has
        {"disk.scheduler": "rcp", "iosched.tokens": 4, "vm.dirty_bytes": 0},
        {"disk.scheduler": "none", "vm.dirty_bytes": 64 << 20},
    ]


def test_causes_order_and_leave_out() -> None:
    found = starts(KNOBS, [("dirty_throttle", 0.7), ("queue", 0.2)])
    assert [start.why for start in found] == [
        "every knob at its default, for comparison",
        "profile rcp: two background requests at the device, in pieces of 128 KiB (RCP, FAST '17); "
        "against dirty_throttle (70 %), queue (20 %)",
        "profile ld: eight at the device, in pieces of 32 KiB (FastResponse, ICS '22); "
        "against dirty_throttle (70 %), queue (20 %)",
        "dirty memory limited to 64 MiB, written back from 16 MiB on; "
        "against dirty_throttle (70 %), queue (20 %)",
    ]
    only_device = starts(KNOBS, [("device", 1.0)])
    assert all(start.settings["vm.dirty_bytes"] == 0 for start in only_device)


def test_advice_whose_knob_is_missing_is_left_out() -> None:
    assert len(starts((TOKENS,))) == 1
    # mq-deadline's class RT needs a way to give the foreground that class
    assert all(start.settings["disk.scheduler"] != "mq-deadline" for start in starts(KNOBS))


def test_knobs_are_ranked_by_what_they_help_against() -> None:
    assert worth_first(KNOBS, [("dirty_throttle", 0.9), ("device", 0.1)], 1) == ["vm.dirty_bytes"]
    # with what it hangs on
    assert worth_first((TOKENS, DIRTY, SCHEDULER), [("device", 1.0)], 2) == [
        "disk.scheduler",
        "iosched.tokens",
    ]


# The dirty limit takes more of the delay, but waits for the device take more of the p99.
CAUSES = [("dirty_throttle", 0.7), ("device", 0.2)]
GAINS = Gains({("device",): 0.6, ("dirty_throttle",): 0.1, ("device", "dirty_throttle"): 0.8})


def test_advice_is_ordered_by_predicted_gain() -> None:
    by_share = [start.why.split(";")[0] for start in starts((CUT, DIRTY), CAUSES)]
    found = starts((CUT, DIRTY), CAUSES, GAINS)
    cut, limited = "I/O cut into pieces of 128 KiB", "dirty memory limited to 64 MiB"
    assert [text.startswith(limited) for text in by_share] == [False, True, False]
    assert [start.why for start in found[1:]] == [
        f"{cut}; against device (20 %), at most 60 % less predicted",
        f"{limited}, written back from 16 MiB on; against dirty_throttle (70 %), at most 10 % "
        "less predicted",
    ]


def test_what_was_not_predicted_is_ordered_by_its_share() -> None:
    found = starts((CUT, DIRTY), CAUSES, Gains({}))
    assert [start.why for start in found] == [start.why for start in starts((CUT, DIRTY), CAUSES)]


def test_knobs_with_the_largest_predicted_gain_vary_first() -> None:
    assert worth_first((DIRTY, SCHEDULER), CAUSES, 1) == ["vm.dirty_bytes"]
    assert worth_first((DIRTY, SCHEDULER), CAUSES, 1, GAINS) == ["disk.scheduler"]


def test_groups_are_those_of_advice_and_knobs_alone_and_together() -> None:
    found = groups((SCHEDULER, DIRTY), ["device", "dirty_throttle", "cpu"])
    # Nothing acts on waits for a CPU.
    assert sorted(found) == [("device",), ("device", "dirty_throttle"), ("dirty_throttle",)]
    assert groups((SCHEDULER, DIRTY), ["cpu"]) == []
