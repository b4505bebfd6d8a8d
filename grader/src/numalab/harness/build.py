"""Builds of numalab's programs and of a student's kernel. A kernel that can't be built is a result
(evidence.format.Build), with a sentence for the student."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from numalab.errors import NumalabError
from numalab.evidence.format import Build
from numalab.evidence.record import Json
from numalab.file_systems.room import build_place, shortage
from numalab.files import NotPlain, read_plain
from numalab.harness.build_folder import check_build_folder, chosen_compilers, drop_foreign_build
from numalab.harness.interface import interface_complaint
from numalab.harness.kernel_texts import (
    MAX_OUTPUT_LINES,
    MOST_COLUMNS,
    OTHER_LANGUAGE,
    is_other_language,
    misnamed_kernels,
    misspelt_directives,
)
from numalab.harness.sandbox import Sandbox, level_of
from numalab.harness.symbols import names_complaint, not_isolated, read_symbols
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import not_graded_words
from numalab.processes import shell_variables
from numalab.untrusted import tools
from numalab.untrusted.text_kinds import kind_of_text
from numalab.untrusted.tools import ToolLimits, output_of
from numalab.untrusted.visible import shortened, visible_lines

BUILD_LIMIT_S = 300
# Limits of each process of a build. numalab's own kernels take 1 GiB and 1 MB per file; others can
# make their compiler write and print any amount.
_BUILD_LIMITS = ToolLimits(
    computing_s=BUILD_LIMIT_S, memory_bytes=16 << 30, file_bytes=256 << 20, output_bytes=4 << 20,
    wall_s=BUILD_LIMIT_S,
)  # fmt: skip


# Ends the name of a worker whose kernel is built as an MPI job (ON_LINK of AddLab.cmake).
LINK_JOB = "-link"


class BuildTooLong(NumalabError):
    """A build did not end within its limit."""


def _run(
    command: Sequence[str], cwd: Path, sandbox: Sandbox | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of a build within _BUILD_LIMITS, in English and with builder_environment(); its
    process group is killed once it ends. sandbox: of compilers; None: none."""
    if shutil.which(command[0]) is None:
        raise NumalabError(f"{command[0]} is missing; run ./numalab setup")
    # Messages in English, so that they can be searched, and no PWD, from which CMake would take
    # paths with links in them.
    environment = shell_variables.builder_environment()
    environment.pop("PWD", None)
    environment |= {"LC_ALL": "C", "NUMALAB_PYTHON": sys.executable}
    environment |= {} if sandbox is None else sandbox.compiler_environment()
    try:
        code, output = tools.run_limited(command, _BUILD_LIMITS, environment, str(cwd))
    except tools.TookTooLong as error:
        raise BuildTooLong(f"{' '.join(command)} did not end within {BUILD_LIMIT_S} s") from error
    return subprocess.CompletedProcess(command, code, output)


def configure(installation: Installation, *definitions: str) -> None:
    """Configure the build folder unless it has a build.ninja of this installation. definitions:
    NAME=VALUE, for CMake's cache. Raises UserError where nothing can be built there, and
    NumalabError where CMake fails."""
    drop_foreign_build(installation)
    if (installation.build / "build.ninja").is_file():
        return
    check_build_folder(installation)
    compilers = chosen_compilers(installation.preset, shell_variables.builder_environment())
    more = [f"-D{definition}" for definition in definitions]
    # Paths without links, so that numalab finds its build by whatever links it is reached later.
    root, build = installation.root.resolve(), installation.build.resolve()
    done = _run(
        ["cmake", "--preset", installation.preset, "-B", str(build), *compilers, *more], root
    )
    if done.returncode != 0:
        raise NumalabError(f"CMake could not configure the kit:\n{_tail(done.stdout)}")


def _tail(output: str) -> str:
    return "\n".join(visible_lines(output).strip().split("\n")[-MAX_OUTPUT_LINES:])


