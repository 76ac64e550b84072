"""A configuration is right, or each fault is one line with its remedy."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.probes.commands.agent_config import SECTIONS, ConfigError, read_config

ROOT = Path(__file__).parents[3]
S = 10**9


def written(folder: Path, text: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text)
    return path


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, ""))
    assert config.listen == ("127.0.0.1", 9760)
    assert config.settings.keep_ns == 30 * S
    assert config.settings.max_cpu == 0.05
    assert config.settings.triggers == ()


def test_every_setting_is_read(tmp_path: Path) -> None:
    config = read_config(
        written(
            tmp_path,
            """
            [record]
            comm = ["postgres*"]
            profile = ["postgresql"]
            min_wait = "20us"
            cmdline = "name"
            [window]
            keep = "20s"
            when = ["fsync>50ms"]
            after = "1s"
            at_most_every = "5m"
            [recordings]
            folder = "/srv/rcp"
            max_age = "3d"
            max_disk = "1.5 GiB"
            [summaries]
            enabled = false
            every = "10m"
            fleet = "s3://bucket/fleet"
            host = "db17"
            [budget]
            max_cpu = 2
            analysis_cpu = 1.5
            [metrics]
            listen = "[::1]:9000"
            max_series = 7
            """,
        )
    )
    settings = config.settings
    assert config.targets.comm == ("postgres*",)
    assert (settings.keep_ns, settings.after_ns, settings.dump_gap_ns) == (20 * S, S, 300 * S)
    assert [str(trigger) for trigger in settings.triggers] == ["fsync>50ms"]
    assert (settings.max_age_s, settings.max_disk_bytes) == (3 * 86_400, 3 << 29)
    assert (settings.max_cpu, settings.analysis_cpu) == (0.02, 0.015)
    assert (settings.is_analysing, settings.fleet, settings.host) == (
        *(False, "s3://bucket/fleet", "db17"),
    )
    assert (config.listen, config.max_series) == (("::1", 9000), 7)


def test_options_go_before_the_file(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, "[budget]\nmax_cpu = 2\n"), 0.01, 100 << 20)
    assert (config.settings.max_cpu, config.settings.max_disk_bytes) == (0.01, 100 << 20)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[window]\nkep = "30s"', "[window] has no setting kep: did you mean keep?"),
        (
            '[window]\nzzz = "30s"',
            "[window] has no setting zzz: known are keep, after, when, at_most_every.",
        ),
        ("[windows]", "there is no section [windows]: did you mean window?"),
        ("record = 1", "record is a section: write [record]."),
        ("[window]\nkeep = 30", '[window] keep = 30: write it as text, "…".'),
        (
            '[window]\nwhen = "fsync>1s"',
            "[window] when = 'fsync>1s': write it as a list of texts, [\"…\"].",
        ),
        ('[record]\npid = ["7"]', "[record] pid = ['7']: write it as a list of numbers, [1234]."),
        (
            '[recordings]\nmax_age = "7 weeks"',
            "[recordings] max_age = '7 weeks': give a unit: ns, us, ms, s, m or h, or days, as in "
            "7d.",
        ),
        (
            '[recordings]\nmax_disk = "10 MiB"',
            "[recordings] max_disk = '10 MiB': give at least 64 MiB.",
        ),
        (
            "[recordings]\nmax_disk = 10",
            '[recordings] max_disk = 10: write it as text, "…".',
        ),
        (
            '[recordings]\nmax_disk = "10"',
            '[recordings] max_disk = \'10\': give a number and a unit, as in "500 MiB" or "4 GiB".',
        ),
        (
            "[budget]\nmax_cpu = 0",
            "[budget] max_cpu = 0: give a number above 0: percent of one CPU.",
        ),
        (
            '[metrics]\nlisten = "9760"',
            '[metrics] listen = \'9760\': write ADDRESS:PORT, as in "127.0.0.1:9760", or "" for '
            "none.",
        ),
        ("[metrics]\nmax_series = 0", "[metrics] max_series = 0: give a whole number from 1 on."),
        ('[record]\ncmdline = "all"', '[record] cmdline = \'all\': write "full" or "name".'),
        ("[summaries]\nenabled = 1", "[summaries] enabled = 1: write true or false."),
    ],
)
def test_a_fault_is_named_with_its_remedy(tmp_path: Path, text: str, line: str) -> None:
    path = written(tmp_path, text)
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert done.exit_code == 2
    assert done.stderr == f"rcp-trace: error: {path}: {line}\n".replace("?\n", "?.\n")


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read_config(written(tmp_path, "[window]\nkeep = 1\n[budget]\nmax_gpu = 1\n"))
    assert len(raised.value.messages) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[window]\nwhen = ["fsync>40s"]', "a request that slow begins before the window"),
        ('[window]\nwhen = ["transaction>1s"]', "transaction is not recorded"),
        ('[record]\nprofile = ["oracle"]', "oracle"),
        ('[record]\nrequest = ["syscall:fsnc"]', "fsync"),
    ],
)
def test_what_record_would_refuse_is_refused(tmp_path: Path, text: str, line: str) -> None:
    path = written(tmp_path, text)
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert done.exit_code == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.toml"
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert (done.exit_code, done.stderr) == (
        2,
        f"rcp-trace: error: {path} does not exist: write it, or name another with --config.\n",
    )
    path.write_text("[record")
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"rcp-trace: error: {path} is not TOML: ")


def test_the_configuration_in_contrib_is_right_and_shows_every_setting() -> None:
    path = ROOT / "contrib/systemd/agent.toml"
    done = CliRunner().invoke(main, ["agent", "--check", "--config", str(path)])
    assert (done.exit_code, done.stderr) == (0, f"rcp-trace: {path} is right.\n")
    text = path.read_text()
    for names in SECTIONS.values():
        assert [name for name in names if f"{name} = " not in text] == []
