"""The command line: ``python -m nmu``."""

import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from nmu import _arguments as arguments
from nmu import bench as benchmark
from nmu import plots, runner
from nmu.experiments import EXPERIMENTS, digit_products, single_module
from nmu.runner import Experiment, RunError
from nmu.store import StoreError, read_results, write_results

OWN = Path("results")
STORED = Path("book/results")
"""Where the book keeps the results it shows."""
PATIENCE = 10
"""Seconds that a scheduler has to answer."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Run the experiments of the book, look at their results, time the package.",
)

Output = Annotated[Path, typer.Option(help="Folder of the results; NAME becomes a folder in it.")]
Source = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the results.", show_default=f"{OWN} if it has NAME, else {STORED.as_posix()}"
    ),
]


@app.command("list")
def list_() -> None:
    """Show the experiments and their modules."""
    for name, module in EXPERIMENTS.items():
        about = module.__doc__.splitlines()[0].replace("``", "")
        typer.echo(f"{name}\n    {about}\n    modules: {', '.join(module.MODULES)}")


@app.command()
def run(
    name: arguments.Name,
    seeds: arguments.Seeds = None,
    modules: arguments.Modules = None,
    ranges: arguments.Ranges = None,
    steps: arguments.Steps = None,
    size: arguments.Size = None,
    epochs: arguments.Epochs = None,
    device: arguments.Device = "cpu",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine.", show_default="1")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Compute on the workers of a dask scheduler, tcp://HOST:PORT. They must be able to import "
            "this package, and the file of a class of your own."
        ),
    ] = None,
    output: Output = OWN,
) -> None:
    """Run an experiment, or go on with one that was stopped: by the same command."""
    if workers is not None and scheduler is not None:
        raise typer.BadParameter("--workers are processes here, --scheduler computes elsewhere; give one")
    plan = arguments.plan(
        name,
        seeds=seeds,
        modules=modules,
        ranges=ranges,
        steps=steps,
        size=size,
        epochs=epochs,
        device=device,
    )
    if scheduler is None:
        arguments.check_device(device)
    folder = output / name
    _check_writable(folder)
    packages = {unit.__module__.partition(".")[0] for shard in plan.shards for unit in shard.units} | {"nmu"}
    with _explained(plan, folder), _executor(workers or 1, scheduler, sorted(packages)) as executor:
        runner.run(plan, folder, executor=executor, command=_command())
    look = ["python", "-m", "nmu", "show", name, *(["--output", str(output)] if output != OWN else [])]
    typer.echo(f"Finished: the tables are in {folder}. `{shlex.join(look)}` shows them.")


@app.command()
def status(
    name: arguments.Name,
    seeds: arguments.Seeds = None,
    modules: arguments.Modules = None,
    ranges: arguments.Ranges = None,
    steps: arguments.Steps = None,
    size: arguments.Size = None,
    epochs: arguments.Epochs = None,
    device: arguments.Device = "cpu",
    output: Source = None,
) -> None:
    """Show which parts of a run are finished; it takes the options of the run."""
    plan = arguments.plan(
        name,
        seeds=seeds,
        modules=modules,
        ranges=ranges,
        steps=steps,
        size=size,
        epochs=epochs,
        device=device,
    )
    folder = _existing(name, output)
    with _explained(plan, folder):
        done = runner.finished(plan, folder)
        if (folder / "manifest.json").exists():
            _, manifest = read_results(folder)
            typer.echo(f"{folder} holds whole tables, made by {_made(manifest)}.")
            if (manifest["experiment"], manifest["spec"]) != (plan.name, plan.spec):
                typer.echo("That run had other options than those given here.")
            elif not all(done):
                typer.echo("Missing parts were deleted, or the code has changed: a run computes them again.")
        elif not folder.exists():
            typer.echo(f"{folder} does not exist yet.")
    typer.echo(f"{sum(done)} of {len(done)} parts are finished:")
    for shard, is_there in zip(plan.shards, done, strict=True):
        typer.echo(
            f"  {'finished' if is_there else 'missing '}  {shard.spec['module']}, "
            f"{_seeds_text(shard.spec['seeds'])}, {_length_text(shard.spec)}"
        )


@app.command()
def show(
    name: arguments.Name,
    output: Source = None,
    figure: Annotated[
        Path | None, typer.Option(help="File of the figure.", show_default="NAME.png in this folder")
    ] = None,
) -> None:
    """Show the results of an experiment, as a table and a figure."""
    arguments.known(name)
    folder = _existing(name, output)
    if not (folder / "manifest.json").exists():
        _fail(f"{folder} holds no finished results. `python -m nmu run {name}` makes them.")
    try:
        tables, manifest = read_results(folder)
    except StoreError as error:
        _fail(str(error))
    if manifest.get("experiment") != name:
        _fail(f"{folder} holds the results of {manifest.get('experiment')!r}, not of {name}.")
    typer.echo(f"{folder}, made by {_made(manifest)}\n")
    runs = tables["runs.csv"]
    plots.use_style()
    if name == "surface":
        errors = ["interpolation_error", "extrapolation_error"]
        typer.echo(runs.groupby(["module", "steps"], sort=False)[errors].median().to_string())
        typer.echo("\nMedians over the seeds, after the last step.")
        drawn = plots.surfaces(tables["surface.csv.gz"])
    elif "label_accuracy" in runs:
        summary = digit_products.summarize(runs)
        typer.echo(summary.map("{:.3f}".format).to_string())
        typer.echo("\nMeans over the seeds after the last epoch, with intervals of 95 %; numbers rounded.")
        drawn = plots.accuracies(runs)
    else:
        for module, group in runs.groupby("module", sort=False):
            text = single_module.format_summary(single_module.summarize(group))
            typer.echo(f"{module}\n{text.rename_axis(None).to_string()}\n")
        typer.echo("Intervals of 95 %. † the interval is the range that was seen; – no run was solved.")
        drawn = plots.success_grid(runs)
    path = figure or Path(f"{name}.png")
    try:
        drawn.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        _fail(f"The figure cannot be written to {path}: {error}")
    typer.echo(f"The figure is in {path}.")


@app.command()
def bench(
    json_: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    growth: Annotated[
        bool,
        typer.Option(
            "--growth", help="Time 1 to 22,500 replicas and 2 to 100 inputs on one core instead (minutes)."
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="With --growth: keep the table, in the folder growth of this one.")
    ] = None,
) -> None:
    """Time the training of the NMU and of the sNMU on all cores (a minute)."""
    if output is not None and not growth:
        raise typer.BadParameter("--output keeps the table of --growth; give both, or neither")
    if growth:
        if output is not None:
            _check_writable(output / "growth")
        start = time.perf_counter()
        table = benchmark.growth(progress=True)
        if output is not None:
            seconds = time.perf_counter() - start
            manifest = {**benchmark.growth_manifest(table, seconds), "command": _command()}
            try:
                write_results(output / "growth", {"growth.csv": table}, manifest)
            except StoreError as error:
                _fail(str(error))
        typer.echo(table.to_json(orient="records") if json_ else table.to_string(index=False))
        return
    figures = [benchmark.measure(module) for module in benchmark.MODULES]
    if json_:
        typer.echo(json.dumps(figures))
        return
    for figure in figures:
        typer.echo(
            "{module}: {microseconds_per_step:,} µs a step of {replicas} replicas, in each of {processes} "
            "processes; {replica_steps_per_second:,} replica-steps a second in all.\n"
            "    Drawing the random numbers alone takes {bound_microseconds_per_step:,} µs a step, "
            "{share_of_bound:.0%} of it.".format(**figure)
        )


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m nmu")


def _check_writable(folder: Path) -> None:
    """End before anything is computed if the results could not be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission")
    except OSError as error:
        _fail(f"The results cannot be written to {folder}: {error.strerror}. Choose another --output.")


