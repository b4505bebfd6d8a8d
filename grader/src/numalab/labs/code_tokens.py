"""Split C and Fortran into tokens, about as compilers do, without comments and blanks. Pure
functions."""

from __future__ import annotations

import re

_C = re.compile(
    r"""
      /\*.*?(?:\*/|\Z) | //[^\n]*                                       # a comment
    | (   "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?
        | \#[ \t]*define[ \t]+\w+\( | \#[ \t]*include[ \t]*"[^"\n]*"
        | \.?\d(?:[eEpP][+-]|[\w.])* | \w+
        | ->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\.\.\.|\#\#|[-+*/%&|^]=
        | \n | \S )
    """,
    re.S | re.X,
)
_FORTRAN_COMMENT = re.compile(r"!(?!\$)[^\n]*|(\"[^\"\n]*\"?|'[^'\n]*'?)")
_FORTRAN_CONTINUED = re.compile(r"&[ \t]*\n\s*&?")
_FORTRAN = re.compile(r"\"[^\"\n]*\"?|'[^'\n]*'?|\w+|\n|\S")


def decode_source(content: bytes) -> str:
    """Return the text of a source file in UTF-8, without byte order mark and with Unix line ends.
    Bytes that are not UTF-8 are replaced."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def c_tokens(text: str) -> list[str]:
    r"""Return the tokens of a C text. The newline ("\n") that ends a directive is a token, others
    are not; `#define NAME(` and `#include "file"` are one token each."""
    found: list[str] = []
    in_directive = False
    for token in _C.findall(text.replace("\\\n", "")):
        if token == "\n":
            if in_directive:
                found.append(token)
            in_directive = False
        elif token:  # empty: a comment
            in_directive = in_directive or token.startswith("#")
            found.append(token)
    return found


def fortran_tokens(text: str) -> list[str]:
    r"""Return the tokens of a free-form Fortran text, in lower case outside literals. Those of `!$`
    directives are among them. A newline ("\n") is a token, several in a row are one; a line that
    ends with & is joined with the next."""
    text = _FORTRAN_CONTINUED.sub("", _FORTRAN_COMMENT.sub(r"\1", text))
    found: list[str] = []
    for token in _FORTRAN.findall(text):
        if token != "\n" or found[-1:] != ["\n"]:
            found.append(token if token[0] in "\"'" else token.lower())
    return found
