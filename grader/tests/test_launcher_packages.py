"""The launcher on systems that are not Debian, or where nobody is root: what it finds missing,
how it says so, and that it goes on where it can. Systems are made of stand-ins: an os-release, a
PATH of few programs, and compilers that look in the folders of the variables."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from numalab.harness import build_folder
from numalab.installation import find_installation

ROOT = find_installation("gnu").root
TABLE = ROOT / "common/setup/packages.tsv"
TOOLS = (
    "basename", "cat", "cmp", "cp", "date", "dirname", "env", "mktemp", "rm", "sed", "sh", "tail",
    "uname",
)  # fmt: skip
SYSTEMS = {
    "apt": 'ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 24.04"',
    "dnf": 'ID=fedora\nPRETTY_NAME="Fedora Linux 43"',
    "el": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9.6"',
    "zypper": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nPRETTY_NAME="openSUSE Leap 16.0"',
    "pacman": 'ID=arch\nPRETTY_NAME="Arch Linux"',
}
INSTALLER = {
    "apt": "sudo apt-get install --no-install-recommends ", "dnf": "sudo dnf install ",
    "el": "sudo dnf install ", "zypper": "sudo zypper install ",
    "pacman": "sudo pacman -S --needed ",
}  # fmt: skip
# What a site's ways of installing set, and to what below a prefix.
SITES = {
    "modules": {"CPATH": "/include", "LIBRARY_PATH": "/lib"},
    "older modules": {"C_INCLUDE_PATH": "/include", "LD_LIBRARY_PATH": "/lib"},
    "conda": {"CONDA_PREFIX": ""},
    "Spack": {"CMAKE_PREFIX_PATH": ""},
}
# A gcc that has no folder of its own for headers, nor for libraries.
GCC = """\
case "$*" in
    *-dumpfullversion*) echo {version} ;;
    *-print-file-name=*) echo "${{*#*=}}" ;;
    *) exit 1 ;;
esac
"""
# It knows a library whose .pc file, which is its version, is in PKG_CONFIG_PATH.
PKG_CONFIG = """\
name=${2%% *}
IFS=:
for folder in $PKG_CONFIG_PATH; do
    [ -f "$folder/$name.pc" ] || continue
    read -r found <"$folder/$name.pc"
    case "$1 $2 $found" in
        --modversion*) echo "$found" ;;
        --variable=pcfiledir*) echo "$folder" ;;
        "--exists hwloc >= 2.5 2.4.1") exit 1 ;;
    esac
    exit 0
done
exit 1
"""


@dataclass(frozen=True)
class Node:
    """A system as the launcher sees it. home: what it may write; programs: its PATH."""

    home: Path
    programs: Path
    root: Path

    def program(self, name: str, text: str = "exit 0\n") -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)

    def file(self, name: str, text: str = "") -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(self.programs), "NUMALAB_OS_RELEASE": str(self.home / "os-release"),
        }  # fmt: skip
        return subprocess.run(
            [str(self.root / "numalab"), *words], env=environment | more, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    def install_python(self) -> None:
        """As if set-up had done all that is the user's own."""
        venv = self.root / ".venv"
        python = venv / "bin/python"
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\necho "python $*"\n')
        python.chmod(0o755)
        shutil.copy(ROOT / "grader/requirements.txt", venv / "installed-requirements")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """With nothing but a shell and a few tools, and a user who is nobody."""
    root, programs = tmp_path / "kit", tmp_path / "bin"
    (root / "grader").mkdir(parents=True)
    programs.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    shutil.copy(ROOT / "numalab", root)
    shutil.copytree(ROOT / "common/setup", root / "common/setup")
    for path in (ROOT / "grader/pyproject.toml", *(ROOT / "grader").glob("requirements*.txt")):
        shutil.copy(path, root / "grader")
    made = Node(tmp_path, programs, root)
    made.program("id", "echo 1000\n")
    made.file("os-release", SYSTEMS["dnf"])
    return made


