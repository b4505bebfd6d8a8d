"""Questions about links that a seed draws: the correct answers, and the mistakes that lead to wrong
ones. Pure functions.

Paths are such that mistakes lead to other answers: the narrowest link is not the one of the slowest
lanes, for instance. An answer is a number, of which three digits are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from typing import TypeVar

from link_rates import (
    EIGHT_IN_TEN,
    LANES,
    NEWER_LANES,
    OLD_LANES,
    PAM4_LANES,
    SIXTYFOUR_IN_66,
    SLOT_LANES,
    SLOT_WIDTHS,
    WIDTHS,
    Lane,
    Link,
)

from numalab import draws

CLOSE = Fraction(5, 1000)  # the relative error that an answer in three digits has at most
WORD_BYTES = 4  # what PortXmitData counts
_GIGA, _MIB, _MB = 10**9, 2**20, 10**6
_BITS = 8

_T = TypeVar("_T")


@dataclass(frozen=True)
class DrawnLinks:
    """The links and numbers that a seed's questions are about.

    Attributes:
        old, newer, pam4: the links whose rates are asked for; both: the same for both ways.
        message, message_mib: the link of a message, and its size in MiB.
        counter: the growth of a counter, in words of WORD_BYTES.
        wraparound: the full link on which a counter of 32 bits counts.
        path: the links from port to port.
        slot_port, slot: a port's link, and the lanes of the PCIe slot that it is in.
        entries, entry_bytes: the number of items, and the bytes of each.
    """

    old: Link
    newer: Link
    pam4: Link
    both: Link
    message: Link
    message_mib: int
    counter: int
    wraparound: Link
    path: tuple[Link, Link, Link]
    slot_port: Link
    slot: Link
    entries: int
    entry_bytes: int


@dataclass(frozen=True)
class LinkQuestion:
    """A question about links.

    Attributes:
        key: its key in the file of answers.
        text: returns the question.
        answer: returns the correct answer.
        mistakes: yields the answers that mistakes lead to, each with words on the mistake.
    """

    key: str
    text: Callable[[DrawnLinks], str]
    answer: Callable[[DrawnLinks], Fraction]
    mistakes: Callable[[DrawnLinks], Iterator[tuple[Fraction, str]]]


@lru_cache(maxsize=256)
def draw_links(seed: int) -> DrawnLinks:
    """Return what the questions of a seed are about."""

    def one(what: str, choices: Sequence[_T]) -> _T:
        return draws.pick(f"link {seed} {what}", choices)

    def link(what: str, lanes: Sequence[Lane], widths: Sequence[int] = WIDTHS) -> Link:
        return Link(one(f"{what}: lane", lanes), one(f"{what}: width", widths))

    slot_port, slot = one("slot", _SLOTS)
    return DrawnLinks(
        old=link("old", OLD_LANES),
        newer=link("newer", NEWER_LANES),
        pam4=link("PAM4", PAM4_LANES),
        both=link("both ways", LANES),
        message=link("message", LANES),
        message_mib=one("message: MiB", range(24, 1001, 8)),
        counter=20_000_000 + draws.draw(f"link {seed} counter", 4_000_000_000),
        wraparound=link("around", LANES),
        path=one("path", _paths()),
        slot_port=slot_port,
        slot=slot,
        entries=one("items", range(2_000, 90_001, 1_000)),
        entry_bytes=one("item's bytes", range(8, 65, 8)),
    )


def is_close(given: Fraction, correct: Fraction) -> bool:
    return abs(given - correct) <= CLOSE * correct


def mistake_in(question: LinkQuestion, given: Fraction, drawn: DrawnLinks) -> str | None:
    """Return the words on the first known mistake that leads to about the given answer and not to
    the correct one; None: there is none."""
    correct = question.answer(drawn)
    for mistaken, sentence in question.mistakes(drawn):
        if is_close(given, mistaken) and not is_close(mistaken, correct):
            return sentence
    return None


# ---- paths and slots ---------------------------------------------------------------------------


def _link(width: int, name: str) -> Link:
    return Link(next(lane for lane in (*LANES, *SLOT_LANES) if lane.name == name), width)


def _tells_mistakes_apart(path: Sequence[tuple[Fraction, Link]]) -> bool:
    """Tell whether the narrowest link of a path has neither the fewest nor the slowest lanes, and
    is clearly the narrowest, so that mistakes lead to other answers. path: three links, each with
    its rate of data in Gbit/s."""
    (least, narrowest), (next_least, _), _ = sorted(path, key=lambda pair: pair[0])
    return (
        narrowest.width > min(link.width for _, link in path)
        and narrowest.lane.signal_gbit_s > min(link.lane.signal_gbit_s for _, link in path)
        and least < Fraction(9, 10) * next_least
    )


@cache
def _paths() -> tuple[tuple[Link, Link, Link], ...]:
    """Return all paths that tell mistakes apart."""
    links = [Link(lane, width) for lane in LANES for width in WIDTHS]
    rated = [(link.data_gbit_s, link) for link in links]
    return tuple(
        (path[0][1], path[1][1], path[2][1])
        for path in product(rated, repeat=3)
        if _tells_mistakes_apart(path)
    )


_PORTS = tuple(_link(4, name) for name in ("QDR", "FDR", "EDR", "HDR", "NDR"))
# Ports with slots that are slower, and a few with slots that are faster: either may be the limit.
_ALL_SLOTS = tuple(
    (port, Link(lane, width)) for port in _PORTS for lane in SLOT_LANES for width in SLOT_WIDTHS
)
_SLOTS = (
    *(pair for pair in _ALL_SLOTS if pair[1].data_gbit_s < pair[0].data_gbit_s),
    (_link(4, "QDR"), _link(8, "Gen3")),
    (_link(4, "FDR"), _link(16, "Gen3")),
    (_link(4, "EDR"), _link(16, "Gen3")),
    (_link(4, "EDR"), _link(8, "Gen4")),
    (_link(4, "HDR"), _link(16, "Gen4")),
)

# ---- one link ----------------------------------------------------------------------------------

_SIGNAL = "that is what its lanes signal, code and all; asked is the data"
_SIGNAL_RATE = "that is at the signalling rate; data is slower"
_OTHER_CODE = "that is with the code of another generation"
_BOTH = "that is both ways together; asked is one"
_BYTES = "that is in gigabytes; asked are gigabits"
_SINGLE_LANE = "that is one lane's"


def _link_mistakes(link: Link) -> Iterator[tuple[Fraction, str]]:
    yield link.signal_gbit_s, _SIGNAL
    yield 2 * link.data_gbit_s, _BOTH
    yield 2 * link.signal_gbit_s, "that is what its lanes signal both ways; asked is data, one way"
    for code in (EIGHT_IN_TEN, SIXTYFOUR_IN_66):
        yield link.signal_gbit_s * code, _OTHER_CODE
    yield link.data_gbit_s / _BITS, _BYTES
    yield link.data_gbit_s / link.width, _SINGLE_LANE
    yield link.data_gbit_s / 2, "PAM4's two bits per symbol are in the signalling rate already"


def _data_question(key: str, link_of: Callable[[DrawnLinks], Link]) -> LinkQuestion:
    """Return the question for a link's rate of data, one way. link_of: returns the link."""
    return LinkQuestion(
        key,
        lambda drawn: f"How many Gbit/s of data does a {link_of(drawn).name} link carry, one way?",
        lambda drawn: link_of(drawn).data_gbit_s,
        lambda drawn: _link_mistakes(link_of(drawn)),
    )


