"""A verdict does not change when nothing has: graded fifty times in a row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.commands import grade_json, statuses

from numalab.installation import Installation

pytestmark = [pytest.mark.builds, pytest.mark.timed, pytest.mark.slow]

TIMES = 50


@pytest.mark.parametrize("lab", ["01_first_touch", "03_scheduling"])
def test_fifty_gradings_of_a_solution_agree(
    installation: Installation, tmp_path: Path, lab: str
) -> None:
    """No grading fails it, ends with an error, or sees other evidence. A time may stay open: the
    node is as noisy as it is."""
    seen: Counter[tuple[tuple[str, str], ...]] = Counter()
    for _ in range(TIMES):
        done, graded = grade_json(
            installation, tmp_path, lab, "--solutions", "--lang", "c", "--quick", "--afresh"
        )
        assert done.code == 0, done.out + done.err
        (result,) = graded["results"]
        kinds = {criterion["name"]: criterion["kind"] for criterion in result["criteria"]}
        of_times = {name for name, kind in kinds.items() if kind == "timing"}
        found = statuses(result)
        assert all(found[name] in ("pass", "inconclusive", "not_gradable") for name in of_times)
        seen[tuple(sorted((k, v) for k, v in found.items() if k not in of_times))] += 1
    assert len(seen) == 1, seen
