"""What all tests share: fixed seeds, so that a failure comes back when it is run again."""

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import settings

from nmu import plots

matplotlib.use("Agg")

settings.register_profile("book", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(20221121)


@pytest.fixture
def two_threads():
    """More threads than training uses, and the former number back at the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def book_style():
    """Draw in the book's style, and leave matplotlib as it was."""
    with plt.rc_context():
        plots.use_style()
        yield
    plt.close("all")
