"""Where kernels for guests come from: what is kept, what is installed, and packages."""

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import os
import platform
import shutil
import struct
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.kernels import XEN, big_image, elf, install, module

from numalab.errors import NumalabError, UserError
from numalab.processes import starting
from numalab.virtual import kernel
from numalab.virtual.kernel import GuestKernel

# ---- where kernels come from -----------------------------------------------------------------


def test_without_its_modules_a_kernel_is_refused(tmp_path: Path) -> None:
    given = install(tmp_path, "6.1-nowhere")
    (tmp_path / "lib").rename(tmp_path / "away")
    with pytest.raises(UserError, match=r"are not there: /lib/modules/6\.1-nowhere\. Name a"):
        kernel.prepare_named(tmp_path / "store", given)


def keep(store: Path, name: str, version: str) -> Path:
    folder = store / name
    folder.mkdir(parents=True)
    (folder / "image").touch()
    (folder / "kernel.json").write_text(json.dumps({
        "prepared_version": 3, "version": version, "is_pvh": True, "modules": [],
        "network_modules": [], "network": [],
    }))  # fmt: skip
    return folder


def test_the_newest_that_is_kept_is_taken_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_installed", lambda store: None)
    monkeypatch.setattr(
        kernel, "_fetched", lambda store, progress: GuestKernel("0", store, True, ())
    )
    own, shared = tmp_path / "own", tmp_path / "shared"

    def version(installed: Path | None = shared) -> str:
        return kernel.find_kernel(own, None, print, installed).version

    assert version() == "0", "neither folder is there"
    keep(own, "6.9.1-a-3", "6.9.1")
    assert version() == version(None) == "6.9.1"
    keep(shared, "6.10.0-a-3", "6.10.0")
    assert (version(), version(None)) == ("6.10.0", "6.9.1")
    (keep(shared, "6.11.0-a-3", "6.11.0") / "kernel.json").write_text("{")
    keep(own, "given", "7.0")
    (own / "8.0-a-3").write_text("no folder")
    assert version() == "6.10.0"


def test_a_kernel_that_is_given_is_no_one_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "kernels"
    found = kernel.find_kernel(store, install(tmp_path, "6.1"), print)
    assert found.image.parent.parent == store / "given"
    monkeypatch.setattr(kernel, "_installed", lambda store: None)
    monkeypatch.setattr(
        kernel, "_fetched", lambda store, progress: GuestKernel("0", store, True, ())
    )
    assert kernel.find_kernel(store, None, print).version == "0"
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(UserError, match=r"need an x86-64 host.*this is aarch64"):
        kernel.find_kernel(store, None, print)


def test_of_installed_kernels_the_newest_that_serves_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "6.9.0")
    install(tmp_path, "6.10.0")
    install(tmp_path, "6.11.0", b"", "virtio_pci")
    unread = install(tmp_path, "6.12.0")
    for name in ("config-7.0", "vmlinuz-7.0.1"):
        (tmp_path / "boot" / name).write_bytes(b"junk")
    glob, access = Path.glob, os.access
    monkeypatch.setattr(
        Path, "glob",
        lambda path, pattern: glob(tmp_path / "boot" if path == Path("/boot") else path, pattern),
    )  # fmt: skip
    monkeypatch.setattr(os, "access", lambda path, mode: path != unread and access(path, mode))
    monkeypatch.setattr(kernel, "_fetched", lambda store, progress: pytest.fail("one is there"))
    store = tmp_path / "store"
    prepare = kernel.prepare_named

    def prepared(store: Path, image: Path) -> kernel.GuestKernel:
        if image.name == "vmlinuz-7.0.1":
            raise struct.error("unpack requires a buffer of 4 bytes")
        if image.name == "vmlinuz-6.11.0":
            raise OSError(errno.EIO, "Input/output error")
        return prepare(store, image)

    monkeypatch.setattr(kernel, "prepare_named", prepared)
    assert kernel.find_kernel(store, None, print).version == "6.10.0"
    for version in ("6.9.0", "6.10.0"):
        (tmp_path / "boot" / f"vmlinuz-{version}").unlink()
    assert kernel._installed(store) is None