def with_everything(node: Node, prefix: Path) -> None:
    """What is needed: programs on the PATH, and a prefix as modules, conda or Spack make them."""
    for name in ("gfortran", "cmake", "ninja", "addr2line", "objcopy", "ld"):
        node.program(name)
    node.program("gcc", GCC.format(version="14.2.0"))
    node.program("cmake", "echo cmake version 3.31.2\n")
    node.program("pkg-config", PKG_CONFIG)
    for name in ("stdlib.h", "numa.h"):
        (prefix / "include").mkdir(parents=True, exist_ok=True)
        (prefix / "include" / name).touch()
    (prefix / "lib/pkgconfig").mkdir(parents=True)
    (prefix / "lib/libomp.so").touch()
    (prefix / "lib/pkgconfig/hwloc.pc").write_text("2.11.2\n")
    (prefix / "lib/pkgconfig/jansson.pc").write_text("2.14\n")
    node.install_python()


def rows() -> list[dict[str, str]]:
    head, *lines = TABLE.read_text().splitlines()
    names = head.removeprefix("# ").split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


# ---- the table -------------------------------------------------------------------------


def test_the_table_is_whole_and_tells_what_is_optional() -> None:
    table = rows()
    for row in table:
        assert all(row.values()), row
        assert row["kind"] in ("needed", "optional")
        assert (row["without_it"] == "-") == (row["kind"] == "needed")
        # Where a package is needed, every system has it; Spack's compilers come with headers.
        assert row["kind"] != "needed" or "-" not in [row[name] for name in SYSTEMS], row
    assert len({row["need"] for row in table}) == len(table)


@pytest.mark.parametrize("system", [*SYSTEMS, "conda", "spack"])
def test_all_packages_are_printed_once(node: Node, system: str) -> None:
    done = node.run("setup", "--packages", system)
    assert done.returncode == 0 and done.stderr == ""
    printed = done.stdout.split()
    assert set(printed) == {name for row in rows() for name in row[system].split()} - {"-"}
    assert len(printed) == len(set(printed))
    assert node.run("setup", f"--packages={system}").stdout == done.stdout
    if system in SYSTEMS:
        node.file("os-release", SYSTEMS[system])
        assert node.run("setup", "--packages").stdout == done.stdout


def test_packages_of_an_unknown_system_are_asked_for_in_vain(node: Node) -> None:
    done = node.run("setup", "--packages", "brew")
    assert done.returncode == 2
    assert "not brew" in done.stderr and done.stdout == ""


def test_the_readme_names_what_is_optional_with_the_kit_s_own_words() -> None:
    """Its table has a row for each cost, and none that the launcher doesn't name."""
    readme = (ROOT / "README.md").read_text()
    section = readme.split("## On a cluster without root")[1].split("\n## ")[0]
    named = {
        "mpich": "MPICH", "clang": "clang", "sanitizer": "ThreadSanitizer", "bwrap": "bubblewrap",
        "seccomp": "libseccomp", "qemu": "QEMU", "static-libc": "static C library",
        "numactl": "`numactl`", "lstopo": "`lstopo`",
    }  # fmt: skip
    assert {row["need"] for row in rows() if row["kind"] == "optional"} == set(named)
    table = section.split("| without | what is lost |")[1]
    assert all(name in table for name in named.values())