def _both_gb_s(drawn: DrawnLinks) -> Fraction:
    return 2 * drawn.both.data_gbit_s / _BITS


def _both_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    correct = _both_gb_s(drawn)
    yield correct / 2, "that is one way; asked are both together"
    yield correct * _BITS, "that is in gigabits; asked are gigabytes"
    yield correct * _BITS / 2, "that is one way, and in gigabits"
    yield 2 * drawn.both.signal_gbit_s / _BITS, _SIGNAL
    yield correct * _GIGA / 2**30, "that is in GiB, 2^30 bytes; a GB has 10^9"


# ---- times, and counters -----------------------------------------------------------------------


def _message_ms(drawn: DrawnLinks) -> Fraction:
    bits = drawn.message_mib * _MIB * _BITS
    return 1000 * bits / (drawn.message.data_gbit_s * _GIGA)


def _message_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    correct = _message_ms(drawn)
    yield correct * _MB / _MIB, "that is of as many MB of 10^6 bytes; a MiB has 2^20"
    yield correct * drawn.message.lane.efficiency, _SIGNAL_RATE
    yield correct / 2, "that is at the rate of both ways; a message takes one"
    yield correct / _BITS, "bytes are not bits: the rate is in Gbit/s"
    yield correct / 1000, "that is in seconds; asked are milliseconds"
    yield correct * 1000, "that is in microseconds; asked are milliseconds"


