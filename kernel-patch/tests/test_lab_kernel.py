"""Building kernels, with a stand-in for the builder; the real one is in test_patched_kernel.py."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.lab import debian, kernel, module, rootfs
from rcp.lab.cli import main
from rcp.lab.commands.build import DEBUG_KINDS
from rcp.lab.commands.run import KERNELS
from rcp.lab.progress import Progress

HASH = "a" * 64
SERVED = {"version": "6.12.1-1"}
"""What Debian serves; tests change it."""
# Does what kernel.sh does to the folders of a builder, in a moment.
STEPS = """
root=$1 step=$2 flavour=$3
if [ "$step" = configure ]; then
    mkdir -p "$root/work/$flavour"
    grep -v LOST "$root/work/$flavour.config" > "$root/work/$flavour/.config"
    exit
fi
[ ! -f "$root/broken" ] || { echo "  CC      a.o"; echo "a.c:1: error: no such thing"; exit 2; }
stage=$root/work/$flavour-stage
mkdir -p "$stage/lib/modules/6.12.1-$flavour"
for name in vmlinuz initramfs.img config; do echo $name > "$stage/$name"; done
echo "6.12.1-$flavour" > "$stage/release"
"""


@pytest.fixture
def checkout(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one option and no patches, whose builder is a folder."""
    root = tmp_path / "checkout"
    (root / "kernel-patch/config").mkdir(parents=True)
    (root / "kernel-patch/patches").mkdir()
    (root / "kernel-patch/BASE").write_text(f"version 6.12.1-1\nsha256 {HASH}\n")
    (root / "kernel-patch/config/machine.config").write_text("# reason\nCONFIG_64BIT=y\n")
    (root / "kernel-patch/config/debug.config").write_text("# reason\nCONFIG_KASAN=y\n")
    (root / "kernel-patch/config/kcsan.config").write_text("# reason\nCONFIG_KCSAN=y\n")
    (root / "setup.cfg").write_text("[metadata]\nname = rcp-trace\n[options]\npackage_dir =\n")

    def bootstrap(tree: Path, options: object, packages: object, progress: object) -> None:
        (tree / "work/source").mkdir(parents=True)
        (tree / "work/version").write_text(SERVED["version"] + "\n")

    def inside(tree: Path, script: str, *args: str) -> list[str]:
        return ["/bin/sh", "-c", f"exec >&2\n{STEPS}", "sh", str(tree), *args]

    monkeypatch.setattr(debian, "bootstrap", bootstrap)
    monkeypatch.setattr(debian, "require", lambda: None)
    monkeypatch.setattr(debian, "inside", inside)
    return root


def _build(checkout: Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["build", "--checkout", str(checkout), *args])


def test_build_prints_what_it_made_and_says_how_long_it_takes(checkout, cache_dir):
    result = _build(checkout)
    assert result.exit_code == 0, result.output
    name = kernel.cache_name(kernel.recipe(checkout, "rcp"))
    assert result.stdout == f"kernel 6.12.1-rcp\nvmlinuz {cache_dir / name / 'vmlinuz'}\n"
    assert "source of Linux 6.12.1), usually 3 minutes" in result.stderr
    assert "compiling, usually 12 minutes on two cores the first time" in result.stderr
    assert _build(checkout, "-q").stderr == ""


def test_a_newer_source_is_taken_when_the_old_one_is_gone_and_said(checkout, monkeypatch):
    monkeypatch.setitem(SERVED, "version", "6.12.2-1")
    result = _build(checkout)
    assert result.exit_code == 0, result.output
    assert (
        "Debian no longer serves Linux 6.12.1-1, which the patches are made for: applying 0 of "
        "them to 6.12.2-1, without fuzz\n"
    ) in result.stderr


def test_a_patch_that_does_not_apply_to_the_newer_source_is_an_error(checkout, monkeypatch):
    monkeypatch.setitem(SERVED, "version", "6.12.2-1")
    (checkout / "kernel-patch/patches/0001-a.patch").write_text(
        "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n"
    )
    result = _build(checkout)
    assert result.exit_code == 2
    assert (
        "rcp-lab: error: Debian serves Linux 6.12.2-1 in place of BASE's: 0001-a.patch does not "
        "apply"
    ) in result.stderr