class Apt:
    """Answers in the place of apt: what depends on what once lists are there, and what downloads
    end with."""

    def __init__(self, depends: dict[str, str], *downloads: tuple[int, str], lists: bool) -> None:
        self.depends, self.downloads, self.has_lists = depends, list(downloads), lists
        self.asked: list[str] = []

    def __call__(self, command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        said, code, errors = "", 0, ""
        self.asked.append(" ".join(command).replace(str(cwd), "CWD"))
        if command[0] == "apt-cache":
            said = self.depends.get(command[-1], "") if self.has_lists else ""
        elif "update" in command:
            self.has_lists = True
        else:
            code, errors = self.downloads.pop(0)
            for name in [word for word in command if word.startswith("linux-")] * (code == 0):
                (cwd / f"{name}_1.deb").write_text(name)
        return subprocess.CompletedProcess(command, code, said, errors)


DEBIAN = {"linux-image-amd64": "linux-image-amd64\n  Depends: linux-image-6.1.0-9-amd64\n"}
UBUNTU = {
    "linux-image-generic": (
        "linux-image-generic\n  Depends: linux-image-6.8.0-1-generic\n"
        " |Depends: linux-image-unsigned-6.8.0-2-generic\n  Depends: other\n"
    )
}


@pytest.mark.parametrize(
    ("depends", "names"),
    [
        (DEBIAN, [["linux-image-6.1.0-9-amd64"]]),
        (
            UBUNTU,
            [
                ["linux-image-6.8.0-1-generic", "linux-modules-6.8.0-1-generic"],
                ["linux-image-6.8.0-1-generic", "linux-modules-6.8.0-1-generic",
                 "linux-modules-extra-6.8.0-1-generic"],
            ],
        ),
        (
            {"linux-image-generic": "Depends: linux-image-unsigned-6.8.0-2-generic\n"},
            [
                ["linux-image-unsigned-6.8.0-2-generic", "linux-modules-6.8.0-2-generic"],
                ["linux-image-unsigned-6.8.0-2-generic", "linux-modules-6.8.0-2-generic",
                 "linux-modules-extra-6.8.0-2-generic"],
            ],
        ),
        ({}, []),
    ],
)  # fmt: skip
def test_packages_of_each_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depends: dict[str, str],
    names: list[list[str]],
) -> None:  # fmt: skip
    monkeypatch.setattr(kernel, "_run", Apt(depends, lists=True))
    assert kernel._package_names(tmp_path, ["-o", "x"]) == names


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> None:
    """apt and dpkg-deb are there, the user is nobody special, and there is room."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kernel, "shortage", lambda place: "")


def fetch(store: Path, apt: Apt, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """What was reported, and of which files the kernel is."""
    steps: list[str] = []
    files: list[str] = []

    def unpacked(store: Path, packages: Sequence[Path]) -> GuestKernel:
        files.append(" ".join(path.name for path in packages))
        if files[-1].endswith("generic_1.deb") and "extra" not in files[-1]:
            raise UserError("the kernel 6.8 has no module 9p")
        return GuestKernel("6.1", store, True, ())

    monkeypatch.setattr(kernel, "_run", apt)
    monkeypatch.setattr(kernel, "_prepare_packages", unpacked)
    assert kernel._fetched(store, steps.append).version == "6.1"
    return steps, files


def test_a_package_is_fetched_once_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetching: None
) -> None:
    store, apt = tmp_path / "a/store", Apt(DEBIAN, (0, ""), lists=True)
    steps, files = fetch(store, apt, monkeypatch)
    image = "linux-image-6.1.0-9-amd64"
    assert steps == [f"fetching a kernel for virtual nodes, once ({image})", "unpacking the kernel"]
    assert files == [f"{image}_1.deb"]
    assert apt.asked == [
        "apt-cache depends linux-image-amd64",
        f"apt-get download -o APT::Sandbox::User=root {image}",
    ]
    assert list(store.iterdir()) == []


@pytest.mark.parametrize("uid", [0, 1000])
def test_without_package_lists_they_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetching: None, uid: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    apt = Apt(DEBIAN, (0, ""), lists=False)
    steps, _ = fetch(tmp_path, apt, monkeypatch)
    assert steps[0] == "fetching package lists" and len(steps) == 3
    own = "-o Dir::State::Lists=CWD/lists -o Dir::Cache=CWD/cache " if uid else ""
    assert apt.asked == [
        "apt-cache depends linux-image-amd64", "apt-cache depends linux-image-generic",
        f"apt-get {own}update", f"apt-cache {own}depends linux-image-amd64",
        f"apt-get {own}download -o APT::Sandbox::User=root linux-image-6.1.0-9-amd64",
    ]  # fmt: skip


def test_more_modules_are_fetched_where_some_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetching: None
) -> None:
    steps, files = fetch(tmp_path, Apt(UBUNTU, (0, ""), (0, ""), lists=True), monkeypatch)
    assert len(steps) == 4 and len(files) == 2
    assert files[1].split() == [
        "linux-image-6.8.0-1-generic_1.deb", "linux-modules-6.8.0-1-generic_1.deb",
        "linux-modules-extra-6.8.0-1-generic_1.deb",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("apt", "says"),
    [
        (Apt({}, lists=True), "apt knows no package linux-image-amd64 or linux-image-generic"),
        (Apt(DEBIAN, (100, "E: one\nE: two\n"), lists=True), "6.1.0-9-amd64: E: two. Is there a"),
        (Apt(DEBIAN, (1, " \n"), lists=True), "6.1.0-9-amd64: it said nothing. Is there a"),
        (Apt(UBUNTU, (0, ""), (1, "E: none"), lists=True), "-extra-6.8.0-1-generic: E: none."),
    ],
)
def test_the_last_reason_why_none_is_fetched_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetching: None, apt: Apt, says: str
) -> None:
    with pytest.raises(UserError) as told:
        fetch(tmp_path, apt, monkeypatch)
    assert says in str(told.value)
    assert str(told.value).startswith("there is no kernel to boot a virtual node with: apt")


@pytest.mark.parametrize("missing", ["apt-get", "dpkg-deb"])
def test_without_apt_none_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else name)
    with pytest.raises(UserError, match="without apt none can be fetched"):
        kernel._fetched(tmp_path / "store", print)
    assert not (tmp_path / "store").exists()


# ---- packages --------------------------------------------------------------------------------

MEMBERS = {
    "./boot/vmlinuz-6.1": big_image(gzip.compress(elf(XEN)), "6.1 (me)"),
    "./boot/config-6.1": b"no",
    "./lib/modules/6.1/modules.builtin": b"kernel/net/packet/af_packet.ko\n",
    "./lib/modules/6.1/kernel/drivers/virtio/virtio_pci.ko": module(),
    "./lib/modules/6.1/kernel/drivers/char/virtio_console.ko.xz": lzma.compress(module()),
    "./lib/modules/6.1/kernel/net/9p/9pnet_virtio.ko": module(),
    "./lib/modules/6.1/kernel/fs/9p/9p.ko": module("9pnet_virtio"),
    "./lib/modules/6.1/kernel/drivers/net/virtio_net.ko": module("failover"),
    "./lib/modules/6.1/kernel/net/core/failover.ko": module(),
    "./lib/modules/6.1/kernel/drivers/net/veth.ko": b"no",
    "./usr/share/doc/fs/x.txt": b"no",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package, and a dpkg-deb that prints what is in it."""
    with tarfile.open(tmp_path / "kernel.deb", "w") as archive:
        folder = tarfile.TarInfo("./lib/modules/6.1/kernel/fs/folder.ko")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in MEMBERS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    tool = tmp_path / "bin/dpkg-deb"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\ntest "$1" = --fsys-tarfile && exec cat "$2"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    return tmp_path / "kernel.deb"


