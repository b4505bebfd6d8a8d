"""Images: what is in an archive and in its layers, by what commands they are made, and that the
ways to one say the same."""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.specifiers import SpecifierSet

from numalab.commands import image as image_command
from numalab.commands import setup as setup_command
from numalab.container import debian, layers, make
from numalab.container.debian import Distribution
from numalab.container.oci import Image, Layer, write_archive
from numalab.errors import KitError, UserError
from numalab.kit import find_kit
from numalab.virtual import kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import in_container

ROOT = find_kit("gnu").root
TIME_S = 1_700_000_000
SCRIPTS = {"numalab": b"1"}
CHECKOUT = make.Checkout(ROOT, "c0ffee", TIME_S, "https://example.org/numalab.git", ())


def tar_of(path: Path, files: dict[str, str], links: dict[str, str] | None = None) -> Path:
    """A tar with the names in the order of the dicts; times later than TIME_S."""
    with tarfile.open(path, "w") as archive:
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(text), TIME_S + 5.5
            member.uid = member.gid = 1000
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def an_image(folder: Path) -> Image:
    made: list[Layer] = []
    for number in (1, 2):
        tar = tar_of(folder / f"{number}.tar", {f"file{number}": "x" * 5000})
        made.append(layers.compress(tar, folder / f"{number}.gz", f"step {number}"))
    settings = make.settings_of(make.labels_of(CHECKOUT, "bookworm"))
    return Image("numalab", "0.1.0", "amd64", TIME_S, settings, made)


# ---- the archive -----------------------------------------------------------------------


