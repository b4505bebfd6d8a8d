"""XML's parser without what makes a small file expensive: entities, and deeply nested elements."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, Any
from xml.etree import ElementTree
from xml.parsers import expat

from numalab.untrusted import reader_pool
from numalab.untrusted.reader_server import Connection, Unreadable

DEEPEST = 64  # levels of elements; hwloc's exports have less than half as many
LIMITS = reader_pool.Limits(computing_s=10, memory_bytes=1 << 30)


def parse(content: bytes) -> ElementTree.Element:
    """Return the root element of an XML text. Raises Unreadable for one that declares entities, or
    nests elements deeper than DEEPEST. Its time and memory have no limit: use parsed() for
    untrusted texts."""
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
    """Send an empty answer once the parser has come to its end, whether it accepts the text."""
    del options
    with suppress(Unreadable, expat.ExpatError, LookupError, ValueError):
        parse(file.read())
    connection.send_end()


def parsed(content: bytes) -> ElementTree.Element:
    """Return the root element of an XML text, after a process of its own has parsed it within
    LIMITS. Raises what parse() raises, Unreadable also where that process reached a limit, and
    OSError, such as where no process can be started."""
    reader_pool.try_to_read("xml", content, LIMITS)
    return parse(content)
