"""The benchmark's recording is one the analysis says something about."""

from rcp.analyzer.bench.analysis import measure, measure_analysis


def test_measures_a_recording_with_paths_and_inversions() -> None:
    result = measure(2000, runs=1)
    assert result["recorded_rows"] > 4000
    assert result["requests"] == 200
    assert result["segments"] > 5 * result["requests"]
    assert result["inversions"] > 0
    assert result["critical_paths_s"] > 0


def test_analysis_alone_finds_the_same_of_half_the_ios() -> None:
    result = measure_analysis(2000)
    assert (result["sleeps"], result["ios"], result["requests"]) == (2000, 1000, 200)
    assert result["inversions"] > 0
    assert result["peak_rss_mib"] > 0
