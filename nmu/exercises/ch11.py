"""Checks of the exercises of chapter 11, "Two digits"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _best_scale(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return torch.linalg.lstsq(read.prod(-1, keepdim=True), products[:, None]).solution.squeeze()


def _mean_ratio(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return (products / read.prod(-1)).mean()


def _ratio_of_means(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return products.mean() / read.prod(-1).mean()


def _other_way_round(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return 1 / _best_scale(read, products)


def _from_the_true(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return products.square().sum() / (read.prod(-1) * products).sum()


def _one_weight(read: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    return _best_scale(read, products).sqrt()


def _numbers(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


CHECKS = {
    "ex-digits-scale": Check(
        _best_scale,
        [
            (_numbers([2, 3]), _numbers(12)),
            (_numbers([1, 2], [3, 1]), _numbers(4, 9)),
            (_numbers([2.5, 4.1], [6.8, 1.2], [8.1, 8.8]), _numbers(8, 7, 72)),
            (_numbers([0, 5], [2, 2], [3, 4]), _numbers(5, 4, 10)),
            (_numbers([0.9, 0.1], [4.5, 4], [8.5, 8]), _numbers(0, 16, 72)),
        ],
        {
            "you average the ratios of true products to products of readings. That makes a small product "
            "count as much as a large one, and a reading of 0 spoils it.": _mean_ratio,
            "you make the products right on average, where errors of both signs cancel. Ask for the slope "
            "of the mean squared error in the scale.": _ratio_of_means,
            "this takes the true products to those of the readings. It is the readings that are to be "
            "scaled.": _other_way_round,
            "you divide by a mean that mixes true products and readings: the best fit of the readings' "
            "products by the true ones, turned round. Which of the two is to be moved?": _from_the_true,
            "this is the root of the scale, what each of two equal weights would be; the product of both "
            "weights is wanted.": _one_weight,
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
