"""Draw variants of labs from seeds, and make their files from templates.

A lab with variants has two folders of templates: labs/NN_name/grading/variant, a lab of its own
except for what is drawn, and solutions/NN_name/variant, which solves it. draws.toml in the first
says what can be drawn, and which combinations are not drawn. In a template

- `@draw.key@` is replaced by the text `key` of the choice that was drawn, `@draw@` by a value of
  `values`,
- `@for@`, `@code@`, `@seed@` and `@machine@` by the owner, the code and number of the seed, and the
  machine made from it,
- `@places.GOAL@` by a list of places on that machine (goals.py),
- an answer file's placeholder by the correct answers of the seed (seeded_answers.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from numalab.draws import pick
from numalab.errors import NumalabError, UserError
from numalab.installation import GRADING
from numalab.labs.declaration import (
    DECLARATION,
    VARIANT_ENDING,
    Lab,
    choose_labs,
    lab_names,
    load_lab,
    load_labs,
)
from numalab.labs.goals import CORE_GOALS, places_text
from numalab.labs.seeded_answers import answer_files
from numalab.labs.seeds import SEEDS, Seed
from numalab.machines.seeded import PREFIX, seeded_machine
from numalab.machines.structure import Structure, structure_of_machine
from numalab.toml_files.tables import Table, read_table

FOLDER = "variant"  # with templates, in a lab's grading/ and in its solution's folder
DRAWS = "draws.toml"
MOST_TRIES = 1000  # draws until a combination is allowed

_PLACEHOLDER = re.compile(r"@([a-z_0-9]+(?:\.[a-z_0-9]+)?)@")


@dataclass(frozen=True)
class Draw:
    """A choice that is drawn."""

    name: str  # its name in placeholders
    choices: Mapping[str, Mapping[str, str]]  # by name of the choice, its texts by their keys
    # The edition of draws in which a choice was added, by its name. Seeds of an earlier edition
    # draw from the choices of that time.
    first_editions: Mapping[str, int] = field(default_factory=dict)

    def drawn_from(self, edition: int) -> list[str]:
        """Return the names of the choices that an edition of draws has."""
        return [name for name in self.choices if self.first_editions.get(name, 1) <= edition]


@dataclass(frozen=True)
class Draws:
    """All that is drawn for a lab's variants."""

    lab: str  # the lab's name
    draws: tuple[Draw, ...]
    never: tuple[Mapping[str, str], ...]  # combinations that are not drawn: choices by draw
    # takes, takes_of_solution: files of the lab and its solution that variants have as well, with
    # the variant's name in place of the lab's.
    takes: tuple[str, ...]
    takes_of_solution: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """The variant of a lab for one seed."""

    lab: str  # the lab's name
    seed: Seed
    chosen: Mapping[str, str]  # the name of the choice, by draw
    texts: Mapping[str, str]  # texts of placeholders that are drawn, or that name the owner

    @property
    def name(self) -> str:
        return variant_name(self.lab)

    def text(self, placeholder: str) -> str | None:
        """Return the text that replaces a placeholder, which is given without its @; None: there
        is no such placeholder."""
        kind, _, goal = placeholder.partition(".")
        if placeholder in self.texts:
            return self.texts[placeholder]
        if kind == "places" and goal in CORE_GOALS:
            return places_text(goal, _machine(self.seed.number))
        for file in answer_files().values():
            if file.placeholder == placeholder:
                return file.correct_answers(self.seed.number)
        return None


# ---- names -------------------------------------------------------------------------------------


def variant_name(lab: str) -> str:
    return f"{lab}{VARIANT_ENDING}"


def is_variant_name(name: str) -> bool:
    return name.rstrip("/").endswith(VARIANT_ENDING)


def lab_of_variant(name: str) -> str:
    """Return the name of the lab that a variant's name belongs to; a lab's own name as it is."""
    return name.removesuffix(VARIANT_ENDING)


def templates(root: Path, lab: str) -> Path:
    """Return the folder with the templates of what students get."""
    return root / "labs" / lab / GRADING / FOLDER


def labs_with_variants(root: Path) -> list[str]:
    """Return the names of labs that have templates of variants, sorted."""
    return [lab for lab in lab_names(root) if (templates(root, lab) / DRAWS).is_file()]


def lab_with_variants(root: Path, name: str) -> str:
    """Return the name of a lab that has variants. name: its name or number. Raises UserError where
    there is no such lab, or it has none."""
    (lab,) = choose_labs(load_labs(root), [name])
    having = labs_with_variants(root)
    if lab.name not in having:
        raise UserError(f"{lab.name} has no variants. Labs that have: {', '.join(having)}")
    return lab.name


def variant_lab(root: Path, lab: str) -> Lab:
    """Return the lab that the templates of a lab's variants declare, with what one fixed seed
    draws. Raises NumalabError where they can't be read, or have a mistake."""
    folder = templates(root, lab)
    path = folder / GRADING / DECLARATION
    some = draw_variant(read_draws(root, lab), Seed(SEEDS[0], "nobody"))
    try:
        text = rendered(path.read_text("utf-8"), some, str(path))
    except OSError as error:
        raise NumalabError(f"can't read {error.filename}: {error.strerror}") from error
    return replace(load_lab(folder, text), name=variant_name(lab))


def names_with_variants(root: Path) -> list[str]:
    """Return the names of labs and of their variants, each variant's after its lab's."""
    having = labs_with_variants(root)
    return [
        name
        for lab in lab_names(root)
        for name in ((lab, variant_name(lab)) if lab in having else (lab,))
    ]


