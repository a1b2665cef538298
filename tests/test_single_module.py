"""The experiment of Figure 2 in small: which replica is which, and what the tables say."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch

from nmu import NMU, StochasticNMU, runner
from nmu.experiments import EXPERIMENTS, redundancy, single_module, surface
from nmu.metrics import Estimate
from nmu.tasks import RANGES
from nmu.training import History

NAN = float("nan")


def test_settings_are_the_papers():
    assert single_module.SEEDS == tuple(range(25))
    assert single_module.STEPS == 50_000
    assert single_module.LEARNING_RATE == 1e-3
    assert single_module.BATCH_SIZE == 128
    assert single_module.REGULARIZER_SCALE == 10
    assert single_module.REGULARIZER_RAMP == (20_000, 35_000)
    assert single_module.LOG_EVERY == 1_000
    assert single_module.EVALUATION_SIZE == 10_000


@pytest.mark.parametrize("unit", [NMU, functools.partial(StochasticNMU, noise="batch")])
def test_each_range_runs_each_seed(unit):
    options = dict(steps=5, progress=False)
    history, runs = single_module.run(unit, seeds=[3, 7], ranges=RANGES[1:3], **options)
    assert runs["interpolation_range"].tolist() == ["U[-2,-1]"] * 2 + ["U[-1.2,-1.1]"] * 2
    assert runs["seed"].tolist() == [3, 7, 3, 7]
    assert history.steps.tolist() == [0, 5]
    for i, (range_, seed) in enumerate((r, s) for r in RANGES[1:3] for s in (3, 7)):
        alone, _ = single_module.run(unit, seeds=[seed], ranges=[range_], **options)
        assert alone.weights["weight"][:, 0].equal(history.weights["weight"][:, i])
        assert alone.extrapolation_error[:, 0].equal(history.extrapolation_error[:, i])


@pytest.fixture
def runs():
    """Four replicas at two logged steps: solved late, solved at once, failed, NaN."""
    history = History(
        steps=torch.tensor([0, 1000]),
        interpolation_error=torch.tensor([[3.0, 3.0, 2.0, NAN], [1e-9, 1e-9, 0.5, NAN]]),
        extrapolation_error=torch.tensor([[9.0, 1e-8, 9.0, NAN], [1e-8, 1e-9, 7.0, NAN]]),
        weights={"weight": torch.tensor([1.0, 0.875, 0.5, NAN]).expand(2, 4)[:, :, None, None]},
        interrupted=False,
    )
    return single_module.runs_table(history, [RANGES[0], RANGES[0], RANGES[6], RANGES[6]], [0, 1] * 2)


def test_runs_table(runs):
    expected = pd.DataFrame(
        {
            "interpolation_range": ["U[-20,-10]", "U[-20,-10]", "U[1,2]", "U[1,2]"],
            "extrapolation_range": ["U[-40,-20]", "U[-40,-20]", "U[2,6]", "U[2,6]"],
            "seed": [0, 1, 0, 1],
            "solved": [True, True, False, False],
            "solved_at": [1000, 0, NAN, NAN],
            "sparsity_error": [0, 0.125, NAN, NAN],
            "interpolation_error": [1e-9, 1e-9, 0.5, NAN],
            "extrapolation_error": [1e-8, 1e-9, 7, NAN],
        }
    )
    pd.testing.assert_frame_equal(runs, expected, check_dtype=False)


def test_summary_has_one_row_a_range(runs):
    summary = single_module.summarize(runs)
    assert summary.index.tolist() == ["U[-20,-10]", "U[1,2]"]
    assert summary.index.name == "interpolation_range"
    assert [e.value for e in summary["success"]] == [1, 0]
    assert summary["solved_at"].iloc[0].value == 500
    assert summary["sparsity_error"].iloc[0].value == 0.0625
    assert np.isnan(summary["solved_at"].iloc[1].value)
    assert summary["solved_at"].iloc[1].note == "no solved run"


def test_summary_as_text():
    summary = pd.DataFrame(
        {
            "success": [Estimate(0.5, 0.25, 0.75), Estimate(0, 0, 0.13)],
            "solved_at": [
                Estimate(12345.6, 10000, 15000),
                Estimate(NAN, NAN, NAN, "no solved run"),
            ],
            "sparsity_error": [
                Estimate(1e-6, 0, 2e-6, "a single run"),
                Estimate(NAN, NAN, NAN, "-"),
            ],
        },
        index=["A", "B"],
    )
    text = single_module.format_summary(summary)
    assert text.loc["A"].tolist() == [
        "0.50 [0.25, 0.75]",
        "12,346 [10,000, 15,000]",
        "1e-06 [0, 2e-06] †",
    ]
    assert text.loc["B"].tolist() == ["0.00 [0.00, 0.13]", "–", "–"]


def test_the_modules_are_figure_2s():
    assert list(single_module.MODULES) == "NMU sNMU sNMU-batch MNAC NALU G-NALU iNALU NPU RealNPU".split()
    for name, unit in single_module.MODULES.items():
        assert unit(2, 1, batch_shape=(4,)).batch_shape == (4,), name


def test_the_plan_has_a_part_for_each_module_and_25_seeds():
    plan = single_module.experiment()
    assert plan.name == "single_module"
    assert [shard.spec["module"] for shard in plan.shards] == list(single_module.MODULES)
    assert all(shard.spec["seeds"] == list(range(25)) for shard in plan.shards)
    assert plan.spec["modules"]["sNMU-batch"] == "nmu.layers.StochasticNMU(noise='batch')"
    assert plan.spec["modules"]["NMU"] == plan.shards[0].spec["unit"] == "nmu.layers.NMU"
    assert plan.spec["ranges"][4] == [[-2, 2], [-6, -2], [2, 6]]
    assert len(plan.spec["ranges"]) == 9
    more = single_module.experiment({"NMU": NMU}, seeds=range(40, 70), steps=7)
    assert [shard.spec["seeds"] for shard in more.shards] == [list(range(40, 65)), list(range(65, 70))]
    assert {shard.spec["steps"] for shard in more.shards} == {7}
    assert all(shard.units == (NMU,) for shard in more.shards)


def test_what_changes_the_numbers_changes_the_specification(monkeypatch):
    """Otherwise parts of another run would be taken for those of this one."""

    def spec(unit=NMU, **options):
        return single_module.experiment({"unit": unit}, **options).shards[0].spec

    base = spec()
    noisy = functools.partial(StochasticNMU, noise=(1.0, 2.0))
    others = [
        spec(unit=StochasticNMU),
        spec(unit=noisy),
        spec(seeds=[1]),
        spec(ranges=RANGES[:3]),
        spec(steps=10),
        spec(in_features=3),
        spec(device="cuda"),
    ]
    names = "LEARNING_RATE BATCH_SIZE REGULARIZER_SCALE REGULARIZER_RAMP LOG_EVERY EVALUATION_SIZE".split()
    for name in names:
        value = getattr(single_module, name)
        with monkeypatch.context() as patch:
            patch.setattr(
                single_module, name, tuple(2 * v for v in value) if name.endswith("RAMP") else 2 * value
            )
            others.append(spec())
    assert all(base != other for other in others)
    assert base == spec()


def test_an_experiment_stores_what_run_returns(tmp_path):
    options = dict(seeds=[2, 5], ranges=RANGES[5:7], steps=3)
    plan = single_module.experiment({"NMU": NMU, "other": StochasticNMU}, **options)
    tables = runner.run(plan, tmp_path, progress=False)
    assert set(tables) == {"runs.csv", "weights.csv.gz", "curves.csv.gz"}
    for name, unit in [("NMU", NMU), ("other", StochasticNMU)]:
        history, runs = single_module.run(unit, **options, progress=False)
        own = {file: table[table["module"] == name] for file, table in tables.items()}
        assert own["runs.csv"].drop(columns="module").reset_index(drop=True).equals(runs)
        curve = own["curves.csv.gz"].query("interpolation_range == 'U[1,2]' and seed == 5")
        assert curve["step"].tolist() == [0, 3]
        np.testing.assert_allclose(curve["interpolation_error"], history.interpolation_error[:, 3], rtol=5e-5)
        weights = own["weights.csv.gz"].query("interpolation_range == 'U[0.1,0.2]' and seed == 5")
        assert weights["initial"].tolist() == history.weights["weight"][0, 1, 0].tolist()


@pytest.fixture
def three_steps():
    """Two replicas at three logged steps, with two outputs; the first is best at step 20, the other at 0."""
    weight = torch.arange(3 * 2 * 2 * 2, dtype=torch.float32).reshape(3, 2, 2, 2)
    history = History(
        steps=torch.tensor([0, 10, 20]),
        interpolation_error=torch.tensor([[3.0, 1 / 3], [2.0, NAN], [123456.7, 5.0]]),
        extrapolation_error=torch.tensor([[9.0, 1e-12 / 3], [8.0, 7.0], [6.0, NAN]]),
        weights={"gate": weight[..., :1, :] / 8, "weight": weight},
        interrupted=False,
    )
    return history, pd.DataFrame({"module": "unit", "seed": [4, 7]})


def test_curves_table_has_a_row_a_replica_and_step_and_five_digits(three_steps):
    history, replica = three_steps
    table = single_module.curves_table(history, replica)
    expected = pd.DataFrame(
        {
            "module": "unit",
            "seed": [4] * 3 + [7] * 3,
            "step": [0, 10, 20] * 2,
            "interpolation_error": [3, 2, 123460, 0.33333, NAN, 5],
            "extrapolation_error": [9, 8, 6, 3.3333e-13, 7, NAN],
        }
    )
    pd.testing.assert_frame_equal(table, expected, check_dtype=False, rtol=0, atol=0)


def test_weights_table_has_every_weight_before_training_and_at_the_best_step(three_steps):
    history, replica = three_steps
    table = single_module._weights_table(history, replica)
    names = ["gate[0,0]", "gate[0,1]", "weight[0,0]", "weight[0,1]", "weight[1,0]", "weight[1,1]"]
    assert table["seed"].tolist() == [4] * 6 + [7] * 6
    assert table["weight"].tolist() == names * 2
    best = single_module.metrics.best_step(history).tolist()
    assert best == [1, 0]
    for i, seed in enumerate([4, 7]):
        rows = table[table["seed"] == seed].set_index("weight")
        for name in names:
            values = history.weights[name.split("[")[0]]
            out, in_ = int(name[-4]), int(name[-2])
            assert rows.loc[name, "initial"] == values[0, i, out, in_]
            assert rows.loc[name, "best"] == values[best[i], i, out, in_]


def test_redundancy_has_ten_inputs_of_which_two_count(tmp_path):
    assert list(redundancy.MODULES) == ["NMU", "sNMU", "sNMU-batch"]
    plan = redundancy.experiment(seeds=[1], ranges=RANGES[6:7], steps=2)
    assert plan.name == "redundancy"
    assert plan.spec["in_features"] == redundancy.IN_FEATURES == 10
    tables = runner.run(plan, tmp_path, progress=False)
    assert tables["runs.csv"]["module"].tolist() == list(redundancy.MODULES)
    assert set(tables["weights.csv.gz"]["weight"]) == {f"weight[0,{i}]" for i in range(10)}
    _, runs = single_module.run(NMU, seeds=[1], ranges=RANGES[6:7], steps=2, in_features=10, progress=False)
    assert tables["runs.csv"].loc[0, "extrapolation_error"] == runs.loc[0, "extrapolation_error"]


class Product(torch.nn.Module):
    """The product itself, and a parameter so that there is something to train."""

    def __init__(self, in_features, out_features, batch_shape=()):
        super().__init__()
        self.offset = torch.nn.Parameter(torch.empty(*batch_shape, out_features, in_features))

    @torch.no_grad()
    def reset_parameters(self, generator):
        self.offset.zero_()

    def forward(self, x):
        return x.prod(dim=-1, keepdim=True) + 0 * self.offset.sum()


def test_surface_stores_the_output_over_the_grid(tmp_path):
    plan = surface.experiment({"exact": Product, "MLP-1": surface.MODULES["MLP-1"]}, seeds=[3, 0], steps=4)
    tables = runner.run(plan, tmp_path, progress=False)
    grid = tables["surface.csv.gz"].query("module == 'exact'")
    assert len(grid) == len(surface.GRID) ** 2
    assert sorted(set(grid["x_1"])) == sorted(set(grid["x_2"])) == surface.GRID.tolist()
    np.testing.assert_allclose(grid["output"], grid["x_1"] * grid["x_2"], atol=1e-5)
    runs = tables["runs.csv"]
    assert runs["module"].tolist() == ["exact"] * 2 + ["MLP-1"] * 2
    assert runs["seed"].tolist() == [3, 0] * 2
    assert runs["interpolation_range"].unique().tolist() == [str(surface.RANGE)] == ["U[1,2]"]
    assert (runs["steps"] == 4).all()
    assert (runs["extrapolation_error"][:2] < 1e-10).all()
    assert (runs["extrapolation_error"][2:] > 1).all()
    last = tables["curves.csv.gz"].query("step == 4")
    np.testing.assert_allclose(last["interpolation_error"], runs["interpolation_error"], rtol=1e-4)


def test_the_surface_is_that_of_the_first_seed(tmp_path):
    def outputs(seeds):
        plan = surface.experiment({"NMU": NMU}, seeds=seeds, steps=2)
        tables = runner.run(plan, tmp_path / str(len(seeds)) / str(seeds[0]), progress=False)
        return tables["surface.csv.gz"]["output"]

    assert outputs([3, 0]).equals(outputs([3]))
    assert not outputs([0]).equals(outputs([3]))


def test_the_surface_trains_each_module_as_long_as_figure_1_or_as_asked():
    plan = surface.experiment()
    assert {shard.spec["module"]: shard.spec["steps"] for shard in plan.shards} == {
        "MLP-1": 50_000,
        "MLP-100": 2_000_000,
        "NMU": 50_000,
    }
    assert {shard.spec["steps"] for shard in surface.experiment({"x": NMU}).shards} == {50_000}
    assert {shard.spec["steps"] for shard in surface.experiment(steps=9).shards} == {9}


def test_an_interrupted_part_is_not_stored(tmp_path, monkeypatch):
    for module, options in [(single_module, {"ranges": RANGES[6:7]}), (surface, {})]:
        train = module.train

        def stopped(*arguments, train=train, **settings):
            history = train(*arguments, **settings)
            return History(**{**vars(history), "interrupted": True})

        monkeypatch.setattr(module, "train", stopped)
        plan = module.experiment({"NMU": NMU}, seeds=[0], steps=1, **options)
        with pytest.raises(KeyboardInterrupt):
            runner.run(plan, tmp_path / plan.name, progress=False)
        assert runner.finished(plan, tmp_path / plan.name) == [False]


def test_every_experiment_is_known_by_its_name():
    for name, module in EXPERIMENTS.items():
        assert module.experiment(seeds=[0]).name == name
        assert len(module.experiment(seeds=[0]).shards) == len(module.MODULES)
        assert module.__doc__
