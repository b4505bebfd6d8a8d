"""The archive of a release, and what becomes of a copy over which it is unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from numalab import __version__
from numalab.editions import release
from numalab.errors import UserError
from numalab.grading.file_choice import edited_languages, is_starting_code, unchanged_files
from numalab.grading.numalab_digests import judged_by, measured_by
from numalab.grading.own_files import ASIDE, keep_starting_code, provide
from numalab.installation import RELEASED, Installation
from numalab.labs.declaration import Lab, load_labs
from numalab.labs.kernel_names import NOTEBOOK, edited_names
from numalab.labs.starting_code import digest_of

LAB, WITH_FILES = "01_first_touch", "02_affinity"
EDITED = b"// mine\nint mine;\n"
TOP = ("numalab", "CMakeLists.txt", "CMakePresets.json")
WHO = {
    f"GIT_{role}_{what}": "numalab"
    for role in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(root: Path, *words: str, when: str = "2026-01-02T03:04:05Z") -> str:
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    return subprocess.run(
        ["git", "-C", str(root), *words], check=True, capture_output=True, text=True,
        env={**os.environ, **WHO, **dates},
    ).stdout  # fmt: skip


@pytest.fixture(scope="module")
def clone(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of two labs: the second has another kernel.c of lab 01, and a file less."""
    root = tmp_path_factory.mktemp("clone") / "kit"
    for name in (f"labs/{LAB}", f"labs/{WITH_FILES}", "common/setup", f"solutions/{LAB}"):
        shutil.copytree(installation.root / name, root / name)
    for name in TOP:
        shutil.copy(installation.root / name, root)
    (root / "common/old.c").write_text("int old;\n")
    kernel, declared = root / "labs" / LAB / "kernel.c", root / "labs" / LAB / "grading/lab.toml"
    text = kernel.read_text()
    kernel.write_text(text.replace("i % 7", "i % 9"))
    assert kernel.read_text() != text
    earlier = digest_of("kernel.c", kernel.read_bytes())
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the first", when="2026-01-01T00:00:00Z")
    git(root, "tag", "first")
    kernel.write_text(text)
    now = digest_of("kernel.c", kernel.read_bytes())
    words = declared.read_text()
    assert f'"{now}",\n' in words
    declared.write_text(words.replace(f'"{now}",\n', f'"{now}",\n"{earlier}",\n'))
    (root / "common/old.c").unlink()
    (root / "common/new.c").write_text("int a_new_one;\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the second")
    return root


@pytest.fixture(scope="module")
def archive(clone: Path) -> Path:
    target = clone.parent / "numalab.tar.gz"
    release.write_archive(clone, target)
    return target


def unpack(archive: Path, target: Path) -> None:
    """As somebody does who wants the release in the folder that there is."""
    if archive.suffix == ".zip":
        above = target.parent / "unzipped"
        subprocess.run(["python3", "-m", "zipfile", "-e", archive, above], check=True)
        shutil.copytree(next(above.iterdir()), target, dirs_exist_ok=True)
        return
    target.mkdir(exist_ok=True)
    subprocess.run(["tar", "xf", archive, "-C", target, "--strip-components=1"], check=True)


