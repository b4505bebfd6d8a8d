"""The C code of the harness and of the labs' drivers, as cppcheck and clang-tidy see it.

.clang-tidy says what the latter looks for. What is found and is no fault stands here by file and
name, with the number of such findings: another one fails.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from numalab.installation import Installation

pytestmark = pytest.mark.slow

Found = Counter[tuple[str, str]]

PROC = "text of Linux's own, whose fields fit; how many were read is checked"
BY_CALLERS = "can't be, by what the callers see to"

# File and check: how many, and why they are none.
TIDY_EXCEPTIONS: dict[tuple[str, str], tuple[int, str]] = {
    ("common/confine/main.c", "cert-err34-c"): (1, "uname's numbers"),
    ("common/driver/changed.c", "clang-analyzer-core.NullPointerArithm"): (1, BY_CALLERS),
    ("common/guest/init.c", "cert-err34-c"): (1, PROC),
    ("common/guest/init.c", "clang-analyzer-core.NonNullParamChecker"): (1, BY_CALLERS),
    ("common/guest/init.c", "clang-analyzer-unix.StdCLibraryFunctions"): (1, BY_CALLERS),
    ("common/guest/network.c", "cert-err34-c"): (1, "six bytes of two digits, counted"),
    ("common/guest/probe_host.c", "clang-analyzer-unix.Errno"): (1, "it is read where it failed"),
    ("common/guest/probe_host.c", "clang-analyzer-core.uninitialized.Assign"): (1, BY_CALLERS),
    ("common/guest/remote.c", "bugprone-not-null-terminated-result"): (1, "ended behind it"),
    ("common/guest/remote.c", "clang-analyzer-unix.cstring.UninitializedRead"): (1, BY_CALLERS),
    ("common/guest/remote.c", "clang-analyzer-unix.StdCLibraryFunctions"): (1, BY_CALLERS),
    ("common/monitor/describe_node.c", "clang-analyzer-unix.Malloc"): (1, "the process ends"),
    ("common/monitor/memfd_accounting.c", "cert-err34-c"): (4, PROC),
    ("common/monitor/main.c", "clang-analyzer-unix.Malloc"): (1, "the process ends"),
    ("common/monitor/mapping.c", "cert-err34-c"): (2, PROC),
    ("common/monitor/memory.c", "cert-err34-c"): (6, PROC),
    ("common/monitor/numa_map.c", "cert-err34-c"): (3, "Linux writes sysfs"),
    ("common/monitor/proc.c", "cert-err34-c"): (2, PROC),
    ("common/monitor/processes/heartbeat.c", "cert-err34-c"): (1, PROC),
    ("common/monitor/processes/memory_files.c", "clang-analyzer-security.insecureAPI.strcpy"): (
        1, "its length is compared first"),
    ("common/monitor/processes/remote_memory.c", "cert-err34-c"): (1, PROC),
    ("common/monitor/processes/remote_memory.c", "clang-analyzer-optin.portability.UnixAPI"): (
        1, "of no part nothing is read"),
    ("common/monitor/processes/worker_process.c", "cert-err34-c"): (1, PROC),
    ("common/monitor/runs/locate.c", "clang-analyzer-optin.portability.UnixAPI"): (
        1, "a node has a PU"),
    ("common/monitor/runs/memory_policy.c", "cert-err34-c"): (2, PROC),
    ("common/monitor/runs/series.c", "clang-analyzer-optin.portability.UnixAPI"): (1, BY_CALLERS),
    ("common/monitor/sample.c", "clang-analyzer-unix.Malloc"): (1, "free_all leaves NULL behind"),
    ("common/monitor/sizing.c", "clang-analyzer-core.DivideZero"): (1, BY_CALLERS),
    ("common/monitor/steal_time.c", "cert-err34-c"): (1, PROC),
    ("common/monitor/threads.c", "cert-err34-c"): (1, PROC),
    ("common/probe/memory.c", "cert-err34-c"): (3, PROC),
}  # fmt: skip
CPPCHECK_EXCEPTIONS: dict[tuple[str, str], tuple[int, str]] = {
    ("common/guest/network.c", "invalidScanfArgType_int"): (5, "it takes a cast's type for char's"),
    ("common/monitor/processes/environment.c", "arrayIndexOutOfBoundsCond"): (
        1, "i stops at the count, which has that limit"),
    ("common/monitor/residency.c", "nullPointerArithmeticOutOfMemory"): (1, "error is set then"),
    ("common/monitor/results.c", "uninitvar"): (1, "it does not see the initializer of a list"),
    ("common/monitor/runs/generation.c", "uninitvar"): (1, "as many are read as were set"),
    ("common/worker/fault_report.c", "duplicateValueTernary"): (1, "one of them is a macro"),
}  # fmt: skip

# cppcheck's checks that are not asked for, and why.
CPPCHECK_LEFT_OUT = {
    "missingIncludeSystem": "it need not know the system's headers",
    "constParameterCallback": "functions of one table have one type",
    "constParameterPointer": "of a resource that the function ends or changes by a call",
    "constVariablePointer": "likewise",
    "knownConditionTrueFalse": "constants that variants of a lab replace",
    "unusedStructMember": "laid out for Linux or a file format",
    "redundantContinue": "while (...) continue; is the house's empty loop",
    "clarifyCalculation": "clang-format's layout shows it",
    "unknownMacro": "hwloc's loops; clang-tidy reads those functions",
    "constStatement": "OpenMP's pragmas of two lines",
}


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def sources(root: Path) -> list[str]:
    """Files that are tracked or new. A variant's driver is a template, and no C before it is
    filled in."""
    asked = ("common/*.c", "labs/*/grading/driver.c")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *asked],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    files = [file for file in listed if "/variant/" not in file and "/tests/" not in file]
    assert len(files) >= 100
    return files


def flags(command: str) -> list[str]:
    """Of a compiler's command line what changes what the source says."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in ("-isystem", "-I", "-D"):
            kept += [word, next(words)]
        elif word.startswith(("-I", "-D", "-isystem", "-std=", "-fopenmp")):
            kept.append(word)
    return kept


