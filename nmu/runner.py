"""An experiment as a list of parts, computed here or by any executor, that goes on after a stop."""

import hashlib
import inspect
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from nmu.provenance import PACKAGE, provenance
from nmu.store import canonical, check_unclaimed, read_shard, sweep, write_results, write_shard

__all__ = ["Experiment", "RunError", "Shard", "finished", "process_pool", "run"]

SOURCES = "functional streams layers baselines* baselines*/* variants images*/* tasks training metrics"
# What the numbers come from, read when this module is imported: as old as the code that will run.
_OWN_SOURCES = {
    f"nmu/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes()
    for pattern in SOURCES.split()
    for path in PACKAGE.glob(f"{pattern}.py")
} | {f"nmu/experiments/{path.name}": path.read_bytes() for path in PACKAGE.glob("experiments/*.py")}


class RunError(Exception):
    """A part of a run failed; the message names it and says how to go on."""


@dataclass(frozen=True)
class Shard:
    """One part of an experiment.

    Attributes
    ----------
    spec : dict
        JSON-able: everything that determines the result.
    compute : callable
        Called as ``compute(progress=bool)``, it returns a table for each file name. A function of a
        module, or a :func:`functools.partial` of one, so that another process can import it.
    units : tuple of type
        Classes whose source files determine the result as well.
    resumable : bool
        Whether ``compute`` takes ``checkpoint``, the path of a file in which it may keep how far it is and
        from which it goes on; the file is deleted once the part is finished.
    """

    spec: dict
    compute: Callable[..., dict[str, pd.DataFrame]]
    units: tuple[type, ...] = ()
    resumable: bool = False


@dataclass(frozen=True)
class Experiment:
    """A list of parts whose tables make up the result.

    Attributes
    ----------
    name : str
        As on the command line.
    spec : dict
        JSON-able: what was asked for, such as seeds and ranges.
    shards : tuple of Shard
        The parts, in the order of the rows of the result.
    """

    name: str
    spec: dict
    shards: tuple[Shard, ...]


def run(
    experiment: Experiment,
    folder: Path | str,
    *,
    executor: Executor | None = None,
    progress: bool = True,
    command: str | None = None,
) -> dict[str, pd.DataFrame]:
    """Compute the parts that are not in ``folder`` yet, then write the tables and their manifest.

    Each part goes to ``folder/shards`` as soon as it is finished, so that a run that was stopped in
    any way loses no more than the parts at work. The tables do not depend on the executor, nor on
    the order in which parts finish.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    folder : Path or str
        Where the results go; only this process writes there.
    executor : concurrent.futures.Executor, optional
        Where to compute: :func:`process_pool`, or ``dask.distributed.Client(...).get_executor()``.
        Without one, here, one part after the other.
    progress : bool, optional
        Whether to show how many parts are finished, and the time left.
    command : str, optional
        The command line, for the manifest.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables by file name.

    Raises
    ------
    StoreError
        If ``folder`` holds the results of another run, or a damaged part.
    RunError
        If a part fails; what was finished is kept.
    ValueError
        If the source of a unit cannot be found, two parts are the same, or there is none.
    """
    folder = Path(folder)
    manifest = {"experiment": experiment.name, "spec": experiment.spec, "command": command}
    check_unclaimed(folder, manifest)
    keys, paths = _places(experiment, folder)
    sweep(folder / "shards")
    parts = {i: read_shard(path, keys[i]) for i, path in enumerate(paths) if path.exists()}
    missing = [i for i in range(len(paths)) if i not in parts]

    with tqdm(total=len(paths), initial=len(parts), disable=not progress, unit="part") as bar:

        @contextmanager
        def part(index: int) -> Iterator[None]:
            try:
                yield
            except Exception as error:
                raise RunError(
                    f"{_label(experiment, index)} failed: {_reason(error)}. The parts that are "
                    f"finished are kept in {folder}: the same command goes on from there."
                ) from error

        def save(index: int, result: tuple[dict[str, pd.DataFrame], dict]) -> None:
            tables, record = result
            write_shard(paths[index], tables, {"spec": keys[index], **record})
            _checkpoint(paths[index]).unlink(missing_ok=True)
            parts[index] = read_shard(paths[index], keys[index])
            bar.set_description(_label(experiment, index), refresh=False)
            bar.update()

        tasks = {i: (_work, experiment.shards[i], keys[i]["code"], _checkpoint(paths[i])) for i in missing}
        if executor is None:
            for index, (work, *arguments) in tasks.items():
                bar.set_description(_label(experiment, index))
                with part(index):
                    save(index, work(*arguments, progress))
        else:
            _collect(executor, tasks, part, save)

    part_tables, records = zip(*(parts[i] for i in range(len(paths))), strict=True)
    tables = _joined(part_tables)
    manifest["code"] = _merged(record["spec"]["code"] for record in records)
    manifest["commits"] = sorted({record["commit"] for record in records if record["commit"]}) or None
    manifest["versions"] = _merged(record["versions"] for record in records)
    manifest["hardware"] = _merged(record["hardware"] for record in records)
    manifest["seconds"] = round(sum(record["seconds"] for record in records), 1)
    write_results(folder, tables, manifest)
    return tables