# ---- nothing is there ------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_bare_system_is_told_in_its_own_words(node: Node, system: str) -> None:
    """No apt is called, and none is spoken of where there is none."""
    node.file("os-release", SYSTEMS[system])
    done = node.run("grade", "01")
    assert done.returncode == 3
    said = done.stderr
    assert "not found" not in said
    name = SYSTEMS[system].split('PRETTY_NAME="')[1].rstrip('"')
    assert f"on {name}, found:" in said
    (line,) = [line for line in said.splitlines() if line.strip().startswith(INSTALLER[system])]
    packages = line.strip().removeprefix(INSTALLER[system]).split()
    needed = {n for row in rows() if row["kind"] == "needed" for n in row[system].split()}
    # But for what the host of this test has in /usr.
    assert {rows()[0][system], "cmake"} <= set(packages)
    assert set(packages) <= {n for row in rows() for n in row[system].split()}
    assert needed & set(packages) >= {row[system] for row in rows()[:5]}
    assert "micromamba create -n numalab -c conda-forge gcc gfortran" in said
    assert "README.md, On a cluster without root" in said
    assert ("apt-get" in said) == (system == "apt")


def test_what_is_optional_is_told_with_its_cost(node: Node) -> None:
    said = node.run("setup").stderr
    needed, optional = said.split("missing, and the rest works without:")
    assert "a C compiler: gcc 11 or newer: gcc\n" in needed
    assert "bubblewrap" not in needed
    assert "  bubblewrap: bubblewrap\n      without it there is no grade --sandbox\n" in optional


def test_who_is_known_by_no_file_is_known_by_the_package_manager(node: Node) -> None:
    node.file("os-release", "ID=somethingnew\nPRETTY_NAME=New")
    node.program("zypper")
    assert "sudo zypper install" in node.run("setup").stderr
    (node.programs / "zypper").unlink()
    said = node.run("setup").stderr
    assert "packages: Debian's names" in said and "an administrator" not in said


def test_musl_is_refused_in_a_sentence(node: Node) -> None:
    node.file("os-release", 'ID=alpine\nPRETTY_NAME="Alpine Linux v3.22"')
    done = node.run("grade", "01")
    assert done.returncode == 3
    assert "Alpine Linux v3.22 has the C library musl" in done.stderr
    assert "missing" not in done.stderr


# ---- from modules, conda or Spack ------------------------------------------------------


@pytest.mark.parametrize("site", SITES)
def test_what_a_site_has_elsewhere_is_found(node: Node, site: str) -> None:
    prefix = node.home / "site of ours"
    with_everything(node, prefix)
    assert node.run("doctor").returncode == 3
    before = "" if site == "conda" else "/nowhere:"
    named = {name: f"{before}{prefix}{end}" for name, end in SITES[site].items()}
    done = node.run("doctor", **named)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "python -m numalab doctor"
    assert "missing" not in done.stderr


def test_without_what_is_optional_commands_run_and_set_up_tells(node: Node) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    done = node.run("doctor", CONDA_PREFIX=str(prefix))
    assert done.returncode == 0 and done.stderr == ""
    done = node.run("setup", CONDA_PREFIX=str(prefix))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "python -m numalab setup"
    assert "nothing works without" not in done.stderr
    assert "the rest works without:" in done.stderr and "bubblewrap" in done.stderr


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("gcc", "a C compiler: gcc 11 or newer (found 8.5.0): gcc"),
        ("cmake", "CMake 3.25 or newer (found cmake version 3.20.2): cmake"),
        ("hwloc", "hwloc 2.5 or newer, with headers (found 2.4.1): hwloc-devel"),
    ],
)
def test_what_is_too_old_is_told_with_the_least_version(node: Node, what: str, said: str) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    if what == "gcc":
        node.program("gcc", GCC.format(version="8.5.0"))
    elif what == "cmake":
        node.program("cmake", "echo cmake version 3.20.2\n")
    else:
        (prefix / "lib/pkgconfig/hwloc.pc").write_text("2.4.1\n")
    done = node.run("setup", CONDA_PREFIX=str(prefix))
    assert done.returncode == 3
    needed = done.stderr.split("nothing works without:")[1].split("the rest works without:")[0]
    assert needed.splitlines()[1].strip() == said


