"""Start virtual machines: from a snapshot, else by a boot, after which a snapshot is kept if it can
be."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from numalab.errors import NumalabError, reason_of
from numalab.virtual import snapshots
from numalab.virtual.guest import ClusterMember, Guest
from numalab.virtual.guest_plan import GuestPlan
from numalab.virtual.qemu_process import GuestFailed, find_qemu
from numalab.words import StepReport


def boot(plan: GuestPlan, store: snapshots.Store | None, progress: StepReport) -> Guest:
    """Start a guest and return it once it is set up; the caller closes it.

    Args:
        store: the snapshots; None: none is read or written.

    Raises UserError where QEMU or setpriv is missing, and NumalabError where the guest can't be
    started.
    """
    return boot_all(plan, store, progress, [None])[0]


def boot_all(
    plan: GuestPlan,
    store: snapshots.Store | None,
    progress: StepReport,
    members: Sequence[ClusterMember | None],
) -> list[Guest]:
    """Start guests, the nodes of a cluster, and return them in the members' order; raises as boot.

    Where a store has no snapshot that works, the first guest boots, and the others are woken from
    its state, or boot where that fails. Without a store they boot. A member that is None is a guest
    without a cluster.
    """
    program = find_qemu()
    try:
        initrd = plan.initrd()
        start = _Start(plan, program, initrd, plan.key(program, initrd), progress)
        if store is None:
            return start.boot(members, None)
        woken = start.wake(members, store)
        if woken is not None:
            return woken
        first, others = members[:1], members[1:]
        with contextlib.ExitStack() as started:
            guests = start.boot(first, store)
            for guest in guests:
                started.enter_context(guest)
            if others:
                guests += start.wake(others, store) or start.boot(others, None)
            started.pop_all()
        return guests
    except GuestFailed as error:
        raise NumalabError(str(error)) from error
    except OSError as error:
        raise NumalabError(f"{plan.machine.name} can't be started: {reason_of(error)}") from error


@dataclass(frozen=True)
class _Start:
    """The start of guests of one plan. program: QEMU; key: the name of their snapshot."""

    plan: GuestPlan
    program: str
    initrd: bytes
    key: str
    progress: StepReport

    def wake(
        self, members: Sequence[ClusterMember | None], store: snapshots.Store
    ) -> list[Guest] | None:
        """Return guests woken from a snapshot and set up; None where there is none, or it does not
        work and is dropped."""
        with contextlib.ExitStack() as opened, contextlib.ExitStack() as started:
            files = []  # one for each guest: processes that inherit a file share its position
            for _ in members:
                file = store.read_state(self.key)
                if file is None:
                    return None
                opened.callback(os.close, file)
                files.append(file)
            self.progress(f"waking {self._what(members)}")
            try:
                guests = [
                    started.enter_context(Guest(self.plan, self.program, self.initrd, file, member))
                    for file, member in zip(files, members, strict=True)
                ]
                for guest in guests:
                    guest.wake()
                for guest in guests:
                    guest.set_up()
            except GuestFailed:
                # The machine boots instead.
                store.drop(self.key)
                return None
            started.pop_all()
        return guests

    def boot(
        self, members: Sequence[ClusterMember | None], store: snapshots.Store | None
    ) -> list[Guest]:
        """Boot guests, one that hangs once more, and return them set up. store: gets a snapshot of
        the first guest; None: none is kept."""
        self.progress(f"booting {self._what(members)}")
        deadline = time.monotonic() + self.plan.boot_limit_s
        with contextlib.ExitStack() as started:
            guests = [
                started.enter_context(Guest(self.plan, self.program, self.initrd, None, member))
                for member in members
            ]
            for number, guest in enumerate(guests):
                if not guest.is_up_within(self.plan.boot_limit_s / 2):
                    # An emulated machine hangs in one of many boots, hardly ever in two in a row.
                    guest.close()
                    again = started.enter_context(self._boot_again(members[number], deadline))
                    guests[number] = again
            if store is not None:
                self._keep(guests[0], store)
            for guest in guests:
                guest.set_up()
            started.pop_all()
        return guests

    def _what(self, members: Sequence[ClusterMember | None]) -> str:
        names = ", ".join(member.node.name for member in members if member)
        return f"{names} ({self.plan.machine.name})" if names else self.plan.machine.name

    def _boot_again(self, member: ClusterMember | None, deadline: float) -> Guest:
        self.progress(f"booting {self._what([member])} once more, since it hangs")
        guest = Guest(self.plan, self.program, self.initrd, None, member)
        try:
            if not guest.is_up_within(deadline - time.monotonic()):
                raise guest.failure(
                    f"{self.plan.machine.name} did not come up within {self.plan.boot_limit_s:g} s."
                )
        except BaseException:
            guest.close()
            raise
        return guest

    def _keep(self, guest: Guest, store: snapshots.Store) -> None:
        """Keep a snapshot of a guest if that can be done. A failure is reported to progress, and
        raised where the guest has ended."""
        try:
            with store.writing(self.key) as file:
                if file is not None:
                    guest.save(file)
        except (OSError, GuestFailed):
            if guest.process.poll() is not None:
                raise
            self.progress(
                f"{self.plan.machine.name} is up; its state can't be kept in {store.folder}"
            )
