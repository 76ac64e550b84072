"""The command line of the lab: rcp-lab.

What builds and boots is imported inside functions: help and completion need none of it.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from rcp.lab.command import AFTER, Command, catch_signals
from rcp.lab.progress import Progress
from rcp.probes.contract import completions

KERNELS = ("stock", "rcp", "rcp-debug", "rcp-kcsan", "plain")
"""Those of ``kernel.NAMES``."""
DEBUG_KINDS = ("lockdep", "kcsan")
"""Those of ``kernel.DEBUG_FLAVOURS``."""
_CONTEXT = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=_CONTEXT, short_help="Run commands on a real kernel in virtual time.")
@click.version_option(package_name="rcp-trace", prog_name="rcp-lab")
def main() -> None:
    """Run commands and scenarios on a real Linux kernel in an emulated machine.

    With --timing the machine's clock counts instructions, so latencies are the same on a busy
    laptop and on a quiet server. It needs neither KVM nor root, and builds a kernel only if you
    choose the patched one.

    \b
    Examples:
      rcp-lab setup
      rcp-lab run --timing wal-vs-checkpoint
      rcp-lab run --functional -- 'uname -r; nproc'
    """
    catch_signals()


_checkout_option = click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Source tree of rcp to test.  [default: the one that contains the working directory, "
    "else the installed rcp]",
)
_memory_option = click.option(
    "--memory", "memory_mb", type=click.IntRange(min=512), help="Guest memory in MiB."
)
_newest_option = click.option(
    "--newest",
    is_flag=True,
    envvar="RCP_LAB_NEWEST",
    show_envvar=True,
    help="Use the guest with Debian's newest kernel, not the one the patches are for; "
    "rcp-lab setup --newest builds it anew.",
)
_quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no progress.")


_scenarios_option = click.option(
    "--scenarios",
    "scenarios_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of scenarios.  [default: fixtures/scenarios of the checkout]",
)


@main.command(cls=Command, short_help="Build the guest now.")
@_newest_option
@_checkout_option
@_quiet_option
@click.pass_context
def setup(ctx: click.Context, newest: bool, checkout: Path | None, quiet: bool) -> None:
    """Build the guest now, so that later runs start without delay.

    The result is cached below $RCP_CACHE, $XDG_CACHE_HOME/rcp or ~/.cache/rcp and rebuilt only
    when its inputs change. Works as root and as an ordinary user. Its kernel is of the version that
    the patches are for, while Debian serves it, else the newest. A line on standard error says how
    its packages differ from those that documented figures were made with.

    \b
    Examples:
      rcp-lab setup
      RCP_CACHE=/var/cache/rcp rcp-lab setup
      rcp-lab setup --newest && RCP_LAB_NEWEST=1 make test-lab
    """
    from rcp.lab import rootfs, sources, vm, wheel

    progress = Progress(quiet=quiet)
    vm.require()
    source = sources.find_checkout(checkout)
    # Typed, it asks for today's newest kernel; the variable only says which guest is meant, to
    # everything that makes sure of a guest before it boots one.
    typed = ctx.get_parameter_source("newest") is click.core.ParameterSource.COMMANDLINE
    root = rootfs.ensure(source, progress, newest, anew=newest and typed)
    wheel.ensure(source, progress)
    click.echo(f"kernel {root.release}\nrootfs {root.image}")
    if differs := rootfs.difference(rootfs.installed(root), rootfs.documented(source)):
        click.echo(f"rcp-lab: {differs}", err=True)


@main.command(cls=Command, short_help="Build a patched kernel.")
@click.option(
    "--kernel",
    "name",
    type=click.Choice(["rcp", "plain"]),
    default="rcp",
    show_default=True,
    help="rcp: with the patches of kernel-patch/patches; plain: without, for comparison.",
)
@click.option(
    "--debug",
    is_flag=False,
    flag_value="lockdep",
    type=click.Choice(DEBUG_KINDS),
    help="lockdep (also --debug alone): lockdep, KASAN, DEBUG_ATOMIC_SLEEP; kcsan: KCSAN.",
)
@_checkout_option
@_quiet_option
def build(name: str, debug: str | None, checkout: Path | None, quiet: bool) -> None:
    """Build Debian's kernel source with rcp's patches, for rcp-lab run --kernel.

    It needs neither root nor a compiler on this host: it builds in a separate Debian tree, which
    is cached with source and objects (about 5 GB). The first build takes about 15 minutes on two
    cores, a rebuild after a small change a minute or two.

    \b
    Examples:
      rcp-lab build --kernel rcp
      rcp-lab build --kernel rcp --debug
      rcp-lab build --kernel rcp --debug=kcsan
    """
    from rcp.lab import kernel, sources

    progress = Progress(quiet=quiet)
    if debug and name != "rcp":
        raise click.UsageError("--debug goes with --kernel rcp: leave one of them out")
    flavour = kernel.DEBUG_FLAVOURS[debug] if debug else name
    built = kernel.ensure(sources.find_checkout(checkout), flavour, progress)
    click.echo(f"kernel {built.release}\nvmlinuz {built.vmlinuz}")


def _modules() -> Iterable[str]:
    from rcp.lab import module

    return module.FOLDERS


@main.command("run", cls=Command, short_help="Run a scenario or a command.")
@click.argument(
    "name",
    required=False,
    metavar="[SCENARIO] [-- CMD ARGS...]",
    shell_complete=completions.SCENARIOS,
)
@click.option("--timing", "mode", flag_value="timing", help="One CPU in virtual time.")
@click.option("--functional", "mode", flag_value="functional", help="Two CPUs in host time.")
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    default="stock",
    show_default=True,
    help="stock: Debian's kernel; others are built by rcp-lab build.",
)
@click.option(
    "-e",
    "--env",
    "env",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completions.parameters,
    help="Environment variable to set in the guest.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="File or folder to copy to $RCP_LAB_IN/inputs.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    shell_complete=completions.words_from(_modules),
    help="Kernel module to load first.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results; an earlier run there is replaced.  "
    "[default: build/lab/NAME-TIME]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    help="Wall-clock limit in seconds.  [default: the scenario's, else 600]",
)
@_memory_option
@click.option(
    "--output-mb",
    default=512,
    show_default=True,
    help="Size of the output disk in MiB, rounded up to a multiple of 128.",
)
@click.option(
    "--accel",
    type=click.Choice(["tcg", "kvm"]),
    default="tcg",
    show_default=True,
    help="kvm is faster if available, but has no virtual time and is not covered by rcp's tests.",
)
@click.option(
    "--shift",
    type=click.IntRange(min=0, max=1000),
    default=0,
    show_default=True,
    envvar="RCP_LAB_SHIFT",
    show_envvar=True,
    help="Start the command N x 137 us later, with N more pages in use: the same work under other "
    "interleavings.",
    metavar="N",
)
@_newest_option
@click.option("--dry-run", is_flag=True, help="Print the QEMU command and stop.")
@_checkout_option
@_scenarios_option
@_quiet_option
@click.pass_context
def run_command(ctx: click.Context, /, **options: Any) -> None:
    """Run a scenario, or the shell command after --, in a fresh guest.

    The exit status is the command's; 124: the wall-clock limit was reached; 125: the guest died
    without a result. Files that the command writes to $RCP_LAB_OUT are copied to the output
    folder, beside stdout.txt, stderr.txt, console.log and result.json.

    \b
    Examples:
      rcp-lab run --timing wal-vs-checkpoint
      rcp-lab run wal-vs-checkpoint -e SECONDS=20 --out build/lab/wal
      rcp-lab run --timing -- fio --version
      rcp-lab run --timing --shift 1 wal-vs-checkpoint
      rcp-lab run --newest -- uname -r
      rcp-lab run --functional -- 'dmesg > $RCP_LAB_OUT/dmesg.txt'
      rcp-lab run --kernel rcp --module rcpdisk -- 'ls /sys/kernel/config/rcpdisk'
    """
    import shlex

    from rcp.lab import request, run, vm

    progress = Progress(quiet=options["quiet"])
    wanted = request.from_options(options, ctx.meta.get(AFTER), progress)
    if options["dry_run"]:
        files = vm.Files(Path("INPUT.tar"), Path("OUTPUT.img"), wanted.out.resolve())
        click.echo(shlex.join(vm.command(wanted.machine, files)))
        return
    run.prepare_out(wanted.out)
    report = run.execute(wanted, progress)
    virtual = "virtual time" if wanted.machine.virtual_time else "host time"
    progress.stage(f"exit status {report.exit_status} ({virtual}), results in {wanted.out}")
    ctx.exit(report.exit_status)


@main.command(cls=Command, short_help="Open a root shell in a guest.")
@_newest_option
@_checkout_option
@_memory_option
@click.option(
    "--timeout",
    "timeout_s",
    default=14400.0,
    show_default=True,
    help="Wall-clock limit in seconds.",
)
def shell(newest: bool, checkout: Path | None, memory_mb: int | None, timeout_s: float) -> None:
    """Open a root shell in a fresh guest, with rcp installed (functional mode).

    Leave it with exit or Ctrl-D. Its files are then lost: use rcp-lab run to copy files back.

    \b
    Examples:
      rcp-lab shell
      rcp-lab shell --memory 4096
    """
    if not sys.stdin.isatty():
        raise click.UsageError("rcp-lab shell needs a terminal: use rcp-lab run -- CMD instead")
    import shutil
    import tempfile

    from rcp.lab import payload, rootfs, run, sources, vm, wheel

    progress = Progress()
    vm.require()
    source = sources.find_checkout(checkout)
    root = rootfs.ensure(source, progress, newest)
    machine = vm.Machine("functional", root, memory_mb=memory_mb or 2048)
    columns, rows = shutil.get_terminal_size()
    env = {"RCP_LAB_VIRTUAL_TIME": "0", "RCP_LAB_ROWS": str(rows), "RCP_LAB_COLS": str(columns)}
    job = payload.Job("", wheel.ensure(source, progress), env=env, shell=True)
    with tempfile.TemporaryDirectory(prefix="rcp-lab-shell-") as out:
        wanted = run.Request("shell", job, machine, Path(out), timeout_s, output_mb=64)
        progress.stage("booting (exit or Ctrl-D ends the machine)")
        with run.disks(wanted) as files:
            vm.run_interactive(vm.command(machine, files, interactive=True), timeout_s)


@main.command(cls=Command, short_help="List the scenarios.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)
@_checkout_option
@_scenarios_option
def scenarios(form: str, checkout: Path | None, scenarios_dir: Path | None) -> None:
    """List the scenarios that rcp-lab run knows.

    \b
    Examples:
      rcp-lab scenarios
      rcp-lab scenarios --format json
    """
    from rcp.lab import request, scenario

    found = scenario.load_all(request.scenarios_root(checkout, scenarios_dir))
    if form == "json":
        import json

        rows = [{**vars(item), "path": str(item.path)} for item in found]
        click.echo(json.dumps(rows, indent=2))
        return
    for item in found:
        click.echo(f"{item.name}  ({item.mode}, about {item.typical_wall_s} s)  {item.title}")
        if item.description:
            click.echo(click.wrap_text(item.description.strip(), 96, "    ", "    "))


@main.command(cls=Command, short_help="Delete cached guests and kernels.")
@click.option("--all", "everything", is_flag=True, help="Also delete what the next run would use.")
@_checkout_option
def clean(everything: bool, checkout: Path | None) -> None:
    """Delete cached guests, kernels and wheels that no longer match this checkout.

    \b
    Examples:
      rcp-lab clean
      rcp-lab clean --all
    """
    from rcp.lab import cache, kernel, module, rootfs, sources, wheel

    keep: frozenset[str] = frozenset()
    if not everything:
        source = sources.find_checkout(checkout)
        keep = rootfs.entries_in_use(source) | {wheel.cache_name(source)}
        keep |= kernel.entries_in_use(source) | module.entries_in_use(source)
    freed = cache.remove(keep)
    for name, size in freed:
        if not name.endswith(".lock"):
            click.echo(f"removed {name} ({size / 1e6:.1f} MB)")
    click.echo(f"freed {sum(size for _, size in freed)} bytes in {cache.root()}")
