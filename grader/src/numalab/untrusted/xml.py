"""Parse XML, without what makes a small file expensive: entities, and elements nested too deep."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import IO, Any
from xml.etree import ElementTree
from xml.parsers import expat

from numalab.untrusted import reader_pool
from numalab.untrusted.reader_pool import ReaderPool
from numalab.untrusted.reader_server import Connection, Unreadable

DEEPEST = 64  # exports of hwloc have less than half of it
LIMITS = reader_pool.Limits(computing_s=10, memory_bytes=1 << 30)


def parse(content: bytes) -> ElementTree.Element:
    """Return the root element. Raises Unreadable (it declares entities, or nests elements deeper
    than DEEPEST), ExpatError (it is no XML) and LookupError, ValueError (its encoding is not
    known)."""
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


def read(file: IO[bytes], options: dict[str, Any], connection: Connection) -> None:
    """Answer nothing, once the parser has come to its end, with or without an error."""
    del options
    with suppress(Unreadable, expat.ExpatError, LookupError, ValueError):
        parse(file.read())
    connection.send_end()


def parsed(content: bytes) -> ElementTree.Element:
    """Parse XML that a process of its own could parse within LIMITS. Raises what parse() raises,
    and OSError where no process can be started."""
    with ReaderPool("xml") as readers, tempfile.TemporaryFile() as file:
        file.write(content)
        with readers.read(file, {}, LIMITS) as reading:
            for _ in reading.answer():
                pass
    return parse(content)
