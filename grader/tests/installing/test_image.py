"""Images: by what commands they are made of what, and that the Containerfile and the development
container fit the kit."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from packaging.specifiers import SpecifierSet

from numalab.commands import image as image_command
from numalab.commands import setup as setup_command
from numalab.errors import NumalabError, UserError
from numalab.installation import find_installation
from numalab.installing import image
from numalab.installing.image import Checkout, Distribution
from numalab.virtual import kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import in_container

ROOT = find_installation("gnu").root
TIME_S = 1_700_000_000
CHECKOUT = Checkout(ROOT, "c0ffee", TIME_S, "https://example.org/numalab.git", ())
FOLDER = "/home/student/numalab"


# ---- by what commands ------------------------------------------------------------------

# Stand-ins that note their words; buildah's inspect knows a base once it was committed, and its
# push writes an archive of two letters.
MMDEBSTRAP = """#!/bin/sh
echo "mmdebstrap $*" >>@/log
for word; do case $word in *.tar) echo base >"$word" ;; esac; done
"""
BUILDAH = """#!/bin/sh
echo "buildah $*" >>@/log
case $1 in
    inspect) [ -e @/base ] && echo "2026-01-02 03:04:05 +0000 UTC" ;;
    commit) touch @/base ;;
    build) ls -A >@/context; [ ! -e @/broken ] ;;
    push) archive=${3#docker-archive:}; printf ab >"${archive%%:*}" ;;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-ins were called with, a line each."""
    for name, text in (("mmdebstrap", MMDEBSTRAP), ("buildah", BUILDAH)):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(text.replace("@", str(tmp_path)))
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "log"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """With one file that is committed and one that is nobody's business."""
    folder = tmp_path / "kit"
    folder.mkdir()
    git(folder, "init")
    (folder / "numalab").write_text("1")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "a")
    (folder / "grades.csv").write_text("")
    return image.examine(folder)


def test_an_image_is_made_of_packages_and_of_what_is_committed(
    log: Path, checkout: Checkout, tmp_path: Path
) -> None:
    target = tmp_path / "image.tar"
    distribution = Distribution("noble", "http://mirror/", False, "main,universe")
    assert image.make_image(checkout, distribution, target, False) is None
    assert gzip.decompress(target.read_bytes()) == b"ab"
    assert (tmp_path / "context").read_text().split() == ["numalab"]
    lines = log.read_text().splitlines()
    (made,) = [line for line in lines if line.startswith("mmdebstrap")]
    assert "--components=main,universe " in made and " noble " in made
    assert made.endswith(" http://mirror/")
    (build,) = [line for line in lines if line.startswith("buildah build")]
    assert f"--build-arg=BASE={distribution.base} " in build
    assert "--build-arg=OPTIONS=--without-virtual-nodes " in build
    assert f"--timestamp={TIME_S} " in build
    assert [line.split()[1] for line in lines if line.startswith("buildah")] == [
        "inspect", "from", "add", "commit", "rm", "build", "push",
    ]  # fmt: skip


def test_packages_are_kept_until_they_are_wanted_afresh(
    log: Path, checkout: Checkout, tmp_path: Path
) -> None:
    found = []
    for afresh in (False, False, True):
        log.write_text("")
        kept = image.make_image(
            checkout, Distribution("trixie", None, True), tmp_path / "image.tar", afresh
        )
        found.append((kept, "mmdebstrap" in log.read_text()))
    assert found == [(None, True), ("2026-01-02", False), (None, True)]
    bases = {
        Distribution("trixie", None, True).base,
        Distribution("bookworm", None, True).base,
        Distribution("trixie", "http://mirror/", True).base,
        Distribution("trixie", None, True, "main,contrib").base,
    }
    assert len(bases) == 4
    # The same bare system, whatever is put into it.
    assert Distribution("trixie", None, False).base in bases


def test_an_image_that_can_not_be_made_leaves_the_one_before(
    log: Path, checkout: Checkout, tmp_path: Path
) -> None:
    del log
    (tmp_path / "broken").touch()
    target = tmp_path / "image.tar"
    target.write_text("before")
    with pytest.raises(NumalabError, match="buildah ended with 1"):
        image.make_image(checkout, Distribution("trixie", None, True), target, False)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.glob("*image.tar*")] == ["image.tar"]


def test_labels_tell_version_and_source_but_no_password() -> None:
    command = image.build_command(Distribution("bookworm", None, True), CHECKOUT, {})
    label = "--label=org.opencontainers.image."
    assert f"{label}revision=c0ffee" in command
    assert f"{label}source=https://example.org/numalab.git" in command
    assert image.public_address("https://ada:secret@example.org:8443/kit.git") == (
        "https://example.org:8443/kit.git"
    )
    assert image.public_address("git@example.org:kit.git") is None
    assert image.public_address("/home/ada/kit") is None
    own = "https://[::1]:8443/kit.git"
    assert image.public_address(own.replace("//", "//ada:p@ss@")) == own
    assert image.public_address("https://[::1/kit.git") is None


