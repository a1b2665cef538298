"""The experiments, by the name that the command line knows them by."""

from types import ModuleType

from nmu.experiments import (
    arithmetic_dataset,
    bundled_isolated,
    bundled_overlapping,
    bundled_sequential,
    hundred_inputs,
    redundancy,
    sequential_mnist,
    single_module,
    static_mnist_isolated,
    static_mnist_overlapping,
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
    "static_mnist_isolated": static_mnist_isolated,
    "static_mnist_overlapping": static_mnist_overlapping,
    "sequential_mnist": sequential_mnist,
    "bundled_isolated": bundled_isolated,
    "bundled_overlapping": bundled_overlapping,
    "bundled_sequential": bundled_sequential,
}
"""Each module has ``MODULES``, and ``experiment(...)``, which plans a run."""
