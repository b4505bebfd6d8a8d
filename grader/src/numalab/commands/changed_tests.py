"""Which tests a change can reach: those of ./numalab test --changed.

A Python file reaches the test modules that import it, directly or through others, inside of
functions too. Of conftest.py and tests/support only the functions count that a test uses, so that
an import of one helper is not one of all. What other files reach follows from what tests name:

- all test modules that can read files of numalab (`installation`, `__file__` ...) and do not
  name other labs only, for files of a lab;
- modules that name the file or its folder, or use a module that does, for texts, C sources, and
  data of tests, of the package, and of common/;
- modules that list the folders of numalab (`rglob`), as tests of style do, for every file.

A file of which this says nothing reaches every test.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from numalab.errors import UserError
from numalab.processes import shell_variables, starting

SOURCES, TESTS, SUPPORT = "grader/src/", "grader/tests/", "grader/tests/support/"
CONFTEST = f"{TESTS}conftest.py"
MAIN = f"{SOURCES}numalab/__main__.py"
# Folders of Python files that are imported by their names alone.
BY_NAME = ("grader/bench/", "slides/")
# Names by which a test reaches numalab's own files, and by which it loads all labs.
FILES_OF_NUMALAB = frozenset(
    {"installation", "kit_root", "find_installation", "__file__", "labs", "load_labs"}
)
ALL_LABS = frozenset({"labs", "load_labs"})
LISTING = frozenset({"rglob", "glob", "iterdir", "walk"})
BUILT = (".c", ".h", ".f90", ".cmake", ".in")
WORDS = (".md", ".cff", ".txt", ".svg", ".ipynb")
_LAB = re.compile(r"^(?:labs|solutions)/(((\d\d)_\w+))/")
_LAB_NAMES = re.compile(r"\d\d(?:_\w+)?")

Node = tuple[str, str]  # a file, and which part of it: a function, _WHOLE, _IMPORTED
_WHOLE, _IMPORTED = "", "(imported)"


@dataclass
class Part:
    """What a function, or a whole file, names. imports: modules, and the name that is imported
    from them."""

    names: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    imports: set[tuple[str, str]] = field(default_factory=set)

    def add(self, part: ast.AST) -> None:
        """Add what a piece of code names; what is for type checkers only counts for nothing."""
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING":
            return
        if isinstance(part, ast.Import):
            self.imports |= {(alias.name, "") for alias in part.names}
        elif isinstance(part, ast.ImportFrom):
            self.imports |= {(part.module or "", alias.name) for alias in part.names}
        elif isinstance(part, ast.Name):
            self.names.add(part.id)
        elif isinstance(part, ast.arg):
            self.names.add(part.arg)
        elif isinstance(part, ast.Attribute):
            self.names.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            self.strings.add(part.value)
        for child in ast.iter_child_nodes(part):
            self.add(child)

    def join(self, other: Part) -> None:
        self.names |= other.names
        self.strings |= other.strings
        self.imports |= other.imports


@dataclass
class Module:
    """A file: the parts that have a name of their own, by it, and all of it."""

    parts: dict[str, Part]
    whole: Part
    imported: Part  # what its import alone runs
    local_names: dict[str, tuple[str, str]]  # what imports at its top give a name

    listing: set[str] = field(default_factory=set)  # parts that may list folders of numalab


def read_module(code: str) -> Module:
    """Return what a Python file names. One that does not parse names nothing: it fails itself."""
    module = Module({}, Part(), Part(), {})
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return module
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            module.imported.add(statement)
            module.whole.add(statement)
            source = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                pair = (source, alias.name) if source else (alias.name, "")
                module.local_names[alias.asname or alias.name.partition(".")[0]] = pair
            continue
        part = Part()
        part.add(statement)
        module.whole.join(part)
        for name in _defined(statement):
            module.parts.setdefault(name, Part()).join(part)
            if _lists_files(statement, module.parts):
                module.listing.add(name)
    return module


def _lists_files(statement: ast.stmt, constants: Mapping[str, Part]) -> bool:
    """Tell whether a function may go through folders of numalab: what it lists, or calls git for,
    comes from one of FILES_OF_KIT, by a constant above it or by its own variables."""
    numalabs = {name for name, part in constants.items() if part.names & FILES_OF_NUMALAB}
    numalabs |= FILES_OF_NUMALAB

    def comes_from_numalab(node: ast.AST) -> bool:
        words = {w for n in ast.walk(node) for w in (getattr(n, "id", ""), getattr(n, "attr", ""))}
        return bool(words & numalabs)

    nodes = list(ast.walk(statement))
    for node in nodes:
        if isinstance(node, ast.Assign) and comes_from_numalab(node.value):
            numalabs |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return any(
        comes_from_numalab(call)
        and (getattr(call.func, "attr", "") in LISTING or "ls-files" in ast.dump(call))
        for call in calls
    )


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    targets = (
        statement.targets if isinstance(statement, ast.Assign)
        else [statement.target] if isinstance(statement, (ast.AnnAssign, ast.AugAssign))
        else []
    )  # fmt: skip
    return [node.id for t in targets for node in ast.walk(t) if isinstance(node, ast.Name)]


@dataclass
class Reach:
    """What a test module reaches: files that it imports, and what it and its helpers name.
    lists_files: whether one of them may go through folders of numalab."""

    files: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    lists_files: bool = False

    def mentions(self, name: str) -> bool:
        """Tell whether one of its texts has a file's or a folder's name."""
        return any(name in string for string in self.strings)

    def lab_names(self) -> set[str]:
        return {n for string in self.strings for n in _LAB_NAMES.findall(string)}


class Graph:
    """Python files of a tree, and who imports whom. root: numalab's folder; gone: files that were
    there, so that imports of them lead somewhere."""

    def __init__(self, root: Path, gone: Iterable[str] = ()) -> None:
        self.modules: dict[str, Module] = {}
        self.paths: dict[str, str] = {}  # by the name that an import has for it
        self._used: dict[Node, tuple[set[Node], Reach]] = {}
        for folder in (SOURCES, TESTS, *BY_NAME):
            for path in sorted((root / folder).rglob("*.py")):
                self._add(str(path.relative_to(root)), path.read_text("utf-8", "replace"))
        for file in gone:
            if file.endswith(".py") and file not in self.modules:
                self._add(file, "")
        self.tests = [f for f in self.modules if is_test(f) and (root / f).is_file()]
        self.reach = {test: self._reach_of(test) for test in self.tests}

    def _add(self, file: str, code: str) -> None:
        self.modules[file] = read_module(code)
        for folder in (SOURCES, TESTS, *BY_NAME):
            if file.startswith(folder):
                name = file.removeprefix(folder).removesuffix(".py").replace("/", ".")
                self.paths[name.removesuffix(".__init__")] = file

    def _targets(self, module: str, name: str) -> Iterator[Node]:
        """Yield what an import leads to: a module, or a part of a helper or a package, and the
        packages in which it lies."""
        whole = f"{module}.{name}" if name else module
        if whole in self.paths:
            yield self.paths[whole], _WHOLE
        elif module in self.paths:
            path = self.paths[module]
            in_parts = path.startswith(TESTS) or path.endswith("/__init__.py")
            yield path, name if in_parts and name in self.modules[path].parts else _WHOLE
        while "." in module:
            module = module.rpartition(".")[0]
            if module in self.paths:
                yield self.paths[module], _IMPORTED

    def _next(self, node: Node, reach: Reach) -> Iterator[Node]:
        """Yield what a node uses, and add to reach what it names where it is of tests."""
        file, name = node
        module = self.modules[file]
        reach.files.add(file)
        if name == _IMPORTED:
            part = module.imported
        elif name == _WHOLE:
            part = module.whole
        else:
            part = module.parts[name]
        for imported in part.imports:
            yield from self._targets(*imported)
        yield from self._by_text(part.strings)
        if name not in (_WHOLE, _IMPORTED):
            yield from self._by_name(file, part)
        if not file.startswith(TESTS):
            return
        reach.names |= part.names - (ALL_LABS if file == CONFTEST else set())
        reach.strings |= part.strings
        reach.lists_files |= bool(module.listing if name == _WHOLE else name in module.listing)
        fixtures = self.modules[CONFTEST].parts if CONFTEST in self.modules else {}
        for used in (part.names | part.strings) & fixtures.keys() - module.parts.keys():
            yield CONFTEST, used
        if any(s in ("numalab", "./numalab") or s.endswith("/numalab") for s in part.strings):
            yield MAIN, _WHOLE

    def _by_name(self, file: str, part: Part) -> Iterator[Node]:
        """Yield what a part of a file uses of the others, and of the imports above it."""
        module = self.modules[file]
        for used in part.names:
            if used in module.parts:
                yield file, used
            elif used in module.local_names:
                yield from self._targets(*module.local_names[used])

    def _by_text(self, strings: Iterable[str]) -> Iterator[Node]:
        """Yield modules whose dotted names are written as text, or begin with one that ends in a
        dot, as where they are imported when a command is called."""
        for string in strings:
            if string in self.paths and "." in string:
                yield self.paths[string], _WHOLE
            elif string.startswith("numalab.") and string.endswith("."):
                for name, path in self.paths.items():
                    if name.startswith(string):
                        yield path, _WHOLE

    def _reach_of(self, test: str) -> Reach:
        reach = Reach()
        waiting: list[Node] = [(test, _WHOLE)]
        met = set(waiting)
        while waiting:
            node = waiting.pop()
            if node not in self._used:
                own = Reach()
                self._used[node] = (set(self._next(node, own)), own)
            used, own = self._used[node]
            reach.files |= own.files
            reach.names |= own.names
            reach.strings |= own.strings
            reach.lists_files |= own.lists_files
            waiting += used - met
            met |= used
        return reach


def is_test(file: str) -> bool:
    """Tell whether a file is a test module."""
    path = PurePosixPath(file)
    return file.startswith(TESTS) and path.name.startswith("test_") and path.suffix == ".py"


@dataclass(frozen=True)
class Picked:
    """Test modules that a change reaches, from numalab's folder. of: how many there are; unplaced:
    a changed file of which nothing says what it reaches, so that all are picked."""

    modules: frozenset[str]
    of: int
    unplaced: str = ""


def pick_tests(root: Path, changed: Collection[str]) -> Picked:
    """Pick the test modules that changed files can reach. changed: paths below root, also of files
    that are gone."""
    graph = Graph(root, gone=[file for file in changed if not (root / file).exists()])
    modules: set[str] = set()
    for file in changed:
        reached = _reached(graph, file)
        if reached is None:
            return Picked(frozenset(graph.tests), len(graph.tests), file)
        modules |= reached
    if changed:
        modules |= {test for test, reach in graph.reach.items() if reach.lists_files}
    return Picked(frozenset(modules), len(graph.tests))


def _reached(graph: Graph, file: str) -> set[str] | None:
    """Return the test modules that a file reaches, None where that can't be said."""
    path = PurePosixPath(file)
    reach = graph.reach

    def naming(*names: str) -> set[str]:
        return {test for test, of_test in reach.items() if any(map(of_test.mentions, names))}

    if file == CONFTEST:
        return None
    if is_test(file):
        return {file} & reach.keys()
    if file in graph.modules:
        importing = {test for test, of_test in reach.items() if file in of_test.files}
        return importing | naming(path.name)
    if file.startswith(SOURCES):
        return _reached_by_data(graph, path) or None
    if file.startswith(TESTS):
        module = str(path.parents[1] / f"{path.stem}.py")
        if path.parent.name == "golden_texts" and module in reach:
            return {module}
        package = "/".join(path.parts[:3])
        near = {test for test in reach if test.startswith(f"{package}/")}
        return naming(path.name, *path.parent.parts[3:]) | near or None
    able = {test for test, of_test in reach.items() if of_test.names & FILES_OF_NUMALAB}
    if lab := _LAB.match(file):
        return {test for test in able if _may_load(reach[test], {lab[1], lab[3]})}
    if file == "numalab":  # the launcher
        return {test for test, of_test in reach.items() if MAIN in of_test.files}
    if path.suffix in WORDS:
        return {test for test in able if all(map(reach[test].mentions, path.parts))}
    if path.suffix in BUILT or path.name == "CMakeLists.txt":  # and ctest's unit tests
        return naming(path.name, path.parent.name) & able
    if path.parts[0] in ("common", "slides"):
        return (naming(path.name) & able) | _reached_by_data(graph, path) or able
    return None