def _counter_mib(drawn: DrawnLinks) -> Fraction:
    return Fraction(drawn.counter * WORD_BYTES, _MIB)


def _counter_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    correct = _counter_mib(drawn)
    yield correct / WORD_BYTES, "the counter does not count bytes, but words of the link"
    yield correct * 2, "a word is not 8 bytes there, whatever a processor's is"
    yield correct * _MIB / _MB, "that is in MB, 10^6 bytes; a MiB has 2^20"
    yield correct * _MIB / _MB / WORD_BYTES, "bytes taken for words, and MB for MiB"
    yield correct / _BITS, "that takes it for a number of bits"


def _wraparound_s(drawn: DrawnLinks) -> Fraction:
    return 2**32 * WORD_BYTES * _BITS / (drawn.wraparound.data_gbit_s * _GIGA)


def _wraparound_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    correct = _wraparound_s(drawn)
    yield correct / WORD_BYTES, "the counter does not count bytes, but words of the link"
    yield correct / WORD_BYTES / _BITS, "the counter does not count bits"
    yield correct / 2, "that is of a number with a sign; a counter has none"
    yield correct * drawn.wraparound.lane.efficiency, _SIGNAL_RATE
    yield correct / _BITS, "bytes are not bits: the rate is in Gbit/s"


# ---- several links -----------------------------------------------------------------------------


def _path_gbit_s(drawn: DrawnLinks) -> Fraction:
    return min(link.data_gbit_s for link in drawn.path)


def _path_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    narrowest = min(drawn.path, key=lambda link: link.data_gbit_s)
    fewest = min(drawn.path, key=lambda link: link.width)
    oldest = min(drawn.path, key=lambda link: link.lane.signal_gbit_s)
    yield narrowest.signal_gbit_s, _SIGNAL
    yield oldest.data_gbit_s, "that is the link of the slowest lanes; how many of them has it?"
    yield fewest.data_gbit_s, "that is the link of the fewest lanes; how fast are they?"
    yield 2 * narrowest.data_gbit_s, _BOTH
    together = sum((link.data_gbit_s for link in drawn.path), Fraction(0))
    yield together, "links one behind the other do not add up"


def _slot_gbit_s(drawn: DrawnLinks) -> Fraction:
    return min(drawn.slot_port.data_gbit_s, drawn.slot.data_gbit_s)


def _slot_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    yield drawn.slot_port.data_gbit_s, "that is the port; what does its slot carry?"
    yield drawn.slot.data_gbit_s, "that is the slot; what does the port carry?"
    yield drawn.slot.signal_gbit_s, "that is what the slot's lanes signal, code and all"
    yield drawn.slot_port.signal_gbit_s, "that is what the port's lanes signal, code and all"
    for code in (EIGHT_IN_TEN, SIXTYFOUR_IN_66):
        yield drawn.slot.signal_gbit_s * code, _OTHER_CODE
    yield 2 * _slot_gbit_s(drawn), _BOTH


# ---- small items over Ethernet -----------------------------------------------------------------

_ETHERNET_BYTES, _IP_BYTES, _TCP_BYTES, _OPTION_BYTES = 14, 20, 20, 12
_HEADER_BYTES = _ETHERNET_BYTES + _IP_BYTES + _TCP_BYTES + _OPTION_BYTES
_MTU_BYTES = 1500  # of a frame's content behind the header of Ethernet, at most
_SEGMENT_BYTES = _MTU_BYTES - (_HEADER_BYTES - _ETHERNET_BYTES)


