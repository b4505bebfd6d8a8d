"""A person's variant for a student's edition: the lab, and of its solution what an edition has."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from numalab.editions.contents import hints_without
from numalab.editions.objects import make_objects
from numalab.editions.search import Secret, plain_lines, read_exceptions, search, secret_of
from numalab.editions.write import coded_of
from numalab.errors import KitError, reason_of
from numalab.grading.variant_kits import write_pack
from numalab.kit import Kit
from numalab.labs.declaration import KERNEL_FILES, Lab, load_lab
from numalab.labs.solution_files import write_coded
from numalab.labs.variants import lab_of_variant
from numalab.words import StepReport

HINTS = "hints.md"
_MOST_TOLD = 8


def _secret_of_lab(made: Kit, lab: Lab) -> Secret:
    """The lab's own answer, which is another: what is handed in of the lab that it is a variant of,
    less what the variant's contract says."""
    root = made.origin or made.root
    of_lab = load_lab(root / "labs" / lab_of_variant(lab.name))
    answers = {*KERNEL_FILES.values(), *(file.name for file in of_lab.files)}
    given = "\n".join(plain_lines((made.lab_folder(lab.name) / lab.contract).read_bytes()))
    lines = secret_of(root, of_lab).lines.items()
    return Secret(
        of_lab.name,
        {line: file for line, file in lines if file in answers and line not in given},
    )


def pack_variant(made: Kit, lab: Lab, path: Path, progress: StepReport) -> None:
    """made: the variant's kit. Nothing is written where a line of its solution would show. Raises
    UserError and KitError."""
    try:
        with tempfile.TemporaryDirectory(prefix="numalab-pack-") as folder:
            tree = Path(folder)
            shutil.copytree(made.lab_folder(lab.name), tree / "labs" / lab.name)
            secret, exceptions = secret_of(made.root, lab), read_exceptions()
            hints = tree / "labs" / lab.name / HINTS
            if hints.is_file():
                file = hints.relative_to(tree).as_posix()
                text = hints.read_text("utf-8")
                hints.write_text(hints_without(text, file, secret, exceptions), "utf-8")
            make_objects(made, [lab], tree / "solutions", progress)
            write_coded(tree / "solutions" / lab.name, coded_of(made, lab))
            # What the variant's lab tells is given: texts, and what the kit does with the arrays.
            shown = [*search(tree / "solutions", [secret], exceptions)]
            shown += search(tree, [_secret_of_lab(made, lab)], exceptions)
            if shown:
                raise KitError(
                    "the pack would show lines of solutions, so it is not written:\n  "
                    + "\n  ".join(map(str, shown[:_MOST_TOLD]))
                )
            write_pack(tree, path)
    except OSError as error:
        raise KitError(f"{path} can't be written: {reason_of(error)}") from error
