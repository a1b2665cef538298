"""The experiments, by the name that the command line knows them by."""

from types import ModuleType

from nmu.experiments import arithmetic_dataset, hundred_inputs, redundancy, single_module, surface

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, ModuleType] = {
    "single_module": single_module,
    "redundancy": redundancy,
    "surface": surface,
    "arithmetic_dataset": arithmetic_dataset,
    "hundred_inputs": hundred_inputs,
}
"""Each module has ``MODULES``, and ``experiment(...)``, which plans a run."""
