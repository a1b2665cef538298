"""Runs that are killed, interrupted, spread out, or that fail: the tables come out the same."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import toy_experiment
from pandas.testing import assert_frame_equal
from toy_experiment import PARTS, experiment

from nmu import NMU, runner, store
from nmu.experiments import single_module
from nmu.runner import Experiment, RunError, Shard
from nmu.store import StoreError
from nmu.tasks import RANGES

TOY = [sys.executable, toy_experiment.__file__]


def digests(folder):
    """SHA-256 of each table in a folder, after a check of the manifest."""
    _, manifest = store.read_results(folder)
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path(folder).glob("[!.]*.csv*")}
    assert found == {name: entry["sha256"] for name, entry in manifest["tables"].items()}
    return found


def leftovers(folder):
    return [path for path in Path(folder).rglob("*") if path.suffix == ".tmp"]


def finished_parts(folder):
    return len(list(Path(folder).glob("shards/*.zip")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Digests of the tables of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    runner.run(experiment(), folder, progress=False)
    assert not leftovers(folder)
    return digests(folder)


def train(seeds, progress=False):
    """A real training run, of 50 steps."""
    runs = single_module.run(NMU, seeds=seeds, ranges=RANGES[5:7], steps=50, progress=progress)[1]
    return {"runs.csv": runs}


def trained():
    shards = tuple(Shard({"seeds": seeds}, partial(train, seeds)) for seeds in ([0, 1], [2]))
    return Experiment("trained", {"steps": 50}, shards)


def test_the_tables_and_the_manifest(tmp_path):
    tables = runner.run(experiment(), tmp_path / "new" / "toy", progress=False, command="make toy")
    read, manifest = store.read_results(tmp_path / "new" / "toy")
    assert set(tables) == set(read) == {"runs.csv", "curves.csv.gz"}
    for name in tables:
        parts = [toy_experiment.compute(part)[name] for part in range(PARTS)]
        assert_frame_equal(tables[name], pd.concat(parts, ignore_index=True), check_exact=True)
        assert_frame_equal(tables[name], read[name], check_exact=True)
    assert manifest["experiment"] == "toy"
    assert manifest["spec"] == {"seeds": 3, "parts": PARTS}
    assert manifest["command"] == "make toy"
    assert manifest["seconds"] >= 0
    assert re.fullmatch("[0-9a-f]{64}", manifest["code"])
    assert set(manifest["versions"]) == {"python", "torch", "numpy", "pandas", "nmu"}
    assert manifest["versions"]["pandas"] == pd.__version__
    assert manifest["hardware"]["cores"] == os.cpu_count()
    assert manifest["hardware"]["processor"]
    assert manifest["hardware"]["memory_gib"] > 0
    for commit in manifest["commits"] or []:
        assert re.fullmatch(r"[0-9a-f]{40}(\+changes)?", commit)


def test_finished_parts_are_not_computed_again(tmp_path, undisturbed):
    first = experiment(fails={5: True})
    with pytest.raises(RunError) as caught:
        runner.run(first, tmp_path, progress=False)
    assert str(caught.value) == (
        "toy, part 6 (unit 5) failed: ArithmeticError: no result for part 5. The parts that are finished "
        f"are kept in {tmp_path}: the same command goes on from there."
    )
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert runner.finished(first, tmp_path) == [True] * 5 + [False]
    assert not (tmp_path / "manifest.json").exists()

    rest = experiment(fails=dict.fromkeys(range(5), True))
    runner.run(rest, tmp_path, progress=False)
    assert digests(tmp_path) == undisturbed
    assert runner.finished(rest, tmp_path) == [True] * PARTS


def test_a_damaged_part_is_refused_by_name(tmp_path, undisturbed):
    runner.run(experiment(), tmp_path, progress=False)
    victim = sorted(tmp_path.glob("shards/*.zip"))[3]
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(StoreError, match=re.escape(str(victim)) + ".*Delete it and run"):
        runner.run(experiment(fails=True), tmp_path, progress=False)
    victim.unlink()
    runner.run(experiment(), tmp_path, progress=False)
    assert digests(tmp_path) == undisturbed


def test_the_results_of_another_run_are_refused_before_anything_is_computed(tmp_path, undisturbed):
    runner.run(experiment(), tmp_path, progress=False)
    with pytest.raises(StoreError, match=r"seeds: 3 there, 4 asked for.*Choose another folder"):
        runner.run(experiment(seeds=4, fails=True), tmp_path, progress=False)
    assert finished_parts(tmp_path) == PARTS
    assert digests(tmp_path) == undisturbed


def test_a_change_of_the_code_computes_anew(tmp_path, monkeypatch):
    source = tmp_path / "my_units.py"
    source.write_text("class MyUnit:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    from my_units import MyUnit

    folder = tmp_path / "results"
    chosen = experiment(units=(MyUnit, NMU))
    runner.run(chosen, folder, progress=False)
    before = store.read_results(folder)[1]["code"]
    assert all(runner.finished(chosen, folder))
    assert not any(runner.finished(experiment(), folder))

    source.write_text("class MyUnit:\n    changed = True\n")
    assert not any(runner.finished(chosen, folder))
    runner.run(chosen, folder, progress=False)
    after = store.read_results(folder)[1]["code"]
    assert finished_parts(folder) == 2 * PARTS

    monkeypatch.setitem(runner._OWN_SOURCES, "nmu/training.py", b"changed")
    assert not any(runner.finished(chosen, folder))
    runner.run(chosen, folder, progress=False)
    assert len({before, after, store.read_results(folder)[1]["code"]}) == 3


def test_every_module_that_makes_numbers_counts():
    files = set(runner._OWN_SOURCES)
    for name in ("functional", "layers", "baselines", "tasks", "training", "metrics"):
        assert any(file.startswith(f"nmu/{name}") for file in files)
    assert "nmu/experiments/single_module.py" in files
    assert not files & {"nmu/store.py", "nmu/runner.py", "nmu/plots.py", "nmu/__main__.py"}


def test_a_unit_without_a_source_file_is_refused(tmp_path):
    typed_into_a_cell = type("MyUnit", (), {"__module__": "__main__"})
    from_nowhere = type("MyUnit", (), {"__module__": "no_such_module"})
    for unit in (typed_into_a_cell, from_nowhere):
        with pytest.raises(ValueError, match=r"source file of MyUnit cannot be found.*put it into a module"):
            runner.run(experiment(units=(unit,)), tmp_path, progress=False)


def test_an_edit_during_a_run_is_noticed(tmp_path, monkeypatch):
    codes = iter("a" * (PARTS + 1) + "b")  # one a part when the run begins, then one a part at work
    monkeypatch.setattr(runner, "_code", lambda shard: next(codes))
    with pytest.raises(RunError, match=r"part 2 .*start again after an edit"):
        runner.run(experiment(), tmp_path, progress=False)


def test_parts_must_exist_and_differ(tmp_path):
    for shards in [(), experiment().shards[:1] * 2]:
        with pytest.raises(ValueError, match="there must be parts, of different specifications"):
            runner.run(Experiment("toy", {}, shards), tmp_path)


def test_tables_with_other_columns_are_not_joined(tmp_path):
    shards = tuple(Shard({"column": column}, partial(_one_column, column)) for column in ("seed", "sede"))
    with pytest.raises(ValueError, match=r"t\.csv: the columns must be the same"):
        runner.run(Experiment("toy", {}, shards), tmp_path, progress=False)


def _one_column(column, progress):
    return {"t.csv": pd.DataFrame({column: [1]})}


def test_progress_names_the_part_and_goes_to_stderr(tmp_path, capsys):
    runner.run(experiment(), tmp_path)
    out, err = capsys.readouterr()
    assert out == ""
    assert "toy, part 1 (unit 0):   0%" in err
    assert f"toy, part {PARTS} (unit {PARTS - 1}): 100%" in err
    assert f"{PARTS}/{PARTS}" in err
    runner.run(experiment(), tmp_path, progress=False)
    assert capsys.readouterr() == ("", "")


def test_the_provenance_of_different_machines_is_listed(tmp_path, monkeypatch):
    for commit, failing in [("b" * 40, {4: True}), ("a" * 40 + "+changes", {})]:
        own = {**runner.provenance(), "commit": commit, "hardware": {"processor": commit[0]}}
        monkeypatch.setattr(runner, "provenance", lambda own=own: own)
        try:
            runner.run(experiment(fails=failing), tmp_path, progress=False)
        except RunError:
            assert failing
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["commits"] == ["a" * 40 + "+changes", "b" * 40]
    assert manifest["hardware"] == [{"processor": "a"}, {"processor": "b"}]
    assert isinstance(manifest["versions"], dict)


@pytest.mark.slow
def test_killed_at_any_moment_of_writing_it_ends_with_the_same_bytes(tmp_path, undisturbed):
    """Ten moments for each of the 9 files: before, between and after open, write, fsync and rename."""
    subprocess.run([*TOY, "kill_at_every_point", tmp_path, "0", "3"], check=True, timeout=120)
    reports = [path.read_text().split() for path in sorted(tmp_path.glob("*.txt"))]
    codes, parts = zip(*reports, strict=True)
    assert list(codes) == ["-9"] * 30 + ["0"]
    assert {int(count) for count in parts} == set(range(PARTS + 1))
    assert leftovers(tmp_path)
    for folder in tmp_path.glob("*/"):
        assert digests(folder) == undisturbed


@pytest.mark.slow
def test_killed_at_random_it_ends_with_the_same_bytes(tmp_path, undisturbed):
    times = [f"{0.01 * i**1.3:.3f}" for i in range(10)]
    subprocess.run([*TOY, "kill_at_random", tmp_path, *times], check=True, timeout=120)
    codes = [path.read_text().split()[0] for path in sorted(tmp_path.glob("*.txt"))]
    assert codes.count("-9") >= 5
    for folder in tmp_path.glob("*/"):
        assert digests(folder) == undisturbed


@pytest.mark.slow
def test_two_runs_at_once_do_not_disturb_each_other(tmp_path, undisturbed):
    subprocess.run([*TOY, "run_twice_at_once", tmp_path, "5"], check=True, timeout=120)
    folders = list(tmp_path.glob("*/"))
    assert len(folders) == 5
    for folder in folders:
        assert digests(folder) == undisturbed
        assert not leftovers(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "whole_group"), [(0, True), (2, True), (2, False)], ids=["here", "terminal", "parent alone"]
)
def test_an_interrupt_stops_all_and_the_next_run_goes_on(tmp_path, undisturbed, workers, whole_group):
    command = [*TOY, "run_until_interrupted", tmp_path, str(workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while finished_parts(tmp_path) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        began = time.monotonic()
        errors = process.communicate(timeout=30)[1]  # until no process holds stderr: none is left behind
    assert process.returncode == 130
    assert time.monotonic() - began < 5
    assert "Traceback" not in errors
    assert 2 <= finished_parts(tmp_path) < PARTS
    runner.run(experiment(), tmp_path, progress=False)
    assert digests(tmp_path) == undisturbed


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path):
    command = [*TOY, "run_until_interrupted", tmp_path, "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while finished_parts(tmp_path) < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=30)  # until no process holds stderr
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_processes_give_the_same_bytes(tmp_path, undisturbed):
    plain = tmp_path / "plain"
    runner.run(trained(), plain, progress=False)
    with runner.process_pool(2) as executor:
        # The first parts take longest, so that the parts finish in another order than they began.
        runner.run(experiment(seconds={0: 0.3, 1: 0.2}), tmp_path / "toy", executor=executor, progress=False)
        runner.run(trained(), tmp_path / "trained", executor=executor, progress=False)
        # What fails loses nothing that was finished, and the pool stays usable.
        folder = tmp_path / "failing"
        with pytest.raises(RunError, match=r"toy, part 4 \(unit 3\) failed: ArithmeticError"):
            runner.run(
                experiment(fails={3: True}, seconds={3: 0.5}), folder, executor=executor, progress=False
            )
        assert finished_parts(folder) >= 3
        runner.run(experiment(), folder, executor=executor, progress=False)
    assert digests(tmp_path / "toy") == digests(folder) == undisturbed
    assert digests(tmp_path / "trained") == digests(plain)
    assert len(store.read_table(plain, "runs.csv")) == 6


@pytest.mark.slow
def test_a_killed_process_is_reported_and_the_next_run_goes_on(tmp_path, undisturbed):
    deadly = experiment(kills_once={4: str(tmp_path / "killed")}, seconds={4: 0.3})
    folder = tmp_path / "toy"
    message = r"failed: a worker process ended abruptly \(killed, or out of memory\)\. The parts .* goes on"
    with pytest.raises(RunError, match=message), runner.process_pool(2) as executor:
        runner.run(deadly, folder, executor=executor, progress=False)
    assert 1 <= finished_parts(folder) < PARTS
    runner.run(deadly, folder, progress=False)
    assert digests(folder) == undisturbed


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_even_when_it_loses_a_worker(tmp_path, undisturbed):
    distributed = pytest.importorskip("distributed")
    plain = tmp_path / "plain"
    runner.run(trained(), plain, progress=False)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        runner.run(experiment(), tmp_path / "toy", executor=executor, progress=False)
        runner.run(trained(), tmp_path / "trained", executor=executor, progress=False)
        deadly = experiment(kills_once={4: str(tmp_path / "killed")}, seconds=0.1)
        runner.run(deadly, tmp_path / "deadly", executor=executor, progress=False)
        with pytest.raises(RunError, match=r"part 3 \(unit 2\) failed: ArithmeticError"):
            runner.run(experiment(fails={2: True}), tmp_path / "failing", executor=executor, progress=False)
    assert (tmp_path / "killed").exists()
    assert digests(tmp_path / "toy") == digests(tmp_path / "deadly") == undisturbed
    assert digests(tmp_path / "trained") == digests(plain)
