"""Prove variants. For each seed the variant's starting code fails exactly the criteria that are
declared, its solution passes, the lab's own solution fails something, and so does that of most
other seeds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from numalab.errors import Interrupted
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.page_mode import mode_of_workers
from numalab.grading.request import Listener, Request, grade_all
from numalab.grading.variant_installations import make_variant, the_lab
from numalab.installation import Installation
from numalab.judging.audit import complaints
from numalab.judging.places import LOCAL
from numalab.labs.seeds import Seed
from numalab.labs.variants import draw_variant, read_draws, solution_files, variant_name
from numalab.virtual.place import VirtualPlaces
from numalab.words import count

LEAST_ANSWERS = 12  # different solutions among a lab's variants
LEAST_APART = 0.8  # share of pairs of seeds in which the solution of one fails as the other's
MOST_COUNTED = 500  # seeds whose solutions are compared
NO_TIMES = "variants are proved by what is seen, without times"


@dataclass(frozen=True)
class SeedProof:
    """What grading the variant of one seed in one language has shown.

    Attributes:
        seed: its number.
        language: of the kernels.
        complaints: sentences on what is not as declared.
        other_failed: the solution of the previous seed failed; None: it was not tried.
    """

    seed: int
    language: str
    complaints: tuple[str, ...]
    other_failed: bool | None


def answers(installation: Installation, lab: str) -> int:
    """Return how many different solutions the first MOST_COUNTED seeds have. Raises
    NumalabError."""
    draws = read_draws(installation.root, lab)
    solutions = set()
    for number in range(1, MOST_COUNTED + 1):
        variant = draw_variant(draws, Seed(number, "audit"))
        solutions.add(tuple(sorted(solution_files(installation.root, draws, variant).items())))
    return len(solutions)


def prove_seeds(
    installation: Installation,
    lab: str,
    seeds: Sequence[int],
    languages: Sequence[str],
    requested: Request,
    places_of: Callable[[Installation], VirtualPlaces],
    listener: Listener,
) -> Iterator[SeedProof]:
    """Yield a proof for each seed and language.

    Args:
        lab: name of the lab whose variants are proved.
        seeds: their numbers.
        requested: machines and lock of the gradings; its labs and variant don't count.
        places_of: returns what boots virtual machines for a variant's installation.

    Raises:
        Interrupted, UserError, NumalabError.
    """
    with tempfile.TemporaryDirectory(prefix="numalab-audit-") as temporary:
        public = Path(temporary) / "public"
        shutil.copytree(
            installation.solution_folder(lab),
            public / variant_name(lab),
            ignore=shutil.ignore_patterns("wrong", "variant", "*.md"),
        )
        previous: Path | None = None
        for number in seeds:
            variant, _, own = make_variant(installation, lab, Seed(number, f"audit {number}"))
            declared = the_lab(own, variant)
            with places_of(own) as places:
                for language in [each for each in declared.languages if each in languages]:
                    request = replace(
                        requested, labs=[declared], language=language, is_chosen=True,
                        no_times=NO_TIMES, size="quick", quick=True, force=True,
                    )  # fmt: skip
                    grade = partial(_grade, own, request, places, listener)
                    yield _prove(number, language, grade, public, previous)
            if previous is not None:
                shutil.rmtree(previous)
            previous = Path(temporary) / str(number)
            shutil.copytree(own.solution_folder(variant.name), previous / variant.name)
            shutil.rmtree(own.root)


def _grade(
    installation: Installation,
    request: Request,
    places: VirtualPlaces,
    listener: Listener,
    variant: str,
    submission: Path | None = None,
) -> tuple[bool, list[str]]:
    """Grade one kernel of a variant. Returns whether it fails a criterion, and what is not as
    declared."""
    request = replace(request, variant=variant, submission=submission)
    graded = grade_all(installation, request, places, listener)
    if graded.interrupted:
        raise Interrupted
    (lab,), verdict = request.labs, graded.verdicts[0]
    nodes = {LOCAL: usable_numa_nodes(graded.node), **places.numa_nodes()}
    found = complaints(lab, verdict, nodes, mode_of_workers(graded.node))
    return "fail" in verdict.statuses.values(), found


def _prove(
    number: int,
    language: str,
    grade: Callable[..., tuple[bool, list[str]]],
    public: Path,
    previous: Path | None,
) -> SeedProof:
    """Prove one seed in one language.

    Args:
        grade: grades a variant's kernel: variant, and folder of a submission.
        public: folder with the lab's own solution as a submission.
        previous: folder with the previous seed's; None: there is none.
    """
    found = [*grade("handout")[1], *grade("solution")[1]]
    sentences = [f"seed {number}: {text}" for text in found]
    if not grade("submission", public)[0]:
        sentences.append(
            f"seed {number}: the lab's own solution in {language} fails nothing; see [[never]] of "
            "draws.toml"
        )
    other_failed = None if previous is None else grade("submission", previous)[0]
    return SeedProof(number, language, tuple(sentences), other_failed)


def complaints_of(lab: str, proofs: Sequence[SeedProof], different: int) -> list[str]:
    """Return sentences on what is not as it has to be, of all seeds together. different: number of
    different solutions, as answers() counts them."""
    listed = [text for proof in proofs for text in proof.complaints]
    tried = [proof for proof in proofs if proof.other_failed is not None]
    apart = sum(bool(proof.other_failed) for proof in tried)
    if tried and apart < LEAST_APART * len(tried):
        listed.append(
            f"{lab}: another seed's solution fails in {apart} of {len(tried)} only; "
            f"{LEAST_APART:.0%} are asked for"
        )
    if different < LEAST_ANSWERS:
        listed.append(
            f"{lab}: {count(different, 'different answer')} among {MOST_COUNTED} seeds; "
            f"{LEAST_ANSWERS} are asked for"
        )
    return listed