def _ninja(
    installation: Installation, targets: Sequence[str], sandbox: Sandbox | None = None
) -> subprocess.CompletedProcess[str]:
    """Build targets after configuring, and return how that went. Raises NumalabError where it
    failed and a folder is full, which compilers may not report."""
    configure(installation)
    done = _run(
        ["ninja", "-C", str(installation.build), "-k", "0", *targets], installation.root, sandbox
    )
    short = shortage(build_place(installation.build)) if done.returncode != 0 else ""
    if short:
        raise NumalabError(short)
    return done


def build_targets(
    installation: Installation, targets: Sequence[str], sandbox: Sandbox | None = None
) -> None:
    """Build targets of numalab's own. sandbox: in which a student's code in them is compiled; None:
    in none. Raises what configure raises, and NumalabError with the compiler's output."""
    done = _ninja(installation, targets, sandbox)
    if done.returncode != 0:
        raise NumalabError(
            f"the kit's own {', '.join(targets)} can't be built:\n{_failure(done.stdout)}"
        )


# What Ninja prints in any case, or where a command failed that printed the reason itself.
_NINJA_NOISE = (
    "ninja: Entering", "ninja: no work", "ninja: build stopped: subcommand",
    "ninja: build stopped: cannot make progress",
)  # fmt: skip


def _failure(output: str) -> str:
    """Return what compilers printed in a failed build, and Ninja's own messages but for
    _NINJA_NOISE; the output's end where there are none of these."""
    printed = compiler_output(output, {})
    lines = visible_lines(output).split("\n")
    own = [
        line for line in lines if line.startswith("ninja:") and not line.startswith(_NINJA_NOISE)
    ]
    return "\n".join([printed, *own]).strip() or _tail(output)


def build_facts(installation: Installation) -> Json:
    """Return the content of build.json, such as compilers and MPI library. Configures first if need
    be. Raises what configure raises, and NumalabError where the file is missing or damaged."""
    configure(installation)
    try:
        facts: Json = json.loads((installation.build / "build.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NumalabError(
            f"{installation.build}/build.json is missing; run ./numalab setup"
        ) from error
    return facts


def mpi_library(installation: Installation) -> str:
    """Return the MPI library that numalab is configured with; empty where there is none. Raises
    what build_facts raises."""
    return str(build_facts(installation).get("mpi", ""))


def build_explorations(installation: Installation, targets: Sequence[str]) -> None:
    """Build describe_node and the targets. Raises what build_targets raises; where the C compiler
    of this build is gone, NumalabError with a remedy."""
    configure(installation)
    cache = (installation.build / "CMakeCache.txt").read_text(encoding="utf-8")
    compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.+)$", cache, re.MULTILINE)
    if compiler and shutil.which(compiler[1]) is None:
        raise NumalabError(
            f"the C compiler {compiler[1]}, which this build uses, is not there. Load its "
            f"module or install it (./numalab setup); if it lies elsewhere now, remove "
            f"{installation.build} first."
        )
    build_targets(installation, ["describe_node", *targets])


def stage(source: Path, staged: Path, *, follow_links: bool = True) -> bool:
    """Copy a file to `staged`, if it differs. Returns False where there is no such file, and raises
    NotPlain where it is not read as a plain file; in both cases an earlier copy is removed. Raises
    NumalabError where the copy can't be written."""
    try:
        content = read_plain(source, FILE_BYTES, follow_links=follow_links)
    except (FileNotFoundError, NotPlain) as error:
        staged.unlink(missing_ok=True)
        if isinstance(error, NotPlain):
            raise
        return False
    if not staged.is_file() or staged.read_bytes() != content:
        try:
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(content)
        except OSError as error:
            raise NumalabError(
                f"can't write to {staged.parent}: {error.strerror}. Make room there, or set "
                "NUMALAB_BUILD to another folder."
            ) from error
    return True


# Paths of a kernel's object, in place of which messages have the kernel's name.
_OBJECT = re.compile(r"\S*-kernel\.dir/\S*?(kernel\.\w+)\.o\b")


# How errors of compilers and linkers begin, in English.
_ERROR = re.compile(r"\berror:|^Error:|\bundefined reference\b|\bmultiple definition\b", re.I)

# How messages of gcc and gfortran begin, and gcc's line that names the function.
_SAYS = re.compile(r"\S+: (?:warning: |error: |In function )|\S+:\d+:\d+:$")