def test_a_gcc_of_another_name_is_taken_from_cc(node: Node) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    (node.programs / "gcc").rename(node.programs / "gcc-13")
    free = 'case "$*" in --version) echo "Free Software Foundation" ;; esac\n'
    node.program("gcc-13", free + GCC.format(version="13.3.0"))
    node.program("icx", "echo Intel\n")
    assert node.run("doctor", CONDA_PREFIX=str(prefix)).returncode == 3
    assert node.run("doctor", CONDA_PREFIX=str(prefix), CC="icx").returncode == 3
    assert node.run("doctor", CONDA_PREFIX=str(prefix), CC="gcc-13").returncode == 0


def test_another_mpi_is_not_taken_for_mpich(node: Node) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    node.program("mpiexec")
    node.program("mpicc", "echo '#define OMPI_MAJOR_VERSION 5'\n")
    said = node.run("setup", CONDA_PREFIX=str(prefix)).stderr
    if not list(Path("/usr/include").glob("*/mpich/mpi.h")):
        assert "(the mpicc here is not MPICH's, or lacks its header)" in said
    node.program("cc-of-mpich", "echo '#define MPICH_VERSION \"4.3\"'\n")
    said = node.run("setup", CONDA_PREFIX=str(prefix), MPICC="cc-of-mpich").stderr
    assert "labs 06, 07 and 09" not in said


# ---- Python ----------------------------------------------------------------------------


def python_with(*modules: str) -> str:
    """A stand-in that imports only these, and writes down what it is asked to make."""
    cases = "".join(f'    "-c import {name}") exit 0 ;;\n' for name in modules)
    return (
        'case "$*" in\n    "-c import sys;"*) exit 0 ;;\n'
        f'{cases}    "-c "*) exit 1 ;;\nesac\n'
        'echo "$0 $*" >>"$LOG"\nexit 1\n'
    )


@pytest.mark.parametrize(
    ("modules", "made"),
    [
        (("venv, ensurepip", "virtualenv", "venv, pip"), "-m venv --clear"),
        (("virtualenv", "venv, pip"), "-m virtualenv --quiet --clear"),
        (("venv, pip",), "-m venv --clear --without-pip"),
    ],
)
def test_a_virtual_environment_is_made_in_the_way_that_there_is(
    node: Node, modules: tuple[str, ...], made: str
) -> None:
    prefix, log = node.home / "site", node.home / "log"
    with_everything(node, prefix)
    shutil.rmtree(node.root / ".venv")
    node.program("python3", "exit 1\n")
    node.program("python3.12", python_with(*modules))
    done = node.run("doctor", CONDA_PREFIX=str(prefix), LOG=str(log))
    assert done.returncode == 3 and "can't make the virtual environment" in done.stderr
    assert log.read_text().split(maxsplit=1)[1].strip() == f"{made} {node.root}/.venv"


def test_where_pip_itself_can_not_be_had_the_folder_of_wheels_is_told(node: Node) -> None:
    """Python with neither ensurepip nor virtualenv, and no network."""
    prefix = node.home / "site"
    with_everything(node, prefix)
    shutil.rmtree(node.root / ".venv")
    made = 'case "$*" in "-m venv "*) exit 0 ;; esac\n'
    node.program("python3", made + python_with("venv, pip"))
    done = node.run("doctor", CONDA_PREFIX=str(prefix), LOG=str(node.home / "log"))
    assert done.returncode == 3
    assert "pip could not install pip" in done.stderr
    assert "pip download --dest wheels -r grader/requirements.txt\n" in done.stderr


