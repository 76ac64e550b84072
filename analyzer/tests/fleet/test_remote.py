"""A fleet in an object store: moto's server, and what a bucket can do wrong."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.tests.fleet.conftest import Run
from rcp.analyzer.tests.fleet.hosts import recorded

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install .[fleet]")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of moto's server on this machine."""
    pytest.importorskip("s3fs", reason="s3fs is not installed: pip install .[fleet]")
    server = pytest.importorskip("moto.server", reason="moto is not installed: pip install moto")
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    name = f"fleets-{uuid.uuid4()}"  # moto keeps buckets as long as the process lives
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    fsspec.filesystem("s3").clear_instance_cache()
    yield f"s3://{name}/production"
    running.stop()
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.fixture
def in_memory() -> Iterator[str]:
    yield "memory://fleet"
    fsspec.filesystem("memory").store.clear()


def add(run: Run, folder: Path, fleet: str, host: str, **options: Any) -> str:
    spool = recorded(host, **options).write(folder / f"{host}.spool")
    done = run("summary", spool, "--fleet", fleet)
    assert done.exit_code == 0, done.output
    return str(done.stderr).removesuffix(" written.\n")


def reported(run: Run, fleet: str, status: int = 0) -> dict[str, Any]:
    done = run("fleet", "report", fleet, "--format", "json")
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_bucket_answers_as_a_folder_does(
    bucket: str, tmp_path: Path, fleet: Path, run: Run
) -> None:
    for host in ("db1", "db2"):
        place = add(run, tmp_path, bucket, host)
        assert place.startswith(f"{bucket}/v1/day=2026-01-01/host={host}/")
        assert run("summary", tmp_path / f"{host}.spool", "--fleet", fleet).exit_code == 0
    assert reported(run, bucket) == reported(run, str(fleet))
    done = run("fleet", "diff", bucket, "host=db1", "host=db2")
    assert done.exit_code == 0, done.output


def test_a_summary_cut_short_in_a_bucket_is_named(bucket: str, tmp_path: Path, run: Run) -> None:
    add(run, tmp_path, bucket, "db1")
    cut = add(run, tmp_path, bucket, "db2")
    store = fsspec.filesystem("s3")
    store.pipe_file(cut, store.cat_file(cut)[:-50])
    (failed,) = reported(run, bucket, status=3)["coverage"]["failed"]
    assert failed == {
        "place": cut.removeprefix(f"{bucket}/"),
        "why": "it is cut short or damaged",
    }


def test_a_bucket_that_is_not_there_is_told(bucket: str, run: Run) -> None:
    done = run("fleet", "report", "s3://elsewhere/fleet")
    assert done.exit_code == 2
    assert done.stderr == (
        "rcp-trace: error: s3://elsewhere/fleet does not exist: `rcp-trace summary FILE --fleet "
        "s3://elsewhere/fleet` makes a fleet in a bucket that is there.\n"
    )


def test_a_store_that_does_not_answer_is_told(
    bucket: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # discard: nobody listens
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    fsspec.filesystem("s3").clear_instance_cache()
    done = run("fleet", "report", bucket)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"rcp-trace: error: {bucket} cannot be read (")
    assert done.stderr.endswith("): check its name, the network and your credentials.\n")
    assert done.stderr.count("\n") == 1


def test_what_a_store_refuses_is_named_and_the_rest_answered(
    in_memory: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(run, tmp_path, in_memory, "db1")
    place = add(run, tmp_path, in_memory, "db2")
    driver = type(fsspec.filesystem("memory"))
    whole = driver.get_file

    def refuse(self: object, source: str, target: str, *more: Any, **options: Any) -> None:
        if "host=db2" in source:
            raise PermissionError("Access Denied: SlowDown")
        whole(self, source, target, *more, **options)

    monkeypatch.setattr(driver, "get_file", refuse)
    (failed,) = reported(run, in_memory, status=3)["coverage"]["failed"]
    assert failed == {
        "place": place.removeprefix("memory://fleet/"),
        "why": "it cannot be read (Access Denied: SlowDown)",
    }


def test_a_store_that_is_slow_once_is_asked_again(
    in_memory: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(run, tmp_path, in_memory, "db1")
    driver = type(fsspec.filesystem("memory"))
    whole, failed = driver.get_file, threading.Event()

    def throttle(self: object, source: str, target: str, *more: Any, **options: Any) -> None:
        if not failed.is_set():
            failed.set()
            raise TimeoutError("slow down")
        whole(self, source, target, *more, **options)

    monkeypatch.setattr(driver, "get_file", throttle)
    assert reported(run, in_memory)["total"]["n"] == 3
    assert failed.is_set()


def test_another_schema_in_a_store_is_named(in_memory: str, tmp_path: Path, run: Run) -> None:
    add(run, tmp_path, in_memory, "db1")
    fsspec.filesystem("memory").pipe_file("/fleet/v2/day=2027-01-01/x.parquet", b"")
    (other,) = reported(run, in_memory, status=3)["coverage"]["other_schema"]
    assert other["place"] == "v2"


def test_a_driver_that_is_missing_is_told(run: Run) -> None:
    done = run("fleet", "report", "gs://bucket/fleet")
    assert done.exit_code == 2
    assert "cannot be reached without a driver" in done.stderr
    assert done.stderr.endswith("install rcp-trace[fleet].\n")
    done = run("fleet", "report", "nothing://bucket/fleet")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
