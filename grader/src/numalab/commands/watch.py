"""./numalab watch: grades a lab whenever its files are saved."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab.commands import shared
from numalab.commands.completing import complete_lab
from numalab.commands.reporter import Reporter, note, waits
from numalab.commands.which_lab import named_lab, variant_option
from numalab.errors import NumalabError, UserError, wrapped
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_PASSED
from numalab.grading.node_lock import share_node
from numalab.grading.own_files import provide
from numalab.grading.request import Graded, Request
from numalab.installation import Installation
from numalab.labs.declaration import (
    KERNEL_FILES,
    LANGUAGE_NAMES,
    LANGUAGES,
    Lab,
)
from numalab.learning.watch import change_of, next_change, read_marks, remembered
from numalab.reports.verdict_words import grade_again
from numalab.words import listed

if TYPE_CHECKING:
    from numalab.judging.verdict import Status
    from numalab.virtual.place import VirtualPlaces


@click.command(short_help="Grade a lab whenever you save.")
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@click.option(
    "--lang",
    "language",
    type=click.Choice([*LANGUAGES, "all"], case_sensitive=False),
    help="Grade this language. Left out: the one that you have edited, or both.",
)
@click.option("--time", "with_times", is_flag=True, help="Take times too, after every save.")
@shared.machines_option("Grade placement on this virtual node too; may be repeated.")
@variant_option("Your variant of the lab, in variants/.")
@click.pass_obj
def watch(
    installation: Installation,
    name: str,
    language: str | None,
    with_times: bool,
    on: Sequence[str],
    is_variant: bool,
) -> int:
    """Grade a lab now, and again whenever you save one of its files in labs/.

    You see what is right, who touches which page, and what the last change has changed.
    Times take longer: press Enter for them, or give --time. They are decided as with
    `grade --quick`. Ctrl-C ends it.

    Between two gradings the kit is free for other commands, and while one of them measures,
    this one waits.

    \b
    Examples:
      ./numalab watch 01                   both kernels, or the one you edited
      ./numalab watch 01 --lang fortran    kernel.f90
      ./numalab watch 02 --on nebula       placements on a virtual nebula too
      ./numalab watch 03 --time            with times
    """
    installation, lab = named_lab(installation, name, is_variant)
    lab.need_language(language)
    request = Request(
        [lab],
        language or "edited",
        "submission",
        quick=True,
        named_machines=shared.named_machines(installation, on),
        no_vms=not on,
    )
    if installation.origin is None:
        provide(installation, [lab], note)  # before they are looked at
    files = _files(installation, lab, language)
    screen = _Screen(lab, files, sys.stdout.isatty(), sys.stdin.isatty() and sys.stdout.isatty())
    run = _Run(installation, request, screen)
    is_timed = with_times
    with shared.virtual_places(installation) as places:
        while True:
            graded = read_marks(files)
            if not run.grade(places, is_timed):
                return EXIT_INTERRUPTED
            is_asked = next_change(graded, screen.pause, lambda: read_marks(files)) is None
            if screen.is_closed:
                return EXIT_PASSED
            is_timed = with_times or is_asked


def _files(installation: Installation, lab: Lab, language: str | None) -> list[Path]:
    """What is handed in."""
    languages = [language] if language in LANGUAGES else lab.languages
    names = [KERNEL_FILES[name] for name in languages] + [file.name for file in lab.files]
    return [installation.own_folder(lab.name) / name for name in names]


@dataclass
class _Screen:
    """What surrounds the reports. is_live: at a terminal, which is cleared for each; has_keys:
    and Enter can be pressed there."""

    lab: Lab
    files: Sequence[Path]
    is_live: bool
    has_keys: bool
    is_closed: bool = False  # the end of what can be typed

    @property
    def no_times(self) -> str:
        """Why there are none in a report."""
        if self.has_keys:
            return "Not timed. Press Enter to take times."
        return f"Not timed. ./numalab watch {self.lab.number} --time takes times."

    def pause(self, seconds: float) -> bool:
        """Waits, and tells whether Enter was pressed."""
        if not self.has_keys:
            time.sleep(seconds)
            return False
        is_pressed = False
        while select.select([sys.stdin], [], [], 0 if is_pressed else seconds)[0]:
            is_pressed = True
            if not os.read(sys.stdin.fileno(), 1024):
                self.is_closed = True
                break
        return is_pressed

    def begin(self) -> None:
        """Before a report."""
        if self.is_live:
            click.clear()
        else:
            click.echo(f"\n==== {self.lab.name}, {time.strftime('%H:%M:%S')} ====")

    def end(self, left_out: Sequence[str]) -> None:
        """After one."""
        number = self.lab.number
        if left_out:
            machine = self.lab.machines[0]
            _tell(
                f"Not looked at: {', '.join(left_out)}; ./numalab watch {number} --on {machine} "
                "shows it on a virtual node."
            )
        if self.is_live:
            names = ", ".join(path.name for path in self.files)
            enter = "Enter takes times, " if self.has_keys else ""
            _tell(f"Watching {names} in {self.lab.own_place}. {enter}Ctrl-C ends it.")


def _tell(text: str) -> None:
    click.echo(click.wrap_text(text, 78))


@dataclass
class _Run:
    """The gradings so far. known: the last that is known of each criterion, by language."""

    installation: Installation
    request: Request
    screen: _Screen
    known: dict[str, dict[str, Status]] = field(default_factory=dict)

    def grade(self, places: VirtualPlaces, is_timed: bool) -> bool:
        """Grades and shows. False: it was interrupted. Raises UserError and NumalabError where
        the first grading is impossible; later ones may find a file half written or a disk
        full, which is shown, and the next save may be better."""

        lab = self.screen.lab
        languages = self.request.language
        again = f"./numalab grade {lab.called} --quick"
        if languages in LANGUAGES:
            again += f" --lang {languages}"
        no_times = None if is_timed else self.screen.no_times
        try:
            with self.installation.lock(waits), share_node(waits) as turns:
                reporter = Reporter(
                    self.installation,
                    replace(self.request, no_times=no_times, node_lock=turns),
                    places,
                    again=grade_again(again),
                    before_report=self.screen.begin,
                )
                graded = reporter.grade()
                reporter.close(graded)
        except (UserError, NumalabError) as error:
            if not self.known:
                raise
            click.echo(wrapped(f"numalab: {error}"), err=True)
            self.screen.end([])
            return True
        if graded.interrupted:
            return False
        self._show_changes(graded)
        self.screen.end(self._left_out(graded))
        return True

    def _show_changes(self, graded: Graded) -> None:
        click.echo()
        for verdict in graded.verdicts:
            earlier = self.known.get(verdict.language)
            statuses = verdict.statuses
            self.known[verdict.language] = remembered(earlier or {}, statuses)
            if earlier is None:
                continue
            change = change_of(earlier, statuses)
            parts = [
                f"{listed(names)} {one if len(names) == 1 else several} now"
                for names, one, several in (
                    (change.passing, "passes", "pass"),
                    (change.failing, "FAILS", "FAIL"),
                )
                if names
            ]
            of = f" in {LANGUAGE_NAMES[verdict.language]}" if graded.verdicts[1:] else ""
            if parts:
                _tell(f"Changed{of}: {'; '.join(parts)}.")
            else:
                _tell(f"Nothing has changed{of} since the last grading.")

    def _left_out(self, graded: Graded) -> list[str]:
        """Evidence that a virtual node may show, if none was asked for."""
        if self.request.named_machines:
            return []
        kinds = {criterion.name: criterion.kind for criterion in self.screen.lab.criteria}
        found: Mapping[str, None] = {
            name: None
            for verdict in graded.verdicts
            for name, status in verdict.statuses.items()
            if status == "not_gradable" and kinds[name] == "evidence"
        }
        return list(found)