def test_every_digest_of_an_archive_is_that_of_what_it_names(tmp_path: Path) -> None:
    write_archive(an_image(tmp_path), tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        content = {
            member.name: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }
    looked_at = set()

    def followed(described: dict[str, Any]) -> bytes:
        name = "blobs/" + described["digest"].replace(":", "/")
        looked_at.add(name)
        assert hashlib.sha256(content[name]).hexdigest() == Path(name).name
        assert len(content[name]) == described["size"]
        return content[name]

    assert json.loads(content["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(content["index.json"])["manifests"]
    manifest = json.loads(followed(entry))
    config = json.loads(followed(manifest["config"]))
    found = [gzip.decompress(followed(layer)) for layer in manifest["layers"]]
    assert [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in found] == config["rootfs"][
        "diff_ids"
    ]
    with tarfile.open(fileobj=io.BytesIO(found[1])) as second:
        assert second.getnames() == ["file2"]
    # For docker load before version 25: the same blobs by their paths.
    (docker,) = json.loads(content["manifest.json"])
    assert {docker["Config"], *docker["Layers"]} == looked_at - {
        "blobs/" + entry["digest"].replace(":", "/")
    }
    assert docker["RepoTags"] == ["numalab:0.1.0"]
    assert set(content) == looked_at | {"oci-layout", "index.json", "manifest.json"}


def test_the_same_files_are_the_same_archive(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_archive(an_image(tmp_path / name), tmp_path / name / "image.tar")
        written.append((tmp_path / name / "image.tar").read_bytes())
    assert written[0] == written[1]


def test_labels_tell_licences_version_and_source_but_no_password() -> None:
    labels = make.labels_of(CHECKOUT, "bookworm")
    assert labels["org.opencontainers.image.licenses"] == "BSD-3-Clause AND CC-BY-4.0"
    assert labels["org.opencontainers.image.revision"] == "c0ffee"
    assert labels["org.opencontainers.image.created"] == "2023-11-14T22:13:20Z"
    assert labels["org.opencontainers.image.source"] == "https://example.org/numalab.git"
    assert make.public_address("https://ada:secret@example.org:8443/kit.git") == (
        "https://example.org:8443/kit.git"
    )
    assert make.public_address("git@example.org:kit.git") is None
    assert make.public_address("/home/ada/kit") is None


# ---- layers ----------------------------------------------------------------------------


def test_a_layer_is_the_same_in_whatever_order_files_were_found(tmp_path: Path) -> None:
    ordered = []
    for number, names in enumerate((["s/b", "s/a", "s/a2"], ["s/a2", "s/b", "s/a"])):
        source = tar_of(tmp_path / f"{number}.tar", {name: name for name in names}, {"s/z": "a"})
        layers.put_in_order(source, tmp_path / f"{number}.ordered", "home", TIME_S)
        ordered.append((tmp_path / f"{number}.ordered").read_bytes())
    assert ordered[0] == ordered[1]
    with tarfile.open(tmp_path / "0.ordered") as archive:
        members = archive.getmembers()
        assert [member.name for member in members] == ["home/s/a", "home/s/a2", "home/s/b",
                                                       "home/s/z"]  # fmt: skip
        first = archive.extractfile(members[0])
        assert first is not None and first.read() == b"s/a"
    assert {member.mtime for member in members[:3]} == {TIME_S}
    assert members[0].uid == members[0].gid == 1000
    assert members[3].linkname == "a"


def test_hard_links_come_behind_what_they_link_to(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/z").write_text("content")
    (tmp_path / "s/a").hardlink_to(tmp_path / "s/z")
    with tarfile.open(tmp_path / "in.tar", "w") as archive:
        archive.add(tmp_path / "s/z", "s/z")
        archive.add(tmp_path / "s/a", "s/a")
    layers.put_in_order(tmp_path / "in.tar", tmp_path / "out.tar", "home", TIME_S)
    with tarfile.open(tmp_path / "out.tar") as archive:
        assert archive.getnames() == ["home/s/z", "home/s/a"]
        linked = archive.extractfile("home/s/a")
        assert linked is not None and linked.read() == b"content"


def test_a_kept_layer_that_was_damaged_is_made_anew(tmp_path: Path) -> None:
    made = layers.compress(tar_of(tmp_path / "a.tar", {"a": "a"}), tmp_path / "a.gz", "by")
    old = tmp_path / "cache/system-old.tar.gz"
    file = tmp_path / "cache/system-new.tar.gz"
    assert make.kept_layer(file) is None
    old.parent.mkdir()
    old.write_bytes(b"of other packages")
    kept = make.keep_layer(made, file, "2026-01-02")
    assert not old.exists()
    found = make.kept_layer(file)
    assert found is not None and found[1] == "2026-01-02"
    assert (found[0].sha256, found[0].diff_sha256) == (kept.sha256, kept.diff_sha256)
    file.write_bytes(file.read_bytes()[:-1])
    assert make.kept_layer(file) is None


# ---- by what commands ------------------------------------------------------------------


def hooks(command: list[str]) -> list[str]:
    return [word.partition("=")[2] for word in command if "-hook=" in word]


def test_the_system_is_what_set_up_asks_for(tmp_path: Path) -> None:
    """One list of packages, the launcher's, which the script runs inside."""
    spaced = tmp_path / "my kit.tar"
    command = debian.system_command(Distribution("trixie", None, True), spaced, tmp_path / "out")
    assert command[-2:] == ["trixie", str(tmp_path / "out")]
    inside = "/tmp/kit/numalab"
    assert f'chroot "$1" {inside}/common/image/system {inside}/numalab' in hooks(command)
    # mmdebstrap splits a hook as a shell does.
    assert ["tar-in", f"{spaced}", "/tmp/kit"] in map(shlex.split, hooks(command))
    script = (ROOT / "common/image/system").read_text()
    assert '"$launcher" setup --packages-only --yes "$@"' in script
    without = debian.system_command(Distribution("trixie", "http://m/", False), spaced, tmp_path)
    assert any(hook.endswith(" --without-virtual-nodes") for hook in hooks(without))
    assert without[-1] == "http://m/"


def test_nothing_of_this_host_stays_in_the_system(tmp_path: Path) -> None:
    last = hooks(debian.system_command(Distribution("bookworm", None, True), tmp_path, tmp_path))[
        -1
    ]
    (tmp_path / "etc").mkdir()
    for name in ("resolv.conf", "hostname"):
        (tmp_path / "etc" / name).write_text("private")
    subprocess.run(["sh", "-c", last, "sh", str(tmp_path)], check=True)
    assert [(tmp_path / "etc" / name).read_text() for name in ("resolv.conf", "hostname")] == [
        "",
        "",
    ]


def test_of_the_environment_only_ways_to_the_network_are_passed_on(tmp_path: Path) -> None:
    certificates = tmp_path / "site.pem"
    certificates.write_text("")
    mine = {"HOME": "/home/ada", "TOKEN": "secret", "https_proxy": "http://proxy:3128",
            "PIP_CERT": str(certificates), "PATH": "/odd"}  # fmt: skip
    assert debian.certificates_of(mine) == certificates
    assert debian.certificates_of({"PIP_CERT": "/nowhere.pem"}) is None
    given = debian.environment_of(mine, tmp_path, TIME_S, True)
    assert "secret" not in given.values() and "/odd" not in given["PATH"]
    assert given["https_proxy"] == "http://proxy:3128"
    command = debian.kit_command(
        Distribution("bookworm", None, True), tmp_path / "s", tmp_path / "k", certificates, tmp_path
    )
    assert ["upload", str(certificates), given["PIP_CERT"]] in map(shlex.split, hooks(command))
    without = debian.environment_of(mine, tmp_path, TIME_S, False)
    assert "PIP_CERT" not in without


def test_what_is_missing_is_named_by_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda tool, path=None: None if tool != "git" else tool)
    with pytest.raises(UserError, match="sudo apt-get install mmdebstrap uidmap"):
        debian.check_tools(is_root=False)
    with pytest.raises(UserError, match=r"install mmdebstrap\. .*docker build"):
        debian.check_tools(is_root=True)


def test_steps_are_told_and_last_words_when_it_fails() -> None:
    said = ["I: using /tmp/x as tempdir", "I: downloading packages with apt...",
            "10 %\\r20 %\\rnumalab: installing: gcc", "E: no such suite"]  # fmt: skip
    told: list[str] = []
    script = "".join(f"printf '%b\\n' '{line}'; " for line in said) + "exit 25"
    with pytest.raises(KitError, match=r"(?s)exit code 25.*E: no such suite"):
        debian.run(["sh", "-c", script], {"PATH": "/usr/bin:/bin"}, told.append)
    assert told == ["downloading packages with apt", "installing: gcc"]


def test_what_is_interrupted_tidies_up_and_leaves_nothing_running(tmp_path: Path) -> None:
    """A stand-in of mmdebstrap that has started a process and tidies up at SIGINT."""
    script = (
        f"trap 'kill $!; wait $!; echo > {tmp_path}/tidy; exit 1' INT; sleep 600 & "
        f"echo $! > {tmp_path}/pid; echo 'I: downloading x'; wait"
    )

    def stop(step: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        debian.run(["bash", "-c", script], {"PATH": "/usr/bin:/bin"}, stop)
    assert (tmp_path / "tidy").exists()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


@pytest.mark.parametrize(
    "words", [["--suite", "x; rm"], ["--mirror", "http://a b"], ["--components", "main x"]]
)
def test_words_that_are_no_names_get_into_no_command(words: list[str], tmp_path: Path) -> None:
    context = click.Context(image_command.image, obj=find_kit("gnu"))
    with context, pytest.raises(UserError, match=words[0]):
        image_command.image.main(
            [str(tmp_path / "i.tar"), *words], standalone_mode=False, obj=find_kit("gnu")
        )


# ---- the checkout ----------------------------------------------------------------------


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words], cwd=folder,
        check=True, capture_output=True, env=os.environ | {"GIT_COMMITTER_DATE": f"{TIME_S} +0000"},
    )  # fmt: skip


def test_an_image_has_what_is_committed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="git init"):
        make.examine(tmp_path)
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    (tmp_path / "part").mkdir()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "a")
    found = make.examine(tmp_path)
    assert (found.time_s, found.source, found.changed) == (TIME_S, None, ())
    (tmp_path / "a").write_text("2")
    (tmp_path / "grades.csv").write_text("nobody's business")
    git(tmp_path, "remote", "add", "origin", "https://ada:secret@example.org/kit.git")
    found = make.examine(tmp_path)
    assert (found.source, found.changed) == ("https://example.org/kit.git", ("a",))
    with pytest.raises(UserError, match="another repository"):
        make.examine(tmp_path / "part")


def test_the_key_of_the_packages_is_by_what_they_are_made(tmp_path: Path) -> None:
    names = ["numalab/numalab", "numalab/common/image/system", "numalab/common/image/README.md"]
    tar = tar_of(tmp_path / "kit.tar", {name: name for name in names})
    assert make.scripts_in(tar) == {name: name.encode() for name in names[:2]}
    first = make.system_key(SCRIPTS, Distribution("bookworm", None, True), "amd64")
    assert first == make.system_key(SCRIPTS, Distribution("bookworm", None, True), "amd64")
    others = {
        make.system_key({"numalab": b"2"}, Distribution("bookworm", None, True), "amd64"),
        make.system_key(SCRIPTS, Distribution("trixie", None, True), "amd64"),
        make.system_key(SCRIPTS, Distribution("bookworm", None, False), "amd64"),
        make.system_key(SCRIPTS, Distribution("bookworm", "http://m/", True), "amd64"),
        make.system_key(SCRIPTS, Distribution("bookworm", None, True), "arm64"),
    }
    assert len(others | {first}) == 6


# ---- the other way: Containerfile and development container ----------------------------


def containerfile() -> dict[str, list[str]]:
    """The instructions of each stage, lines put together."""
    text = re.sub(r"\\\n\s*", "", (ROOT / ".devcontainer/Containerfile").read_text())
    stages: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := re.match(r"FROM .* AS (\w+)$", line):
            stages[match[1]] = []
        elif line and not line.startswith("#") and stages:
            list(stages.values())[-1].append(line)
    return stages


def test_the_containerfile_says_what_the_image_says() -> None:
    stages = containerfile()
    lines = stages["system"] + stages["kit"]
    settings = make.settings_of(make.labels_of(CHECKOUT, "bookworm"))
    for name, value in settings.environment.items():
        assert f"ENV {name}={value}" in lines
    assert [line for line in lines if line.startswith("USER")][-1] == f"USER {settings.user}"
    assert f"WORKDIR {settings.folder}" in lines
    assert f"CMD {json.dumps(settings.command)}" in lines
    licences = settings.labels["org.opencontainers.image.licenses"]
    assert any(line.startswith("LABEL") and f'"{licences}"' in line for line in lines)
    runs = [line for line in lines if line.startswith("RUN")]
    assert "/tmp/kit/common/image/system /tmp/kit/numalab ${OPTIONS}" in runs[0]
    assert f"{debian.FOLDER}/common/image/kit {debian.FOLDER} ${{OPTIONS}}" in runs[1]
    # No list of packages beside set-up's.
    assert len(runs) == 2 and not any("apt" in run for run in runs)


def test_what_docker_copies_is_what_git_has() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert lines[1] == "*"
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("this copy of the kit is no clone")
    assert let_in == {name.split("/")[0] for name in done.stdout.splitlines()}


def test_the_development_container_is_a_stage_and_its_commands_are_the_kits() -> None:
    described = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    build = described["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).is_file()
    assert (ROOT / ".devcontainer" / build["context"]).resolve() == ROOT.resolve()
    assert build["target"] in containerfile()
    assert f" {described['remoteUser']}\n" in (ROOT / "common/image/system").read_text()
    launcher, command, *options = shlex.split(described["onCreateCommand"])
    known = [name for of in setup_command.setup.params for name in of.opts]
    assert (launcher, command) == ("./numalab", "setup") and set(options) <= set(known)
    assert shlex.split(described["postAttachCommand"]) == ["./numalab", "doctor"]
    # Nothing that weakens what keeps a container in its place.
    assert not {"privileged", "capAdd", "securityOpt", "runArgs"} & set(described)


# ---- what an image needs of the kit ----------------------------------------------------


def test_every_python_package_fits_debian_12s_python() -> None:
    """Its Python is 3.11.2, and pip there refuses what asks for 3.11.5."""
    unfit = [
        f"{found.name} {found.version}: {asked}"
        for found in importlib.metadata.distributions()
        if (asked := found.metadata.get("Requires-Python")) and "3.11.2" not in SpecifierSet(asked)
    ]
    assert not unfit


def test_who_is_not_root_fetches_package_lists_of_his_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt is a stand-in that knows a kernel once lists were fetched, and only with its options."""
    called: list[list[str]] = []

    def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        del cwd
        called.append(command)
        own = any(word.startswith("Dir::State::Lists=") for word in command)
        updated = any("update" in one for one in called)
        knows = own and updated and command[-1] == "linux-image-amd64"
        said = "  Depends: linux-image-6.1-amd64\n" if knows else ""
        return subprocess.CompletedProcess(
            command, 100 if "download" in command else 0, said, "E: x"
        )

    monkeypatch.setattr(kernel, "_run", run)
    monkeypatch.setattr("shutil.which", lambda tool: tool)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match=r"linux-image-6\.1-amd64: E: x"):
        kernel._fetched(tmp_path, lambda step: None)
    assert [word for word in called[-1] if word.startswith("Dir::")]
    called.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UserError, match="apt knows no package"):
        kernel._fetched(tmp_path, lambda step: None)
    assert ["apt-get", "update"] in called


def test_a_profile_keeps_what_holds_without_capabilities() -> None:
    """Made up, of the format of Docker's."""
    rule = {"action": "SCMP_ACT_ALLOW"}
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]}],
        "syscalls": [
            {"names": ["read"], **rule},
            {"names": ["mbind"], **rule, "includes": {"caps": ["CAP_SYS_NICE"]}},
            {"names": ["chroot"], **rule, "includes": {"caps": ["CAP_SYS_CHROOT"]}},
            {"names": ["clone"], **rule, "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["s390"], **rule, "includes": {"arches": ["s390x"]}},
            {"names": ["ptrace"], **rule, "includes": {"minKernel": "4.8"}},
        ],
    }
    found = in_container.seccomp_of(profile, "x86_64")
    assert [name for one in found["syscalls"] for name in one["names"]] == [
        "read", "chroot", "clone", "ptrace",
    ]  # fmt: skip
    assert found["architectures"] == ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"]
