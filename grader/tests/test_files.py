"""Files that are written whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_WRITES = """
import sys
from pathlib import Path
from numalab.files import read_json, write_json
for i in range(1000):
    write_json(Path(sys.argv[1]), {"by": sys.argv[2], "text": sys.argv[2] * 10000})
    assert read_json(Path(sys.argv[1])) is not None
"""


def test_two_processes_may_write_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "over.json"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(path), name], stderr=subprocess.PIPE, text=True
        )
        for name in "ab"
    ]
    said = [process.communicate()[1] for process in writers]
    assert [process.returncode for process in writers] == [0, 0], said
    assert list(tmp_path.iterdir()) == [path]