def labs_that_ask(root: Path) -> list[str]:
    """Return the names of labs whose variants have quantities to predict. Raises NumalabError for
    a mistake in a variant's files."""
    return [lab for lab in labs_with_variants(root) if variant_lab(root, lab).predicted]


def labs_and_variants(root: Path) -> dict[str, Lab]:
    """Return labs and their variants (variant_lab) by name, each variant after its lab. Raises
    NumalabError for a mistake in their files."""
    labs = load_labs(root)
    return {
        name: labs[name] if name in labs else variant_lab(root, lab_of_variant(name))
        for name in names_with_variants(root)
    }


# ---- what can be drawn -------------------------------------------------------------------------


def read_draws(root: Path, lab: str) -> Draws:
    """Read a lab's draws.toml. Raises NumalabError where it is missing or has a mistake."""
    keys = ("draw", "never", "takes", "takes_of_solution")
    top = read_table(templates(root, lab) / DRAWS, NumalabError, keys)
    draws = tuple(_draw(table) for table in top.tables("draw", ("name", "values", "choice")))
    by_name = {draw.name: draw for draw in draws}
    if len(by_name) != len(draws) or not draws:
        top.fail("each [[draw]] needs a name of its own, and there must be one", "draw")
    never = []
    for table in top.tables("never", tuple(by_name)):
        never.append(
            {name: table.choice(name, tuple(by_name[name].choices)) for name in table.values}
        )
    return Draws(
        lab, draws, tuple(never), top.texts("takes", ()), top.texts("takes_of_solution", ())
    )


def _draw(table: Table) -> Draw:
    name = table.text("name")
    if "values" in table:
        values = table.texts("values")
        return Draw(name, {value: {"": value} for value in values})
    choices: dict[str, Mapping[str, str]] = {}
    first_editions: dict[str, int] = {}
    for choice in table.tables("choice", None):
        edition = choice.whole("since", 1, 1)
        texts = {key: choice.text(key, default="") for key in choice.values if key != "since"}
        if "name" not in texts:
            choice.fail("a choice needs a name", "name")
        name_ = texts.pop("name")
        choices[name_], first_editions[name_] = texts, edition
    if 1 not in first_editions.values():
        table.fail(f"of {name} one choice at least has to be there from the first edition on")
    if len({frozenset(texts) for texts in choices.values()}) > 1:
        table.fail(f"the choices of {name} don't all have the same keys", "choice")
    return Draw(name, choices, first_editions)


def draw_variant(draws: Draws, seed: Seed) -> Variant:
    """Draw the variant of a seed. Raises NumalabError where MOST_TRIES draws give no combination
    that is allowed."""
    for attempt in range(MOST_TRIES):
        chosen = {draw.name: _chosen(draws.lab, seed, draw, attempt) for draw in draws.draws}
        if not any(choices.items() <= chosen.items() for choices in draws.never):
            return _variant(draws, seed, chosen)
    raise NumalabError(f"{draws.lab}: {DRAWS} leaves no variant that may be drawn")


def _chosen(lab: str, seed: Seed, draw: Draw, attempt: int) -> str:
    text = f"numalab variant {seed.number} {lab}: {draw.name} {attempt}"
    return pick(text, draw.drawn_from(seed.draws))


@lru_cache(maxsize=16)
def _machine(seed: int) -> Structure:
    return structure_of_machine(seeded_machine(seed))


def _variant(draws: Draws, seed: Seed, chosen: Mapping[str, str]) -> Variant:
    texts = {
        "for": seed.owner,
        "code": seed.code,
        "seed": str(seed.number),
        "machine": f"{PREFIX}{seed.number}",
    }
    for draw in draws.draws:
        for key, text in draw.choices[chosen[draw.name]].items():
            texts[f"{draw.name}.{key}" if key else draw.name] = text
    return Variant(draws.lab, seed, chosen, texts)


# ---- files -------------------------------------------------------------------------------------


def rendered(template: str, variant: Variant, where: str) -> str:
    """Return a template's text with its placeholders replaced, and once more those of the result.
    where: what messages call the template. Raises NumalabError for an unknown placeholder."""

    def text_of(match: re.Match[str]) -> str:
        text = variant.text(match[1])
        if text is None:
            raise NumalabError(f"{where}: nothing is drawn for @{match[1]}@")
        return text

    # Twice: a choice's text may have placeholders of other draws.
    return _PLACEHOLDER.sub(text_of, _PLACEHOLDER.sub(text_of, template))


def lab_files(root: Path, draws: Draws, variant: Variant) -> dict[str, str]:
    """Return the texts of the files of a variant's lab, by path in its folder. Raises NumalabError
    where a file can't be read, or a template has an unknown placeholder."""
    lab = root / "labs" / draws.lab
    return dict(_files(lab, templates(root, draws.lab), draws.takes, variant))


def solution_files(root: Path, draws: Draws, variant: Variant) -> dict[str, str]:
    """Return the texts of the files of a variant's solution, by path in its folder. Raises
    NumalabError as lab_files does."""
    solution = root / "solutions" / draws.lab
    return dict(_files(solution, solution / FOLDER, draws.takes_of_solution, variant))


def _files(
    lab: Path, folder: Path, takes: Sequence[str], variant: Variant
) -> Iterator[tuple[str, str]]:
    try:
        for name in takes:
            text = (lab / name).read_text(encoding="utf-8")
            yield name, text.replace(f'"{variant.lab}"', f'"{variant.name}"')
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != DRAWS:
                name = path.relative_to(folder).as_posix()
                yield name, rendered(path.read_text(encoding="utf-8"), variant, str(path))
    except OSError as error:
        raise NumalabError(f"can't read {error.filename}: {error.strerror}") from error
