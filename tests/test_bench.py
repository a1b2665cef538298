"""The timings: that they are of what they say, and complete; never how long anything takes."""

import pytest

from nmu import bench
from nmu.streams import ReplicaStreams


@pytest.mark.slow
def test_measure_holds_all_figures_of_all_processes():
    figures = bench.measure("sNMU", replicas=3, processes=2, steps=3)
    assert set(figures) == {
        "module",
        "replicas",
        "processes",
        "microseconds_per_step",
        "replica_steps_per_second",
        "bound_microseconds_per_step",
        "share_of_bound",
    }
    assert (figures["module"], figures["replicas"], figures["processes"]) == ("sNMU", 3, 2)


class NoProcesses:
    """A pool whose work is done here: the times of each process are those given."""

    def __init__(self, times):
        self.times = times

    def __call__(self, processes):
        self.left = {name: list(values) for name, values in self.times.items()}
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, function, *arguments):
        self.calls = [*getattr(self, "calls", []), (function.__name__, *arguments)]
        self.value = self.left[function.__name__].pop(0)
        value = self.value
        return type("Future", (), {"result": lambda _: value})()


def test_measure_is_what_the_processes_report(monkeypatch):
    pool = NoProcesses({"_step_time": [9, 9, 0.001, 0.003], "_bound": [0.0005, 0.0015]})
    monkeypatch.setattr(bench, "process_pool", pool)
    figures = bench.measure("NMU", replicas=225, processes=2)
    assert figures["microseconds_per_step"] == 2000
    assert figures["bound_microseconds_per_step"] == 1000
    assert figures["share_of_bound"] == 0.5
    assert figures["replica_steps_per_second"] == 225 / 0.001 + 225 / 0.003
    short, long = ("_step_time", "NMU", 225, 2, 10), ("_step_time", "NMU", 225, 2, 600_000 // 225)
    assert pool.calls == [short] * 2 + [long] * 2 + [("_bound", *long[1:])] * 2


def test_growth_has_one_row_a_combination():
    table = bench.growth(replicas=(1, 4), in_features=(2, 5), updates=1)
    assert table.columns.tolist() == [
        "module",
        "in_features",
        "replicas",
        "microseconds_per_step",
        "microseconds_per_replica_step",
        "bound_microseconds_per_step",
    ]
    assert table["module"].tolist() == ["NMU"] * 4 + ["sNMU"] * 4
    assert table["in_features"].tolist() == [2, 2, 5, 5] * 2
    assert table["replicas"].tolist() == [1, 4] * 4


def test_growth_shows_its_progress_on_request(capsys):
    bench.growth(replicas=(1,), in_features=(2,), updates=1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err


@pytest.mark.parametrize(
    ("updates", "steps"), [(1, 3), (2_000, 100), (10_000_000, 2_000)], ids=["few", "between", "many"]
)
def test_growth_times_less_where_a_step_is_more(monkeypatch, updates, steps):
    asked = []
    monkeypatch.setattr(bench, "_step_time", lambda *arguments: asked.append(arguments) or 2e-6)
    monkeypatch.setattr(bench, "_bound", lambda *arguments: 1e-6)
    table = bench.growth(replicas=(4,), in_features=(5,), updates=updates)
    assert asked == [("NMU", 4, 5, steps), ("sNMU", 4, 5, steps)]
    assert table["microseconds_per_step"].tolist() == [2, 2]
    assert table["microseconds_per_replica_step"].tolist() == [0.5, 0.5]
    assert table["bound_microseconds_per_step"].tolist() == [1, 1]


def test_a_step_is_timed_without_what_goes_before_it():
    assert bench._difference(lambda steps: 7 + 0.5 * steps, 10) == 0.5


@pytest.mark.parametrize(("module", "draws"), [("NMU", 1), ("sNMU", 2)])
def test_the_bound_draws_what_a_step_draws(monkeypatch, module, draws):
    counts = {}

    class Counting(ReplicaStreams):
        def __init__(self, seeds, purpose, *rest, **options):
            super().__init__(seeds, purpose, *rest, **options)
            self.purpose = purpose

        def uniform(self, shape):
            if "weights" not in self.purpose and self.purpose != "evaluation":
                counts[shape] = counts.get(shape, 0) + 1
            return super().uniform(shape)

    monkeypatch.setattr(bench, "ReplicaStreams", Counting)
    bench._bound(module, 3, 5, 10)
    assert counts == {(3, 5, bench.BATCH_SIZE): draws * 4 * 12}  # 12 steps use up a block
    counts.clear()
    monkeypatch.setattr("nmu.training.ReplicaStreams", Counting)
    bench._step_time(module, 3, 5, 10)
    assert sum(counts.values()) == draws * 4 * 12
    assert {(shape[0], shape[-2] * shape[-1]) for shape in counts} == {(3, 5 * bench.BATCH_SIZE)}