def _reached_by_data(graph: Graph, path: PurePosixPath) -> set[str]:
    """Return the test modules that reach a file of the package which names this one of its data,
    or the folder where it lies."""
    users = {
        file for file, module in graph.modules.items()
        if file.startswith(SOURCES)
        and any(name in module.whole.strings for name in (path.name, path.parent.name))
    }  # fmt: skip
    return {test for test, of_test in graph.reach.items() if of_test.files & users}


def _may_load(reach: Reach, names: set[str]) -> bool:
    """Tell whether a test may load a lab. names: its folder and its number."""
    others = reach.lab_names()
    return bool(reach.names & ALL_LABS or others & names) or not others


# ---- what has changed ---------------------------------------------------------------------


def changed_files(root: Path, revision: str) -> list[str]:
    """Return the files below root that differ from where this branch left a revision's, new ones
    that git does not ignore among them. Raises UserError where git does not know the revision."""
    try:
        base = _git(root, "merge-base", revision, "HEAD").strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(
            f"--changed {revision}: git has no such revision in {root}. Name a commit or a branch; "
            "without git, run ./numalab test --quick"
        ) from error
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", base)
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({file for file in (differing + new).split("\0") if file})


def _git(root: Path, *arguments: str) -> str:
    done = starting.run(["git", *arguments], shell_variables.builder_environment(), cwd=root)
    done.check_returncode()
    return done.stdout
