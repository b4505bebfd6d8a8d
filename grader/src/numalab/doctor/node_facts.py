"""Facts about a machine that matter to times, read from /proc and /sys. What can't be read is
unknown, not absent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from numalab.evidence.record import Json
from numalab.files import read_text
from numalab.processes.limits import ControlGroups, Limit, read_control_groups
from numalab.pu_lists import BadList, format_pus, kernel_pus

_PU_FOLDER = "sys/devices/system/cpu"
# The files that switch turbo, of Intel's driver and of others, and their content when it is on.
_TURBO = ((f"{_PU_FOLDER}/intel_pstate/no_turbo", "0"), (f"{_PU_FOLDER}/cpufreq/boost", "1"))
_DEFRAG = "sys/kernel/mm/transparent_hugepage/defrag"
_CLOCK_SOURCES = "sys/devices/system/clocksource/clocksource0/available_clocksource"
_DMI = "sys/class/dmi/id"
# Words in the names that the firmware of virtual machines gives itself.
_VIRTUAL_WORDS = (
    "qemu", "kvm", "vmware", "virtualbox", "innotek", "xen", "hyper-v", "virtual machine",
    "amazon ec2", "google compute engine", "openstack", "bochs", "parallels", "bhyve",
)  # fmt: skip


@dataclass(frozen=True)
class Switch:
    """A setting that is on or off. file: where it is set; disabling_text: the content that turns it
    off."""

    is_on: bool
    file: str
    disabling_text: str


@dataclass(frozen=True)
class NodeFacts:
    """Facts about a machine; None: unknown.

    Attributes:
        turbo: whether a core may run above its base frequency.
        defrag: Linux's mode of making room for huge pages.
        smt: whether SMT is active.
        allowed: the PUs that this process may use.
        isolated: the PUs that Linux's scheduler keeps free of other processes.
        nohz_full: the PUs that Linux keeps free of its ticks.
        clock_sources: those that Linux could use; empty: unknown.
        is_virtual: whether this is a virtual machine.
        product: its vendor and name by the firmware.
        groups: the limits of control groups.
    """

    turbo: Switch | None
    defrag: str | None
    smt: bool | None
    allowed: frozenset[int] | None
    isolated: frozenset[int] | None
    nohz_full: frozenset[int] | None
    clock_sources: tuple[str, ...]
    is_virtual: bool | None
    product: str | None
    groups: ControlGroups

    def json_data(self) -> Json:
        def pus(found: frozenset[int] | None) -> str | None:
            return None if found is None else format_pus(sorted(found))

        def limits(found: tuple[Limit, ...] | None) -> list[Json] | None:
            return None if found is None else [asdict(limit) for limit in found]

        cpusets = self.groups.cpusets
        return {
            "turbo": None if self.turbo is None else self.turbo.is_on,
            "huge_page_defrag": self.defrag,
            "smt": self.smt,
            "allowed_pus": pus(self.allowed),
            "isolated_pus": pus(self.isolated),
            "nohz_full_pus": pus(self.nohz_full),
            "clock_sources": list(self.clock_sources),
            "is_virtual": self.is_virtual,
            "product": self.product,
            "cgroup_cpu_limits": limits(self.groups.core_limits),
            "cgroup_memory_limits": limits(self.groups.memory_limits),
            "cgroup_cpusets": None
            if cpusets is None
            else [{"file": cpuset.file, "pus": pus(cpuset.pus)} for cpuset in cpusets],
            "cgroup_levels_above_hidden": self.groups.is_cut_off,
        }


def _pus(text: str | None) -> frozenset[int] | None:
    try:
        return None if text is None else kernel_pus(text)
    except BadList:
        return None


def _turbo(root: Path) -> Switch | None:
    for name, on_text in _TURBO:
        text = read_text(root / name)
        if text in ("0", "1"):
            return Switch(text == on_text, f"/{name}", "1" if on_text == "0" else "0")
    return None


def _chosen_word(text: str | None) -> str | None:
    """Return the word in brackets, as in "always defer [madvise] never"; None: there is none."""
    _, found, rest = (text or "").partition("[")
    return rest.partition("]")[0] if found else None


def _field(root: Path, file: str, key: str) -> str | None:
    """Return the first value of a key in a file of lines `key: value`; None: there is no such
    line."""
    for line in (read_text(root / file) or "").splitlines():
        name, separator, value = line.partition(":")
        if separator and name.strip() == key:
            return value.strip()
    return None


def _product(root: Path) -> str | None:
    found = (read_text(root / _DMI / name) for name in ("sys_vendor", "product_name"))
    return " ".join(word for word in found if word) or None


def _is_virtual(root: Path, product: str | None) -> bool | None:
    """Tell by the processor's flags, or where /proc/cpuinfo has none, as on other architectures
    than x86, by words in the firmware's name; None: it has none of these, which excludes
    nothing."""
    flags = _field(root, "proc/cpuinfo", "flags")
    if flags is not None:
        return "hypervisor" in flags.split()
    if product is not None and any(word in product.lower() for word in _VIRTUAL_WORDS):
        return True
    return None


def read_facts(root: Path = Path("/")) -> NodeFacts:
    """Read the facts. root: the folder that holds proc and sys."""
    smt = read_text(root / _PU_FOLDER / "smt/active")
    isolated = _pus(read_text(root / _PU_FOLDER / "isolated"))
    nohz_full = _pus(read_text(root / _PU_FOLDER / "nohz_full"))
    if nohz_full is None and isolated is not None:
        nohz_full = frozenset()  # a Linux that can't do it has no such file
    product = _product(root)
    return NodeFacts(
        turbo=_turbo(root),
        defrag=_chosen_word(read_text(root / _DEFRAG)),
        smt={"0": False, "1": True}.get(smt or ""),
        allowed=_pus(_field(root, "proc/self/status", "Cpus_allowed_list")),
        isolated=isolated,
        nohz_full=nohz_full,
        clock_sources=tuple((read_text(root / _CLOCK_SOURCES) or "").split()),
        is_virtual=_is_virtual(root, product),
        product=product,
        groups=read_control_groups(root),
    )
