"""Every figure in a text for students has its source, or the command that measured it.

A figure is a number with a unit that a machine has answered: a rate, a time, a share, a ratio, and
where caches or TLBs are spoken of a size; other sizes are those that a text chooses. Its origin
stands in the same paragraph, list or slide, that of a table or list also in the paragraph before or
behind it, and that of a paragraph also in the commands before it: the name of a source that the
texts list, a man page, a command (`./numalab ...`), or that it is computed. What has none, since it
is a rule of the kit or a number that the text chooses, carries a mark: <!-- no source: why -->. A
picture has its source below itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from numalab.installation import find_installation

ROOT = find_installation("gnu").root

UNIT = (
    r"[GMT]i?B/s|ns|us|ms|GHz|MHz|MT/s|cycles|%"
    r"|times (?:as|the|faster|slower|longer|more)"
)
FIGURE = re.compile(rf"(?<![\w.,])\d[\d,]*(?:\.\d+)?\s?(?:{UNIT})(?!\w)")
SIZE = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?\s?[GMkK]i?B(?![\w/])")
MEMORY = re.compile(r"\bL[123]\b|\bTLBs?\b|\bcaches?\b")
# What a page is on the machines that the kit runs on; lab 04's text says how to ask.
CONSTANTS = {"4 KiB", "2 MiB"}
MARK = re.compile(r"<!-- no source: [^>]*\S[^>]* -->")
COMMAND = r"`(?:\./|perf |gcc |clang|numactl |lstopo|likwid|grep |mpiexec )"
ORIGIN = re.compile(rf'{COMMAND}|class="source"|\b[Cc]omputed\b|\b[\w_]+\(\d\w*\)')
SOURCE_NAME = re.compile(r"\b[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)+\b")
FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")
COMMENT = re.compile(r"(?s)<!--.*?-->")
PICTURE = re.compile(r"!\[[^\]]*\]\(figures/[^)]*\)")  # has its source below itself

LABS = sorted((ROOT / "labs").glob("*/README.md"))
DECKS = sorted((ROOT / "slides").glob("[0-9]*.md"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*/README.md"))
TEXTS = [*LABS, *SOLUTIONS, *DECKS]


@dataclass(frozen=True)
class Block:
    """A paragraph, list, table or slide; around: it and the neighbours that may speak for it."""

    text: str
    around: str


def _fence_in_brief(fence: re.Match[str]) -> str:
    """Only whether it has a command, which the paragraphs around it may speak of."""
    return "\n\n`./`\n\n" if re.search(r"(?m)^ *\$ ", fence[0]) else "\n\n"


def blocks(text: str, is_deck: bool) -> Iterator[Block]:
    if is_deck:
        for slide in re.split(r"(?m)^---$", text):
            yield Block(slide, slide)
        return
    brief = FENCE.sub(_fence_in_brief, text)
    found = [part.strip() for part in re.split(r"\n\s*\n", brief) if part.strip()]
    for number, part in enumerate(found):
        before, after = found[max(0, number - 1) : number], found[number + 1 : number + 2]
        if not part.startswith(("|", "- ", "1. ")):
            before, after = [one for one in before if one == "`./`"], []
        yield Block(part, "\n".join([*before, part, *after]))


def figures(text: str) -> list[str]:
    """Those of a block, but for constants and the rules of a table of criteria."""
    if re.match(r"\s*\| criterion \|", text):
        return []
    rows = re.sub(r"(?ms)^\| criterion \|.*?(?:\n(?!\|)|\Z)", "", FENCE.sub("", text))
    plain = PICTURE.sub("", COMMENT.sub("", rows))
    found = [*FIGURE.findall(plain), *(SIZE.findall(plain) if MEMORY.search(plain) else [])]
    return [one for one in (" ".join(figure.split()) for figure in found) if one not in CONSTANTS]


def sources(texts: list[Path]) -> set[str]:
    """Names that these texts list: a name, a colon, and what it is."""
    listed = (re.search(r"(?s)\*Sources:\*.*\Z", path.read_text()) for path in texts)
    return {name for end in listed if end for name in re.findall(r"\b([A-Z][\w-]+):", end[0])}


def has_origin(block: Block, known: set[str]) -> bool:
    return bool(
        MARK.search(block.around)
        or ORIGIN.search(block.around)
        or set(SOURCE_NAME.findall(block.around)) & known
    )


def without_origin(text: str, is_deck: bool, known: set[str]) -> list[str]:
    return [
        f"{', '.join(found)}: {' '.join(block.text.split())[:100]}"
        for block in blocks(text, is_deck)
        if (found := figures(block.text)) and not has_origin(block, known)
    ]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: "/".join(path.parts[-3:]))
def test_figures_have_their_origin(path: Path) -> None:
    found = without_origin(path.read_text(), path in DECKS, sources([*LABS, *SOLUTIONS]))
    assert not found, "\n".join(found)


def test_sources_are_listed() -> None:
    known = sources([*LABS, *SOLUTIONS])
    assert {"HLRS-NUMA", "CERN-NUMA", "SVP-BLOG"} <= known
    for path in TEXTS:
        named = set(re.findall(r"\(([A-Z][A-Z0-9]+(?:-[A-Z0-9]+)+)[),]", path.read_text()))
        assert named <= known, (path, named - known)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A core of it moves 12 GB/s.", 1),
        ("A core of it moves 12 GB/s (CERN-NUMA).", 0),
        ("A core of it moves 12 GB/s (NO-SUCH).", 1),
        ("It took 3.2 times as long.", 1),
        ("`./numalab explore 03` said 3.2 times as long.", 0),
        ("A TLB reaches 4 KiB.", 0),
        ("Its L2 holds 512 KiB.", 1),
        ("Take a table of 512 KiB.", 0),
        ("That is 96 % <!-- no source: a rule of the kit -->.", 0),
        ("That is 96 % <!-- no source: -->.", 1),
        ("| a | b |\n|---|---|\n| 5 ns | 7 ns |\n\nComputed.", 0),
        ("Near: 5 ns.\n\nComputed.", 1),
        ("| criterion | asks for |\n|---|---|\n| `correct` | 95 % |", 0),
        ("- 5 ns\n- 7 ns\n\nof a page", 1),
        ("```\n5 ns\n```", 0),
        ("```\n$ perf stat ./a\n5 ns\n```\n\nThat is 5 ns.", 0),
        ("```\n5 ns\n```\n\nThat is 5 ns.", 1),
        ("Lab 7 has 8 threads.", 0),
        ("![12 GB/s](figures/stream.svg)", 0),
        ("![12 GB/s](figures/stream.svg) and 5 ns", 1),
    ],
)
def test_what_lacks_an_origin(text: str, count: int) -> None:
    assert len(without_origin(text, False, {"CERN-NUMA"})) == count


def test_slides_have_one_origin_each() -> None:
    deck = '## One\n12 GB/s\n\n<p class="source">CERN-NUMA</p>\n\n---\n\n## Two\n12 GB/s\n'
    assert len(without_origin(deck, True, set())) == 1