def _existing(name: str, output: Path | None) -> Path:
    """Folder of an experiment's results: the one asked for, the reader's own, or the book's."""
    if output is not None:
        return output / name
    return next((base / name for base in (OWN, STORED) if (base / name).exists()), OWN / name)


@contextmanager
def _executor(workers: int, scheduler: str | None, packages: Collection[str]) -> Iterator[Executor | None]:
    """Give what is to compute: nothing for this process, or processes here, or a dask cluster."""
    if scheduler is None:
        with runner.process_pool(workers) if workers > 1 else nullcontext() as executor:
            yield executor
        return
    try:
        from dask.distributed import Client
    except ImportError:
        _fail("--scheduler needs dask: pip install 'nmu[cluster]'")
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it says, a message here says
    try:
        client = Client(scheduler or "an empty address", timeout=PATIENCE)
    except (OSError, ValueError) as error:
        _fail(f"No dask scheduler answers at {scheduler!r}: {error}")
    with client:
        if not client.scheduler_info()["workers"]:
            typer.echo(f"The scheduler has no workers yet: start one, `dask worker {scheduler}`.", err=True)
        for package in packages:  # dask would try again and again, without a word
            found = client.run(find_spec, package)
            if lacking := [worker for worker, spec in found.items() if spec is None]:
                _fail(
                    f"{len(lacking)} of {len(found)} workers cannot import {package}, such as {lacking[0]}. "
                    "Install it there, or start the workers with its folder in PYTHONPATH."
                )
        yield client.get_executor()


@contextmanager
def _explained(plan: Experiment, folder: Path) -> Iterator[None]:
    """Turn what can go wrong into a message and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        done = runner.finished(plan, folder)
        typer.echo(
            f"\nStopped: {sum(done)} of {len(done)} parts are finished. "
            f"The same command goes on from there:\n  {_command()}",
            err=True,
        )
        raise typer.Exit(130) from None
    except (StoreError, RunError, OSError, ValueError) as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)


def _command() -> str:
    return shlex.join(["python", "-m", "nmu", *sys.argv[1:]])


def _made(manifest: dict) -> str:
    commits = ", ".join(commit[:10] for commit in manifest.get("commits") or ["unknown"])
    command = manifest.get("command") or "a call from Python"
    return f"{command} (commit {commits}, {manifest.get('seconds', 0):,.0f} s of computing)"


def _seeds_text(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}"


def _length_text(spec: dict) -> str:
    return f"{spec['steps']:,} steps" if "steps" in spec else f"{spec['epochs']:,} epochs"


if __name__ == "__main__":
    main()
