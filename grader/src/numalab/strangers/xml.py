"""XML without what makes a small file cost much: entities, and elements too deep in others."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import IO, Any
from xml.etree import ElementTree
from xml.parsers import expat

from numalab.strangers import apart
from numalab.strangers.apart import Readers
from numalab.strangers.server import Talk, Unreadable

DEEPEST = 64  # exports of hwloc have less than half of it
LIMITS = apart.Limits(cpu_s=10, memory_bytes=1 << 30)


def parse(content: bytes) -> ElementTree.Element:
    """The root. Raises Unreadable, and what expat raises for what is no XML: ExpatError, and
    LookupError or ValueError for an encoding that nobody knows."""
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise Unreadable("its elements are too deep inside one another")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def entity(*declared: Any) -> None:
        raise Unreadable("it declares entities, which no export does")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = entity
    parser.Parse(content, True)
    return builder.close()


def read(file: IO[bytes], options: dict[str, Any], talk: Talk) -> None:
    """Tells nothing but that it came to its end, with whatever error."""
    del options
    with suppress(Unreadable, expat.ExpatError, LookupError, ValueError):
        parse(file.read())
    talk.end()


def parsed(content: bytes) -> ElementTree.Element:
    """As parse, after it was tried in a process of its own. Raises OSError, too."""
    with Readers("xml") as readers, tempfile.TemporaryFile() as file:
        file.write(content)
        with readers.read(file, {}, LIMITS) as reading:
            for _ in reading.answer():
                pass
    return parse(content)
