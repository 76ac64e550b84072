"""Lines that users' programs print."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.lines import LineReader
from rcp.probes.contract.durations import UNITS_NS


def read(text: str, unit: str | None = None) -> Latencies:
    reader = LineReader("stdout", unit)
    reader.feed(text.encode())
    reader.finish()
    return reader.drain()


def told(text: str, unit: str | None = None) -> dict[str, list[int]]:
    return {kind: times.tolist() for kind, times in read(text, unit).by_kind.items()}


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1.25ms\n", None, {"request": [1_250_000]}),
        ("1.25 ms\r\n2ms\r\n", None, {"request": [1_250_000, 2_000_000]}),
        ("fsync 830us\n", None, {"fsync": [830_000]}),
        ("fsync 830µs\nread 3ns\nfsync 1s\n", None, {"fsync": [830_000, 10**9], "read": [3]}),
        ("830\n7\n", "us", {"request": [830_000, 7_000]}),
        ("fsync 830\n\n# done\nread 1e2\n", "ns", {"fsync": [830], "read": [100]}),
        ("1ms\nbackground=5\n2ms\n", None, {"request": [1_000_000, 2_000_000]}),
        ("5ms\n5ms5ms\n"[:4], None, {"request": [5_000_000]}),
    ],
)
def test_a_line_is_a_latency(text: str, unit: str | None, expected: dict[str, list[int]]) -> None:
    assert told(text, unit) == expected


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("background=123456 bytes/s", "background", 123456.0),
        ("background = 1.5 MiB/s", "background", 1.5 * 2**20),
        ("tps=1e3", "tps", 1000.0),
        ("p=-2 kB/s", "p", -2000.0),
    ],
)
def test_a_line_is_a_result(line: str, name: str, value: float) -> None:
    assert read(f"{line}\n").values == {name: value}


def test_of_a_result_that_comes_twice_the_last_counts() -> None:
    assert read("background=1\n3ms\nbackground=2\n").values == {"background": 2.0}


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        (
            "1ms\nstarting up\n",
            None,
            "stdout line 2 is neither a latency nor a result, 'starting up': print one latency a "
            "line (1.25ms, fsync 830us) or name=number, anything else on stderr.",
        ),
        (
            "1ms\n\n1ms 2ms\n",
            None,
            "stdout line 3 is neither a latency nor a result, '1ms 2ms': print one latency a "
            "line (1.25ms, fsync 830us) or name=number, anything else on stderr.",
        ),
        (
            "83\n",
            None,
            "stdout line 1 has no unit, '83': print one (83ms), or give its unit (ns, us, ms, s).",
        ),
        (
            "1ms\n83\n",
            None,
            "stdout line 2 has no unit, earlier lines have one, '83': print it on every line.",
        ),
        (
            "83\n1ms\n",
            "us",
            "stdout line 2 has a unit, earlier lines have none, '1ms': print it on every line.",
        ),
        (
            "1ms\nnan\n",
            None,
            "stdout line 2 is not a number, 'nan': leave out what was not measured.",
        ),
        (
            "fsync inf ms\n",
            None,
            "stdout line 1 is not a number, 'fsync inf ms': leave out what was not measured.",
        ),
        (
            "background=nan\n",
            None,
            "stdout line 1 is not a number, 'background=nan': leave out what was not measured.",
        ),
        (
            "1ms\n2ms\n-3ms\n",
            None,
            "stdout line 3 is negative, '-3ms': use a monotonic clock.",
        ),
        (
            "1ms\n12",
            None,
            "stdout ends in the middle of a line, '12': end every line with a newline.",
        ),
        (
            "fsync=830us\n",
            None,
            "stdout line 1 is a time with a name, 'fsync=830us': print a latency as `fsync 830us`, "
            "or a result without a time unit.",
        ),
        (
            "background=3 MB/h\n",
            None,
            "stdout line 1 has the unknown unit 'MB/h': write bytes/s, MB/s, MiB/s, /s or none.",
        ),
        ("1e300s\n", None, "stdout has the latency 1e+300, which is too long: check its unit."),
        ("1ms\n", "min", "stdout: unknown unit 'min': write one of ns, us, ms, s."),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, unit: str | None, message: str) -> None:
    with pytest.raises(LatencyError) as error:
        read(text, unit)
    assert str(error.value) == message


def test_lines_are_counted_over_pieces() -> None:
    reader = LineReader("stdout")
    reader.feed(b"1ms\n2m")
    reader.feed(b"s\n3ms\n")
    with pytest.raises(LatencyError, match="stdout line 4 is negative"):
        reader.feed(b"-1ms\n")


def test_with_results_only_anything_else_is_left_out() -> None:
    reader = LineReader("stdout", results_only=True)
    reader.feed(b"starting\n1ms\nbackground=3 kB/s\n-1ms\nscore=nan\nhalf a li")
    reader.finish()
    assert reader.drain().kinds == ()
    reader.feed(b"\nbackground=4\n")
    assert reader.drain().values == {"background": 4.0}


lines = st.lists(
    st.tuples(
        st.sampled_from(["", "fsync", "a.b"]),
        st.integers(0, 10**9),
        st.sampled_from(sorted(UNITS_NS)),
    ),
    max_size=50,
)


@given(lines=lines, cuts=st.lists(st.integers(0, 1000), max_size=5), alike=st.booleans())
def test_how_lines_come_in_pieces_does_not_matter(
    lines: list[tuple[str, int, str]], cuts: list[int], alike: bool
) -> None:
    if alike:  # the way that reads many lines at once
        lines = [("fsync", number, "us") for _, number, _ in lines]
    data = "".join(f"{kind} {number}{unit}\n" for kind, number, unit in lines).encode()
    expected: dict[str, list[int]] = {}
    for kind, number, unit in lines:
        expected.setdefault(kind or "request", []).append(number * UNITS_NS[unit])
    reader = LineReader("stdout")
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in itertools.pairwise(edges):
        reader.feed(data[begin:end])
    reader.finish()
    found = {kind: times.tolist() for kind, times in reader.drain().by_kind.items()}
    assert found == expected


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        latencies = read(text)
    except LatencyError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
        return
    for times in latencies.by_kind.values():
        assert times.dtype == np.int64 and (times >= 0).all()


class OneByOne(LineReader):
    """The same without the way that reads many lines at once."""

    def _take_alike(self, lines: bytes, n_lines: int) -> bool:
        return False


@settings(max_examples=500)
@given(
    words=st.lists(
        st.sampled_from(
            [
                "1",
                "1e111",
                "2us",
                "3.5",
                "-1",
                "a",
                "fsync",
                "bus",
                "us",
                "ms",
                "s",
                "e",
                " ",
                " ",
                "\t",
                "\n",
            ]
        ),
        max_size=12,
    ),
    unit=st.sampled_from([None, "us"]),
)
@example(words=["1e111", "1"], unit="us")  # no finite double
def test_reading_many_lines_at_once_takes_what_reading_one_by_one_does(
    words: list[str], unit: str | None
) -> None:
    def outcome(reader: LineReader) -> object:
        try:
            reader.feed("".join(words).encode() + b"\n")
            told = reader.drain()
        except LatencyError as error:
            return str(error)
        return {kind: times.tolist() for kind, times in told.by_kind.items()}, told.values

    assert outcome(LineReader("x", unit)) == outcome(OneByOne("x", unit))


@pytest.mark.parametrize("lines", ["1e111us\n", "2us\n1e111us\n", "2ms\n1e111us\n"])
def test_a_latency_that_is_too_long_is_told_as_it_was_written(lines: str) -> None:
    reader = LineReader("stdout")
    with pytest.raises(LatencyError) as error:
        reader.feed(lines.encode())
    assert str(error.value) == ("stdout has the latency 1e+111, which is too long: check its unit.")
