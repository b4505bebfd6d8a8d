"""Virtual nodes as tests boot them and run commands in them."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.installation import Installation, find_installation
from numalab.machines.gallery import find_machine, gallery_folder, load_gallery  # fmt: skip
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_machine
from numalab.virtual import booting, plan
from numalab.virtual.guest import Guest
from numalab.virtual.guest_commands import guest_environment
from numalab.virtual.guest_plan import Share

GALLERY = sorted(load_gallery(gallery_folder(find_installation("gnu"))))


LIMIT_S = 240


@dataclass(frozen=True)
class Output:
    code: int
    out: str
    err: str


def run(node: Guest, *command: str, **environment: str) -> Output:
    out, err = bytearray(), bytearray()
    variables = guest_environment({"PATH": "/usr/bin:/usr/sbin"} | environment, node.name, None)
    ended = node.run(command, "/", variables, out.extend, err.extend, limit_s=LIMIT_S)
    assert ended is not None and not ended.refused, (ended, err)
    return Output(ended.code or 128 + ended.signal * bool(ended.signal), out.decode(), err.decode())


def text(node: Guest, *command: str, **environment: str) -> str:
    done = run(node, *command, **environment)
    assert done.code in (0, 128), done
    return done.out


def start(
    installation: Installation, name: str, *shares: Share, options: plan.GuestOptions | None = None
) -> Guest:
    ready, store = plan.make_plan(
        installation,
        find_machine(installation, name),
        shares,
        options or plan.GuestOptions(),
        print,
    )
    return booting.boot(ready, store, print)


def pu_list(machine: Machine) -> list[Json]:
    """As a record describes a node's PUs."""
    return [
        {"pu": pu.number, "core": pu.core, "package": pu.package, "numa_node": pu.numa_node}
        for pu in topology_of_machine(machine).pus
    ]
