"""Pictures of evidence records for notebooks, slides and pages: records in, matplotlib figures
out, nothing is shown or written here. Importing this imports matplotlib."""

from numalab.figures.latency import latency_figure
from numalab.figures.memory import memory_figure
from numalab.figures.threads import Sitting, sittings, thread_figure
from numalab.figures.timing import timing_figure
from numalab.figures.topology import topology_figure
from numalab.figures.touch import touch_figure
from numalab.figures.work import work_figure

__all__ = [
    "Sitting",
    "latency_figure",
    "memory_figure",
    "sittings",
    "thread_figure",
    "timing_figure",
    "topology_figure",
    "touch_figure",
    "work_figure",
]
