"""What a limit's text means."""

import pytest

from rcp.analyzer.gate.limits import Limit, LimitError, parse


def test_a_limit_is_a_quantile_a_growth_and_a_kind() -> None:
    assert parse("p99=5%, P99.9 = 12.5% @ fsync") == (
        Limit("p99", 0.99, 0.05),
        Limit("p99.9", 0.999, 0.125, "fsync"),
    )
    assert parse("Tail95=5%@fsync") == (Limit("tail95", 0.95, 0.05, "fsync", is_tail=True),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no limit is given: write one such as p99=5%@fsync."),
        ("p99=5%,", "'p99=5%,' has an empty limit: remove a comma."),
        ("p99", "'p99' is not a valid limit: write one such as p99=5%@fsync."),
        (
            "p98=5%",
            "'p98=5%' has the unknown percentile 'p98': "
            "write one of p50, p90, p95, p99, p999, p9999, max, "
            "or tail50, tail90, tail95, tail99, tail999, tail9999.",
        ),
        ("p99=5", "'p99=5' has no percentage above 0: write one such as p99=5%@fsync."),
        ("p99=-5%", "'p99=-5%' has no percentage above 0: write one such as p99=5%@fsync."),
        ("p99=nan%", "'p99=nan%' has no percentage above 0: write one such as p99=5%@fsync."),
        ("p99=x%", "'p99=x%' has no percentage above 0: write one such as p99=5%@fsync."),
        (
            "p99=5%@",
            "'p99=5%@' names no kind of request after the @: write one such as p99=5%@fsync.",
        ),
        ("p999=5%,p99.9=6%", "p99.9 is limited twice: keep one."),
        ("tail999=5%,p999=5%,tail99.9=6%", "tail99.9 is limited twice: keep one."),
    ],
)
def test_what_is_no_limit_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(LimitError) as error:
        parse(text)
    assert str(error.value) == message
