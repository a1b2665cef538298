"""The modules that the units are compared with."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from nmu.baselines import MLP
from nmu.tasks import RANGES, ReplicaStreams, SingleModuleTask
from nmu.training import initialize, train


def linear_layers(mlp, index=()):
    """Build one replica of an MLP out of PyTorch's own layers."""
    hidden = nn.Linear(mlp.in_features, mlp.hidden_features)
    output = nn.Linear(mlp.hidden_features, mlp.out_features)
    with torch.no_grad():
        hidden.weight.copy_(mlp.hidden_weight[index])
        hidden.bias.copy_(mlp.hidden_bias[index])
        output.weight.copy_(mlp.output_weight[index])
        output.bias.copy_(mlp.output_bias[index])
    return nn.Sequential(hidden, nn.ReLU(), output)


@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_mlp_equals_pytorchs_layers(batch_shape):
    mlp = MLP(2, 3, 5, batch_shape=batch_shape)
    x = torch.randn(*batch_shape, 7, 2)
    output = mlp(x)
    assert output.shape == (*batch_shape, 7, 3)
    for index in np.ndindex(*batch_shape):
        alone = linear_layers(mlp, index)(x[index])
        # A batched matrix product may sum in another order: a few float32 roundings below 10.
        torch.testing.assert_close(output[index], alone, rtol=0, atol=5e-6)


def test_mlp_starts_as_pytorchs_layers_do():
    mlp = MLP(4, 1, 9, batch_shape=(500,))
    for parameter, bound in [
        (mlp.hidden_weight, 1 / 2),
        (mlp.hidden_bias, 1 / 2),
        (mlp.output_weight, 1 / 3),
        (mlp.output_bias, 1 / 3),
    ]:
        assert -bound <= parameter.min() < -0.98 * bound
        assert 0.98 * bound < parameter.max() <= bound
        assert parameter.mean().abs() < 0.1 * bound
        assert parameter.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_mlp_copies_and_describes_itself():
    mlp = MLP(2, 1, 5, batch_shape=(3,))
    x = torch.randn(3, 7, 2)
    twins = [copy.deepcopy(mlp), pickle.loads(pickle.dumps(mlp)), MLP(2, 1, 5, batch_shape=(3,))]
    assert not twins[2](x).equal(mlp(x))
    twins[2].load_state_dict(mlp.state_dict())
    assert all(twin(x).equal(mlp(x)) for twin in twins)
    assert repr(MLP(2, 1, 5)) == "MLP(in_features=2, out_features=1, hidden_features=5)"
    assert "batch_shape=(3,)" in repr(mlp)


def test_mlp_replicas_are_defined_by_their_seeds():
    mlp, alone = MLP(2, 1, 5, batch_shape=(3,)), MLP(2, 1, 5, batch_shape=(1,))
    mlp.reset_parameters(ReplicaStreams([4, 5, 6], "initial weights"))
    alone.reset_parameters(ReplicaStreams([5], "initial weights"))
    for name, parameter in alone.named_parameters():
        assert mlp.get_parameter(name)[1].equal(parameter[0])


def test_mlp_trains_in_the_common_loop():
    seeds = [0, 1]
    model = initialize(MLP(2, 1, 8, batch_shape=(2,)), seeds)
    task = SingleModuleTask([RANGES[6]] * 2)
    options = dict(steps=200, log_every=200, learning_rate=0.01, progress=False)
    history = train(model, task, seeds, **options)
    assert (history.interpolation_error[-1] < 0.5 * history.interpolation_error[0]).all()
    assert history.weights["hidden_bias"].shape == (2, 2, 8)


def test_mlp_refuses_bad_input():
    with pytest.raises(ValueError, match="hidden_features must be made of positive integers; got 0"):
        MLP(2, 1, 0)
    with pytest.raises(ValueError, match=r"x must have 2 in its last dimension.* got 3"):
        MLP(2, 1, 5)(torch.ones(7, 3))
    with pytest.raises(TypeError, match="x must have a floating-point dtype"):
        MLP(2, 1, 5)(torch.ones(7, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="must not be empty"):
        MLP(2, 1, 5)(torch.ones(0, 2))