# With MPI's older Fortran bindings a buffer may have any type and rank, which no interface can
# declare. So the compiler warns of correct calls.
_ANY_BUFFER = re.compile(
    r"^Warning: (?:Type|Rank) mismatch between actual argument at \(1\) and actual ", re.MULTILINE
)


def _drop_repeats(lines: Sequence[str]) -> list[str]:
    """Remove messages that repeat an earlier one word for word, and those on MPI's buffers."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if _SAYS.match(line):
            parts.append([])
        parts[-1].append(line)
    different = list(dict.fromkeys(map(tuple, parts)))
    return [line for part in different if not _ANY_BUFFER.search("\n".join(part)) for line in part]


def compiler_output(output: str, rename: dict[str, str]) -> str:
    """Return the messages of compiler and linker, safe to show and cut to MAX_OUTPUT_LINES and a
    line on the rest, without Ninja's lines and command lines. rename: by paths of the build, names
    that replace them."""
    kept: list[str] = []
    lines = iter(visible_lines(output).split("\n"))
    for line in lines:
        if line.startswith("FAILED:"):
            next(lines, "")  # the command
        elif line.strip() and not line.startswith(("ninja:", "[")):
            for path, name in rename.items():
                line = line.replace(path, name)
            kept.append(shortened(_OBJECT.sub(r"\1", line), MOST_COLUMNS))
    kept = _drop_repeats(kept)
    if len(kept) > MAX_OUTPUT_LINES:
        error = next((i for i, line in enumerate(kept) if _ERROR.search(line)), None)
        first = "" if error is None else "; fix the first error first"
        # Show the first error even behind warnings; gfortran's place has four lines before it.
        begin = 0 if error is None or error < MAX_OUTPUT_LINES else error - 4
        shown_lines = kept[begin : begin + MAX_OUTPUT_LINES]
        left = len(kept) - len(shown_lines)
        kept = [*shown_lines, f"... and {left} more lines{first}"]
    return "\n".join(kept)


_MOST_NAMED = 4


def _missing(installation: Installation, lab: Lab, folder: Path, language: str) -> Build:
    file = KERNEL_FILES[language]
    message = f"{file} was not handed in: there is no {installation.shown(folder / file)}."
    near = misnamed_kernels(folder, language, lab.programs)
    others = [sentence for name in near if (sentence := not_graded_words(name))]
    if unread := lab.unread_kernels(folder):
        message += f" {lab.name} is in {lab.language_words} only: nobody reads {unread[0]}."
    elif others:
        message += f" {'. '.join(others[:_MOST_NAMED])}."
    elif near:
        named = ", ".join(near[:_MOST_NAMED])
        message += f" The folder has {named}: rename the kernel to {file}."
    elif not folder.is_dir():
        message = (
            f"{file} was not handed in: there is no folder {folder}. The files of a lab are "
            f"looked for in DIR/{lab.name}/."
        )
    return Build("missing", message, "")


def _undefined(output: str, lab: Lab) -> list[str]:
    found = re.findall(r"undefined (?:reference to|symbol:) [`'\"]?(\w+)", output)
    return [name for name in lab.functions if name in found]


def _sandboxed_tool(command: Sequence[str], file: Path, sandbox: Sandbox | None) -> list[str]:
    full = [*command, str(file)]
    return full if sandbox is None else sandbox.tool_command(full, [file])


def _link_failure(
    output: str, text: str, lab: Lab, language: str, object_file: Path, sandbox: Sandbox | None
) -> Build:
    missing = _undefined(output, lab)
    file = KERNEL_FILES[language]
    if missing:
        names = " and ".join(missing)
        message = f"{file} does not define {names}, which the contract ({lab.contract}) asks for."
        symbols = output_of(_sandboxed_tool(["nm", "-g", "--defined-only"], object_file, sandbox))
        if language == "fortran" and any(
            re.search(rf"\b(\w+_MOD_)?{name}_?$", symbols, re.MULTILINE) for name in missing
        ):
            message += " Fortran has given the name a decoration: add bind(c) to the subroutine."
        elif language == "c" and any(
            re.search(rf" [a-z] {name}$", symbols, re.MULTILINE) for name in missing
        ):
            message += " A static function can't be called from outside its file."
        else:
            message += " Is the name spelt as in the contract?"
        return Build("does_not_link", message, "")
    return Build("does_not_link", f"{file} compiles but can't be linked.", text)


def names_trouble(object_file: Path, isolated: Path, lab: Lab, file: str) -> Build | None:
    """Return the failure of a kernel that defines or uses names that it must not; None where it
    does not. isolated: the object with its names made local, which may be missing; file: the
    kernel's name, for messages."""
    symbols = read_symbols(object_file)
    if "main" in symbols.defined:
        return Build("does_not_link", f"{file} defines a main program; the kit has its own.", "")
    complaint = names_complaint(symbols, file, lab.functions)
    if complaint is None:
        others = not_isolated(read_symbols(isolated), lab.functions)
        if others:
            complaint = f"{file} defines {others[0]} in a way that can't be kept to itself."
    return Build("does_not_link", complaint, "") if complaint else None


