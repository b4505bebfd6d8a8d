"""Find the files that a call builds and runs: in a folder, a file, or given as texts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import UserError, reason_of
from numalab.files import expand_home
from numalab.grading import explanation
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.learning.basis import Text, digest_of_file
from numalab.learning.run import check_file

Source = str | Path | None


@dataclass(frozen=True)
class Sources:
    """The files that a call builds and runs. kernel: the name of the kernel's file. folder: holds
    the files; given: texts that replace some of them, by name; file: the file that the call named
    for the kernel's text, else None."""

    lab: Lab
    kernel: str
    folder: Path
    given: Mapping[str, str]
    file: Path | None

    @contextmanager
    def laid_out(self) -> Iterator[Path]:
        """Yield a folder with the files: `folder` itself, or a temporary one if texts are given.
        That is removed at the end of the block."""
        if not self.given:
            yield self.folder
            return
        with tempfile.TemporaryDirectory(prefix="numalab-") as name:
            scratch = Path(name)
            for file in (self.kernel, *(file.name for file in self.lab.files), explanation.FILE):
                if file in self.given:
                    content = self.given[file].encode("utf-8", "surrogateescape")
                    (scratch / file).write_bytes(content)
                elif (self.folder / file).is_file():
                    (scratch / file).write_bytes((self.folder / file).read_bytes())
            yield scratch

    def texts(self, tried: Path, built: Path | None = None) -> dict[str, Text]:
        """Return digest and origin of the kernel and of the lab's other files, by name. tried: the
        folder that laid_out() yields. built: the folder of the build, from which the kernel is then
        read, since its own file may have changed meanwhile; None: it is not built yet."""
        kernel = (built or tried) / self.kernel
        texts = {self.kernel: Text(digest_of_file(kernel), self._origin(self.kernel))}
        for file in self.lab.files:
            texts[file.name] = Text(digest_of_file(tried / file.name), self._origin(file.name))
        return texts

    def _origin(self, name: str) -> Path | None:
        if name == self.kernel and self.file is not None:
            return self.file
        return None if name in self.given else self.folder / name


def find_sources(
    lab: Lab, folder: Path, language: str, source: Source, files: Mapping[str, str] | None
) -> Sources:
    """Return the files that a call names. folder: holds the student's files.

    source: the kernel's text (if it has a line break), its file, or a folder with it or with the
    lab's folder; None: the kernel in `folder`. files: texts of the other files that are handed in,
    by name. Raises UserError where there is no such path, it can't be read, or the lab has no file
    of a name.
    """
    given = dict(files or {})
    for name in given:
        check_file(lab, name)
    kernel, file = KERNEL_FILES[language], None
    if isinstance(source, Path) or (source is not None and "\n" not in source):
        path = expand_home(source)
        if path.is_dir():
            folder = path / lab.name if (path / lab.name).is_dir() else path
        elif path.is_file():
            given[kernel], file = _text_of(path), path.resolve()
        else:
            raise UserError(f"there is no {path}: name a file, a folder, or give the text")
    elif source is not None:
        given[kernel] = source
    return Sources(lab, kernel, folder.absolute(), given, file)


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UserError(f"{path} can't be read: {reason_of(error)}") from error
