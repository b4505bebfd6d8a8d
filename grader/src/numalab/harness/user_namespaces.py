"""Who keeps bubblewrap from making user namespaces, and what lets it. Reads /proc/sys and nothing
else: the kernel's words are the same whoever refuses.

AppArmor: Ubuntu 24.04 and later restrict namespaces of users to programs whose profile grants them
(kernel.apparmor_restrict_unprivileged_userns); bubblewrap's own is in the package apparmor-profiles
as an extra, which nobody loads until it is asked for. Not tried here: this kit's tests have no
AppArmor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numalab.files import read_text

PROFILE = "bwrap-userns-restrict"
_EXTRA = f"/usr/share/apparmor/extra-profiles/{PROFILE}"
LOAD_PROFILE = (
    f"sudo install -m 0644 {_EXTRA} /etc/apparmor.d/ && "
    f"sudo apparmor_parser -r /etc/apparmor.d/{PROFILE}"
)


@dataclass(frozen=True)
class Remedy:
    """words: what to do, to stand behind "to have one,"; command: that does it, or nothing."""

    words: str
    command: str = ""


def remedy_where_refused(root: Path = Path("/")) -> Remedy:
    """For a user whose namespaces are refused. root: of the file system, in tests another."""

    def setting(name: str) -> str | None:
        return read_text(root / "proc/sys" / name.replace(".", "/"))

    for name, refuses, allows in (
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
    ):
        if setting(name) == refuses:
            return Remedy(
                "ask your administrator to let users make user namespaces:",
                f"sudo sysctl {name}={allows}",
            )
    if setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return Remedy(
            "ask your administrator to load AppArmor's profile for bubblewrap (the package "
            "apparmor-profiles has it), unless one for /usr/bin/bwrap is there already; it leaves "
            "other programs restricted, as sysctl kernel.apparmor_restrict_unprivileged_userns=0 "
            "would not:",
            LOAD_PROFILE,
        )
    return Remedy(
        "ask your administrator to let users make user namespaces. A container has to allow clone "
        "and unshare with new namespaces, mount and pivot_root, and to leave its own /proc "
        "unmasked (docker run --security-opt seccomp=unconfined --security-opt "
        "systempaths=unconfined; podman run --security-opt unmask=ALL): give that only to "
        "containers that are thrown away"
    )
