"""The experiments, by the name that the command line knows them by."""

from types import ModuleType

from nmu.experiments import (
    arithmetic_dataset,
    hundred_inputs,
    redundancy,
    single_module,
    surface,
    variants,
    variants_redundancy,
    variants_stacked,
)

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, ModuleType] = {
    "single_module": single_module,
    "redundancy": redundancy,
    "surface": surface,
    "arithmetic_dataset": arithmetic_dataset,
    "hundred_inputs": hundred_inputs,
    "variants": variants,
    "variants_redundancy": variants_redundancy,
    "variants_stacked": variants_stacked,
}
"""Each module has ``MODULES``, and ``experiment(...)``, which plans a run."""