def test_flavours_are_kernels_of_their_own(checkout):
    assert "kernel 6.12.1-rcp-debug\n" in _build(checkout, "--debug").stdout
    release, debug = (kernel.recipe(checkout, flavour) for flavour in ("rcp", "rcp-debug"))
    assert "KASAN" not in release.config
    assert "CONFIG_KASAN=y" in debug.config
    assert kernel.cache_name(release) != kernel.cache_name(debug)
    assert "KCSAN" not in release.config + debug.config
    assert "kernel 6.12.1-rcp-kcsan\n" in _build(checkout, "--debug=kcsan").stdout
    kcsan = kernel.recipe(checkout, "rcp-kcsan").config
    assert "CONFIG_KCSAN=y" in kcsan
    assert "KASAN" not in kcsan
    assert kernel.builder_name(release.base) == kernel.builder_name(debug.base)


def test_plain_kernel_has_the_configuration_but_not_the_patches(checkout):
    (checkout / "kernel-patch/config/rcp.config").write_text("# reason\nCONFIG_RCP=y\n")
    (checkout / "kernel-patch/patches/0001-a.patch").write_text("")
    plain = kernel.recipe(checkout, "plain")
    assert plain.patches == ()
    assert "CONFIG_64BIT=y" in plain.config
    assert "CONFIG_RCP" not in plain.config
    assert "CONFIG_RCP=y" in kernel.recipe(checkout, "rcp").config
    assert "kernel 6.12.1-plain\n" in _build(checkout, "--kernel", "plain").stdout


def test_upstream_kernel_has_its_own_series_and_only_the_disk_of_ours(checkout):
    assert "kernel 6.12.1-upstream\n" in _build(checkout, "--kernel", "upstream").stdout
    folder = checkout / "kernel-patch"
    (folder / "config/rcp.config").write_text("# reason\nCONFIG_RCP=y\n")
    (folder / "config/rcpdisk.config").write_text("# reason\nCONFIG_BLK_DEV_RCPDISK=m\n")
    (folder / "upstream").mkdir()
    for name in ("patches/0001-disk.patch", "patches/0002-rcp.patch", "upstream/0001-a.patch"):
        (folder / name).write_text("")
    upstream = kernel.recipe(checkout, "upstream")
    assert [str(path.relative_to(folder)) for path in upstream.patches] == [
        "patches/0001-disk.patch",
        "upstream/0001-a.patch",
    ]
    assert "CONFIG_BLK_DEV_RCPDISK=m" in upstream.config
    assert "CONFIG_RCP=" not in upstream.config
    assert "RCPDISK" not in kernel.recipe(checkout, "plain").config


def test_debug_is_of_the_patched_kernel_only(checkout):
    result = _build(checkout, "--kernel", "plain", "--debug")
    assert result.exit_code == 2
    assert "Error: --debug goes with --kernel rcp: leave one of them out" in result.stderr


def test_kernel_is_built_anew_when_an_input_changes(checkout):
    def name() -> str:
        return kernel.cache_name(kernel.recipe(checkout, "rcp"))

    folder = checkout / "kernel-patch"
    names = [name()]
    (folder / "patches/0001-x.patch").write_text("x")
    names.append(name())
    (folder / "config/machine.config").write_text("# reason\nCONFIG_64BIT=n\n")
    names.append(name())
    (folder / "BASE").write_text(f"version 6.12.2-1\nsha256 {HASH}\n")
    names.append(name())
    assert len(set(names)) == 4


def test_option_that_kconfig_dropped_is_named(checkout, cache_dir):
    config = checkout / "kernel-patch/config/machine.config"
    config.write_text("# reason\nCONFIG_64BIT=y\nCONFIG_LOST=y\n")
    result = _build(checkout)
    assert result.exit_code == 2
    assert result.stderr.endswith(
        "rcp-lab: error: Kconfig dropped CONFIG_LOST=y: look up in menuconfig what each depends "
        "on and add that to kernel-patch/config\n"
    )


