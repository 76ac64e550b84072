from rcp.probes.contract.meta_text import cost_text, omission_notes

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


def test_cost_text_is_one_line() -> None:
    assert cost_text(COST) == (
        "recorder 1.2 % of one CPU, probes 5.0 % (812 ns a run); 64 MiB of memory, "
        "1.5 MiB written, 1234 events/s"
    )


def test_cost_text_says_about_when_probes_were_measured_part_of_the_time() -> None:
    assert "probes about 5.0 % (812 ns a run)" in cost_text({**COST, "measured_share": 0.125})


def test_cost_text_says_when_the_kernel_did_not_measure_the_probes() -> None:
    text = cost_text({**COST, "probe_cpu_s": None, "probe_ns_per_run": None})
    assert "probes not measured" in text


def test_there_are_no_omission_notes_without_limits() -> None:
    assert omission_notes({}) == []
    assert omission_notes({"filters": {"min_wait_ns": 0}, "shedding": {"max_cpu": 0.05}}) == []


def test_the_omission_note_of_min_wait_says_how_it_changes_the_figures() -> None:
    assert omission_notes({"filters": {"min_wait_ns": 20_000}}) == [
        "waits shorter than 20us were not recorded (--min-wait): their time counts as cpu"
    ]


def test_there_is_an_omission_note_for_each_step_and_for_all_pauses() -> None:
    shedding = {
        "max_cpu": 0.05,
        "events": [
            {"ts": 1, "level": 1, "step": "sleeps under 50us are not written", "cpu_share": 0.2}
        ],
        "n_pauses": 3,
        "paused_ns": 2_400_000_000,
    }
    assert omission_notes({"shedding": shedding}) == [
        "at 20.0 % of a CPU (--max-cpu 5) the recorder changed to: sleeps under 50us are not "
        "written",
        "recording paused 3 times, 2.4 s in all, to save CPU: waits in that time count as cpu",
    ]


def test_there_is_an_omission_note_for_each_late_module() -> None:
    [note] = omission_notes({"late_modules": ["dm_crypt"]})
    assert note.startswith("the module dm_crypt was loaded while recording, too late for")
    assert note.endswith("record again")


def test_there_is_one_for_each_module_whose_probes_came_late() -> None:
    attached = {"attached_modules": {"dm_mod": 1_000_000_000, "loop": 5_250_000_000}}
    [note] = omission_notes({**attached, "clock": {"started_monotonic_ns": 2_000_000_000}})
    assert note == (
        "the module loop was loaded while recording: its probes run since 3.2 s after the start"
    )
