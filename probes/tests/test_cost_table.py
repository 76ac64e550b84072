from rcp.probes.cost_table import ProgramCost, as_table


def test_the_most_expensive_program_comes_first_and_shares_are_of_the_whole_time() -> None:
    costs = [ProgramCost("a", 10, 1_000), ProgramCost("b", 2, 9_000), ProgramCost("idle", 0, 0)]
    assert as_table(costs, duration_ns=100_000) == (
        "| program | runs | ns a run | share of the time |\n"
        "|---|---|---|---|\n"
        "| `b` | 2 | 4500 | 9.00 % |\n"
        "| `a` | 10 | 100 | 1.00 % |\n"
        "| all | | | 10.00 % |"
    )