def test_where_pypi_is_out_of_reach_a_folder_of_wheels_is_told(node: Node) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    (node.root / ".venv/installed-requirements").unlink()
    (node.root / ".venv/bin/python").write_text("#!/bin/sh\nexit 1\n")
    node.program("python3", f'case "$*" in *" venv "*) mkdir -p {node.root}/.venv/bin\n'
                 f'printf "#!/bin/sh\\nexit 1\\n" >{node.root}/.venv/bin/python\n'
                 f"chmod +x {node.root}/.venv/bin/python ;; esac\n")  # fmt: skip
    (node.programs / "mkdir").symlink_to(shutil.which("mkdir") or "")
    (node.programs / "chmod").symlink_to(shutil.which("chmod") or "")
    done = node.run("doctor", CONDA_PREFIX=str(prefix))
    assert done.returncode == 3
    assert "pip download --dest wheels -r grader/requirements.txt\n" in done.stderr
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=/path/to/wheels ./numalab setup" in done.stderr


# ---- apt, where nobody may install -----------------------------------------------------


@pytest.mark.parametrize("permitted", [True, False])
def test_sudo_is_used_where_it_asks_for_no_password(node: Node, permitted: bool) -> None:
    """On many clusters sudo is there, and refuses: the kit goes on without what is optional."""
    prefix = node.home / "site"
    with_everything(node, prefix)
    node.file("os-release", SYSTEMS["apt"])
    log = node.home / "log"
    for name in ("apt-get", "apt-cache"):
        node.program(name, f'echo "{name} $*" >>{log}\n')
    node.program("sudo", '[ "$1" != -n ] || exit 0\n"$@"\n' if permitted else "exit 1\n")
    done = node.run("doctor", CONDA_PREFIX=str(prefix))
    assert done.returncode == 0, done.stderr
    assert ("apt-get install" in (log.read_text() if log.exists() else "")) == permitted


