"""Synthetic recording in, what a screen shows out; every figure can be worked out by hand."""

from collections.abc import Callable

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.slo import parse
from rcp.fixtures.explored import durations, journal, one_request
from rcp.fixtures.synth import Synth
from rcp.ui.charts.timeline import heat
from rcp.ui.info import chain, overview, population, timeline
from rcp.ui.info.health import health

Load = Callable[[Synth], Store]
OF = ("foreground", "")
SLOWEST = range(5000, 5010)
"""Ten latencies, less than 3 % apart."""


def test_the_ccdf_counts_slower_requests(load: Load) -> None:
    points = overview.ccdf(load(durations(100, 100, 200, 800)), *OF)
    assert [(p.dur_ns, p.n_slower, p.share) for p in points] == [
        (100, 2, 0.5),
        (200, 1, 0.25),
        (800, 0, 0.0),
    ]


def test_the_ccdf_is_thinned_out_to_latencies_that_occurred(load: Load) -> None:
    points = overview.ccdf(load(durations(1000, 1001, 1002, *SLOWEST)), *OF)
    # 1000 to 1002 are less than 3 % apart: one point, the longest of them.
    assert [(p.dur_ns, p.n_slower) for p in points[:2]] == [(1002, 10), (5000, 9)]


def test_the_slowest_ten_are_points_however_close(load: Load) -> None:
    points = overview.ccdf(load(durations(4998, 4999, *SLOWEST)), *OF)
    assert [p.dur_ns for p in points] == [4999, *SLOWEST]
    assert (points[-2].n_slower, points[-2].share) == (1, 1 / 12)


def test_latencies_asked_for_are_points_of_the_ccdf(load: Load) -> None:
    points = overview.ccdf(load(durations(1000, 1001, 1002, *SLOWEST)), *OF, (1000, 1500))
    assert [(p.dur_ns, p.n_slower) for p in points[:3]] == [(1000, 12), (1002, 10), (5000, 9)]


def test_bands_end_at_latencies_that_occurred(load: Load) -> None:
    store = load(durations(100, 100, 200, 800))
    assert population.limits(store, *OF) == (100, 800, 800, 800)
    assert population.bands(store, *OF, population.limits(store, *OF)) == [
        population.Band(0, 2, 100, 100, 1, 1),
        population.Band(1, 2, 200, 800, 4, 3),
    ]


def test_marks_say_how_many_are_slower(load: Load) -> None:
    store = load(durations(100, 100, 200, 800))
    found = overview.marks(store, *OF, population.limits(store, *OF))
    assert found[0] == overview.Mark("p50", 100, 0.5)
    assert found[3] == overview.Mark("p99.9", 800, 0.0)


def test_an_slo_is_measured_on_the_requests_shown(load: Load) -> None:
    store = load(durations(100, 100, 200, 800))
    bounds = overview.bounds(store, *OF, parse("p50=100ns,p99=500ns,p99=1ns@write"))
    assert [(b.text, b.measured_ns, b.n_slower, b.is_met) for b in bounds] == [
        ("p50=100ns", 100, 2, True),
        ("p99=500ns", 800, 1, False),
    ]
    assert bounds[1].shortage.startswith("p99=500ns cannot be judged from 4 requests: 1000 are")


def test_an_slo_with_enough_requests_is_judged(load: Load) -> None:
    store = load(durations(*[100] * 10, *[300] * 10))
    (bound,) = overview.bounds(store, *OF, parse("p50=200ns"))
    assert (bound.measured_ns, bound.is_met, bound.shortage) == (100, True, "")


def test_time_by_reason_is_split_by_how_slow_requests_were(load: Load) -> None:
    synth = one_request()
    writer = synth.task("writer", tid=10, target=True)
    synth.request(writer, 5000, 5100)
    store = load(synth)
    found = overview.band_waits(store, *OF, population.limits(store, *OF))
    assert found == [
        overview.BandWait(0, "cpu", 100, 1, 1.0),
        overview.BandWait(1, "lock", 800, 1, 0.8),
        overview.BandWait(1, "cpu", 200, 2, 0.2),
    ]


def test_totals_count_requests_held_up(load: Load) -> None:
    synth = one_request()
    synth.request(10, 5000, 5100)
    assert overview.totals(load(synth), *OF) == overview.Totals(2, 1000, 1, 800, 1000)


def test_the_heatmap_has_a_cell_for_requests_alike(load: Load) -> None:
    store = load(durations(100, 110, 800))
    assert timeline.axis(store) == timeline.Axis(0, 100, 96)
    # half doublings: 100 is in [2^6.5, 2^7), 110 too; 800 in [2^9.5, 2^10)
    assert timeline.heat(store, *OF) == [
        timeline.Cell(0, 13, 1, 100),
        timeline.Cell(10, 13, 1, 110),
        timeline.Cell(20, 19, 1, 800),
    ]
    (example,) = timeline.examples(store, *OF, 20, 19)
    assert example == timeline.Example(3, 2000, 800, "fsync", "writer")


def test_depth_is_the_mean_of_each_step(load: Load) -> None:
    synth = durations(100)
    idler = synth.task("idler", tid=30)
    synth.io(idler, 150, 450, issued=200)
    depths = timeline.activity(load(synth)).depths
    assert [(d.n_waiting, d.n_at_device) for d in depths[:6]] == [
        (0.0, 0.0),
        (0.5, 0.0),  # queued for half of [100, 200)
        (0.0, 1.0),
        (0.0, 1.0),
        (0.0, 0.5),
        (0.0, 0.0),
    ]
    assert len(depths) == 96


