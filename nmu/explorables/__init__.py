"""Figures to be operated, in JupyterLab and on a page without a kernel.

Each is an :class:`anywidget.AnyWidget`: its state are traits, which Python and the page share, and its
arithmetic is JavaScript of its own, tested against :mod:`nmu.functional` and :mod:`nmu.theory`.
"""

from nmu.explorables.benchmark import Benchmark
from nmu.explorables.landscape import Landscape
from nmu.explorables.reversibility import Reversibility
from nmu.explorables.trap_line import TrapLine
from nmu.explorables.unit import Unit

__all__ = ["Benchmark", "Landscape", "Reversibility", "TrapLine", "Unit"]
