"""Split C and Fortran into tokens as compilers do, without comments and blanks.

Pure functions. A comment or literal that is not closed ends with the text or the line, so that no
end is searched for twice, and hostile input takes no more than linear time.
"""

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
    r"""Return the tokens of a C text. A newline ("\n") is a token only where it ends a directive;
    `#define NAME(` and `#include "file"` are one token each."""
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
    directives are among them, and so is the newline ("\n") that ends a statement; continued lines
    are joined."""
    text = _FORTRAN_CONTINUED.sub("", _FORTRAN_COMMENT.sub(r"\1", text))
    found: list[str] = []
    for token in _FORTRAN.findall(text):
        if token != "\n" or found[-1:] != ["\n"]:
            found.append(token if token[0] in "\"'" else token.lower())
    return found