def _forget_other_level(staged: Path, worker: Path, sandbox: Sandbox | None) -> None:
    """Remove what was compiled in another kind of sandbox, or in none, where includes may find
    other files, so that the kernel is compiled anew. The kind is kept next to `staged`."""
    mark = staged.with_name(staged.name + ".level")
    level = level_of(sandbox)
    if not mark.is_file() or mark.read_text(encoding="utf-8") != level:
        _forget_built(worker)
        mark.write_text(level, encoding="utf-8")


def _explain_oddity(failed: Build, staged: Path) -> Build:
    """Return a failed build with a sentence on what its file is, where kind_of_text finds
    something. Of a file that is no text, message and compiler's output are dropped."""
    kind = kind_of_text(staged.read_bytes())
    if kind is None:
        return failed
    if kind.is_text:
        return structs.replace(failed, message=f"{failed.message} It {kind.why}.")
    return structs.replace(failed, message=f"{staged.name} {kind.why}.", output="")


def _forget_built(worker: Path) -> None:
    """Remove what a kernel was compiled to. Ninja compares times only, and a new kernel may be no
    newer than the last object."""
    objects = worker.parent.glob(f"CMakeFiles/{worker.name}-kernel.dir/**/*.o")
    for path in (*objects, *worker.parent.glob(f"{worker.name}*")):
        if path.is_file():
            path.unlink()


def starting_code_failure(
    installation: Installation,
    lab: Lab,
    language: str,
    programs: Sequence[Path],
    targets: Sequence[str],
    sandbox: Sandbox | None,
) -> str | None:
    """Build targets with the starting code in place of a kernel. Returns the messages where that
    fails, too; None where it is built. The kernel is put back. programs: what the targets make,
    which is removed before and after. Raises what configure and stage raise, and NumalabError where
    it fails and a folder is full."""
    file = KERNEL_FILES[language]
    staged = installation.staged_folder(lab.name) / file
    kernel = staged.read_bytes()
    try:
        for program in programs:
            _forget_built(program)
        stage(installation.pristine_folder(lab.name) / file, staged)
        done = _ninja(installation, targets, sandbox)
        return None if done.returncode == 0 else _failure(done.stdout)
    except BuildTooLong as error:
        return str(error)
    finally:
        staged.write_bytes(kernel)
        for program in programs:
            _forget_built(program)


def _check_with_starting_code(
    installation: Installation,
    lab: Lab,
    language: str,
    targets: Sequence[str],
    sandbox: Sandbox | None,
) -> None:
    """Raise NumalabError where starting code can't be built either: the kernel is not at fault."""
    worker = installation.worker(lab.name, language, "submission")
    failure = starting_code_failure(installation, lab, language, [worker], targets, sandbox)
    if failure is not None:
        raise NumalabError(
            f"{KERNEL_FILES[language]} can't be built, and neither can the starting code of "
            f"{lab.name} in its place: the fault is not the kernel's. Fix what is told below, "
            f"then try again:\n{failure}"
        )


