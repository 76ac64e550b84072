from pathlib import Path

import pytest

from rcp.lab import scenario
from rcp.lab.errors import ScenarioError, UnknownScenarioError


def test_scenario_is_read_with_its_defaults(scenarios):
    found = scenario.find(scenarios, "hello")
    assert found == scenario.Scenario(
        "hello", scenarios / "hello", "Says hello", typical_wall_s=20, modules=["null_blk"]
    )
    assert (found.mode, found.timeout_s, found.memory_mb) == ("timing", 600, 2048)


def test_helper_files_are_not_scenarios(scenarios):
    (scenarios / "lib").mkdir()
    assert [item.name for item in scenario.load_all(scenarios)] == ["hello"]


@pytest.mark.parametrize("name", ["helo", "../scenarios/hello", "."])
def test_unknown_scenario_lists_the_known_ones(scenarios, name):
    with pytest.raises(UnknownScenarioError, match=r"\(known: hello\)"):
        scenario.find(scenarios, name)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("titel = 'x'\ntitle = 'x'", "unknown key 'titel': the keys are title,"),
        ("title = 'x'\npath = '/'", "unknown key 'path'"),
        ("title = 1", "title must be a string, not 1"),
        ("title = 'x'\ntimeout_s = '9'", "timeout_s must be a whole number, not '9'"),
        ("title = 'x'\ntimeout_s = true", "timeout_s must be a whole number, not True"),
        ("title = 'x'\nmodules = 'a'", "modules must be a list of strings"),
        ("title = 'x'\nmodules = [1]", "modules must be a list of strings"),
        ("title = 'x'\nmode = 'fast'", "mode must be one of timing, functional"),
        ("description = 'x'", "title is missing"),
        ("title =", "is not valid TOML"),
    ],
)
def test_faults_in_scenario_toml_are_named(scenarios: Path, text, fault):
    (scenarios / "hello" / "scenario.toml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        scenario.load(scenarios / "hello")
    assert fault in str(caught.value)
    assert "scenario.toml" in str(caught.value)


@pytest.mark.parametrize("name", ["run.sh", "scenario.toml"])
def test_half_a_scenario_is_an_error_not_a_helper(scenarios, name):
    (scenarios / "hello" / name).unlink()
    with pytest.raises(ScenarioError, match=f"{name} is missing"):
        scenario.load_all(scenarios)
