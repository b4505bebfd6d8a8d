"""Visible names of the C code are the field's words, and its files need each other in one
direction."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from support.banned_names import complaints
from support.c_complaints import KEPT, complaints_of, sources
from support.c_names import local_names, visible_names
from support.published_labs import is_published

from numalab.installation import find_installation

ROOT = find_installation("gnu").root

# Names within functions that are still to be changed.
MOST_LOCAL = 251


def visible(path: Path) -> set[str]:
    return {name for _, name in visible_names(path.read_text())} | {path.stem}


def local(path: Path) -> set[str]:
    return set(local_names(path.read_text()))


def test_visible_names_are_the_fields() -> None:
    assert len(sources(ROOT)) >= 250
    places = [
        complaint
        for path in sources(ROOT)
        for complaint in complaints_of(path, visible(path), ROOT)
    ]
    assert not places, "\n".join(places)


def is_of_new_lab(path: Path) -> bool:
    """Tell whether a file is of a lab that is not published: what it has is not counted yet."""
    above, lab, *_ = path.relative_to(ROOT).parts
    return above in ("labs", "solutions") and not is_published(lab)


def test_local_names_get_no_worse() -> None:
    """Who changes one writes the smaller number."""
    own = [path for path in sources(ROOT) if not is_of_new_lab(path)]
    places = [complaint for path in own for complaint in complaints_of(path, local(path), ROOT)]
    assert len(places) <= MOST_LOCAL, "\n".join(places)


def test_names_that_are_let_pass_are_there() -> None:
    names = {name for path in sources(ROOT) for name in visible(path)}
    banned = {name: [*complaints(name)] for name in names}
    for word, (pattern, _) in KEPT.items():
        assert any(
            re.fullmatch(pattern, name, re.IGNORECASE) and any(f"'{word}" in text for text in texts)
            for name, texts in banned.items()
        ), word


def test_every_kind_of_name_is_read() -> None:
    source = """
    #define MOST_LOOKS(n) \\
        (n)
    enum { FIRST = sizeof(int[2]), SECOND };  /* int not_this; */
    struct seen { int (*serve)(void *context), count; struct { char text[8]; } part; };
    typedef int phase(size_t n, void **arrays);
    static const double least = 1, told[] = {2, 3};
    int find(const struct seen *here, size_t (*draw)(int kind)) __attribute__((weak));
    static int local(int of) { int hidden = 0; struct { int inner; } also; return hidden; }
    """
    assert set(visible_names(source)) == {
        ("macro", "MOST_LOOKS"), ("enumerator", "FIRST"), ("enumerator", "SECOND"),
        ("type", "seen"), ("field", "serve"), ("parameter", "context"), ("field", "count"),
        ("field", "text"), ("field", "part"), ("type", "phase"), ("parameter", "n"),
        ("parameter", "arrays"), ("variable", "least"), ("variable", "told"),
        ("function", "find"), ("parameter", "here"), ("parameter", "draw"),
        ("parameter", "kind"), ("function", "local"), ("parameter", "of"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "is_banned"),
    [
        ("numalab_looks_until", True), ("MOST_TOLD", True), ("SeenPages", True), ("of_rank", True),
        ("numalab_by_clock", True), ("test_without_shift", True), ("hosts", True),
        ("numalab_page_rearm", False), ("is_on_stack", False), ("stone", False),
        ("overlook", False), ("OFFSET", False), ("inner", False),
    ],
)  # fmt: skip
def test_what_is_banned(name: str, is_banned: bool) -> None:
    assert bool(list(complaints(name))) == is_banned


def uses(folder: Path) -> dict[Path, set[Path]]:
    """Return for each C file below a folder the others that define a function it names."""
    texts = {path: path.read_text() for path in sorted(folder.rglob("*.c"))}
    defined = {
        name: path
        for path, text in texts.items()
        for name in re.findall(r"^(?!static)\w[\w *]*?\b(\w+)\([^;{]*\)\n\{", text, re.MULTILINE)
        if name != "main"
    }
    named = {path: set(re.findall(r"\w+", _code(text))) for path, text in texts.items()}
    return {
        path: {defined[name] for name in seen & defined.keys()} - {path}
        for path, seen in named.items()
    }


def _code(text: str) -> str:
    return re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", " ", text, flags=re.DOTALL)


def circle(graph: dict[Path, set[Path]]) -> list[Path]:
    """Return files that need each other, the first one again at the end; none: empty."""
    done: set[Path] = set()

    def walk(path: Path, way: list[Path]) -> list[Path]:
        if path in way:
            return [*way[way.index(path) :], path]
        if path in done:
            return []
        rounds = (walk(other, [*way, path]) for other in sorted(graph[path]))
        found = next((round_ for round_ in rounds if round_), [])
        done.add(path)
        return found

    return next((found for path in graph if (found := walk(path, []))), [])


@pytest.mark.parametrize("folder", ["monitor", "worker", "probe", "relay", "guest"])
def test_files_need_each_other_in_one_direction(folder: str) -> None:
    graph = uses(ROOT / "common" / folder)
    assert len(graph) >= 4
    assert sum(map(len, graph.values())) >= len(graph) // 2
    assert [path.name for path in circle(graph)] == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, other in pairwise("abca"):
        (tmp_path / f"{name}.c").write_text(
            f"void {name}_run(int n)\n{{\n    {other}_run(n);\n}}\n"
        )
    assert [path.stem for path in circle(uses(tmp_path))] == ["a", "b", "c", "a"]
