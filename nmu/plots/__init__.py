"""Figures from tables and histories, in one style.

Colours are Okabe and Ito's, told apart by colour-blind readers; markers, line styles or hatches always
repeat what a colour says. Figures keep a light ground, so that they read in dark mode and in print.
"""

from nmu.plots.benchmark import module_estimates, outcome_bars, success_grid, weight_rows
from nmu.plots.choice import shift_shares
from nmu.plots.digits import (
    accuracies,
    class_accuracies,
    confusion,
    epoch_curves,
    errors_by_length,
    image_grid,
)
from nmu.plots.looks import canvas_grid, reading_curves, transformer_looks
from nmu.plots.maps import basins, landscapes, surface_grid, surfaces, trap_map
from nmu.plots.noise import effective_weight_rows, nested_basins, shares
from nmu.plots.pairs import pair_grid, readings
from nmu.plots.stacked import curvature_rows, stack_errors, stack_weights
from nmu.plots.style import MARKERS, PALETTE, use_style
from nmu.plots.units import comparison, factor_lines, weight_path_panels, weight_paths

__all__ = [
    "MARKERS",
    "PALETTE",
    "accuracies",
    "basins",
    "canvas_grid",
    "class_accuracies",
    "comparison",
    "confusion",
    "curvature_rows",
    "effective_weight_rows",
    "epoch_curves",
    "errors_by_length",
    "factor_lines",
    "image_grid",
    "landscapes",
    "module_estimates",
    "nested_basins",
    "outcome_bars",
    "pair_grid",
    "reading_curves",
    "readings",
    "shares",
    "shift_shares",
    "stack_errors",
    "stack_weights",
    "success_grid",
    "surface_grid",
    "surfaces",
    "transformer_looks",
    "trap_map",
    "use_style",
    "weight_path_panels",
    "weight_paths",
    "weight_rows",
]
