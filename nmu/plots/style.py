"""The book's colours, markers and matplotlib defaults."""

import seaborn as sns

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def use_style() -> None:
    """Set matplotlib's defaults to the book's style."""
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=PALETTE,
        rc={
            "figure.figsize": (7, 4),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "savefig.bbox": "tight",
            "axes.titlesize": "medium",
            "axes.labelpad": 7,
            "legend.frameon": False,
            "svg.fonttype": "none",
        },
    )
