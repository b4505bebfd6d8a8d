"""Proves variants: for each seed the handout fails exactly what is declared, the variant's
solution passes, the lab's own fails something, and so does, mostly, that of another seed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.errors import Interrupted
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.page_mode import mode_of_workers
from numalab.grading.request import Listener, Request, grade_all
from numalab.grading.variant_installations import make_variant, the_lab
from numalab.installation import Installation
from numalab.judging.audit import complaints
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed
from numalab.labs.variants import draw_variant, read_draws, solution_files, variant_name
from numalab.virtual.place import VirtualPlaces
from numalab.words import count

LEAST_ANSWERS = 12  # different right ones that a lab's variants have
LEAST_APART = 0.8  # of pairs of seeds, those of which the one's solution fails as the other's
MOST_COUNTED = 500  # seeds whose answers are compared
NO_TIMES = "variants are proved by what is seen, without times"


@dataclass(frozen=True)
class SeedProof:
    """seed: its number; language; complaints: what is not as declared; taken_over: whether another
    seed's solution failed, None where that was not tried."""

    seed: int
    language: str
    complaints: tuple[str, ...]
    taken_over: bool | None


def answers(installation: Installation, lab: str) -> int:
    """How many different solutions the first seeds have. Raises NumalabError."""
    draws = read_draws(installation.root, lab)
    found = set()
    for number in range(1, MOST_COUNTED + 1):
        variant = draw_variant(draws, Seed(number, "audit"))
        found.add(tuple(sorted(solution_files(installation.root, draws, variant).items())))
    return len(found)


def prove_seeds(
    installation: Installation,
    lab: str,
    seeds: Sequence[int],
    languages: Sequence[str],
    asked: Request,
    places_of: Callable[[Installation], VirtualPlaces],
    listener: Listener,
) -> Iterator[SeedProof]:
    """asked: where, and turns; not labs or variant. Raises Interrupted, UserError and
    NumalabError."""
    with tempfile.TemporaryDirectory(prefix="numalab-audit-") as temporary:
        public = Path(temporary) / "public"
        shutil.copytree(
            installation.solution_folder(lab),
            public / variant_name(lab),
            ignore=shutil.ignore_patterns("wrong", "variant", "*.md"),
        )
        before: Path | None = None
        for number in seeds:
            variant, _, own = make_variant(installation, lab, Seed(number, f"audit {number}"))
            declared = the_lab(own, variant)
            with places_of(own) as places:
                for language in [each for each in declared.languages if each in languages]:
                    yield _prove(
                        own, declared, number, language, asked, places, listener, public, before
                    )
            if before is not None:
                shutil.rmtree(before)
            before = Path(temporary) / str(number)
            shutil.copytree(own.solution_folder(variant.name), before / variant.name)
            shutil.rmtree(own.root)


def _prove(
    installation: Installation,
    lab: Lab,
    number: int,
    language: str,
    asked: Request,
    places: VirtualPlaces,
    listener: Listener,
    public: Path,
    before: Path | None,
) -> SeedProof:
    def graded(variant: str, submission: Path | None = None) -> tuple[Verdict, list[str]]:
        request = replace(
            asked, labs=[lab], language=language, variant=variant, submission=submission,
            is_chosen=True, no_times=NO_TIMES, size="quick", quick=True, force=True,
        )  # fmt: skip
        found = grade_all(installation, request, places, listener)
        if found.interrupted:
            raise Interrupted
        verdict = found.verdicts[0]
        nodes = {"here": usable_numa_nodes(found.node), **places.numa_nodes()}
        return verdict, complaints(lab, verdict, nodes, mode_of_workers(found.node))

    found = [*graded("handout")[1], *graded("solution")[1]]
    told = [f"seed {number}: {text}" for text in found]
    if not _fails(graded("submission", public)[0]):
        told.append(
            f"seed {number}: the lab's own solution in {language} fails nothing; see [[never]] of "
            "draws.toml"
        )
    taken_over = None if before is None else _fails(graded("submission", before)[0])
    return SeedProof(number, language, tuple(told), taken_over)


def _fails(verdict: Verdict) -> bool:
    return "fail" in verdict.statuses.values()


def complaints_of(lab: str, proofs: Sequence[SeedProof], different: int) -> list[str]:
    """Of all seeds together."""
    told = [text for proof in proofs for text in proof.complaints]
    tried = [proof for proof in proofs if proof.taken_over is not None]
    apart = sum(bool(proof.taken_over) for proof in tried)
    if tried and apart < LEAST_APART * len(tried):
        told.append(
            f"{lab}: another seed's solution fails in {apart} of {len(tried)} only; "
            f"{LEAST_APART:.0%} are asked for"
        )
    if different < LEAST_ANSWERS:
        told.append(
            f"{lab}: {count(different, 'different answer')} among {MOST_COUNTED} seeds; "
            f"{LEAST_ANSWERS} are asked for"
        )
    return told