def test_of_a_package_only_what_guests_need_is_kept(package: Path, tmp_path: Path) -> None:
    wanted = {name: content for name, content in MEMBERS.items() if content != b"no"}
    assert kernel._needed_members([package]) == wanted
    found = kernel._prepare_packages(tmp_path / "store", [package])
    assert (found.version, found.is_pvh) == ("6.1", True)
    assert [path.stem for path in found.modules] == list(kernel.MODULES)
    assert [path.stem for path in found.network_modules] == ["failover", "virtio_net"]
    assert found.network == ("virtio_net", "af_packet")


def test_a_package_without_a_kernel_is_told(package: Path, tmp_path: Path) -> None:
    with tarfile.open(package, "w"):
        pass
    with pytest.raises(NumalabError, match=r"^kernel\.deb holds no kernel$"):
        kernel._prepare_packages(tmp_path / "store", [package])
    package.write_bytes(b"junk" * 1000)
    with pytest.raises(NumalabError, match=r"^the package kernel\.deb can't be unpacked: "):
        kernel._prepare_packages(tmp_path / "store", [package])


def test_what_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: Sequence[str], environment: object, **more: object) -> None:
        assert more == {"cwd": tmp_path, "limit_s": 900}
        raise subprocess.TimeoutExpired(command, 900)

    monkeypatch.setattr(starting, "run", run)
    with pytest.raises(NumalabError, match=r"^apt-get update did not end within 900 s$"):
        kernel._run(["apt-get", "update"], tmp_path)
