"""The benchmark's recording is one the analysis says something about."""

from rcp.analyzer.bench import measure


def test_measures_a_recording_with_paths_and_inversions() -> None:
    result = measure(2000, runs=1)
    assert result["recorded_rows"] > 4000
    assert result["requests"] == 200
    assert result["segments"] > 5 * result["requests"]
    assert result["inversions"] > 0
    assert result["critical_paths_s"] > 0
