"""What files say as code: what changes a form, what does not, and where names lead."""

from __future__ import annotations

import pytest

from numalab.grading.code_forms import Resolver, form_of


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("x.c", "int a = 1;", "int a = 2;"),
        ("x.c", 'puts("a b");', 'puts("ab");'),
        ("x.c", 'puts("/* a */");', 'puts("");'),
        ("x.c", "a = b - -c;", "a = b --c;"),
        ("x.c", "#define F(x) x\n", "#define F (x) x\n"),
        ("x.c", "#define A b\nc\n", "#define A b c\n"),
        ("x.c", "#pragma omp parallel\n", "// #pragma omp parallel\n"),
        ("x.c", '#include "a.h"\n', '#include "b.h"\n'),
        ("x.f90", "!$omp parallel\n", "! $omp parallel\n"),
        ("x.f90", "print *, 'A'\n", "print *, 'a'\n"),
        ("x.f90", "a = 1\nb = 2\n", "a = 1 b = 2\n"),
        ("x.cmake", 'f("#include <a.h>")', 'f("#include <b.h>")'),
        ("x.cmake", "f(a b)", "f(ab)"),
        ("x.cmake", "f(a.c)", "f(b.c)"),
        ("x.cmake", "f([[# a]])", "f([[# b]])"),
        ("x.sh", "echo a#b\n", "echo a#c\n"),
        ("x.sh", "echo $#\n", "echo $\n"),
        ("x.sh", "a\nb\n", "a b\n"),
        ("x.env", "A=b#c\n", "A=b#d\n"),
        ("x.toml", 'a = "#b"', 'a = "#c"'),
        ("x.py", "a = 'b'", "a = 'c'"),
        ("x.py", "a = 1", "a = 1.0"),
        ("x.py", "a = None", "a = True"),
        ("x.py", "a = ['', 'b']", "a = ['b']"),
        ("x.py", "a = f'{b}'", "a = f'{b!r}'"),
        ("x.py", "def f(a, b=None): return a", "def f(a, *, b=None): return a"),
        ("x.py", "x: int = 1", "x = 1"),
        ("x.py", "from a import b", "from c import b"),
        ("x.py", "from a import b", "from a import b as c"),
        ("x.py", "if a:\n  b()\nc()", "if a:\n  b()\n  c()"),
        ("x.in", "# a", "# b"),
        ("x.py", "not Python", "no Python"),
        ("x.toml", "no TOML", "not TOML"),
    ],
)
def test_another_code_has_another_form(name: str, before: str, after: str) -> None:
    assert form_of(name, before.encode()) != form_of(name, after.encode())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("x.py", "a = 'b'", 'a = ("b")  # c'),
        ("x.py", "f(a, b)", "f(\n    a,\n    b,\n)"),
        ("x.py", 'def f():\n    """A."""\n    g()', "def f():\n    g()"),
        ("x.py", 'class A:\n    """B."""\n    c: int\n    """D."""', "class A:\n    c: int"),
        ("x.py", "import a\nimport b", "import b\nimport a"),
        ("x.c", "a=b;", "a = /* c */ b ; // d"),
        ("x.c", "#define A 1\\\n  2\n", "#define A 1 2\n"),
        ("x.c", '#include "a.h"\n#include "b.h"\n', '#  include "b.h"\n#include "a.h"\n'),
        ("x.f90", "a = b &\n  & + c\n", "A = b + c ! d's\n\n"),
        ("x.cmake", "f(a\n  b)", "f( a b ) # c\n#[[ d\ne ]]"),
        ("x.sh", "#!/bin/sh\na  b\n", "#!/bin/sh -\n\n  a b # it's c\n"),
        ("x.toml", "a = 1\nb = 2", "b = 2 # c\na = 1"),
        ("isolate", "#!/bin/sh\n# a\nb\n", "#!/bin/sh\nb # c\n"),
    ],
)
def test_the_same_code_has_the_same_form(name: str, before: str, after: str) -> None:
    assert form_of(name, before.encode()) == form_of(name, after.encode())


PYTHON = r'''
@a.b(c=1)
def f(x: T, /, *y, z=None, **w) -> None:
    """A docstring."""
    match x:
        case {"k": [1, *rest], **more} if x is not ...:
            return f"{x!r:>{z}}{'b'}" f"{y=}" "c{}", b"\xff", 1e300 if x else "\U0001fae8"
    lambda: {**w}
'''


def test_every_version_of_python_makes_the_same_form() -> None:
    """Of what their parsers make other trees of: pieces of f-strings, new fields, characters that
    a version does not know."""
    known = "7c40f0a88cdc38d5e86e0cd54779982b9d920e65ae3e552c251a5acd95f39f4a"
    assert form_of("x.py", PYTHON.encode()).digest == known


def resolved(modules: dict[str, bytes], text: bytes) -> str:
    forms = [(name, form_of(name, content)) for name, content in modules.items()]
    return Resolver(forms).digest_of(form_of("n/c.py", text))


def test_a_name_that_comes_to_mean_another_file_is_other_code() -> None:
    """Though all files are there as before; and one that is only called otherwise is the same."""
    modules = {"n/a.py": b"def f(): return 1", "n/b.py": b"def f(): return 2"}
    of_a = resolved(modules, b"from n.a import f")
    assert resolved(modules, b"from n.b import f") != of_a
    assert resolved(modules, b"from n import a") != resolved(modules, b"from n import b")
    modules["m/other.py"] = modules.pop("n/a.py")
    assert resolved(modules, b"from m.other import f") == of_a
    assert resolved(modules, b"from n.a import f") != of_a, "of which there is none any more"


def test_hostile_text_is_read_in_a_moment() -> None:
    for name in ("x.c", "x.f90", "x.cmake", "x.sh"):
        for piece in ("/*", '"', "'", "\\", "#define ", "&\n", "[[", "#[[", "((", "# include "):
            form_of(name, (piece * 50_000).encode())
