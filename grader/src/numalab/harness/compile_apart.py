"""Runs of a compiler on a student's kernel in a sandbox; a program that common/cmake/compile_apart
calls.

A compiler reads what the kernel names (#include, .incbin), and can be made to take any time and
memory. It sees the toolchain, the files on its command line, headers below the folders of -I, and a
few variables of the environment. It writes to empty folders, from which the files that its command
names, and Fortran's modules, are taken. Only Python's own library is imported, since this program
starts for each step of a build.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Of one step. numalab's own kernels take a second, 600 MB of address space and 100 kB.
WALL_LIMIT_S = 60
COMPUTING_LIMIT_S = 60
ADDRESS_SPACE_BYTES = 4 << 30
FILE_BYTES = 64 << 20
MESSAGE_BYTES = 1 << 20  # of its messages; the rest is dropped
MODULES = (".mod", ".smod")  # endings of modules that a Fortran compiler writes
_DUMP = "-fdump-tree-tsan="  # before the path of a file that gcc writes in addition


@dataclass(frozen=True)
class CompilerStep:
    """What read_step finds in a compiler's command line."""

    outputs: tuple[Path, ...]  # files that it writes
    modules: Path | None  # folder of -J, for Fortran's modules; None: none is named
    headers: tuple[Path, ...]  # folders of -I
    files: tuple[Path, ...]  # other files that it reads

    @property
    def folders(self) -> list[Path]:
        found = [output.parent for output in self.outputs]
        return sorted({*found, self.modules} if self.modules else set(found))


def read_step(arguments: Sequence[str], cwd: Path) -> CompilerStep:
    """Parse a compiler's command line. arguments: without the compiler itself; cwd: the folder to
    which its paths are relative."""
    outputs: list[Path] = []
    headers: list[Path] = []
    files: list[Path] = []
    modules = None
    words = iter(arguments)
    for word in words:
        if word in ("-o", "-MF"):
            outputs.append(cwd / next(words, ""))
        elif word in ("-MT", "-MQ"):
            next(words, "")
        elif word.startswith(_DUMP):
            outputs.append(cwd / word.removeprefix(_DUMP))
        elif word.startswith("-J"):
            modules = cwd / (word[2:] or next(words, ""))
        elif word.startswith("-I"):
            headers.append(cwd / (word[2:] or next(words, "")))
        elif not word.startswith("-") and (cwd / word).is_file():
            files.append(cwd / word)
    return CompilerStep(tuple(outputs), modules, tuple(headers), tuple(files))


def _is_below(path: Path, roots: Sequence[str]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _is_visible(path: Path, roots: Sequence[str], hidden: Sequence[str]) -> bool:
    """Tell whether a path is below a root, and not below a hidden folder, not even by a link."""
    if not _is_below(path, roots):
        return False
    return not _is_below(path, hidden) and not _is_below(path.resolve(), hidden)


def bound_files(step: CompilerStep, roots: Sequence[str], hidden: Sequence[str] = ()) -> list[Path]:
    """Return the files to add to the sandbox: those of the command line, and the headers (*.h)
    below its folders, as far as the sandbox does not have them anyway. roots, hidden: as of Apart.
    """
    found = [path for path in step.files if not _is_visible(path, roots, hidden)]
    for folder in step.headers:
        if not _is_visible(folder, roots, hidden) and folder.is_dir():
            found += sorted(path for path in folder.rglob("*.h") if path.is_file())
    return list(dict.fromkeys(Path(os.path.normpath(path)) for path in found))


@contextlib.contextmanager
def _private_folders(folders: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    with tempfile.TemporaryDirectory(prefix="numalab-compile-") as root:
        private = {}
        for number, folder in enumerate(folders):
            private[folder] = Path(root) / str(number)
            private[folder].mkdir()
        yield private


def _limit() -> None:
    for what, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, COMPUTING_LIMIT_S),
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
    ):
        _, most = resource.getrlimit(what)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(what, (value, value))


def take(private: Path, destination: Path) -> None:
    """Copy a file out of the sandbox, with its mode; do nothing where it can't be opened or is no
    regular file."""
    try:
        file = os.open(private, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # it was not written, which Ninja or the linker reports
    with os.fdopen(file, "rb") as source:
        mode = os.fstat(source.fileno()).st_mode
        if not stat.S_ISREG(mode):
            return
        destination.parent.mkdir(parents=True, exist_ok=True)
        partial = destination.with_name(f".partial-{destination.name}")
        with partial.open("wb") as target:
            shutil.copyfileobj(source, target)
        partial.chmod(stat.S_IMODE(mode))
        partial.replace(destination)


def _print_messages(path: Path, stream: int) -> None:
    with path.open("rb") as file:
        messages = file.read(MESSAGE_BYTES)
        if file.read(1):
            messages += b"\n... and more; it was dropped\n"
    with contextlib.suppress(BrokenPipeError):
        while messages:
            messages = messages[os.write(stream, messages) :]


@dataclass(frozen=True)
class Apart:
    """The sandbox of a compiler."""

    words: Sequence[str]  # bubblewrap and its options
    environment: Mapping[str, str]  # all variables that bubblewrap and the compiler get
    roots: Sequence[str]  # folders of the toolchain, which are visible
    hidden: Sequence[str] = ()  # folders in them that are not


def run(apart: Apart, command: Sequence[str], cwd: Path) -> int:
    """Run a compiler, print its messages, and take its outputs where it succeeds. Returns its exit
    code, negative for a signal; 1 where it was ended after WALL_LIMIT_S."""
    roots, hidden = apart.roots, apart.hidden
    step = read_step(command[1:], cwd)
    with (
        _private_folders(step.folders) as private,
        tempfile.TemporaryDirectory(prefix="numalab-compile-") as messages,
    ):
        binds = [
            option
            for folder, own in private.items()
            for option in ("--bind", str(own), os.path.normpath(folder))
        ]
        for folder in step.headers:  # compilers warn of one that is missing
            if not _is_visible(folder, roots, hidden):
                binds += ["--dir", os.path.normpath(folder)]
        for file in bound_files(step, roots, hidden):
            binds += ["--ro-bind", str(file), str(file)]
        full = [*apart.words, "--dir", str(cwd), *binds, "--chdir", str(cwd), "--remount-ro", "/"]
        streams = Path(messages) / "out", Path(messages) / "err"
        with streams[0].open("wb") as out, streams[1].open("wb") as err:
            process = subprocess.Popen(
                [*full, "--", *command],
                env=dict(apart.environment), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                preexec_fn=_limit,
            )  # fmt: skip
            try:
                code = process.wait(WALL_LIMIT_S)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                process.kill()
                process.wait()
        for path, stream in zip(streams, (1, 2), strict=True):
            _print_messages(path, stream)
        if code is None:
            os.write(2, f"error: the compiler did not end within {WALL_LIMIT_S} s\n".encode())
            return 1
        if code == 0:
            for output in step.outputs:
                take(private[output.parent] / output.name, output)
            if step.modules:
                for path in private[step.modules].iterdir():
                    if path.suffix in MODULES:
                        take(path, step.modules / path.name)
        return code


def main() -> int:
    apart = Apart(**json.loads(os.environ["NUMALAB_COMPILE_APART"]))
    return run(apart, sys.argv[1:], Path.cwd())


if __name__ == "__main__":
    sys.exit(main())