def first_command(root: Path) -> str:
    """Do what the launcher does of any command; returns what it says."""
    script = (
        'say() { printf "numalab: %s\\n" "$*"; }; . "$1/common/setup/unpacked.sh"; '
        'settle_what_was_unpacked "$1"'
    )
    done = subprocess.run(
        ["sh", "-euc", script, "sh", root], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (root / "numalab").read_text().count('settle_what_was_unpacked "$NUMALAB_ROOT"') == 1
    return done.stdout


def next_command(installation: Installation) -> list[str]:
    """Do what commands do that work with files of labs; returns what they say."""
    said: list[str] = []
    labs = list(load_labs(installation.root).values())
    provide(installation, labs, said.append)
    keep_starting_code(installation, labs)
    return said


def old_copy(clone: Path, root: Path, files: Mapping[str, bytes]) -> Installation:
    """Of the first release as whoever has edited these files works with it; built, so that it has
    kept the starting code as that release's builds did, by its version."""
    git(clone, "worktree", "add", "-qf", "--detach", str(root), "first")
    (root / ".git").unlink()
    git(clone, "worktree", "prune")
    installation = Installation(root)
    for name in (LAB, WITH_FILES):
        for file in ("kernel.c", "kernel.f90"):
            kept = installation.build / "handouts" / "0.1.0" / name / file
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(installation.lab_folder(name) / file, kept)
    for path, content in files.items():
        (root / path).write_bytes(content)
    return installation


def declared(installation: Installation, name: str = LAB) -> Lab:
    return load_labs(installation.root)[name]


def keep_as_cmake_does(installation: Installation) -> None:
    """By the function that configuring calls, alone, for all files of all labs."""
    whole = (Path(__file__).parents[3] / "common/cmake/AddLab.cmake").read_text()
    begin = whole.index("function(numalab_keep_handout")
    function = whole[begin : whole.index("endfunction()", begin)] + "endfunction()\n"
    for lab in load_labs(installation.root).values():
        calls = "".join(
            f"numalab_keep_handout({lab.name} {name} kept)\n" for name in lab.starting_code
        )
        script = installation.root.parent / "keep.cmake"
        script.write_text(function + calls)
        subprocess.run(
            [
                "cmake",
                f"-DPROJECT_SOURCE_DIR={installation.root}",
                f"-DPROJECT_BINARY_DIR={installation.build}",
                f"-Dlab_FOLDER={installation.lab_folder(lab.name)}",
                "-P",
                script,
            ],
            cwd=installation.grading_folder(lab.name),
            check=True,
            capture_output=True,
        )


# ---- the archive -------------------------------------------------------------------------


def test_what_students_edit_lies_apart_in_an_archive(clone: Path, archive: Path) -> None:
    with tarfile.open(archive) as opened:
        names = {name.removeprefix(f"numalab-{__version__}/") for name in opened.getnames()}
    listed = set(git(clone, "ls-files").splitlines())
    edited = {
        f"labs/{lab.name}/{name}": f"labs/{lab.name}/{RELEASED}/{name}"
        for lab in load_labs(clone).values()
        for name in edited_names(lab)
    }
    assert f"labs/{WITH_FILES}/omp_close.env" in edited and f"labs/{LAB}/{NOTEBOOK}" in edited
    assert not names & edited.keys()
    assert {*edited.values(), release.UNPACKED, release.GONE} <= names
    assert listed - edited.keys() <= names


def test_an_archive_is_the_same_each_time_and_has_its_commits_time(
    clone: Path, archive: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.tar.gz"
    release.write_archive(clone, again)
    assert again.read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as opened:
        assert {member.mtime for member in opened} == {1767323045}
    assert git(clone, "status", "--porcelain") == ""


def test_what_is_not_committed_is_in_no_release(clone: Path, tmp_path: Path) -> None:
    kernel = clone / "labs" / LAB / "kernel.c"
    before = kernel.read_text()
    kernel.write_text(f"{before}\n")
    try:
        with pytest.raises(UserError, match=r"labs/01_first_touch/kernel\.c differs from what is"):
            release.write_archive(clone, tmp_path / "no.tar.gz")
    finally:
        kernel.write_text(before)
    with pytest.raises(UserError, match=r"ends in \.tar\.gz"):
        release.write_archive(clone, tmp_path / "no.rar")


# ---- unpacking ---------------------------------------------------------------------------


def test_a_new_copy_has_its_starting_code_in_place(
    clone: Path, archive: Path, tmp_path: Path
) -> None:
    installation = Installation(tmp_path / "new")
    unpack(archive, installation.root)
    assert not (installation.lab_folder(LAB) / "kernel.c").exists()
    assert first_command(installation.root) == ""
    keep_as_cmake_does(installation)
    assert next_command(installation) == []
    for lab in load_labs(installation.root).values():
        assert all(
            (installation.lab_folder(lab.name) / name).is_file() for name in edited_names(lab)
        )
        assert edited_languages(installation, lab) == []
        assert is_starting_code(installation, lab, "c", installation.own_folder(lab.name))
    assert not (installation.root / ASIDE).exists()
    # Who goes on with a course by an archive in place of a clone measures nobody anew.
    for digest in (measured_by, judged_by):
        assert digest(installation, LAB) == digest(Installation(clone), LAB)
    # What is removed stays so, until another release is unpacked.
    (installation.lab_folder(LAB) / "kernel.f90").unlink()
    assert first_command(installation.root) == "" and next_command(installation) == []
    assert not (installation.lab_folder(LAB) / "kernel.f90").exists()


@pytest.mark.parametrize("kind", [".tar.gz", ".zip"])
def test_nothing_that_was_edited_is_replaced_or_taken_for_starting_code(
    clone: Path, archive: Path, tmp_path: Path, kind: str
) -> None:
    filled = b"OMP_PLACES=sockets\nOMP_PROC_BIND=spread\n"
    mine = {
        f"labs/{LAB}/kernel.c": EDITED, f"labs/{WITH_FILES}/omp_spread.env": filled,
        f"labs/{LAB}/{NOTEBOOK}": b'{"cells": [{"source": "mine"}]}',
        f"labs/{LAB}/explanation.txt": b"why\n",
    }  # fmt: skip
    installation = old_copy(clone, tmp_path / "kit", mine)
    packed = archive
    if kind == ".zip":
        packed = tmp_path / "numalab.zip"
        release.write_archive(clone, packed)
        assert zipfile.is_zipfile(packed)
    unpack(packed, installation.root)
    first_command(installation.root)
    keep_as_cmake_does(installation)
    assert next_command(installation) == []
    for path, content in mine.items():
        assert (installation.root / path).read_bytes() == content, path
    lab = declared(installation)
    assert edited_languages(installation, lab) == ["c"]
    assert not is_starting_code(installation, lab, "c", installation.own_folder(LAB))
    # What times are compared with is this release's, not what lay there.
    for name in ("kernel.c", "kernel.f90"):
        given = (clone / "labs" / LAB / name).read_bytes()
        assert (installation.pristine_folder(LAB) / name).read_bytes() == given
    with_files = declared(installation, WITH_FILES)
    folder = installation.own_folder(WITH_FILES)
    assert edited_languages(installation, with_files) == []
    assert "omp_spread.env" not in unchanged_files(installation, with_files, "c", folder)
    assert not is_starting_code(installation, with_files, "c", folder)


def test_starting_code_of_the_earlier_release_becomes_this_ones_and_is_kept(
    clone: Path, archive: Path, tmp_path: Path
) -> None:
    installation = old_copy(clone, tmp_path / "kit", {})
    kernel = installation.own_folder(LAB) / "kernel.c"
    earlier = b"// with a note of mine\n" + kernel.read_bytes()
    kernel.write_bytes(earlier)
    unpack(archive, installation.root)
    first_command(installation.root)
    keep_as_cmake_does(installation)
    # Whoever hands it in, before any other command or from elsewhere, has changed nothing.
    assert is_starting_code(installation, declared(installation), "c", installation.own_folder(LAB))
    (said,) = next_command(installation)
    kept = installation.root / ASIDE / "labs" / LAB / "kernel.c"
    assert f"labs/{LAB}/kernel.c was the starting code of an earlier release" in said
    assert str(kept.relative_to(installation.root)) in said
    assert kept.read_bytes() == earlier
    assert kernel.read_bytes() == (clone / "labs" / LAB / "kernel.c").read_bytes()
    assert (
        next_command(installation) == []
        and edited_languages(installation, declared(installation)) == []
    )
    kernel.write_bytes(b"// another\n" + earlier)
    next_command(installation)
    assert kept.read_bytes() == earlier and kept.with_name("kernel.c.2").is_file()


def test_who_works_with_a_copy_of_others_has_the_same(
    clone: Path, archive: Path, tmp_path: Path
) -> None:
    root = tmp_path / "shared"
    unpack(archive, root)  # its owner has run no command yet
    installation = Installation(
        root, "gnu", tmp_path / "builds", tmp_path / "work", tmp_path / "state"
    )
    assert "your files of 2 labs are in" in next_command(installation)[0]
    own = installation.own_folder(LAB)
    lab = declared(installation)
    edited = {name for name in edited_names(lab) if name != NOTEBOOK}
    assert {path.name for path in own.iterdir() if not path.is_symlink()} == edited
    first = git(clone, "show", f"first:labs/{LAB}/kernel.c")
    (own / "kernel.c").write_text(first)
    (own / "kernel.f90").write_bytes(EDITED)
    (said,) = next_command(installation)
    assert f"labs/{LAB}/kernel.c was the starting code of an earlier release" in said
    assert (tmp_path / "work" / ASIDE / "labs" / LAB / "kernel.c").read_text() == first
    given = (root / "labs" / LAB / RELEASED / "kernel.c").read_bytes()
    assert (own / "kernel.c").read_bytes() == given
    assert (own / "kernel.f90").read_bytes() == EDITED


def test_files_that_the_release_no_longer_has_go_aside(
    clone: Path, archive: Path, tmp_path: Path
) -> None:
    installation = old_copy(clone, tmp_path / "kit", {"common/old.c": b"int edited;\n"})
    built = installation.grading_folder(LAB) / "driver.c"
    os.utime(built, (1, 1))
    unpack(archive, installation.root)
    kernel = installation.own_folder(LAB) / "kernel.c"
    os.utime(kernel, (1, 1))
    said = first_command(installation.root)
    assert (
        "files of an earlier release (1) are now in" in said
        and str(installation.root / ASIDE) in said
    )
    assert (
        not (installation.root / "common/old.c").exists()
        and (installation.root / "common/new.c").is_file()
    )
    assert (installation.root / ASIDE / "common/old.c").read_text() == "int edited;\n"
    # Newer than all that an earlier release was built to; what is edited keeps its time.
    assert built.stat().st_mtime > 1e9 and kernel.stat().st_mtime == 1
    assert first_command(installation.root) == ""


def test_a_plain_archive_takes_no_edited_kernel_for_starting_code(
    clone: Path, tmp_path: Path
) -> None:
    """One of git's own, unpacked with what keeps the files that there are."""
    installation = old_copy(clone, tmp_path / "kit", {f"labs/{LAB}/kernel.c": EDITED})
    plain = tmp_path / "plain.tar"
    git(clone, "archive", f"--output={plain}", "HEAD")
    subprocess.run(["tar", "xf", plain, "-C", installation.root, "--skip-old-files"], check=True)
    shutil.copy(clone / "labs" / LAB / "grading/lab.toml", installation.grading_folder(LAB))
    keep_as_cmake_does(installation)
    assert (installation.pristine_folder(LAB) / "kernel.c").read_bytes() == EDITED
    lab = declared(installation)
    assert unchanged_files(installation, lab, "c", installation.own_folder(LAB)) == []
    next_command(installation)
    assert (installation.own_folder(LAB) / "kernel.c").read_bytes() == EDITED
    assert edited_languages(installation, lab)[:1] == ["c"]
    # Where an earlier build has kept what the release gives, that is what counts.
    given = (clone / "labs" / LAB / "kernel.c").read_bytes()
    (installation.build / "handouts/0.1.0" / LAB / "kernel.c").write_bytes(given)
    next_command(installation)
    assert (installation.pristine_folder(LAB) / "kernel.c").read_bytes() == given


def test_a_clone_whose_edits_are_committed_has_its_starting_code_of_git(
    clone: Path, tmp_path: Path
) -> None:
    root = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(clone), str(root))
    kernel = root / "labs" / LAB / "kernel.c"
    given = kernel.read_bytes()
    kernel.write_bytes(EDITED)
    git(root, "commit", "-qam", "mine")
    installation = Installation(root)
    keep_as_cmake_does(installation)
    assert (installation.pristine_folder(LAB) / "kernel.c").read_bytes() == EDITED
    assert next_command(installation) == []
    assert (installation.pristine_folder(LAB) / "kernel.c").read_bytes() == given
    assert edited_languages(installation, declared(installation)) == ["c"]


def test_comments_that_a_pull_has_changed_are_no_edit(clone: Path, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(clone), str(root))
    installation, kernel = Installation(root), root / "labs" / LAB / "kernel.c"
    keep_as_cmake_does(installation)
    kernel.write_bytes(b"// of the kit\n" + kernel.read_bytes())
    next_command(installation)
    assert edited_languages(installation, declared(installation)) == ["c"], (
        "it may be a note of the student's"
    )
    git(root, "commit", "-qam", "a comment")
    next_command(installation)
    assert edited_languages(installation, declared(installation)) == []


# ---- student copies ------------------------------------------------------------------------


def test_a_student_copy_is_laid_out_likewise(clone: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(clone, "worktree", "add", "-qf", "--detach", str(tree))
    (tree / ".git").unlink()
    git(clone, "worktree", "prune")
    gone = release.known_gone_paths(clone)
    assert gone == ["common/old.c"]
    (tree / "common/old.c").write_text("written again, and not committed\n")
    labs = list(load_labs(tree).values())
    release.lay_out(tree, labs, gone)
    assert (tree / "labs" / LAB / RELEASED / "kernel.c").is_file()
    assert not (tree / "labs" / LAB / "kernel.c").exists()
    assert (tree / release.UNPACKED).is_file() and (tree / release.GONE).read_text() == ""
    # Of a kit that was unpacked itself: what was given counts, whatever lies in labs/.
    first_command(tree)
    (tree / "labs" / LAB / NOTEBOOK).write_text("edited\n")
    (tree / release.GONE).write_text("common/other.c\n")
    assert release.known_gone_paths(tree) == ["common/other.c"]
    release.lay_out(tree, labs, ())
    given = (clone / "labs" / LAB / NOTEBOOK).read_bytes()
    assert (tree / "labs" / LAB / RELEASED / NOTEBOOK).read_bytes() == given
    assert not (tree / "labs" / LAB / NOTEBOOK).exists()
