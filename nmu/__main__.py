"""The command line: ``python -m nmu``."""

import difflib
import inspect
import json
import pkgutil
import shlex
import sys
from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from nmu import bench as benchmark
from nmu import plots, runner
from nmu.experiments import EXPERIMENTS, single_module
from nmu.runner import Experiment, RunError
from nmu.store import StoreError, read_results, write_results
from nmu.tasks import RANGES

STORED = Path("book/results")
"""Where the book keeps the results it shows."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Run the experiments of the book, look at their results, time the package.",
)

Name = Annotated[str, typer.Argument(help="The experiment; `list` shows them.", metavar="NAME")]
Seeds = Annotated[
    str | None,
    typer.Option(help="How many, as in 25, or which: 9,11,13 or 25-49.", show_default="the paper's"),
]
Modules = Annotated[
    str | None,
    typer.Option(
        help="Names, such as NMU,sNMU; one of your own as file:class, such as my_units:Mine.",
        show_default="all",
    ),
]
Ranges = Annotated[
    str | None, typer.Option(help="Training ranges, such as 'U[1,2] U[-2,2]'.", show_default="all nine")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Number of updates.", show_default="the paper's")]
Device = Annotated[str, typer.Option(help="Where to compute, as torch names it: cpu, cuda.")]
Output = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the results; NAME is a folder in it.",
        show_default="results, or book/results to look at what results does not have",
    ),
]


@app.command("list")
def list_() -> None:
    """Show the experiments and their modules."""
    for name, module in EXPERIMENTS.items():
        typer.echo(f"{name}\n    {module.__doc__.splitlines()[0]}\n    modules: {', '.join(module.MODULES)}")


@app.command()
def run(
    name: Name,
    seeds: Seeds = None,
    modules: Modules = None,
    ranges: Ranges = None,
    steps: Steps = None,
    device: Device = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="A dask scheduler to compute on, as tcp://HOST:PORT.")
    ] = None,
    output: Output = None,
) -> None:
    """Run an experiment, or go on with one that was stopped."""
    plan = _plan(name, seeds, modules, ranges, steps, device)
    folder = (output or Path("results")) / name
    with _explained(plan, folder), _executor(workers, scheduler) as executor:
        runner.run(plan, folder, executor=executor, command=_command())
    typer.echo(f"Finished: the tables are in {folder}. `python -m nmu show {name}` shows them.")


@app.command()
def status(
    name: Name,
    seeds: Seeds = None,
    modules: Modules = None,
    ranges: Ranges = None,
    steps: Steps = None,
    device: Device = "cpu",
    output: Output = None,
) -> None:
    """Show which parts of a run are finished; give it the options of the run."""
    plan = _plan(name, seeds, modules, ranges, steps, device)
    folder = _existing(name, output)
    with _explained(plan, folder):
        done = runner.finished(plan, folder)
        if (folder / "manifest.json").exists():
            _, manifest = read_results(folder)
            typer.echo(f"{folder} holds whole tables: {_made(manifest)}")
            if manifest["spec"] != plan.spec:
                typer.echo("They were made with other options than these.")
        elif not folder.exists():
            typer.echo(f"{folder} does not exist yet.")
    typer.echo(f"{sum(done)} of {len(done)} parts are in {folder / 'shards'}:")
    for shard, is_there in zip(plan.shards, done, strict=True):
        seed_list = shard.spec["seeds"]
        typer.echo(
            f"  {'finished' if is_there else 'missing '}  {shard.spec['module']}, "
            f"seeds {seed_list[0]} to {seed_list[-1]}, {shard.spec['steps']:,} steps"
        )


@app.command()
def show(
    name: Name,
    output: Output = None,
    figure: Annotated[
        Path | None, typer.Option(help="File of the figure.", show_default="NAME.png in this folder")
    ] = None,
) -> None:
    """Show the results of an experiment, as a table and a figure."""
    _known(name)
    folder = _existing(name, output)
    try:
        tables, manifest = read_results(folder)
    except StoreError as error:
        _fail(str(error))
    typer.echo(f"{folder}: {_made(manifest)}\n")
    runs = tables["runs.csv"]
    if name == "surface":
        errors = ["interpolation_error", "extrapolation_error"]
        typer.echo(runs.groupby(["module", "steps"], sort=False)[errors].median().to_string())
        typer.echo("\nMedians over the seeds, after the last step.")
        drawn = plots.surfaces(tables["surface.csv.gz"])
    else:
        for module, group in runs.groupby("module", sort=False):
            text = single_module.format_summary(single_module.summarize(group))
            typer.echo(f"{module}\n{text.to_string()}\n")
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
        bool, typer.Option(help="Instead, time 1 to 22,500 replicas and 2 to 100 inputs (minutes).")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="With --growth: keep the table in this folder.")] = None,
) -> None:
    """Time the training of the NMU and of the sNMU on all cores."""
    if growth:
        table = benchmark.growth()
        if output:
            manifest = {"experiment": "growth", "spec": {}, "command": _command(), **runner.provenance()}
            write_results(output / "growth", {"growth.csv": table}, manifest)
        typer.echo(table.to_json(orient="records") if json_ else table.to_string(index=False))
        return
    figures = [benchmark.measure(module) for module in benchmark.MODULES]
    if json_:
        typer.echo(json.dumps(figures))
        return
    for figure in figures:
        typer.echo(
            "{module}: {microseconds_per_step:,} µs a step of {replicas} replicas in each of {processes} "
            "processes, {replica_steps_per_second:,} replica-steps a second; drawing the random numbers "
            "alone takes {bound_microseconds_per_step:,} µs ({share_of_bound:.0%})".format(**figure)
        )


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m nmu")


def _plan(name: str, seeds, modules, ranges, steps, device: str) -> Experiment:
    """Plan an experiment with the options that were given."""
    module = _known(name)
    given = {
        "seeds": _seeds(seeds) if seeds else None,
        "modules": _modules(modules, module) if modules else None,
        "ranges": _ranges(ranges) if ranges else None,
        "steps": steps,
        "device": device,
    }
    given = {option: value for option, value in given.items() if value is not None}
    accepted = inspect.signature(module.experiment).parameters
    for option in given:
        if option not in accepted:
            raise typer.BadParameter(f"{name} has no --{option}")
    return module.experiment(**given)


def _known(name: str) -> ModuleType:
    return EXPERIMENTS[_match(name, EXPERIMENTS, "experiment")]


def _match(name: str, known: Iterable[str], kind: str) -> str:
    """Return a known name, or end with the ones that are near."""
    known = list(known)
    if name in known:
        return name
    lower = {candidate.lower(): candidate for candidate in known}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    raise typer.BadParameter(f"there is no {kind} {name!r}; {hint}")


def _seeds(text: str) -> list[int]:
    try:
        if "," not in text and "-" not in text:
            seeds = list(range(int(text)))
        else:
            seeds = []
            for part in filter(None, text.split(",")):
                first, _, last = part.partition("-")
                seeds += range(int(first), int(last or first) + 1)
        if seeds and len(set(seeds)) == len(seeds):
            return seeds
    except ValueError:
        pass
    raise typer.BadParameter(f"--seeds takes a number, or seeds such as 9,11,13 or 25-49; got {text!r}")


def _modules(text: str, experiment: ModuleType) -> dict:
    modules = {}
    for name in filter(None, text.replace(",", " ").split()):
        if ":" in name:
            sys.path.insert(0, "")
            try:
                modules[name.rpartition(":")[2]] = pkgutil.resolve_name(name)
            except (ImportError, AttributeError, ValueError) as error:
                raise typer.BadParameter(f"{name} cannot be imported: {error}") from None
        else:
            modules[name] = {**single_module.MODULES, **experiment.MODULES}[
                _match(name, {**single_module.MODULES, **experiment.MODULES}, "module")
            ]
    return modules


def _ranges(text: str) -> list:
    known = {str(range_): range_ for range_ in RANGES}
    names = text.replace("] ", "]|").replace("],", "]|").split("|")
    return [known[_match(name.replace(" ", ""), known, "range")] for name in names if name.strip()]


def _existing(name: str, output: Path | None) -> Path:
    """Folder of an experiment's results: the one asked for, the reader's own, or the book's."""
    if output:
        return output / name
    return next(
        (base / name for base in (Path("results"), STORED) if (base / name).exists()), Path("results") / name
    )


@contextmanager
def _executor(workers: int, scheduler: str | None):
    if scheduler:
        try:
            from dask.distributed import Client
        except ImportError:
            _fail("--scheduler needs dask: pip install 'nmu[cluster]'")
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            _fail(f"No dask scheduler answers at {scheduler}: {error}")
        with client:
            yield client.get_executor()
    else:
        with runner.process_pool(workers) if workers > 1 else nullcontext() as executor:
            yield executor


@contextmanager
def _explained(plan: Experiment, folder: Path):
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
    except (StoreError, RunError, ValueError) as error:
        _fail(str(error))


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(1)


def _command() -> str:
    return shlex.join(["python", "-m", "nmu", *sys.argv[1:]])


def _made(manifest: dict) -> str:
    commits = ", ".join(commit[:10] for commit in manifest.get("commits") or ["an unknown commit"])
    return f"{manifest['command']} (commit {commits}, {manifest['seconds']:,.0f} s of computing)"


if __name__ == "__main__":
    main()
