"""Names that C code shows outside of a function: macros, types, fields, enumerators, functions,
their parameters, and variables of a file.

Read from the text, since no compiler lists macros and parameters: comments, strings and the
preprocessor's lines go, and what is left are declarations, as the house writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_NOISE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)  # fmt: skip
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|\S")
_CLOSING = {"{": "}", "(": ")", "[": "]"}
_TAGGED = ("struct", "union", "enum")
# Never a declarator's name: types of which a parameter may have nothing else.
_TYPES = frozenset((
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
    "const", "volatile", "restrict", "static", "extern", "inline", "size_t", "_Noreturn",
    "_Thread_local", "_Atomic", "_Alignas",
))  # fmt: skip


def visible_names(source: str) -> Iterator[tuple[str, str]]:
    """Yield each name with its kind: macro, type, field, enumerator, function, parameter, variable.
    source: a file's text; a name may come more than once."""
    text = _NOISE.sub(" ", source)
    for directive in _DIRECTIVE.findall(text):
        for name in _MACRO.findall(directive):
            yield "macro", name
    yield from _declarations(_TOKEN.findall(_DIRECTIVE.sub(" ", text)), "variable")


def local_names(source: str) -> set[str]:
    """Return what functions' bodies name before a `=`, `;`, `,`, `[` or `)` and behind a type or a
    `*`: their variables, in most cases."""
    text = _DIRECTIVE.sub(" ", _NOISE.sub(" ", source))
    shown = {name for _, name in visible_names(source)}
    declared = re.findall(r"(?:\b[a-z]\w*[ \n]+|\*[ ]?|, )\b([a-z]\w*)(?= = |;|\[|, )", text)
    return {name for name in declared if name not in shown and _is_name(name)}


def _end(tokens: Sequence[str], start: int) -> int:
    """Return the index behind the bracket that closes the one at start."""
    depth = 0
    for i in range(start, len(tokens)):
        if tokens[i] in _CLOSING:
            depth += 1
        elif tokens[i] in _CLOSING.values():
            depth -= 1
            if depth == 0:
                return i + 1
    return len(tokens)


def _declarations(tokens: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    """Of a file, or of the braces of a struct. kind: of what is declared, variable or field."""
    i, statement = 0, list[str]()
    while i < len(tokens):
        token = tokens[i]
        if token == ";":
            yield from _declared(statement, kind)
            statement = []
        elif token in _CLOSING:
            end = _end(tokens, i)
            inner = tokens[i + 1 : end - 1]
            if token == "{" and _tag(statement):
                if statement[-1] not in _TAGGED:
                    yield "type", statement[-1]
                yield from _braces(_tag(statement), inner)
                statement.append("}")
            elif token == "{" and "=" not in statement:  # a function's body
                yield from _declared(statement, kind)
                statement = []
            else:
                statement += tokens[i:end]
            i = end
            continue
        else:
            statement.append(token)
        i += 1


def _tag(statement: Sequence[str]) -> str:
    """Return struct, union or enum where its braces follow."""
    return next((word for word in statement[-2:] if word in _TAGGED), "")


def _braces(tag: str, inner: Sequence[str]) -> Iterator[tuple[str, str]]:
    if tag != "enum":
        yield from _declarations(inner, "field")
        return
    for part in _parts(inner):
        if part:
            yield "enumerator", part[0]


def _parts(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Split at commas that are in no brackets."""
    part, i = list[str](), 0
    while i < len(tokens):
        end = _end(tokens, i) if tokens[i] in _CLOSING else i + 1
        if tokens[i] == ",":
            yield part
            part = []
        else:
            part += tokens[i:end]
        i = end
    yield part


def _declared(statement: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    tokens = _without_attributes(statement)
    if not tokens or tokens[0] in ("_Static_assert", "return"):
        return
    is_type = tokens[0] == "typedef"
    for number, part in enumerate(_parts(tokens)):
        name, behind, is_pointer = _declarator(part, number == 0)
        if not name:
            continue
        is_function = behind[:1] == ["("] and not is_pointer
        yield "type" if is_type else "function" if is_function else kind, name
        if behind[:1] == ["("]:
            for parameter in _parts(behind[1 : _end(behind, 0) - 1]):
                yield from _declared(parameter, "parameter")


def _without_attributes(tokens: Sequence[str]) -> list[str]:
    kept, i = list[str](), 0
    while i < len(tokens):
        if tokens[i] in ("__attribute__", "__asm__", "_Alignas", "__extension__"):
            i = _end(tokens, i + 1) if tokens[i + 1 : i + 2] == ["("] else i + 1
        else:
            kept.append(tokens[i])
            i += 1
    return kept


def _declarator(tokens: Sequence[str], is_first: bool) -> tuple[str, Sequence[str], bool]:
    """Return the name that a declaration gives, "" where it gives none; what stands behind it, such
    as a function's parameters; and whether it is a pointer to a function. is_first: a type comes
    before the name."""
    groups, i = list[int](), 0  # where brackets begin; of a macro's call and a function the last
    while i < len(tokens) and tokens[i] not in ("=", ":"):
        if tokens[i] == "(" and tokens[i + 1 : i + 2] == ["*"]:  # a pointer to a function
            end = _end(tokens, i)
            name = next((word for word in tokens[i:end] if _is_name(word)), "")
            return name, tokens[end:], True
        if tokens[i] in ("(", "["):
            if not (groups and tokens[i] == "[" and tokens[groups[-1]] == "["):
                groups.append(i)
            i = _end(tokens, i)
        else:
            i += 1
    end = groups[-1] if groups else i
    words = [word for word in tokens[:end] if word != "*"]
    if not words or not _is_name(words[-1]) or (is_first and len(words) == 1 and not groups):
        return "", tokens[end:], False
    if len(words) > 1 and words[-2] in _TAGGED:  # a type alone
        return "", tokens[end:], False
    return words[-1], tokens[end:], False


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in _TYPES and word not in _TAGGED
