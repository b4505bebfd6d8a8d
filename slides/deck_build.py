"""Builds the slides: packages of npm, figures, HTML, PDF. CMake calls it, step by step; its
target is `slides` (README.md).

    python deck_build.py --out BUILD packages
    python deck_build.py --out BUILD figures 01_first_touch
    python deck_build.py --out BUILD figures 01_first_touch --results build/gnu/results
    python deck_build.py --out BUILD html 01_first_touch
    python deck_build.py --out BUILD pdf 01_first_touch
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import deck_check
from deck import with_figures, with_fonts
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import write_whole
from numalab.teaching.deck import Deck, parse_deck

SOURCE = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NODE_VERSION = 18  # the oldest that Marp runs on
PACKAGES = ("package.json", "package-lock.json")
MARP = Path("node_modules/@marp-team/marp-cli/marp-cli.js")
STEP_S = 300.0


@dataclass(frozen=True)
class Folders:
    """out: where decks appear; packages: where npm's packages lie. Decks share no other folder,
    since several are built at once."""

    out: Path
    packages: Path

    def figures(self, deck: str) -> Path:
        return self.out / "figures" / deck

    def work(self, deck: str) -> Path:
        """Deck and theme with everything inside."""
        return self.out / "work" / deck


# ---- programs that have to be there ----------------------------------------------------


def _missing(what: str, packages: str) -> UserError:
    return UserError(
        f"{what}. The slides need it: install Debian's {packages} (apt install "
        f"{packages.removeprefix('packages ').removeprefix('package ').replace(' and ', ' ')}), "
        "then build again. The labs and the grader need neither."
    )


def find_node() -> str:
    """Raises UserError."""
    node = shutil.which("node")
    if node is None:
        raise _missing("node was not found", "packages nodejs and npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = version.stdout.strip().removeprefix("v").partition(".")[0]
    if not major.isdigit() or int(major) < NODE_VERSION:
        raise UserError(
            f"{node} is version {version.stdout.strip() or 'unknown'}; the slides need "
            f"{NODE_VERSION} or newer, as Debian 12 has it"
        )
    return node


def find_npm() -> str:
    """Raises UserError."""
    npm = shutil.which("npm")
    if npm is None:
        raise _missing("npm was not found", "packages nodejs and npm")
    return npm


def find_browser() -> str:
    """CHROME_PATH, or Chromium under one of its names. Raises UserError."""
    given = os.environ.get("CHROME_PATH")
    if given:
        if not os.access(given, os.X_OK):
            raise UserError(f"CHROME_PATH is {given}, which can't be run")
        return given
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise _missing(
            "no browser was found that makes PDF (chromium; CHROME_PATH names another one)",
            "package chromium",
        )
    return found


def _run(command: Sequence[str | Path], what: str, **env: str) -> str:
    """Returns what it printed. Raises NumalabError with its last words."""
    try:
        done = subprocess.run(
            [str(word) for word in command], env=os.environ | env, timeout=STEP_S, check=False,
            capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NumalabError(f"{what}: not done after {STEP_S:.0f} s, given up") from error
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise NumalabError(f"{what} failed:\n{last}")
    return done.stdout


# ---- steps ---------------------------------------------------------------------------


def install_packages(folder: Path) -> None:
    """npm's packages, as package-lock.json pins them, unless they are there. Raises UserError,
    NumalabError, OSError."""
    find_node()
    npm = find_npm()
    lock = SOURCE / "package-lock.json"
    installed = folder / "installed-package-lock.json"
    if installed.is_file() and installed.read_bytes() == lock.read_bytes():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        shutil.copyfile(SOURCE / name, folder / name)
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    command: list[str | Path] = [npm, "ci", "--prefix", folder, *options]
    _run(command, f"npm ci in {folder} (it needs a network)")
    # Last, so that an interrupted installation is done again.
    shutil.copyfile(lock, installed)


def read_deck(name: str) -> tuple[Deck, str]:
    """The deck and its text. Raises UserError where there is none."""
    path = SOURCE / f"{name}.md"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in SOURCE.glob("[0-9]*.md")))
        raise UserError(f"there is no deck {name} in {SOURCE}; there are {known}")
    text = path.read_text(encoding="utf-8")
    return parse_deck(name, text), text


def write_html(name: str, folders: Folders) -> Path:
    """One file, with figures and fonts inside. Raises UserError, NumalabError, OSError."""
    _, text = read_deck(name)
    work = folders.work(name)
    work.mkdir(parents=True, exist_ok=True)

    def figure(wanted: str) -> bytes:
        path = folders.figures(name) / f"{wanted}.svg"
        if not path.is_file():
            raise UserError(f"{name}.md shows figures/{wanted}.svg, which no script draws")
        return path.read_bytes()

    def font(path: str) -> bytes:
        return (folders.packages / "node_modules" / path).read_bytes()

    theme = (SOURCE / "theme.css").read_text(encoding="utf-8")
    write_whole(work / "theme.css", with_fonts(theme, font))
    write_whole(work / f"{name}.md", with_figures(text, figure))
    page = folders.out / f"{name}.html"
    _marp(name, folders, "--output", page)
    outside = deck_check.from_elsewhere(page.read_text(encoding="utf-8"))
    if outside:
        page.unlink()
        raise NumalabError(
            f"{name}.html would load from elsewhere: {', '.join(outside[:5])}. A lecture hall "
            "may have no network: use a figure of figures/, or a link"
        )
    return page


def _marp(name: str, folders: Folders, *options: str | Path) -> None:
    work = folders.work(name)
    command = [
        find_node(), folders.packages / MARP, work / f"{name}.md", "--no-stdin",
        "--config-file", SOURCE / "marp.yml", "--theme", work / "theme.css", *options,
    ]  # fmt: skip
    root = {"CHROME_NO_SANDBOX": "1"} if os.geteuid() == 0 else {}
    _run(command, f"Marp, of {name}.md,", **root)


def write_pdf(name: str, folders: Folders) -> Path:
    """Looks whether everything fits, and prints. Raises UserError, NumalabError, OSError."""
    browser = find_browser()
    deck, _ = read_deck(name)
    complaints = look(deck, folders, browser)
    if complaints:
        lines = "\n".join(f"  slide {number}: {what}" for number, what in complaints)
        raise NumalabError(f"{name}.md has slides that can't be shown as they are:\n{lines}")
    path = folders.out / f"{name}.pdf"
    _marp(name, folders, "--pdf", "--pdf-outlines", "--browser-path", browser, "--output", path)
    return path


def look(deck: Deck, folders: Folders, browser: str) -> list[tuple[int, str]]:
    """What does not fit on its slide. Raises UserError, NumalabError, OSError."""
    with tempfile.TemporaryDirectory(prefix="numalab-slides-") as scratch:
        page = Path(scratch) / "look.html"
        _marp(deck.name, folders, "--template", "bare", "--output", page)
        text = page.read_text(encoding="utf-8")
        page.write_text(deck_check.looking_at_itself(text), encoding="utf-8")
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run",
            "--window-size=1280,720", "--virtual-time-budget=20000",
            # Nothing of other hosts: a page that needs them is seen as one without.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={scratch}/profile", "--dump-dom",
            *(["--no-sandbox"] if os.geteuid() == 0 else []), page.as_uri(),
        ]  # fmt: skip
        dumped = _run(command, f"{browser}, laying {deck.name} out,")
    return deck_check.too_much(dumped, len(deck.slides))


def draw_figures(name: str, folders: Folders, results: Path | None) -> None:
    """Draws what the deck shows. results: of an instructor's own gradings, used in the place
    of the kit's records where they have the same. Raises UserError, NumalabError, OSError."""
    from figures import draw

    deck, _ = read_deck(name)
    for line in draw(deck.figures, folders.figures(name), results):
        print(f"slides: {line}")


# ---- the command line ------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """2: the wrong thing was asked for, or something is not installed; 3: it failed."""
    parser = argparse.ArgumentParser(
        prog="deck_build.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, help="folder for what is built")
    parser.add_argument("--packages", type=Path, help="npm's packages (OUT/packages)")
    parser.add_argument("step", choices=("packages", "figures", "html", "pdf"))
    parser.add_argument("deck", nargs="?", help="a deck's name, for all steps but packages")
    parser.add_argument("--results", type=Path, help="figures: evidence of your own gradings")
    given = parser.parse_args(arguments)
    if given.step != "packages" and given.deck is None:
        parser.error(f"{given.step} needs a deck's name")
    folders = Folders(given.out, given.packages or given.out / "packages")
    try:
        if given.step == "packages":
            install_packages(folders.packages)
        elif given.step == "figures":
            draw_figures(given.deck, folders, given.results)
        elif given.step == "html":
            write_html(given.deck, folders)
        else:
            write_pdf(given.deck, folders)
    except UserError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 2
    except NumalabError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"slides: {reason_of(error)}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("slides: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
