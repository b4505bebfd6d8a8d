"""Pictures of evidence records for notebooks, slides and pages: records in, matplotlib figures
out, nothing is shown or written here. Importing this imports matplotlib.

Imported by `commands` (portrait --plot and the like), `learning` (figures in notebooks), and for
pages by `portrait_page` and `report_figures`.
"""

from numalab.reports.figures.answers import answers_figure
from numalab.reports.figures.crossing import crossing_figure
from numalab.reports.figures.groups import groups_figure
from numalab.reports.figures.homes import homes_figure
from numalab.reports.figures.latency import latency_figure
from numalab.reports.figures.lines import lines_figure
from numalab.reports.figures.memory import memory_figure
from numalab.reports.figures.modelled import modelled_figure
from numalab.reports.figures.rates import rates_figure
from numalab.reports.figures.roofline import roofline_figure
from numalab.reports.figures.threads import Sitting, sittings, thread_figure
from numalab.reports.figures.timing import timing_figure
from numalab.reports.figures.topology import topology_figure
from numalab.reports.figures.touch import touch_figure
from numalab.reports.figures.work import work_figure

__all__ = [
    "Sitting",
    "answers_figure",
    "crossing_figure",
    "groups_figure",
    "homes_figure",
    "latency_figure",
    "lines_figure",
    "memory_figure",
    "modelled_figure",
    "rates_figure",
    "roofline_figure",
    "sittings",
    "thread_figure",
    "timing_figure",
    "topology_figure",
    "touch_figure",
    "work_figure",
]
