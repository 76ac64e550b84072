"""Names of functions by address."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.probes.kernel.symbols import KernelSymbols, kallsyms

functions = st.dictionaries(st.integers(1, 2**64 - 1), st.text("abc_", min_size=1), max_size=20)


def symbols(folder: Path, lines: list[str]) -> KernelSymbols:
    (folder / "proc").mkdir(exist_ok=True)
    (folder / "proc/kallsyms").write_text("".join(f"{line}\n" for line in lines))
    kallsyms.cache_clear()
    return KernelSymbols(folder)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(functions, st.integers(0, 2**64 - 1), st.randoms())
def test_an_address_is_in_the_function_before_it(
    tmp_path: Path, found: dict[int, str], address: int, random: object
) -> None:
    lines = [f"{at:016x} t {name}\t[jbd2]" for at, name in found.items()]
    before = [at for at in found if at <= address]
    expected = found[max(before)] if before else "[unknown]"
    assert symbols(tmp_path, lines).name(address) == expected


def test_variables_and_hidden_addresses_are_no_functions(tmp_path: Path) -> None:
    found = symbols(
        tmp_path,
        ["00000000000000f0 A pcpu_hot", "ffffffff81000000 T start", "ffffffff82000000 D data"],
    )
    assert found.name(0xFFFFFFFF82000010) == "start"
    assert found.name(0xF8) == "[unknown]"
    hidden = symbols(tmp_path, ["0000000000000000 T start", "0000000000000000 T other"])
    assert hidden.name(0xFFFFFFFF81000000) == "[unknown]"


def test_the_running_kernels_file_can_be_read() -> None:
    KernelSymbols().load()


CORE = ["ffffffff81000000 T start", "ffffffff82000000 T _etext", "ffffffff82100000 D data"]
LOADED = [
    "ffffffffc0000000 t in_module_0\t[late]",
    "ffffffffc0001000 t in_module_1\t[late]",
]


def _load(folder: Path, modules: str, lines: list[str]) -> None:
    (folder / "proc/modules").write_text(modules)
    (folder / "proc/kallsyms").write_text("".join(f"{line}\n" for line in lines))


def test_a_module_loaded_later_has_names(tmp_path: Path) -> None:
    found = symbols(tmp_path, CORE)
    _load(tmp_path, "ext4 1 1 - Live 0xffffffffc1000000\n", CORE)
    found.load()
    _load(tmp_path, "late 1 0 - Live 0xffffffffc0000000\n", [*CORE, *LOADED])
    assert found.name(0xFFFFFFFF81000010) == "start"
    assert found.name(0xFFFFFFFFC0000010) == "in_module_0"
    assert found.name(0xFFFFFFFFC0001010) == "in_module_1"


def test_beyond_the_core_kernel_only_modules_have_names(tmp_path: Path) -> None:
    """A BPF trampoline is at no function, and not in the last one of the kernel's."""
    found = symbols(tmp_path, [*CORE, "ffffffff83000000 t last_exit", LOADED[0]])
    assert found.name(0xFFFFFFFF81FFFFFF) == "start"
    assert found.name(0xFFFFFFFFA0000010) == "[unknown]"
    assert found.name(0xFFFFFFFFC0000010) == "in_module_0"


def test_names_are_read_again_only_when_a_module_came_or_went(tmp_path: Path) -> None:
    found = symbols(tmp_path, [*CORE, LOADED[0]])
    _load(tmp_path, "late 4096 0 - Live 0xffffffffc0000000\n", [*CORE, LOADED[0]])
    found.load()
    # its number of users changes, which says nothing about functions
    _load(tmp_path, "late 4096 7 - Live 0xffffffffc0000000\n", [])
    assert found.name(0xFFFFFFFFC0000010) == "in_module_0"
    # unloaded and loaded again at another address
    _load(tmp_path, "late 4096 0 - Live 0xffffffffc0001000\n", [*CORE, LOADED[1]])
    assert found.name(0xFFFFFFFF81000010) == "start"
    assert found.name(0xFFFFFFFFC0001010) == "in_module_1"
