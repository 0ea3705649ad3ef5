"""The shape of the code: names once, no circles, files and protocols that earn their place."""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp

import synthorg_tui

PACKAGE = Path(synthorg_tui.__file__).parent

MAX_LINES = 600
MAX_SMALL_WITH_ONE_IMPORTER = 15
SMALL = 80
MAX_LONG_FUNCTIONS = 5
LONG_FUNCTION = 40
MAX_COLLABORATORS = 6
MAX_LONE_PROTOCOLS = 12
PLANNED_PORTS = frozenset({"persistence.protocol"})
"""Modules of protocols for a second implementer that is planned: that of operational data documents
one for PostgreSQL. Its contract suite is the proof that another one can keep them."""


def test_a_new_environment_gets_newer_tools_than_python_bundles() -> None:
    """Those of Python 3.11 have known weaknesses."""
    told = subprocess.run(
        ["make", "--dry-run", "--always-make", "VENV=new", "new/bin/python"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "-m venv --upgrade-deps new " in told


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the program by its dotted name, without the program's own."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def nodes() -> tuple[tuple[str, ast.AST], ...]:
    """Every node of every module with the module's name."""
    return tuple((module, node) for module, tree in trees().items() for node in ast.walk(tree))


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    return ((module, node) for module, node in nodes() if isinstance(node, ast.ClassDef))


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return ((module, node) for module, node in nodes() if isinstance(node, kinds))


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}


def members(node: ast.ClassDef) -> set[str]:
    named = {
        child.name
        for child in node.body
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return named | {
        child.target.id
        for child in node.body
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
    }


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom, imports inside functions and for type checking counted."""
    return grimp.build_graph("synthorg_tui", cache_dir=None)


def circles() -> list[str]:
    """Modules from which a chain of imports leads back to themselves."""
    return [
        module
        for module in sorted(graph().modules)
        if any(
            module in graph().find_upstream_modules(imported)
            for imported in graph().find_modules_directly_imported_by(module)
        )
    ]


def test_a_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for module, node in classes():
        places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_module_leads_back_to_itself() -> None:
    assert circles() == []


def test_a_file_is_one_noun_that_can_be_read_at_a_sitting() -> None:
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_few_small_modules_serve_a_single_other() -> None:
    small = [
        module
        for module in graph().modules
        if (path := PACKAGE.parent / Path(*module.split("."))).with_suffix(".py").is_file()
        and len(path.with_suffix(".py").read_text(encoding="utf-8").splitlines()) < SMALL
        and len(graph().find_modules_that_directly_import(module)) == 1
    ]
    assert len(small) <= MAX_SMALL_WITH_ONE_IMPORTER, sorted(small)


def test_functions_are_short_enough_to_see() -> None:
    long = {f"{module}.{node.name}": length(node) for module, node in functions()}
    long = {name: lines for name, lines in long.items() if lines > LONG_FUNCTION}
    assert len(long) <= MAX_LONG_FUNCTIONS, long


def test_a_class_is_made_of_few_others() -> None:
    """Constructors of our own; data classes and those whose signature is documented aside."""
    many = {
        f"{module}:{node.lineno}": count
        for module, node in functions()
        if node.name == "__init__"
        and (count := len(node.args.args) + len(node.args.kwonlyargs) - 1) > MAX_COLLABORATORS
    }
    assert set(many) - {name for name in many if name.startswith("memory.retriever:")} == set()


def test_a_protocol_has_two_implementers_or_says_why_not() -> None:
    """By the names of members, so that an implementer needn't say that it is one."""
    protocols = {node.name: node for _, node in classes() if "Protocol" in bases(node)}
    planned = {node.name for module, node in classes() if module in PLANNED_PORTS}
    others = {node.name: node for _, node in classes() if node.name not in protocols}

    def offered(name: str) -> set[str]:
        inherited = [offered(base) for base in bases(others[name]) if base in others]
        return members(others[name]).union(*inherited)

    makers = [offered(name) for name in others]

    def wanted(name: str) -> set[str]:
        inherited = [wanted(base) for base in bases(protocols[name]) if base in protocols]
        return members(protocols[name]).union(*inherited)

    lone = {
        name: ast.get_docstring(node) or ""
        for name, node in protocols.items()
        if name not in planned and sum(wanted(name) <= maker for maker in makers) <= 1
    }
    assert len(lone) <= MAX_LONE_PROTOCOLS, sorted(lone)
    assert [name for name, docstring in lone.items() if len(docstring.split()) < 12] == []