def finished(experiment: Experiment, folder: Path | str) -> list[bool]:
    """Tell which parts of an experiment are in ``folder``, in the order of ``experiment.shards``."""
    return [path.exists() for path in _places(experiment, Path(folder))[1]]


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes on this machine as an executor for :func:`run`.

    Ctrl-C reaches the parent alone. When the ``with`` block ends with an error the workers are
    stopped, whatever they do; when the parent is killed they end as well.
    """
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker) as executor:
        try:
            yield executor
        except BaseException:
            # Python before 3.13 reports an error in a thread if a worker goes while the pool still holds
            # a cancelled task; the pool drops these in turn, and the last is this one.
            dropped = threading.Event()
            with suppress(RuntimeError):
                executor.submit(int).add_done_callback(lambda _: dropped.set())
                executor.shutdown(wait=False, cancel_futures=True)
                dropped.wait(5)
            for process in multiprocessing.active_children():
                if process not in others:
                    process.terminate()
            raise


def _start_worker() -> None:
    tqdm.set_lock(threading.RLock())  # its own is a semaphore, which a stopped worker would leave behind
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def _collect(executor: Executor, tasks: dict, part: Callable, save: Callable) -> None:
    """Submit all tasks and save each result as it comes; when stopped, save what is there."""
    unsaved = {}
    try:
        for index, task in tasks.items():
            with part(index):
                unsaved[executor.submit(*task, False)] = index
        for future in as_completed(list(unsaved)):
            with part(unsaved[future]):
                save(unsaved[future], future.result())
            del unsaved[future]
    finally:
        for future in unsaved:
            future.cancel()
        for future, index in unsaved.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                save(index, future.result())


def _work(shard: Shard, code: str, checkpoint: Path, progress: bool) -> tuple[dict[str, pd.DataFrame], dict]:
    """Compute one part, here or in a worker; return its tables and where they come from."""
    if _code(shard) != code:
        raise RuntimeError(
            f"the source code on {platform.node()} is not that with which the run began; install the "
            "same version for all workers, and start again after an edit"
        )
    start = time.perf_counter()
    options = {"checkpoint": checkpoint} if shard.resumable else {}
    tables = shard.compute(progress=progress, **options)
    return tables, {"seconds": round(time.perf_counter() - start, 3), **provenance()}


def _places(experiment: Experiment, folder: Path) -> tuple[list[dict], list[Path]]:
    """Return what identifies each part, and its file."""
    keys = [{"spec": shard.spec, "code": _code(shard)} for shard in experiment.shards]
    names = [hashlib.sha256(canonical(key).encode()).hexdigest()[:16] for key in keys]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{experiment.name}: there must be parts, of different specifications")
    return keys, [folder / "shards" / f"{name}.zip" for name in names]


def _checkpoint(path: Path) -> Path:
    """Where the part that will be in a file keeps how far it is."""
    return path.absolute().with_suffix(".checkpoint")


def _code(shard: Shard) -> str:
    """SHA-256 of the source code that a part's numbers come from."""
    function = shard.compute
    while isinstance(function, partial):
        function = function.func
    sources = dict(_OWN_SOURCES)
    for thing in (function, *shard.units):
        if thing.__module__.split(".")[0] != "nmu":
            sources[thing.__module__] = _source(thing)
    digest = hashlib.sha256()
    for name, source in sorted(sources.items()):
        digest.update(f"{name} {len(source)}\n".encode() + source)
    return digest.hexdigest()


def _source(thing: object) -> bytes:
    try:
        if thing.__module__ != "__main__":
            return Path(inspect.getsourcefile(thing)).read_bytes()
    except (TypeError, OSError):
        pass
    raise ValueError(
        f"the source file of {thing.__qualname__} cannot be found, so a change of it would go unnoticed; "
        "put it into a module file, such as my_units.py, and import it from there"
    )


def _label(experiment: Experiment, index: int) -> str:
    module = experiment.shards[index].spec.get("module")
    return f"{experiment.name}, part {index + 1}" + (f" ({module})" if module else "")


def _reason(error: Exception) -> str:
    if isinstance(error, BrokenExecutor):
        return "a worker process ended abruptly (killed, or out of memory)"
    if isinstance(error, CancelledError):
        return "the connection to the workers was lost"
    return f"{type(error).__name__}: {error}".rstrip(": .")


def _joined(parts: Sequence[dict[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Stack the tables of all parts, in the order of the parts."""
    tables = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        pieces = [part[name] for part in parts if name in part]
        if any(list(piece.columns) != list(pieces[0].columns) for piece in pieces):
            raise ValueError(f"{name}: the columns must be the same in all parts")
        tables[name] = pd.concat(pieces, ignore_index=True)
    return tables


def _merged(values: Iterable[object]) -> object:
    """Return the value that all have in common, or the list of the different ones."""
    different = [value for _, value in sorted({canonical(value): value for value in values}.items())]
    return different[0] if len(different) == 1 else different
