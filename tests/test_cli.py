"""The command line, as its user meets it: results, messages, exit codes."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

from nmu import __main__ as cli
from nmu import _arguments as arguments
from nmu import runner, store
from nmu.experiments import EXPERIMENTS, bundled_isolated, sequential_mnist

SHORT = ["--seeds", "2", "--ranges", "U[1,2] U[-2,2]", "--steps", "3"]
READER_UNITS = '''
import os
import time
from functools import partial

from nmu import NMU, StochasticNMU


class Mine(NMU):
    """A reader's unit."""


class Slow(NMU):
    """A unit that takes a minute where the variable SLOW is set."""

    def forward(self, x):
        time.sleep(60 if "SLOW" in os.environ and self.training else 0)
        return super().forward(x)


narrow = partial(StochasticNMU, noise=(1.0, 2.0))
number = 3
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to work in; what an import of the reader's file changes is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("reader_units", None)
    sys.modules.pop("broken_units", None)
    plt.close("all")


@pytest.fixture
def nmu(monkeypatch):
    """Call the command line: exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["nmu", *arguments])
        result = CliRunner().invoke(cli.app, arguments, prog_name="python -m nmu")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result.exit_code, result.stdout, result.stderr

    return call


def digests(folder):
    """SHA-256 of each table in a folder, after a check of the manifest."""
    _, manifest = store.read_results(folder)
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path(folder).glob("[!.]*.csv*")}
    assert found == {name: entry["sha256"] for name, entry in manifest["tables"].items()}
    return found


def sentence(text):
    """The error of a message as one line, without the frame that a terminal may draw."""
    return re.sub(r"[│╭╮╰╯─\s]+", " ", text)


def test_every_command_and_option_explains_itself(nmu):
    code, text, _ = nmu("--help")
    assert code == 0
    for command in ("list", "run", "status", "show", "bench"):
        assert re.search(rf"^ +{command} +[A-Z]", text, re.MULTILINE)
        code, help_, _ = nmu(command, "--help")
        assert code == 0
        for line in re.split(r"\n(?=  -)", help_)[1:]:
            assert re.search(r"--[a-z-]+( <[a-z ]+>)?\s+[A-Z]", line), line
    assert "--no-" not in help_


def test_list_names_every_experiment_and_its_modules(nmu):
    code, text, _ = nmu("list")
    assert code == 0
    for name, module in EXPERIMENTS.items():
        assert f"{name}\n" in text
        assert f"modules: {', '.join(module.MODULES)}\n" in text
    assert "`" not in text


def test_run_writes_what_status_and_show_read(nmu, here):
    options = ["redundancy", *SHORT, "--modules", "NMU,sNMU"]
    code, before, _ = nmu("status", *options)
    assert code == 0
    assert before.startswith(
        f"{Path('results/redundancy')} does not exist yet.\n0 of 2 parts are finished:\n"
    )
    assert before.count("missing") == 2

    code, out, err = nmu("run", *options)
    assert code == 0
    assert out == (
        "Finished: the tables are in results/redundancy. `python -m nmu show redundancy` shows them.\n"
    )
    assert "2/2" in err
    tables, manifest = store.read_results("results/redundancy")
    assert manifest["command"] == (
        "python -m nmu run redundancy --seeds 2 --ranges 'U[1,2] U[-2,2]' --steps 3 --modules NMU,sNMU"
    )
    runs = tables["runs.csv"]
    assert runs["module"].tolist() == ["NMU"] * 4 + ["sNMU"] * 4
    assert runs["interpolation_range"].tolist() == ["U[1,2]", "U[1,2]", "U[-2,2]", "U[-2,2]"] * 2
    assert runs["seed"].tolist() == [0, 1] * 4
    assert tables["curves.csv.gz"]["step"].unique().tolist() == [0, 3]

    _, after, _ = nmu("status", *options)
    assert f"made by {manifest['command']} (commit" in after
    assert "2 of 2 parts are finished:\n  finished  NMU, seeds 0 to 1, 3 steps\n  finished  sNMU," in after
    assert "other options" not in after
    assert "Missing" not in after
    next(here.glob("results/redundancy/shards/*.zip")).unlink()
    assert (
        "Missing parts were deleted, or the code has changed: a run computes them again.\n1 of 2 parts"
        in nmu("status", *options)[1]
    )
    _, other, _ = nmu("status", "redundancy")
    assert "That run had other options than those given here.\n0 of 3 parts" in other
    assert "missing   sNMU-batch, seeds 0 to 24, 50,000 steps" in other

    code, out, _ = nmu("show", "redundancy")
    assert code == 0
    assert "\nNMU\n" in out
    assert "\nsNMU\n" in out
    assert len(re.findall(r"^U\[-2,2\] +0\.00 \[0\.00, 0\.66\] +– +–$", out, re.MULTILINE)) == 2
    assert "The figure is in redundancy.png." in out
    assert (here / "redundancy.png").read_bytes().startswith(b"\x89PNG")


def test_status_tells_the_parts_that_are_there(nmu, monkeypatch):
    options = ["surface", "--seeds", "3,5-6,9", "--steps", "2", "--output", "elsewhere"]
    work = runner._work

    def stopped(shard, *rest):
        if shard.spec["module"] == "NMU":
            raise KeyboardInterrupt
        return work(shard, *rest)

    monkeypatch.setattr(runner, "_work", stopped)
    code, out, err = nmu("run", *options)
    assert (code, out) == (130, "")
    assert err.endswith(
        "\nStopped: 2 of 3 parts are finished. The same command goes on from there:\n"
        f"  python -m nmu run {' '.join(options)}\n"
    )
    _, text, _ = nmu("status", *options)
    assert text == (
        "2 of 3 parts are finished:\n"
        "  finished  MLP-1, seeds 3, 5, 6, 9, 2 steps\n"
        "  finished  MLP-100, seeds 3, 5, 6, 9, 2 steps\n"
        "  missing   NMU, seeds 3, 5, 6, 9, 2 steps\n"
    )
    assert nmu("show", "surface", "--output", "elsewhere")[0] == 1
    monkeypatch.setattr(runner, "_work", work)
    code, out, _ = nmu("run", *options)
    assert code == 0
    assert "`python -m nmu show surface --output elsewhere` shows them" in out
    code, out, _ = nmu("show", "surface", "--output", "elsewhere", "--figure", "of.svg")
    assert code == 0
    assert "MLP-100 2" in out
    assert Path("of.svg").read_text().startswith("<?xml")


def test_an_experiment_on_images_from_run_to_show(nmu, here, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "bundled_isolated", bundled_isolated)
    options = ["bundled_isolated", "--seeds", "2", "--modules", "exact,sNMU", "--epochs", "1"]
    assert nmu("run", *options)[0] == 0
    _, text, _ = nmu("status", *options)
    assert "4 of 4 parts are finished:\n  finished  exact, seed 0, 1 epochs\n" in text
    code, text, _ = nmu("show", "bundled_isolated")
    assert code == 0
    assert len(re.findall(r"^(held out|trained ) +(exact|sNMU ) +0\.\d{3} \[", text, re.MULTILINE)) == 4
    assert (here / "bundled_isolated.png").read_bytes().startswith(b"\x89PNG")


def test_the_size_of_an_experiment_on_images(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "sequential_mnist", sequential_mnist)
    options = dict.fromkeys(("seeds", "modules", "ranges", "steps", "epochs"))
    plan = arguments.plan("sequential_mnist", size="paper", device="cpu", **options)
    assert (plan.spec["size"], plan.spec["epochs"]) == ("paper", 1_000)


def test_show_looks_into_the_book_as_well(nmu, here):
    assert nmu("run", "redundancy", *SHORT, "--modules", "NMU", "--output", "book/results")[0] == 0
    _, out, _ = nmu("show", "redundancy")
    assert out.startswith("book/results/redundancy, made by")
    Path("results/redundancy").mkdir(parents=True)
    code, _, err = nmu("show", "redundancy")
    assert code == 1
    assert err == (
        "results/redundancy holds no finished results. `python -m nmu run redundancy` makes them.\n"
    )
    Path("book/results/redundancy").rename("book/results/single_module")
    code, _, err = nmu("show", "single_module")
    assert code == 1
    assert "holds the results of 'redundancy', not of single_module" in err


def test_damaged_or_foreign_results_are_refused(nmu):
    options = ["redundancy", *SHORT, "--modules", "NMU"]
    assert nmu("run", *options)[0] == 0
    code, _, err = nmu("run", *options[:-1], "sNMU")
    assert code == 1
    assert "holds the results of another run" in err
    assert "Choose another folder" in err
    table = Path("results/redundancy/runs.csv")
    table.write_bytes(table.read_bytes()[:-1])
    for command in (["show", "redundancy"], ["status", *options]):
        code, _, err = nmu(*command)
        assert code == 1
        assert "runs.csv is not the table of manifest.json" in err
        assert "Run `python -m nmu run redundancy` again" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "redundency"], "there is no experiment 'redundency'; did you mean redundancy"),
        (["run", "redundancy", "--size", "paper"], "redundancy has no --size"),
        (["run", "redundancy", "--epochs", "3"], "redundancy has no --epochs"),
        (["show", "surfaces"], "did you mean surface"),
        (["status", "x"], "there is no experiment 'x'; there are single_module, redundancy, surface"),
        (["run", "surface", "--ranges", "U[1,2]"], "surface has no --ranges"),
        (["run", "redundancy", "--modules", "snmu"], "there is no module 'snmu'; did you mean sNMU?"),
        (["run", "redundancy", "--modules", "NALUU"], "did you mean NALU"),
        (["run", "redundancy", "--modules", ","], "--modules takes one or more names"),
        (["run", "redundancy", "--modules", ""], "--modules takes one or more names"),
        (["run", "redundancy", "--modules", "NMU NMU"], "the module NMU is given twice"),
        (["run", "redundancy", "--modules", "nmu:NMU,NMU"], "the module NMU is given twice"),
        (["run", "redundancy", "--ranges", "U[1,3]"], "no range 'U[1,3]'; did you mean U[1,2]"),
        (["run", "redundancy", "--ranges", "U[1,2],U[1, 2]"], "the range U[1,2] is given twice"),
        (["run", "redundancy", "--ranges", " "], "--ranges takes one or more of U[-20,-10], "),
        (["run", "redundancy", "--steps", "0"], "--steps"),
        (["run", "redundancy", "--steps", "many"], "--steps"),
        (["run", "redundancy", "--workers", "0"], "--workers"),
        (["run", "redundancy", "--device", "nonsense"], "torch cannot compute on --device nonsense here"),
        (["run", "redundancy", "--device", "meta"], "torch cannot compute on --device meta here"),
        (["run", "redundancy", "--workers", "2", "--scheduler", "tcp://h:1"], "give one"),
        (["bench", "--output", "x"], "--output keeps the table of --growth"),
        (["run"], "NAME"),
        (["runn"], "runn"),
        (["list", "extra"], "extra"),
        (["run", "redundancy", "--seed", "3"], "--seed"),
    ],
)
def test_what_cannot_be_meant_ends_with_a_message_and_code_2(nmu, here, arguments, message):
    code, out, err = nmu(*arguments)
    assert code == 2
    assert out == ""
    assert message in sentence(err)
    assert len(err) < 800
    assert not list(here.iterdir())


@pytest.mark.parametrize("seeds", ["0", "-3", "5-3", "", ",", "x", "1.5", "2-", "1e3", "٣"])
def test_bad_seeds_are_refused(nmu, seeds):
    code, _, err = nmu("run", "redundancy", f"--seeds={seeds}")
    assert code == 2
    assert "--seeds takes a number, or seeds such as 9,11,13 or 25-49; got" in sentence(err)


def test_seeds_that_repeat_or_are_too_many_are_refused(nmu):
    assert "the seed 9 is given twice" in sentence(nmu("run", "redundancy", "--seeds", "9,8-10")[2])
    for seeds in ("100001", "1-999999999999"):
        assert "at most 100,000 seeds" in sentence(nmu("run", "redundancy", "--seeds", seeds)[2])


@pytest.mark.parametrize(
    ("seeds", "text"),
    [
        ("2", "seeds 0 to 1"),
        ("1", "seed 0"),
        ("7,", "seed 7"),
        ("7-9", "seeds 7 to 9"),
        ("9, 3-4", "seeds 9, 3, 4"),
    ],
)
def test_seeds_are_a_number_or_a_list(nmu, seeds, text):
    assert f"missing   NMU, {text}, " in nmu("status", "redundancy", "--seeds", seeds)[1]


def test_more_than_25_seeds_make_more_parts(nmu):
    _, out, _ = nmu("status", "redundancy", "--modules", "NMU", "--seeds", "30")
    assert "0 of 2 parts" in out
    assert "NMU, seeds 0 to 24," in out
    assert "NMU, seeds 25 to 29," in out


def test_results_that_could_not_be_written_are_refused_before_the_work(nmu, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *a, **k: pytest.fail("it began"))
    Path("a_file").touch()
    code, _, err = nmu("run", "redundancy", "--output", "a_file")
    assert code == 1
    assert err == (
        "The results cannot be written to a_file/redundancy: Not a directory. Choose another --output.\n"
    )
    monkeypatch.setattr(os, "access", lambda *a: False)
    code, _, err = nmu("run", "redundancy", "--output", "closed")
    assert code == 1
    assert "cannot be written to closed/redundancy: no permission" in err


def test_a_full_disk_is_reported(nmu, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner, "write_results", full)
    code, _, err = nmu("run", "redundancy", *SHORT, "--modules", "NMU")
    assert code == 1
    assert err.endswith("No space left on device\n")


def test_a_figure_that_cannot_be_written_is_reported(nmu):
    assert nmu("run", "redundancy", *SHORT, "--modules", "NMU")[0] == 0
    for path, reason in [("x.docx", "Format 'docx' is not supported"), ("no/x.png", "No such file")]:
        code, _, err = nmu("show", "redundancy", "--figure", path)
        assert code == 1
        assert f"The figure cannot be written to {path}: " in err
        assert reason in err


def test_a_class_of_the_readers_own(nmu):
    Path("reader_units.py").write_text(READER_UNITS)
    modules = "reader_units:Mine,NMU reader_units.py:narrow"
    code, _, _ = nmu("run", "redundancy", *SHORT, "--modules", modules)
    assert code == 0
    tables, manifest = store.read_results("results/redundancy")
    assert manifest["spec"]["modules"] == {
        "Mine": "reader_units.Mine",
        "NMU": "nmu.layers.NMU",
        "narrow": "nmu.layers.StochasticNMU(noise=(1.0, 2.0))",
    }
    errors = tables["runs.csv"].groupby("module")["interpolation_error"].apply(list)
    assert errors["Mine"] == errors["NMU"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reader_units:Nine", "reader_units:Nine cannot be imported: AttributeError: .* 'Nine'"),
        ("reader_units:number", "reader_units:number is no class derived from torch.nn.Module"),
        ("reader_units:", "reader_units: is no class derived from torch.nn.Module"),
        ("no_such_file:Mine", "no_such_file:Mine cannot be imported: ModuleNotFoundError: No module named"),
        ("broken_units:Mine", "broken_units:Mine cannot be imported: NameError: name 'nn' is not defined"),
        ("a:b:c", "a:b:c cannot be imported: ValueError"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(nmu, name, message):
    Path("reader_units.py").write_text(READER_UNITS)
    Path("broken_units.py").write_text("class Mine(nn.Module): pass")
    code, _, err = nmu("run", "redundancy", "--modules", name)
    assert code == 2
    assert re.search(message, sentence(err))


def test_a_class_that_fails_in_training_is_reported(nmu):
    Path("reader_units.py").write_text("from torch import nn\nclass Mine(nn.Linear): pass\n")
    code, _, err = nmu("run", "redundancy", *SHORT, "--modules", "reader_units:Mine")
    assert code == 1
    assert "redundancy, part 1 (Mine) failed: TypeError: " in err
    assert "batch_shape" in err


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(nmu, here, workers):
    Path("reader_units.py").write_text(READER_UNITS)
    options = ["redundancy", *SHORT, "--modules", "reader_units:Mine,reader_units:Slow,NMU"]
    command = [*options, "--output", "stopped", "--workers", str(workers)]
    process = subprocess.Popen(
        [sys.executable, "-m", "nmu", "run", *command],
        env={**os.environ, "SLOW": "yes", "PYTHONPATH": str(Path(cli.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    with process:
        deadline = time.monotonic() + 90
        while not list(here.glob("stopped/*/shards/*.zip")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        began = time.monotonic()
        out, err = process.communicate(timeout=60)  # until no process holds stderr: none is left behind
    assert process.returncode == 130
    assert time.monotonic() - began < 20
    assert out == ""
    assert "Traceback" not in err
    done = len(list(here.glob("stopped/*/shards/*.zip")))
    assert 1 <= done < 3
    assert f"\nStopped: {done} of 3 parts are finished. The same command goes on from there:\n" in err
    assert err.endswith(f"--workers {workers}\n")
    assert nmu("run", *options, "--output", "undisturbed")[0] == 0
    assert nmu("run", *options, "--output", "stopped")[0] == 0
    assert digests("stopped/redundancy") == digests("undisturbed/redundancy")
    assert len(list(here.glob("stopped/*/shards/*.zip"))) == 3


@pytest.mark.slow
def test_a_cluster_computes_the_same(nmu, here, capfd):
    distributed = pytest.importorskip("distributed")
    options = ["redundancy", *SHORT, "--modules", "NMU,sNMU"]
    assert nmu("run", *options)[0] == 0
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        code, out, _ = nmu("run", *options, "--output", "cluster", "--scheduler", address)
        assert code == 0
        assert "Finished" in out
        # The workers cannot import what lies in this folder alone.
        (here / "apart").mkdir()
        os.chdir(here / "apart")
        Path("reader_units.py").write_text(READER_UNITS)
        code, _, err = nmu(
            "run", "redundancy", *SHORT, "--modules", "reader_units:Mine", "--scheduler", address
        )
        assert code == 1
        assert re.match("2 of 2 workers cannot import reader_units, such as tcp://.* in PYTHONPATH.$", err)
    os.chdir(here)
    assert digests("cluster/redundancy") == digests("results/redundancy")


def test_a_scheduler_without_workers_is_said(capsys):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=0, processes=False, host="127.0.0.1", dashboard_address=None, protocol="tcp"
    ) as cluster:
        with cli._executor(1, cluster.scheduler_address, ["nmu"]):
            pass
        assert "The scheduler has no workers yet: start one, `dask worker tcp://" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "", "what://127.0.0.1:8786"])
def test_a_scheduler_that_does_not_answer_is_reported(nmu, monkeypatch, address):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cli, "PATIENCE", 0.3)
    code, _, err = nmu("run", "redundancy", *SHORT, "--scheduler", address)
    assert code == 1
    assert f"No dask scheduler answers at {address!r}: " in err


def test_a_missing_dask_is_reported(nmu, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    code, _, err = nmu("run", "redundancy", *SHORT, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 1
    assert err == "--scheduler needs dask: pip install 'nmu[cluster]'\n"


FIGURES = {
    "replicas": 225,
    "processes": 2,
    "microseconds_per_step": 1234.5,
    "replica_steps_per_second": 345678,
    "bound_microseconds_per_step": 600.0,
    "share_of_bound": 0.486,
}


def test_bench_prints_the_figures_as_text_or_as_one_line_of_json(nmu, monkeypatch):
    monkeypatch.setattr(cli.benchmark, "measure", lambda module: {"module": module, **FIGURES})
    code, out, _ = nmu("bench")
    assert code == 0
    assert "NMU: 1,234.5 µs a step of 225 replicas, in each of 2 processes; 345,678 replica-steps" in out
    assert "takes 600.0 µs a step, 49% of it." in out
    code, out, _ = nmu("bench", "--json")
    assert code == 0
    assert out.count("\n") == 1
    assert json.loads(out) == [{"module": module, **FIGURES} for module in ("NMU", "sNMU")]


def test_bench_growth_keeps_its_table_and_where_it_comes_from(nmu, monkeypatch):
    growth = cli.benchmark.growth
    monkeypatch.setattr(cli.benchmark, "growth", lambda progress: growth((1, 2), (3,), updates=1))
    code, out, _ = nmu("bench", "--growth", "--output", "kept", "--json")
    assert code == 0
    (line,) = out.splitlines()
    tables, manifest = store.read_results("kept/growth")
    assert json.loads(line) == tables["growth.csv"].to_dict("records")
    assert manifest["command"] == "python -m nmu bench --growth --output kept --json"
    assert manifest["spec"] == {"module": ["NMU", "sNMU"], "in_features": [3], "replicas": [1, 2]}
    origin = runner.provenance()
    assert manifest["commits"] == ([origin["commit"]] if origin["commit"] else None)
    assert manifest["versions"] == origin["versions"]
    assert manifest["hardware"] == origin["hardware"]
    assert manifest["seconds"] >= 0
    code, out, _ = nmu("bench", "--growth")
    assert code == 0
    assert out.split()[:3] == ["module", "in_features", "replicas"]
    assert len(out.splitlines()) == 5