def write_commands(root: Path, build: Path, files: list[str], folder: Path) -> None:
    """As the build has them, for clang; files that only a lab's own steps compile get a common
    one. clang may have no omp.h of its own."""
    built = json.loads((build / "compile_commands.json").read_text())
    known = {entry["file"]: flags(entry["command"]) for entry in built}
    usual = ["-std=c11", f"-I{root / 'common'}", f"-I{root / 'common/include'}"]
    asked = ["gcc", "-print-file-name=include/omp.h"]
    header = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    if header.is_file():
        shutil.copy(header, folder)
    commands = []
    for file in files:
        path = str(root / file)
        words = ["clang", *known.get(path, usual), "-isystem", str(folder), "-c", path]
        commands.append({"directory": str(root), "file": path, "arguments": words})
    (folder / "compile_commands.json").write_text(json.dumps(commands))


def without_exceptions(
    found: Found, exceptions: dict[tuple[str, str], tuple[int, str]], said: str
) -> None:
    """Fail with what was found and what is excepted, wherever the two differ."""
    expected = {key: count for key, (count, _) in exceptions.items()}
    differing = {
        key: (found.get(key, 0), expected.get(key, 0))
        for key in sorted(found.keys() | expected.keys())
        if found.get(key, 0) != expected.get(key, 0)
    }
    assert not differing, f"{differing}\n{said}"


def test_cppcheck_finds_nothing_new(installation: Installation) -> None:
    files = sources(installation.root)
    done = subprocess.run(
        [
            program("cppcheck"), "--quiet", "--std=c11", "--inline-suppr",
            "--enable=warning,style,performance,portability",
            "--template={file}:{line} {id} {message}",
            *(f"--suppress={check}" for check in CPPCHECK_LEFT_OUT),
            "-Icommon", "-Icommon/include", *files,
        ],
        cwd=installation.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^(\S+?):\d+ (\w+) ", done.stderr, re.MULTILINE)
    without_exceptions(Counter(lines), CPPCHECK_EXCEPTIONS, done.stderr)


def test_clang_tidy_finds_nothing_new(installation: Installation, tmp_path: Path) -> None:
    files = sources(installation.root)
    write_commands(installation.root, installation.build, files, tmp_path)

    def look(file: str) -> str:
        done = subprocess.run(
            [program("clang-tidy"), "--quiet", "-p", str(tmp_path), file],
            cwd=installation.root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "clang-diagnostic-error" not in done.stdout, done.stdout
        return done.stdout

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(look, files))
    # A header's finding comes with each file that includes it.
    lines = set(re.findall(r"^(\S+?):(\d+:\d+): warning: .* \[([\w.,-]+)\]$", said, re.MULTILINE))
    root = f"{installation.root}{os.sep}"
    found = Counter((file.removeprefix(root), check) for file, _, check in lines)
    without_exceptions(found, TIDY_EXCEPTIONS, said)