def build_kernel(
    installation: Installation,
    lab: Lab,
    language: str,
    folder: Path,
    sandbox: Sandbox | None = None,
    source: Path | None = None,
) -> Build:
    """Build the worker of a kernel. Returns how it went, with messages for the student. Raises
    NumalabError where starting code can't be built either, and what configure raises.

    Args:
        folder: of the kernel.
        sandbox: of the compiler; None: none.
        source: the file that is read as the kernel; None: the one with its name in the folder.
    """
    file = KERNEL_FILES[language]
    staged = installation.staged_folder(lab.name) / file
    messages = staged.with_name(file + ".said")  # of the compiler, kept for later calls
    is_own = installation.is_own(folder)
    try:
        if not is_own and folder.is_symlink():
            raise NotPlain("lies in a folder that is a link")
        before = staged.read_bytes() if staged.is_file() else None
        is_there = stage(source or folder / file, staged, follow_links=is_own)
    except NotPlain as error:
        return Build("missing", f"{file} {error}; hand in the file itself.", "")
    if not is_there:
        return _missing(installation, lab, folder, language)
    worker = installation.worker(lab.name, language, "submission")
    if staged.read_bytes() != before:
        _forget_built(worker)
    _forget_other_level(staged, worker, sandbox)
    targets = [worker.name, *([worker.name + LINK_JOB] if lab.has_link_job else [])]
    try:
        done = _ninja(installation, targets, sandbox)
    except BuildTooLong:
        _check_with_starting_code(installation, lab, language, targets, sandbox)
        return Build(
            "does_not_compile", f"{file} was still not compiled after {BUILD_LIMIT_S} s.", ""
        )
    rename = {
        str(staged.resolve()): file,
        str(staged): file,
        f"submissions/{lab.name}/{file}": file,
        f"labs/{lab.name}/{worker.name}-kernel.o": file,  # with its names made local
    }
    text = compiler_output(done.stdout, rename)
    notes = misspelt_directives(staged.read_text(errors="replace"), language)
    object_file = next(worker.parent.glob(f"CMakeFiles/{worker.name}-kernel.dir/**/{file}.o"), None)
    if language == "fortran" and object_file is not None:
        complaint = interface_complaint(
            staged, installation.lab_folder(lab.name) / lab.contract, lab, sandbox
        )
        if complaint:
            return Build("wrong_interface", complaint, "")
    is_linked = done.returncode == 0
    is_not_linked = "undefined reference" in done.stdout or "ld: " in done.stdout
    if object_file is not None and (is_linked or is_not_linked):
        isolated = worker.with_name(f"{worker.name}-kernel.o")
        trouble = names_trouble(object_file, isolated, lab, file)
        if trouble is not None:
            return trouble
    if is_linked:
        if "no work to do" not in done.stdout:
            messages.write_text(text, encoding="utf-8")
        warnings = messages.read_text(encoding="utf-8") if messages.is_file() else ""
        return Build("ok", "", "\n".join([*notes, *([warnings] if warnings else [])]))
    if not _undefined(done.stdout, lab):
        _check_with_starting_code(installation, lab, language, targets, sandbox)
    if object_file is not None and is_not_linked:
        failed = _link_failure(done.stdout, text, lab, language, object_file, sandbox)
        return _explain_oddity(failed, staged)
    if "conflicting types for" in done.stdout:
        names = [n for n in lab.functions if f"conflicting types for '{n}'" in done.stdout]
        if names:
            return Build(
                "wrong_interface",
                f"The interface of {' and '.join(names)} in {file} is not the one that the "
                f"contract ({lab.contract}) asks for.",
                text,
            )
    message = f"{file} does not compile."
    if is_other_language(staged.read_text(errors="replace"), language):
        message += f" It looks like {OTHER_LANGUAGE[language]}: is it the other kernel's text?"
    if "File size limit exceeded" in done.stdout:
        message += (
            " It asks for a larger file than a compiler may write here: leave large arrays without "
            "values of their own."
        )
    return _explain_oddity(Build("does_not_compile", message, "\n".join([*notes, text])), staged)


MPI_REMEDY = (
    "load an MPICH module, or install MPICH (./numalab setup does, or names its package), remove "
    "the folder build/ and run ./numalab setup"
)