def test_nothing_of_this_host_stays_in_the_system(tmp_path: Path) -> None:
    command = image.base_command(Distribution("bookworm", None, True), tmp_path / "base.tar")
    (hook,) = [word.partition("=")[2] for word in command if "-hook=" in word]
    (tmp_path / "etc").mkdir()
    files = [tmp_path / "etc" / name for name in ("resolv.conf", "hostname")]
    for file in files:
        file.write_text("private")
    subprocess.run(["sh", "-c", hook, "sh", str(tmp_path)], check=True)
    assert [file.read_text() for file in files] == ["", ""]


def test_pips_settings_are_lent_and_nothing_else(tmp_path: Path) -> None:
    certificates = tmp_path / "site.pem"
    certificates.write_text("")
    mine = {"HOME": "/home/ada", "TOKEN": "secret", "PIP_INDEX_URL": "https://a:b@pypi.site/simple",
            "PIP_CERT": str(certificates), "PATH": "/odd"}  # fmt: skip
    lent = image.lent_files(mine, tmp_path)
    assert lent[certificates] == "/tmp/certificates.pem"
    (settings,) = lent.keys() - {certificates}
    assert lent[settings] == "/etc/pip.conf"
    assert settings.read_text().splitlines() == [
        "[global]", "index-url = https://a:b@pypi.site/simple", "cert = /tmp/certificates.pem",
    ]  # fmt: skip
    command = image.build_command(Distribution("bookworm", None, True), CHECKOUT, lent)
    assert f"--volume={settings}:/etc/pip.conf:ro" in command
    assert not any("a:b@" in word for word in command), "it would stand in the image's history"
    assert image.lent_files({"PIP_CERT": "/nowhere.pem"}, tmp_path) == {}


def test_what_is_missing_is_named_by_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda tool: None if tool != "git" else tool)
    with pytest.raises(UserError, match=r"install mmdebstrap buildah\. .*docker build"):
        image.check_tools()


@pytest.mark.parametrize(
    "words", [["--suite", "x; rm"], ["--mirror", "http://a b"], ["--components", "main x"]]
)
def test_words_that_are_no_names_get_into_no_command(words: list[str], tmp_path: Path) -> None:
    context = click.Context(image_command.image, obj=find_installation("gnu"))
    with context, pytest.raises(UserError, match=words[0]):
        image_command.image.main(
            [str(tmp_path / "i.tar"), *words], standalone_mode=False, obj=find_installation("gnu")
        )


# ---- the checkout ----------------------------------------------------------------------


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words], cwd=folder,
        check=True, capture_output=True, env=os.environ | {"GIT_COMMITTER_DATE": f"{TIME_S} +0000"},
    )  # fmt: skip


def test_git_that_is_missing_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get"):
        image.examine(tmp_path)


def test_an_image_has_what_is_committed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="git init"):
        image.examine(tmp_path)
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    (tmp_path / "part").mkdir()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "a")
    found = image.examine(tmp_path)
    assert (found.time_s, found.source, found.changed) == (TIME_S, None, ())
    (tmp_path / "a").write_text("2")
    (tmp_path / "grades.csv").write_text("nobody's business")
    git(tmp_path, "remote", "add", "origin", "https://ada:secret@example.org/kit.git")
    found = image.examine(tmp_path)
    assert (found.source, found.changed) == ("https://example.org/kit.git", ("a",))
    with pytest.raises(UserError, match="another repository"):
        image.examine(tmp_path / "part")


# ---- Containerfile and development container ----------------------------


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


def test_the_containerfile_runs_the_kits_scripts() -> None:
    stages = containerfile()
    lines = stages["system"] + stages["kit"]
    assert [line for line in lines if line.startswith("USER")][-1] == "USER 1000:1000"
    assert f"WORKDIR {FOLDER}" in lines
    assert any(line.startswith(f"ENV PATH={FOLDER}:") for line in lines)
    runs = [line for line in lines if line.startswith("RUN")]
    assert "/tmp/kit/common/image/system /tmp/kit/numalab ${OPTIONS}" in runs[0]
    assert f"{FOLDER}/common/image/kit {FOLDER} ${{OPTIONS}}" in runs[1]
    # No list of packages beside set-up's.
    assert len(runs) == 2 and not any("apt" in run for run in runs)
    script = (ROOT / "common/image/system").read_text()
    assert '"$launcher" setup --packages-only --yes "$@"' in script


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
