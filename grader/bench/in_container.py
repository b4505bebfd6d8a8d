"""Runs a command in an image of ./numalab image as students do: as its user, without capabilities,
network or write access but to the home folder and /tmp, with 64 MiB of /dev/shm, under a seccomp
profile of Docker's format. No daemon: the archive's layers are unpacked, and runc or crun starts
the command.

    curl -O https://raw.githubusercontent.com/moby/profiles/main/seccomp/default.json
    python grader/bench/in_container.py numalab.tar --profile default.json -- \\
        ./numalab grade 01 03 --quick --solutions

As root, on Linux 4.8 or newer. The exit code is the command's. What decides what can be graded is
what the profile refuses; a run without --profile shows the difference.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
SHM_BYTES = 64 << 20  # Docker's default
# Docker's default set, none of which a process of an ordinary user has.
BOUNDING = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
MASKED = (
    "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
)  # fmt: skip
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def seccomp_of(profile: Json, machine: str) -> Json:
    """A profile of Docker's format as the OCI runtime specification has it, for a container with
    BOUNDING alone: rules for other capabilities and architectures fall away."""
    architecture = ARCHITECTURES[machine]
    go_name = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    capabilities = {f"CAP_{name}" for name in BOUNDING}
    rules = []
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        needed = set(includes.get("caps", []))
        if needed and not needed <= capabilities:
            continue
        if capabilities & set(excludes.get("caps", [])) or go_name in excludes.get("arches", []):
            continue
        if "arches" in includes and go_name not in includes["arches"]:
            continue
        kept = {key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)}
        rules.append(kept)
    sub: list[str] = []
    for entry in profile["archMap"]:
        if entry["architecture"] == architecture:
            sub = list(entry["subArchitectures"])
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
        "architectures": [architecture, *sub],
        "syscalls": rules,
    }


def bundle_config(config: Json, home: Path, command: list[str], seccomp: Json | None) -> Json:
    """The runtime's configuration. config: the image's; home: a folder that is mounted at the
    user's home, as a volume is."""
    inside = config["config"]
    user, _, group = inside["User"].partition(":")
    environment = [*inside["Env"], "HOME=/home/student", "TERM=xterm"]
    plain = ["nosuid", "noexec", "nodev"]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "mode=755", "size=65536k"]},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
         "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
         "options": [*plain, "mode=1777", f"size={SHM_BYTES}"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": [*plain, "ro"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "nodev", "mode=1777"]},
        {"destination": "/home/student", "type": "bind", "source": str(home),
         "options": ["rbind", "rw"]},
    ]  # fmt: skip
    linux: Json = {
        "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
        "maskedPaths": list(MASKED),
        "readonlyPaths": list(READ_ONLY),
    }
    if seccomp is not None:
        linux["seccomp"] = seccomp
    return {
        "ociVersion": "1.0.2",
        "hostname": "container",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": int(user), "gid": int(group)},
            "args": command,
            "env": environment,
            "cwd": inside["WorkingDir"],
            "capabilities": {"bounding": [f"CAP_{name}" for name in BOUNDING]},
        },
        "mounts": mounts,
        "linux": linux,
    }


def unpack(archive: Path, folder: Path) -> Json:
    """Unpacks the layers of an archive, as docker save writes it, into folder/rootfs; the image's
    configuration."""
    blobs = folder / "blobs"
    blobs.mkdir()
    subprocess.run(["tar", "-C", str(blobs), "-xf", str(archive)], check=True)
    (manifest,) = json.loads((blobs / "manifest.json").read_text())
    rootfs = folder / "rootfs"
    rootfs.mkdir()
    for layer in manifest["Layers"]:
        command = ["tar", "-C", str(rootfs), "--numeric-owner", "-xpf", str(blobs / layer)]
        subprocess.run(command, check=True)
        # A file of this name says that what it names is gone, of this layer on.
        for mark in list(rootfs.rglob(".wh.*")):
            gone = mark.with_name(mark.name.removeprefix(".wh."))
            mark.unlink()
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink(missing_ok=True)
    config: Json = json.loads((blobs / manifest["Config"]).read_text())
    shutil.rmtree(blobs)
    return config


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        usage="%(prog)s ARCHIVE [--profile FILE] -- COMMAND...",
    )
    parser.add_argument("archive", type=Path)
    parser.add_argument("--profile", type=Path, help="seccomp profile, of Docker's format")
    # argparse alone would take either our options or the command's for the other's.
    words = [*sys.argv[1:], "--"]
    at = words.index("--")
    options = parser.parse_args(words[:at])
    command = words[at + 1 : -1]
    runtime = next((tool for tool in ("runc", "crun") if shutil.which(tool)), None)
    if runtime is None or os.geteuid() != 0 or not command:
        parser.error("it needs root, runc or crun, and a command after --")
    seccomp = None
    if options.profile is not None:
        seccomp = seccomp_of(json.loads(options.profile.read_text()), platform.machine())
    with tempfile.TemporaryDirectory(prefix="numalab-container-") as name:
        folder = Path(name)
        config = unpack(options.archive, folder)
        # Mounted over itself, so that it can be written to where the root can't.
        home = folder / "rootfs" / "home" / "student"
        (folder / "config.json").write_text(
            json.dumps(bundle_config(config, home, command, seccomp))
        )
        started = [runtime, *(["--cgroup-manager=disabled"] if runtime == "crun" else [])]
        done = subprocess.run(
            [*started, "run", "--bundle", str(folder), f"numalab-{os.getpid()}"], check=False
        )
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
