"""Frequency policies in words, for 80 columns, and what they mean for measurements. Pure
functions."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from numalab.doctor.frequency_policies import PU_FOLDER, FrequencyPolicy
from numalab.pu_lists import format_pus
from numalab.terminal import WIDTH
from numalab.words import count, listed, percent, short

_LABEL, _BAR = 22, 40
_MOST_STATES = 6  # the most frequencies that a picture shows
# Drivers that choose frequencies by rules of their own, or leave that to the processor. They have
# only the governors' names, and no statistics (admin-guide/pm/intel_pstate.rst, amd-pstate.rst).
_OWN_RULES = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
_FOLLOWS_LOAD = ("ondemand", "conservative", "schedutil")

_GOVERNORS = {
    "performance": (
        "`performance` asks for the highest frequency that is allowed, all the time. Turbo and "
        "heat may move the clock all the same."
    ),
    "powersave": (
        "`powersave` asks for the lowest frequency that is allowed, all the time: times are "
        "steady, and longer than the node can do."
    ),
    "userspace": (
        "`userspace` leaves the frequency where a program has put it, until it does again."
    ),
}
NONE = (
    f"This node tells nothing of its clock: there are no policies in /{PU_FOLDER}/cpufreq. On a "
    "virtual machine that is usual: the host decides, and nobody inside sees it. What a governor "
    "does can be read from a recording instead: ./numalab governor 1234 --output recording, with a "
    "number of your own."
)


def _mhz(khz: float) -> str:
    return f"{khz / 1000:,.0f} MHz"


def _span(limits_khz: tuple[int, int]) -> str:
    least, most = limits_khz
    return _mhz(most) if least == most else f"{least / 1000:,.0f} to {_mhz(most)}"


def _pu_words(policies: Sequence[FrequencyPolicy]) -> str:
    if any(policy.pus is None for policy in policies):
        return "unknown"
    pus = sorted({pu for policy in policies for pu in policy.pus or ()})
    return format_pus(pus) if pus else "none that is online"


# ---- what there is -----------------------------------------------------------------------------


def _settings(policy: FrequencyPolicy) -> FrequencyPolicy:
    """Return the policy without name, PUs, statistics and bad files: policies that are equal then
    are shown together."""
    return replace(
        policy, name="", pus=None, has_stats=False, ticks=None, transitions=None, total=None,
        bad=(),
    )  # fmt: skip


def _alike(policies: Sequence[FrequencyPolicy]) -> list[list[FrequencyPolicy]]:
    groups: dict[FrequencyPolicy, list[FrequencyPolicy]] = {}
    for policy in policies:
        groups.setdefault(_settings(policy), []).append(policy)
    return list(groups.values())


def _governor_words(policy: FrequencyPolicy) -> str:
    named = policy.governor or "unknown"
    others = [name for name in policy.governors or () if name != policy.governor]
    return f"{named}; also available: {listed(others)}" if others else named


def _sampling_words(policy: FrequencyPolicy) -> str | None:
    sampling = policy.sampling
    if sampling is None:
        return None
    rate = "at times unknown" if sampling.rate_us is None else f"every {sampling.rate_us:,} us"
    threshold = "unknown" if sampling.up_threshold is None else f"{sampling.up_threshold} %"
    return f"{rate}; up_threshold {threshold}"


def _limit_words(policy: FrequencyPolicy) -> str:
    allowed, hardware = policy.limits_khz, policy.hardware_khz
    if allowed is None or hardware is None:
        known = allowed or hardware
        return "unknown" if known is None else _span(known)
    if allowed == hardware:
        return f"{_span(allowed)}, all that there are"
    return f"{_span(allowed)} of {_span(hardware)}"


def _setting_rows(policy: FrequencyPolicy) -> Iterator[tuple[str, str]]:
    yield "driver", policy.driver or "unknown"
    yield "governor", _governor_words(policy)
    sampling = _sampling_words(policy)
    if sampling is not None:
        yield "it looks", sampling
    yield "frequencies allowed", _limit_words(policy)
    latency = policy.latency_ns
    told = "the driver does not say" if latency is None else f"{latency / 1000:,g} us"
    yield "transition latency", told


def _row(label: str, text: str) -> str:
    head = f"  {label:<{_LABEL}}"
    return textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


# ---- what was counted --------------------------------------------------------------------------


def _total(policy: FrequencyPolicy) -> int | None:
    if policy.total is not None:
        return policy.total
    return None if policy.transitions is None else sum(policy.transitions.values())


def _all_ticks(group: Sequence[FrequencyPolicy]) -> Counter[int]:
    found: Counter[int] = Counter()
    for policy in group:
        found.update(policy.ticks or {})
    return found


def _time_rows(group: Sequence[FrequencyPolicy]) -> Iterator[str]:
    """Yield bars of the frequencies with most of the time, the highest first, and of the rest."""
    ticks = _all_ticks(group)
    whole = sum(ticks.values())
    if whole == 0:
        return
    longest = [khz for khz, spent in ticks.most_common(_MOST_STATES) if spent]
    for khz in sorted(longest, reverse=True):
        share = ticks[khz] / whole
        bar = "#" * round(_BAR * share)
        yield f"  {f'time at {_mhz(khz)}':<{_LABEL}}{bar:.<{_BAR}} {percent(share):>10}"
    rest = 1 - sum(ticks[khz] for khz in longest) / whole
    if sum(1 for spent in ticks.values() if spent) > len(longest):
        yield f"  {'at others':<{_LABEL}}{'#' * round(_BAR * rest):.<{_BAR}} {percent(rest):>10}"


def _most_often(group: Sequence[FrequencyPolicy]) -> str | None:
    pairs: Counter[tuple[int, int]] = Counter()
    for policy in group:
        pairs.update(policy.transitions or {})
    if not pairs:
        return None
    (left, taken), times = pairs.most_common(1)[0]
    return f"most often from {_mhz(left)} to {_mhz(taken)}: {count(times, 'time')}"


def _count_rows(group: Sequence[FrequencyPolicy]) -> Iterator[str]:
    """Yield rows on frequencies, transitions and policies without statistics; of several policies
    the least and the most, since a thread is on a PU of one of them."""
    averages = [found for policy in group if (found := policy.average_khz) is not None]
    if averages:
        least, most = min(averages), max(averages)
        if _mhz(least) == _mhz(most):
            yield _row("average over the time", _mhz(most))
        else:
            yield _row("average over the time", f"{_mhz(least)} to {_mhz(most)}, by policy")
    totals = [found for policy in group if (found := _total(policy)) is not None]
    if totals:
        told = f"{sum(totals):,}"
        if len(totals) > 1:
            told += f", by policy {min(totals):,} to {max(totals):,}"
        often = _most_often(group)
        yield _row("transitions", f"{told}; {often}" if often else told)
    without = [policy for policy in group if not policy.has_stats]
    if without:
        whose = "" if len(without) == len(group) else f" of {listed([p.name for p in without])}"
        yield _row("time, transitions", f"Linux keeps no count{whose}: there is no stats folder")


def _bad_rows(group: Sequence[FrequencyPolicy]) -> Iterator[str]:
    for policy in group:
        if policy.bad:
            yield _row("can't be made out", f"of {policy.name}: {listed(policy.bad)}")


def _group_lines(group: Sequence[FrequencyPolicy]) -> Iterator[str]:
    first = group[0]
    name = first.name if len(group) == 1 else f"{len(group)} policies, {first.name} and those alike"
    yield textwrap.fill(
        f"{name}; PUs: {_pu_words(group)}", WIDTH, subsequent_indent="  ", break_long_words=False
    )
    yield from (_row(label, text) for label, text in _setting_rows(first))
    yield from _time_rows(group)
    yield from _count_rows(group)
    yield from _bad_rows(group)


# ---- what it means -----------------------------------------------------------------------------


def _has_own_rules(policy: FrequencyPolicy) -> bool:
    return policy.driver in _OWN_RULES


def _follows_load(policy: FrequencyPolicy) -> bool:
    return policy.governor in _FOLLOWS_LOAD or (
        _has_own_rules(policy) and policy.governor == "powersave"
    )


def _governor_meaning(policy: FrequencyPolicy) -> str:
    governor = policy.governor
    if governor is None:
        return "Which governor is at work is not known: take care of warm-up, and compare in turns."
    if _has_own_rules(policy):
        own = (
            f"{policy.driver} chooses the clock by rules of its own, or leaves it to the processor"
        )
        if governor == "performance":
            return f"{own}. `performance` asks for speed; which clock there is then is not told."
        return (
            f"{own}: `{governor}` is no fixed low clock there. A program that waits often may run "
            "at a lower one."
        )
    if governor in _FOLLOWS_LOAD:
        return (
            f"`{governor}` follows the load: a program that waits often runs at a lower clock, and "
            "the first repetitions may be slower than the later ones. So warm up, compare in "
            "turns, and say under which governor times were taken."
        )
    unknown = (
        f"`{governor}` is no governor that the kit knows; the kernel's text says what it does."
    )
    return _GOVERNORS.get(governor, unknown)


def _differences(policies: Sequence[FrequencyPolicy]) -> Iterator[str]:
    told: tuple[tuple[str, Callable[[FrequencyPolicy], object]], ...] = (
        ("governor", lambda policy: policy.governor),
        ("limits", lambda policy: (policy.limits_khz, policy.hardware_khz)),
    )
    differing = [name for name, of in told if len({of(policy) for policy in policies}) > 1]
    if differing:
        yield (
            f"Policies differ ({listed(differing)}): how long a thread takes depends on the PU "
            "that it is on, so bind threads before you compare."
        )


def _is_held_down(policy: FrequencyPolicy) -> bool:
    allowed, hardware = policy.limits_khz, policy.hardware_khz
    return allowed is not None and hardware is not None and allowed[1] < hardware[1]


def meaning(policies: Sequence[FrequencyPolicy]) -> list[str]:
    """Return sentences on what the policies mean for measurements, without repetitions. policies:
    one at least."""
    sentences = list(dict.fromkeys(map(_governor_meaning, policies)))
    held = [policy for policy in policies if _is_held_down(policy)]
    if held:
        sentences.append(
            f"Of {_names(held)} the highest frequency is not allowed (scaling_max_freq): nothing "
            "reaches it there."
        )
    sentences += _differences(policies)
    if any(policy.shares for policy in policies):
        sentences.append(
            "Time and transitions are counted since the driver was loaded, or since somebody reset "
            "them, over all programs, and idle time counts for the frequency that was set then. "
            "For one program take the difference of two looks, before it and behind it."
        )
    spent = [
        policy.latency_ns * total / 1e9
        for policy in policies
        if policy.latency_ns is not None and (total := _total(policy))
    ]
    if spent:
        sentences.append(
            f"All transitions of a policy took {short(max(spent), 2)} s at most (their number "
            "times the latency): what costs is the lower clock, hardly ever the change."
        )
    if any(map(_follows_load, policies)):
        could = {name for policy in policies for name in policy.governors or ()}
        if "performance" in could:
            sentences.append(
                "Who may become root can hold the clock high while measuring: sudo cpupower "
                "frequency-set -g performance"
            )
    return sentences


def _names(policies: Sequence[FrequencyPolicy]) -> str:
    names = [policy.name for policy in policies]
    return listed(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"


def report(policies: Sequence[FrequencyPolicy]) -> list[str]:
    """Return the report in lines; without policies, why there may be none."""
    if not policies:
        return textwrap.wrap(NONE, WIDTH, break_on_hyphens=False)
    what = "1 policy" if len(policies) == 1 else f"{len(policies)} policies"
    head = f"{what} in /{PU_FOLDER}. The PUs of a policy change their clock together."
    lines = textwrap.wrap(head, WIDTH, break_on_hyphens=False)
    for group in _alike(policies):
        lines += ["", *"\n".join(_group_lines(group)).splitlines()]
    lines += ["", "For who measures here:"]
    for sentence in meaning(policies):
        lines += textwrap.wrap(
            sentence, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
    return lines
