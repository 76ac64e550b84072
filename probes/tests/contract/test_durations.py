import pytest

from rcp.probes.contract.durations import DurationError, duration_text, option_ns, parse_duration_ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1ns", 1),
        ("20us", 20_000),
        ("20µs", 20_000),
        ("50ms", 50_000_000),
        ("1.5s", 1_500_000_000),
        (" 30 s ", 30_000_000_000),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
    ],
)
def test_a_duration_is_read_to_the_nanosecond(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("50", "give a unit: ns, us, ms, s, m or h"),
        ("50d", "give a unit: ns, us, ms, s, m or h"),
        ("0ms", "give more than 0"),
        ("0.1ns", "give more than 0"),
        ("", "give a number and a unit, as in 50ms"),
        ("ms", "give a number and a unit, as in 50ms"),
        ("-5ms", "give a number and a unit, as in 50ms"),
        ("1e3ms", "give a number and a unit, as in 50ms"),
        ("inf s", "give a number and a unit, as in 50ms"),
    ],
)
def test_a_malformed_duration_says_what_to_give(text: str, fault: str) -> None:
    with pytest.raises(DurationError) as raised:
        parse_duration_ns(text)
    assert str(raised.value) == fault


@pytest.mark.parametrize("text", ["1ns", "20us", "50ms", "1.5s", "2s"])
def test_a_duration_is_written_as_it_is_read(text: str) -> None:
    assert duration_text(parse_duration_ns(text)) == text


def test_an_option_is_named_and_may_take_bare_seconds() -> None:
    assert option_ns("--interval", "2", bare_seconds=True) == 2_000_000_000
    with pytest.raises(DurationError) as raised:
        option_ns("--keep", "30")
    assert str(raised.value) == "--keep '30': give a unit: ns, us, ms, s, m or h."
