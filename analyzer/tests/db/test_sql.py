"""The store's schema keeps its rules: comments everywhere, layers point down."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from rcp.analyzer.db.modules import (
    LAYERS,
    Module,
    ModuleError,
    check,
    order,
    read_modules,
    read_schema,
)
from rcp.analyzer.db.schema import schema_markdown
from rcp.analyzer.db.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.create(None) as made:
        yield made


def test_every_table_view_and_column_is_commented(store: Store) -> None:
    sql = """
        SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal
        UNION ALL SELECT table_name, '' FROM duckdb_tables() WHERE comment IS NULL
        UNION ALL SELECT view_name, '' FROM duckdb_views() WHERE comment IS NULL AND NOT internal
    """
    assert store.query(sql) == []


def test_every_module_makes_its_object(store: Store) -> None:
    made = store.query("SELECT table_name FROM information_schema.tables ORDER BY ALL")
    assert made == [(name,) for name in sorted(module.name for module in read_modules())]


def test_modules_depend_on_what_they_read() -> None:
    """A view's FROM and JOIN name exactly the modules of its depends lines."""
    names = {module.name for module in read_modules()}
    for module in read_modules():
        words = module.text.partition("COMMENT ON")[0].replace("(", " ").replace(";", " ").split()
        read = {b for a, b in pairwise(words) if a in ("FROM", "JOIN")}
        depends = {full.partition(".")[2] for full in module.depends}
        assert depends == read & names, module.full_name


def test_dependencies_come_first() -> None:
    done: set[str] = set()
    for module in read_modules():
        assert done.issuperset(module.depends)
        done.add(module.full_name)


@pytest.mark.parametrize(
    ("layer", "text", "message"),
    [
        (
            LAYERS[0],
            "-- depends: path.edge\nCREATE VIEW x AS",
            "base.x depends on path.edge, in a layer above its own",
        ),
        (
            "path",
            "-- depends: base.nothing\nCREATE VIEW x AS",
            "path.x depends on base.nothing, which does not exist",
        ),
        ("path", "CREATE VIEW y AS", "path.x must create exactly x, not ['y']"),
    ],
)
def test_rules_are_checked(layer: str, text: str, message: str) -> None:
    with pytest.raises(ModuleError) as error:
        check(Module(layer, "x", text), [m.full_name for m in read_modules()])
    assert str(error.value) == message


def test_circles_are_refused() -> None:
    a = Module("base", "a", "-- depends: base.b\nCREATE VIEW a AS")
    b = Module("base", "b", "-- depends: base.a\nCREATE VIEW b AS")
    with pytest.raises(ModuleError, match="in a circle"):
        order([a, b])


def test_schema_names_every_column(store: Store) -> None:
    text = schema_markdown()
    for table, column in store.query(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
    ):
        assert f"`{column}`" in text.partition(f"### {table} (")[2].partition("###")[0]


def test_without_comments_the_schema_is_the_same(store: Store) -> None:
    sql = """
        SELECT table_name, column_name, data_type, comment IS NULL AS is_bare
        FROM duckdb_columns() WHERE NOT internal ORDER BY ALL
    """
    with Store.create(None, schema=read_schema(commented=False)) as bare:
        found = bare.query(sql)
        assert all(is_bare for *_, is_bare in found)
        assert [row[:3] for row in found] == [row[:3] for row in store.query(sql)]
        objects = "FROM duckdb_tables() SELECT comment UNION ALL FROM duckdb_views() SELECT comment"
        assert set(bare.query(objects)) == {(None,)}