def test_what_apt_could_not_install_is_tried_once(node: Node) -> None:
    prefix = node.home / "site"
    with_everything(node, prefix)
    node.program("id", "echo 0\n")
    node.program("apt-cache")
    node.program("apt-get", "exit 1\n")
    first, second = (node.run("doctor", CONDA_PREFIX=str(prefix)) for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert "going on without" in first.stderr and "bwrap" in first.stderr
    assert second.stderr == ""
    assert "going on without" in node.run("setup", CONDA_PREFIX=str(prefix)).stderr


# ---- CMake's compilers -----------------------------------------------------------------

VERSIONS = {
    "gcc-13": "gcc-13 (GCC) 13.3.0 Copyright Free Software Foundation",
    "x86_64-conda-linux-gnu-gfortran": "GNU Fortran 14.2.0 Free Software Foundation",
    "icx": "Intel(R) oneAPI DPC++/C++ Compiler",
    "clang-21": "clang version 21.1.0",
}


@pytest.mark.parametrize(
    ("preset", "environment", "there", "chosen"),
    [
        ("gnu", {}, (), []),
        ("gnu", {"CC": "gcc-13", "FC": "x86_64-conda-linux-gnu-gfortran"}, (),
         ["-DCMAKE_C_COMPILER=gcc-13", "-DCMAKE_Fortran_COMPILER=x86_64-conda-linux-gnu-gfortran"]),
        ("gnu", {"CC": "icx", "FC": "ifx"}, (), []),
        ("gnu", {"CC": "x86_64-conda-linux-gnu-gfortran", "FC": "gcc-13"}, (), []),
        ("sanitize", {"CC": "clang-21"}, ("clang-21",), []),
        ("llvm", {}, ("clang", "clang-21"), ["-DCMAKE_C_COMPILER=clang-21"]),
        ("llvm", {"CC": "gcc-13"}, ("clang",), ["-DCMAKE_C_COMPILER=clang"]),
        ("llvm", {"CC": "clang-21"}, ("clang-19",), ["-DCMAKE_C_COMPILER=clang-21"]),
        ("llvm", {}, (), []),
    ],
)  # fmt: skip
def test_compilers_of_modules_are_taken_where_the_kit_knows_them(
    preset: str,
    environment: dict[str, str],
    there: tuple[str, ...],
    chosen: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def which(name: str) -> str | None:
        return f"/usr/bin/{name}" if name in there else None

    monkeypatch.setattr(build_folder, "says_version", lambda one: VERSIONS.get(one, ""))
    monkeypatch.setattr(shutil, "which", which)
    assert build_folder.chosen_compilers(preset, environment) == chosen


PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(site C)
list(APPEND CMAKE_MODULE_PATH {modules})
include(SiteFolders)
foreach(name HWLOC_VERSION JANSSON_VERSION NUMALAB_NUMA_INCLUDE NUMALAB_NUMA_LIBRARY)
  message(STATUS "${{name}}=${{${{name}}}}")
endforeach()
"""


@pytest.mark.builds
@pytest.mark.parametrize("site", SITES)
def test_cmake_finds_what_the_launcher_found(tmp_path: Path, site: str) -> None:
    """The site's, though this system has its own: versions tell them apart."""
    prefix = tmp_path / "site"
    for name in ("include/numa.h", "lib/libnuma.so", "lib/libhwloc.so", "lib/libjansson.so"):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).touch()
    (prefix / "lib/pkgconfig").mkdir()
    for name in ("hwloc", "jansson"):
        text = f"Name: {name}\nDescription: of a site\nVersion: 77.7\nLibs: -l{name}\n"
        (prefix / f"lib/pkgconfig/{name}.pc").write_text(text)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(modules=ROOT / "common/cmake"))
    names = {name for of_site in SITES.values() for name in of_site} | {"PKG_CONFIG_PATH"}
    environment = {k: v for k, v in os.environ.items() if k not in names}
    environment |= {name: f"{prefix}{end}" for name, end in SITES[site].items()}
    done = subprocess.run(
        ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "HWLOC_VERSION=77.7" in done.stdout and "JANSSON_VERSION=77.7" in done.stdout
    assert f"NUMALAB_NUMA_INCLUDE={prefix}/include\n" in done.stdout
    assert f"NUMALAB_NUMA_LIBRARY={prefix}/lib/libnuma.so\n" in done.stdout


@pytest.mark.builds
def test_what_virtual_nodes_start_needs_no_libseccomp() -> None:
    command = [
        "gcc", "-fsyntax-only", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        "-DNUMALAB_WITHOUT_FILTERS", f"-I{ROOT}/common", f"-I{ROOT}/common/include",
        str(ROOT / "common/confine/main.c"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_hides_an_installed_program_is_named_with_its_place(node: Node) -> None:
    """apt brings a newer one, which the PATH does not find first."""
    with_everything(node, node.home / "site")
    node.program("cmake", "echo cmake version 3.16.3\n")
    node.program("id", "echo 0\n")
    node.program("apt-get")
    node.program("apt-cache")
    done = node.run("setup", "--yes", CMAKE_PREFIX_PATH=str(node.home / "site"))
    assert done.returncode == 3
    said = " ".join(done.stderr.split())
    assert f"{node.programs}/cmake comes first on PATH, and is still too old" in said
    assert "CMake 3.25 or newer (found cmake version 3.16.3)" in said
    assert "PATH=/usr/bin:$PATH ./numalab setup" in said


def test_what_hides_an_installed_library_is_named_with_its_place(node: Node) -> None:
    """As above, where a module of a site has put an old one first for pkg-config."""
    site = node.home / "site"
    with_everything(node, site)
    (site / "lib/pkgconfig/hwloc.pc").write_text("2.4.1\n")
    node.program("id", "echo 0\n")
    node.program("apt-get")
    node.program("apt-cache")
    done = node.run("setup", "--yes", CMAKE_PREFIX_PATH=str(site))
    assert done.returncode == 3
    said = " ".join(done.stderr.split())
    assert f"{site}/lib/pkgconfig/hwloc.pc comes first, and is still too old" in said
    assert "(found 2.4.1)" in said
    assert "PKG_CONFIG_PATH=$(pkg-config --variable pc_path pkg-config) ./numalab setup" in said
