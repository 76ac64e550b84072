from rcp.probes.contract.meta_text import cost_text, left_out

COST = {
    "duration_s": 10.0,
    "recorder_cpu_s": 0.12,
    "probe_cpu_s": 0.5,
    "probe_ns_per_run": 812.4,
    "measured_share": 1.0,
    "peak_rss_bytes": 64 << 20,
    "spool_bytes": 3 << 19,
    "events_per_s": 1234.5,
}


def test_the_cost_is_one_line() -> None:
    assert cost_text(COST) == (
        "recorder 1.2 % of one CPU, probes 5.0 % (812 ns a run); 64 MiB of memory, "
        "1.5 MiB written, 1234 events/s"
    )


def test_what_was_measured_for_a_part_of_the_time_is_called_estimated() -> None:
    assert "probes about 5.0 % (812 ns a run)" in cost_text({**COST, "measured_share": 0.125})


def test_what_the_kernel_does_not_measure_is_not_made_up() -> None:
    text = cost_text({**COST, "probe_cpu_s": None, "probe_ns_per_run": None})
    assert "probes not measured" in text


def test_nothing_left_out_says_nothing() -> None:
    assert left_out({}) == []
    assert left_out({"filters": {"min_wait_ns": 0}, "shedding": {"max_cpu": 0.05}}) == []


def test_a_shortest_wait_is_told_with_what_it_does_to_the_figures() -> None:
    assert left_out({"filters": {"min_wait_ns": 20_000}}) == [
        "waits shorter than 20us were not recorded (--min-wait): their time counts as cpu"
    ]


def test_everything_that_was_given_up_is_told() -> None:
    shedding = {
        "max_cpu": 0.05,
        "events": [
            {"ts": 1, "level": 1, "step": "sleeps under 50us are not written", "cpu_share": 0.2}
        ],
        "n_pauses": 3,
        "paused_ns": 2_400_000_000,
    }
    assert left_out({"shedding": shedding}) == [
        "at 20.0 % of a CPU (--max-cpu 5) the recorder changed to: sleeps under 50us are not "
        "written",
        "recording paused 3 times, 2.4 s in all, to save CPU: what happened then counts as cpu",
    ]
