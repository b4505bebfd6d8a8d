"""Gradings of starting code and solutions that prove the labs: starting code fails exactly the
criteria that lab.toml names, and solutions pass. In a variant, the lab's own solution also fails
something, and in most variants the previous seed's does."""

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
from numalab.evidence.record import Json
from numalab.grading.request import (
    Listener,
    Request,
    build_own_programs,
    chosen_languages,
    grade_all,
)
from numalab.grading.variant_installations import make_variant, the_lab
from numalab.installation import Installation
from numalab.judging.audit import complaints, is_refuted
from numalab.judging.places import LOCAL
from numalab.judging.verdict import Verdict
from numalab.labs.seeds import Seed
from numalab.labs.variants import draw_variant, read_draws, solution_files, variant_name
from numalab.virtual.place import VirtualPlaces
from numalab.words import count

MAX_GRADINGS = 5  # of one kernel while times are undecided; each continues the previous one


@dataclass(frozen=True)
class Proof:
    """The result of proving one kernel of a lab."""

    verdict: Verdict  # on starting code or a solution
    complaints: Sequence[str]  # sentences on what is not as the lab declares


def prove(
    installation: Installation, request: Request, places: VirtualPlaces, listener: Listener
) -> tuple[Json, list[Proof]]:
    """Grade starting code and solution of each lab and language. request: labs, is_chosen,
    language, machines and lock; the rest of it doesn't count. Returns this machine's description,
    empty without labs, and a proof for each lab, starting code before solution, and language.
    Raises Interrupted where a grading is interrupted."""
    labs = build_own_programs(installation, request.labs, request.is_chosen, listener)
    node: Json = {}
    proofs = []
    for lab in labs:
        for variant in ("handout", "solution"):
            for language in chosen_languages(lab, request.language):
                own = Request(
                    [lab], language, variant, size="quick", quick=True, force=True,
                    named_machines=request.named_machines, no_vms=request.no_vms,
                    node_lock=request.node_lock,
                )  # fmt: skip
                node, verdict = _grade(installation, own, places, listener)
                found = complaints(lab, verdict, *_machines(node, places))
                proofs.append(Proof(verdict, found))
    return node, proofs


def _machines(node: Json, places: VirtualPlaces) -> tuple[dict[str, int], str | None]:
    """Return the number of NUMA nodes by name of the place, and this machine's mode of transparent
    huge pages for workers; None: it has none."""
    return {LOCAL: usable_numa_nodes(node), **places.numa_nodes()}, mode_of_workers(node)


def _grade_once(
    installation: Installation, request: Request, places: VirtualPlaces, listener: Listener
) -> tuple[Json, Verdict]:
    """Grade one kernel. Returns this machine's description and the verdict."""
    graded = grade_all(installation, request, places, listener)
    if graded.interrupted:
        raise Interrupted
    return graded.node, graded.verdicts[0]


def _grade(
    installation: Installation, request: Request, places: VirtualPlaces, listener: Listener
) -> tuple[Json, Verdict]:
    """Grade one kernel with new times, again until they are decided or the lab's declaration is
    refuted, at most MAX_GRADINGS times."""
    for number in range(MAX_GRADINGS):
        again = replace(request, afresh=number == 0)
        node, verdict = _grade_once(installation, again, places, listener)
        if "inconclusive" not in verdict.statuses.values() or is_refuted(
            request.labs[0], verdict, *_machines(node, places)
        ):
            break
    return node, verdict


# ---- variants ------------------------------------------------------------------------------------


LEAST_ANSWERS = 12  # different solutions among a lab's variants
LEAST_APART = 0.8  # share (0 to 1) of variants in which the previous seed's solution fails
MOST_COUNTED = 500  # seeds whose solutions are compared
NO_TIMES = "variants are proved by what is seen, without times"


@dataclass(frozen=True)
class SeedProof:
    """The result of grading the variant of one seed in one language."""

    seed: int
    language: str
    complaints: tuple[str, ...]  # sentences on what is not as declared
    other_failed: bool | None  # the previous seed's solution fails in it; None: it was not tried


def answers(installation: Installation, lab: str) -> int:
    """Return how many different solutions the seeds from 1 to MOST_COUNTED have."""
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
    """Yield a proof for each seed and language. The folder of a seed's variant is removed after it.

    Args:
        lab: name of the lab whose variants are proved.
        seeds: their numbers.
        languages: those that are proved, as far as the variant has them.
        requested: machines and lock of the gradings; its labs and variant don't count.
        places_of: returns what boots virtual machines for a variant's installation.
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
                    grade = partial(_grade_variant, own, request, places, listener)
                    yield _prove(number, language, grade, public, previous)
            if previous is not None:
                shutil.rmtree(previous)
            previous = Path(temporary) / str(number)
            shutil.copytree(own.solution_folder(variant.name), previous / variant.name)
            shutil.rmtree(own.root)


def _grade_variant(
    installation: Installation,
    request: Request,
    places: VirtualPlaces,
    listener: Listener,
    variant: str,
    submission: Path | None = None,
) -> tuple[bool, list[str]]:
    """Grade one kernel of a variant. Returns whether it fails a criterion, and sentences on what is
    not as declared."""
    request = replace(request, variant=variant, submission=submission)
    node, verdict = _grade_once(installation, request, places, listener)
    found = complaints(request.labs[0], verdict, *_machines(node, places))
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
        grade: grades a kernel; takes Request's `variant`, and the folder of a submission.
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
    """Return the complaints of the proofs, and sentences on solutions that are too much alike.
    different: number of different solutions, as answers() counts them."""
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