def test_commits_and_background_requests_are_parts_of_steps(load: Load) -> None:
    synth = Synth([("background", "comm:checkpointer")])
    writer = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    checkpointer = synth.task("checkpointer", tid=20, target=True)
    synth.sleep(writer, 0, 9600)
    synth.commit(jbd2, 150, 320)
    synth.request(checkpointer, 150, 220)
    synth.io(checkpointer, 250, 260, size=8192)
    synth.io(writer, 250, 260, size=4096)
    found = timeline.activity(load(synth))
    assert found.commits == [(1, 0.5), (2, 1.0), (3, 0.2)]
    assert found.background == [(1, 0.5), (2, 0.2)]
    assert found.written == [(2, 8192.0)]


def test_dirty_pages_are_told_with_their_limit(load: Load) -> None:
    synth = durations(100)
    synth.throttle(10, 120, limit=1000, dirty=900)
    synth.throttle(10, 130, limit=1000, dirty=950)
    assert timeline.activity(load(synth)).dirty == [(1, 950.0, 1000.0)]


def test_a_chain_has_a_lane_for_each_task_and_io(load: Load) -> None:
    found = chain.chain(load(journal()), 1)
    assert found is not None
    assert found.dur_ns == 1000
    assert [(lane.depth, lane.name) for lane in found.lanes] == [
        (0, "writer 10"),
        (1, "jbd2/nvme0n1-8 5"),
        (2, "checkpointer 20"),
        (3, "write 8 KiB by checkpointer"),
    ]
    waits = [(p.lane, p.begin_ns, p.end_ns, p.reason) for p in found.pieces if p.is_wait]
    assert waits == [
        (0, 100, 900, "journal_commit"),
        (1, 120, 860, "journal_handle"),
        (2, 150, 800, "page_writeback"),
    ]
    assert [(a.from_lane, a.to_lane, a.at_ns) for a in found.arrows] == [
        (1, 0, 900),
        (2, 1, 860),
        (3, 2, 800),
    ]
    own = [p for p in found.pieces if not p.is_wait]
    assert sum(p.end_ns - p.begin_ns for p in own) == 1000


def test_a_piece_tells_file_sector_and_stack(load: Load) -> None:
    found = chain.chain(load(journal()), 1)
    assert found is not None
    (device,) = [p for p in found.pieces if p.reason == "device"]
    assert device.details["sector"] == "4096"
    assert device.details["file"] == "base/table"
    (commit,) = [p for p in found.pieces if p.reason == "journal_commit"]
    assert commit.details["stack"] == "jbd2_log_wait_commit ← ext4_sync_file"


def test_other_ios_at_the_device_are_told(load: Load) -> None:
    synth = journal()
    rsync = synth.task("rsync", tid=40)
    for _ in range(2):
        synth.io(rsync, 1250, 1500, size=65536)
    synth.io(rsync, 5000, 6000)  # later
    found = chain.chain(load(synth), 1)
    assert found is not None
    (device,) = [p for p in found.pieces if p.reason == "device"]
    assert device.details["other ios meanwhile"] == "2 of 128 KiB, mostly by rsync"


def test_ios_share_lanes_where_there_are_many(load: Load) -> None:
    synth = Synth([("background", "comm:nobody")])
    writer = synth.task("writer", tid=10, target=True)
    synth.request(writer, 0, 20_000)
    for at in range(13):
        io = synth.io(writer, at * 1000 + 100, at * 1000 + 900)
        synth.sleep(writer, at * 1000 + 50, at * 1000 + 900, io=io)
    found = chain.chain(load(synth), 1)
    assert found is not None
    assert [lane.name for lane in found.lanes] == ["writer 10", "ios by writer"]


def test_an_unfinished_request_has_no_chain(load: Load) -> None:
    synth = one_request()
    synth.request(10, 5000, 0)
    assert chain.chain(load(synth), 2) is None


def test_the_text_says_where_it_was_recorded(load: Load) -> None:
    lines = chain.as_text(load(journal()), 1).splitlines()
    assert lines[0] == "synth, kernel 6.12.0, hardware clock"
    assert lines[1].startswith("request 1: fsync by writer (tid 10, foreground) took 1.00 µs")


def test_a_slice_for_perfetto_is_a_trace(load: Load) -> None:
    assert b"checkpointer" in chain.perfetto_slice(load(journal()), 1)


def test_health_tells_losses_and_who_could_be_foreground(load: Load) -> None:
    synth = one_request()
    synth.lose("sleep", lost=2)
    found = health(load(synth))
    assert [(lost.probe, lost.n, lost.share) for lost in found.lost] == [("sleep", 2, 0.5)]
    assert found.has_foreground
    lonely = Synth([("foreground", "comm:nobody")])
    stranger = lonely.task("stranger", tid=9, target=True)
    lonely.request(stranger, 0, 100)
    found = health(load(lonely))
    assert not found.has_foreground
    assert found.candidates == [("stranger", 1)]


def test_the_heatmap_tells_what_its_colours_count() -> None:
    axis = timeline.Axis(0, 1_000_000, 10)
    cells = [
        timeline.Cell(0, 20, 1, 500),
        timeline.Cell(1, 20, 7, 900),
        timeline.Cell(2, 20, 3, 700),
    ]
    legend = heat(cells, axis, False)["encoding"]["color"]["legend"]
    assert (legend["title"], legend["values"]) == ("requests in a cell", [1, 7])
    assert heat(cells[:1], axis, False)["encoding"]["color"]["legend"] is None
