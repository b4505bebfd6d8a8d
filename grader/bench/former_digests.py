"""Write down which digests of an earlier commit the working tree's stand for.

    python grader/bench/former_digests.py fcfda5fb

Each digest is computed by the code that it belongs to: those of the commit by the package of the
commit, in a copy of it, and the new ones by the package as it lies here, of the files that git
tracks. The rows of the commit in grading/former_digests.toml become these; say what has proved the
two equal in the comment there. Run it again after every change of code that comes before a release.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path("grader", "src", "numalab", "grading", "former_digests.toml")
# Run in a copy of a commit, with its package.
PRINT_DIGESTS = """
import json, sys
from pathlib import Path
from numalab.grading.numalab_digests import measured_by
from numalab.installation import Installation
from numalab.labs.variants import names_with_variants
installation = Installation(Path(sys.argv[1]))
labs = names_with_variants(installation.root)
print(json.dumps({lab: measured_by(installation, lab) for lab in labs}))
"""
# What such code names and the package had under another name, as long as it had a file.
FORMER_NAMES = {
    "kit.py": {
        "numalab.installation": "numalab.kit",
        "Installation": "Kit",
        "numalab.judging.rules": "numalab.labs.declaration",
    },
    "grading/kit_digests.py": {"numalab.grading.numalab_digests": "numalab.grading.kit_digests"},
}


def git(*arguments: str) -> str:
    """Return what git says. Raises CalledProcessError."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def copy_of_commit(commit: str) -> Iterator[Path]:
    """Unpack the files of a commit into a folder that goes afterwards. Raises
    CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="numalab-") as folder:
        archive = Path(folder) / "kit.tar"
        git("archive", f"--output={archive}", commit)
        root = Path(folder) / "kit"
        root.mkdir()
        subprocess.run(["tar", "-xf", str(archive), "-C", str(root)], check=True)
        yield root


def with_names_at(root: Path, source: str) -> str:
    """Return source with the names that the package below root has."""
    for file, names in FORMER_NAMES.items():
        for name, former in names.items() if (root / "grader/src/numalab" / file).is_file() else ():
            source = re.sub(rf"\b{re.escape(name)}\b", former, source)
    return source


def digests_at(commit: str) -> dict[str, str]:
    """Return the digest of each lab and variant at a commit. Raises CalledProcessError."""
    with copy_of_commit(commit) as root:
        done = subprocess.run(
            [sys.executable, "-c", with_names_at(root, PRINT_DIGESTS), str(root)], check=True,
            capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(root / "grader" / "src")},
        )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def with_rows(text: str, commit: str, old: dict[str, str], new: dict[str, str]) -> str:
    """Return a table's text with a commit's rows in the place of those that it had."""
    without = re.sub(rf"\n\[{commit}\]\n(?:(?!\[).*\n?)*", "", text).rstrip("\n")
    rows = [f'{lab} = ["{old[lab]}", "{new[lab]}"]' for lab in old if lab in new]
    return "\n".join([without, "", f"[{commit}]", *rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("commit", help="the last one before the change that is proved equal")
    asked = parser.parse_args()
    commit = git("rev-parse", "--short=8", asked.commit)
    # A commit of what is tracked as it lies here; empty where that is what HEAD has.
    here = git("stash", "create") or "HEAD"
    table = ROOT / TABLE
    text = table.read_text(encoding="utf-8")
    table.write_text(with_rows(text, commit, digests_at(commit), digests_at(here)), "utf-8")
    print(f"{TABLE}: {commit}")


if __name__ == "__main__":
    main()
