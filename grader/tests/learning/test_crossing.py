"""Lab 06's ping-pong across a link, in Python: what is refused, said and drawn."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from support.across import LAB, read_curve

from numalab.errors import NothingToDraw, UserError
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGES, Language
from numalab.learning.api import find_lab
from numalab.learning.crossing import Crossing

SAID = """\
    bytes  one way, us       MB/s  of link  a full bar: 6.25 MB/s
        0        364.5      0.000    0.0 %  |
       16        751.0      0.021    0.3 %  |
       64        700.1      0.091    1.5 %   |
      256        671.3      0.381    6.1 %  ## |
| by t(n) = t0 + n/B, from the ends: t0 = 364.5 us, B = 0.8344 MB/s,
  which reaches half of B at t0 x B = 304 bytes
"""
CROSSED = "On the links, of 50 Mbit/s in each direction:"


def test_a_curve_has_its_points_and_its_picture() -> None:
    seen = Crossing(50.0, SAID, CROSSED)
    assert seen.one_way_us == read_curve(SAID).us
    assert str(seen) == SAID + CROSSED
    figure = seen.figure()
    assert isinstance(figure, Figure)
    link, plateau, rates = figure.axes[0].lines
    assert set(link.get_ydata()) == {6.25}
    assert list(plateau.get_ydata()) == pytest.approx([6.25 * 1448 / 1514] * 2)
    assert list(rates.get_xdata()) == [16, 64, 256]
    assert list(rates.get_ydata()) == pytest.approx([16 / 751.0, 64 / 700.1, 256 / 671.3])


def test_a_wrong_ping_pong_has_no_picture() -> None:
    seen = Crossing(50.0, complaint="across: ping_pong is wrong.")
    assert str(seen) == "across: ping_pong is wrong."
    with pytest.raises(NothingToDraw, match="is wrong"):
        seen.figure()


def test_what_can_not_be_asked_for_is_refused(installation: Installation) -> None:
    with pytest.raises(UserError, match="03_scheduling has no program for a link; lab 06 has one"):
        find_lab("03", installation).across()
    with pytest.raises(UserError, match=r"a link carries 0\.1 to 50 Mbit/s"):
        find_lab("06", installation).across(rate_mbit_s=1000.0)
    with pytest.raises(UserError, match="there is no language 'rust'"):
        find_lab("06", installation).across("rust")


@pytest.mark.builds
def test_what_the_compiler_says_is_told(installation: Installation) -> None:
    seen = find_lab("06", installation).across("c", "int main(void)\n{ return 0; }\n")
    assert seen.complaint.startswith("kernel.c does not compile with across.c:\n")
    assert "ping_pong" in seen.complaint


@pytest.mark.slow
@pytest.mark.boots
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_is_crossed(installation: Installation, language: Language) -> None:
    lab = find_lab("06", installation)
    assert "ping_pong is wrong" in lab.across(language, lab.handout(language)).complaint
    seen = lab.across(language, installation.solution_folder(LAB), rate_mbit_s=20.0)
    assert list(seen.one_way_us) == [0, *(4**i for i in range(2, 11))]
    assert "of 20 Mbit/s in each direction" in str(seen)
    assert isinstance(seen.figure(), Figure)


def test_a_node_without_mpi_has_a_complaint(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    seen = find_lab("06", installation).across()
    assert seen.complaint.startswith("there is no mpicc here; load an MPICH module")