def test_compiler_error_is_shown_and_the_log_kept(checkout, cache_dir):
    builder = cache_dir / kernel.builder_name(kernel.recipe(checkout, "rcp").base)
    assert _build(checkout).exit_code == 0
    (builder / "tree/broken").write_text("")
    (checkout / "kernel-patch/config/machine.config").write_text("# reason\nCONFIG_SMP=y\n")
    result = _build(checkout)
    assert result.exit_code == 2
    log = cache_dir / "rcp-build.log"
    assert result.stderr.endswith(
        "rcp-lab: error: the kernel's build step failed (a.c:1: error: no such thing): "
        f"the full log is {log}\n"
    )
    assert "CC      a.o" in log.read_text()


def test_checkout_without_a_config_is_refused(checkout):
    for path in (checkout / "kernel-patch/config").iterdir():
        path.unlink()
    result = _build(checkout)
    assert result.exit_code == 2
    folder = checkout / "kernel-patch/config"
    assert result.stderr == (
        f"rcp-lab: error: {folder}: holds no *.config: run in a checkout of rcp\n"
    )


def test_unknown_kernel_is_refused():
    result = CliRunner().invoke(main, ["run", "--kernel", "bsd", "--", "true"])
    assert result.exit_code == 2
    assert "'bsd' is not one of 'stock', 'rcp', 'rcp-debug', 'rcp-kcsan'" in result.stderr


def test_patched_kernel_takes_the_place_of_the_stock_one(checkout):
    built = kernel.ensure(checkout, "rcp", Progress(quiet=True))
    stock = rootfs.Rootfs(Path("image"), Path("k"), Path("i"), "6.12.0", "rootfs-0")
    changed = kernel.with_kernel(stock, built)
    assert (changed.kernel, changed.initramfs) == (built.vmlinuz, built.initramfs)
    assert (changed.image, changed.release) == (Path("image"), "6.12.1-rcp")
    assert [path.name for path in built.modules.iterdir()] == ["6.12.1-rcp"]


def test_clean_keeps_what_the_next_build_would_use(checkout, cache_dir):
    assert _build(checkout).exit_code == 0
    (cache_dir / "kernel-rcp-0000").mkdir()
    result = CliRunner().invoke(main, ["clean", "--checkout", str(checkout)])
    assert "removed kernel-rcp-0000" in result.output, result.output
    assert _build(checkout).stderr == ""


def test_module_is_built_once_for_each_release(checkout, cache_dir, monkeypatch):
    real = Path(__file__).parents[1] / "patches"
    for path in real.iterdir():
        (checkout / "kernel-patch/patches" / path.name).write_text(path.read_text())
    runs = []

    def inside(tree: Path, script: str, *args: str) -> list[str]:
        runs.append(args)
        return ["/bin/sh", "-c", 'echo "$3" > "$1/work/$3/$3.ko"', "sh", str(tree), *args]

    monkeypatch.setattr(debian, "inside", inside)
    for release in ("6.12.1-a", "6.12.1-a", "6.12.2-a"):
        built = module.ensure(checkout, "rcpdisk", release, Progress(quiet=True))
        assert built.read_text() == "rcpdisk\n"
    assert runs == [("6.12.1-a", "rcpdisk"), ("6.12.2-a", "rcpdisk")]


def test_result_names_the_kernel_that_was_booted():
    from rcp.lab import payload, run, vm

    root = rootfs.Rootfs(Path("image"), Path("k"), Path("i"), "6.12.1-rcp", "rootfs-0")
    machine = vm.Machine("timing", root, kernel="kernel-rcp-1234")
    job = payload.Job("true", Path("rcp.whl"))
    facts = run._facts(run.Request("x", job, machine, Path("out"), 1, 1))
    assert facts["kernel_build"] == "kernel-rcp-1234"
    json.dumps(facts)


def test_help_offers_the_kernels_that_can_be_built():
    assert kernel.NAMES == KERNELS
    assert tuple(kernel.DEBUG_FLAVOURS) == DEBUG_KINDS