def _mb(number: int | Fraction) -> Fraction:
    return Fraction(number) / _MB


def _alone_mb(drawn: DrawnLinks) -> Fraction:
    return _mb(drawn.entries * (drawn.entry_bytes + _HEADER_BYTES))


def _alone_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    entries, size = drawn.entries, drawn.entry_bytes
    yield _mb(entries * size), "that is the items alone; each travels behind headers of its own"
    yield _mb(entries * (size + _ETHERNET_BYTES)), "IP and TCP have headers, too"
    yield _mb(entries * (size + _HEADER_BYTES - _ETHERNET_BYTES)), "Ethernet has a header, too"
    yield _mb(entries * (size + _HEADER_BYTES - _OPTION_BYTES)), "TCP has options there, too"
    yield _mb(entries * 1514), "a frame is as long as it has to be, and not as it may be"


def _together_mb(drawn: DrawnLinks) -> Fraction:
    payload = drawn.entries * drawn.entry_bytes
    segments = -(-payload // _SEGMENT_BYTES)
    return _mb(payload + segments * _HEADER_BYTES)


def _together_mistakes(drawn: DrawnLinks) -> Iterator[tuple[Fraction, str]]:
    payload = drawn.entries * drawn.entry_bytes
    yield _mb(payload), "that is the items alone; each segment travels behind headers"
    yield _mb(payload + drawn.entries * _HEADER_BYTES), "that is each item in a segment of its own"
    segments = -(-payload // _SEGMENT_BYTES)
    yield _mb(payload + segments * _ETHERNET_BYTES), "IP and TCP have headers, too"


def _alone_text(drawn: DrawnLinks) -> str:
    return (
        f"{drawn.entries} items of {drawn.entry_bytes} bytes go over Ethernet, each in a TCP "
        "segment of its own. How many MB of frames are on the link?"
    )


def _path_text(drawn: DrawnLinks) -> str:
    first, middle, last = drawn.path
    return (
        f"A port is {first.name}, the link between two switches {middle.name}, the other port "
        f"{last.name}. How many Gbit/s of data go from port to port, at most, one way?"
    )


def _slot_text(drawn: DrawnLinks) -> str:
    return (
        f"A {drawn.slot_port.name} port sits in a slot of PCIe {drawn.slot.lane.name} "
        f"x{drawn.slot.width}. How many Gbit/s of data can the node send, at most?"
    )


QUESTIONS: tuple[LinkQuestion, ...] = (
    _data_question("old_gbit_s", lambda drawn: drawn.old),
    _data_question("newer_gbit_s", lambda drawn: drawn.newer),
    _data_question("pam4_gbit_s", lambda drawn: drawn.pam4),
    LinkQuestion(
        "both_ways_gb_s",
        lambda drawn: f"How many GB/s of data does a {drawn.both.name} link carry, both ways "
        "together?",
        _both_gb_s, _both_mistakes,
    ),
    LinkQuestion(
        "message_ms",
        lambda drawn: f"How many ms does a message of {drawn.message_mib} MiB take on a "
        f"{drawn.message.name} link, latency and headers left out?",
        _message_ms, _message_mistakes,
    ),
    LinkQuestion(
        "counted_mib",
        lambda drawn: f"PortXmitData has gone up by {drawn.counter}. How many MiB were sent?",
        _counter_mib, _counter_mistakes,
    ),
    LinkQuestion(
        "around_s",
        lambda drawn: f"A PortRcvData of 32 bits counts on a {drawn.wraparound.name} link that is "
        "full. After how many seconds has it had all its values once?",
        _wraparound_s, _wraparound_mistakes,
    ),
    LinkQuestion("alone_mb", _alone_text, _alone_mb, _alone_mistakes),
    LinkQuestion(
        "together_mb",
        lambda drawn: "And how many, if all of them are sent side by side, in segments that are as "
        "full as they can be?",
        _together_mb, _together_mistakes,
    ),
    LinkQuestion("path_gbit_s", _path_text, _path_gbit_s, _path_mistakes),
    LinkQuestion("slot_gbit_s", _slot_text, _slot_gbit_s, _slot_mistakes),
)  # fmt: skip
KEYS = tuple(question.key for question in QUESTIONS)
