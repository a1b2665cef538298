"""An experiment of six small parts, and processes that are killed while they run it.

As a program, ``python tests/toy_experiment.py COMMAND …``, it forks each victim from one clean
process, so that a kill costs milliseconds and not an import of torch.
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

PARTS = 6


def compute(part, *, seconds=0.0, fails=False, kills_once=None, progress=False):
    """Two tables that depend on ``part`` alone; on request slowly, or not at all.

    ``kills_once`` names a file: where it does not exist, it is made and this process is killed.
    """
    time.sleep(seconds)
    if fails:
        raise ArithmeticError(f"no result for part {part}.")
    if kills_once is not None and not Path(kills_once).exists():
        Path(kills_once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    values = np.sin(np.arange(1, 6) * (part + 1.1))
    runs = pd.DataFrame(
        {
            "part": part,
            "module": f"unit {part} – ×",
            "solved": values > 0,
            "solved_at": np.where(values > 0, np.round(values * 1e4), np.nan),
        }
    )
    curves = pd.DataFrame({"part": part, "step": np.arange(5) * 1000, "error": np.exp(values * 30)})
    return {"runs.csv": runs, "curves.csv.gz": curves}


def experiment(seeds=3, parts=PARTS, units=(), **options):
    """The experiment; ``options`` go to :func:`compute`, each as a dict of part to value or a value."""
    from nmu.runner import Experiment, Shard

    def chosen(part):
        picked = {k: v.get(part) if isinstance(v, dict) else v for k, v in options.items()}
        return {k: v for k, v in picked.items() if v is not None}

    shards = tuple(
        Shard({"module": f"unit {part}", "seeds": seeds}, partial(compute, part, **chosen(part)), units)
        for part in range(parts)
    )
    return Experiment("toy", {"seeds": seeds, "parts": parts}, shards)


def run_here(folder, **options):
    from nmu import runner

    runner.run(experiment(**options), folder, progress=False)


def forked(action):
    """Process id of a fork that runs ``action`` and ends: 0, or 1 with a traceback."""
    pid = os.fork()
    if pid:
        return pid
    try:
        action()
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def outcome(pid):
    """Wait for a process: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def arm(point):
    """From now on this process kills itself at the ``point``-th moment around writing a file."""
    from nmu import store

    left = [point]

    def moment():
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(function):
        def watched(*arguments):
            moment()
            result = function(*arguments)
            moment()
            return result

        return watched

    class HalfWritten:
        """A file whose ``write`` has a moment before, in the middle and after."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, data):
            half = len(data) // 2
            for piece in (data[:half], data[half:]):
                around(self.file.write)(piece)
                self.file.flush()

        def __getattr__(self, name):
            return getattr(self.file, name)

    store.open = around(lambda *arguments: HalfWritten(open(*arguments)))
    os.fsync, os.replace = around(os.fsync), around(os.replace)


def kill_at_every_point(root, first, stride):
    """Kill a run at point ``first``, ``first + stride`` … until one outlives its point; finish each."""

    def victim(folder, point):
        arm(point)
        run_here(folder)

    point, stride = int(first), int(stride)
    while True:
        folder = Path(root, f"{point:03}")
        code = outcome(forked(partial(victim, folder, point)))
        Path(root, f"{point:03}.txt").write_text(f"{code} {len(list(folder.glob('shards/*.zip')))}")
        assert outcome(forked(partial(run_here, folder))) == 0
        if code == 0:
            break
        point += stride


def kill_at_random(root, *times):
    """Kill a slow run after each of several waits; finish each."""
    for i, wait in enumerate(times):
        folder = Path(root, f"{i:03}")
        pid = forked(partial(run_here, folder, seconds=0.01))
        time.sleep(wait)
        os.kill(pid, signal.SIGKILL)
        code = outcome(pid)
        Path(root, f"{i:03}.txt").write_text(f"{code} {len(list(folder.glob('shards/*.zip')))}")
        assert outcome(forked(partial(run_here, folder))) == 0


def run_twice_at_once(root, times):
    """Start two runs in the same folder, again and again."""
    for i in range(int(times)):
        folder = Path(root, f"{i:03}")
        pids = [forked(partial(run_here, folder, seconds=0.002)) for _ in range(2)]
        assert [outcome(pid) for pid in pids] == [0, 0]


def run_until_interrupted(folder, workers):
    """Run slowly, with so many workers; say when the run begins; end with 130 after Ctrl-C."""
    from nmu import runner

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background leaves it ignored
    slow = experiment(seconds=0.4)
    try:
        if workers == 0:
            runner.run(slow, folder)
        else:
            with runner.process_pool(int(workers)) as executor:
                runner.run(slow, folder, executor=executor)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    import toy_experiment  # so that what is pickled belongs to a module, not to __main__

    import nmu.runner  # noqa: F401  (before any fork)

    command, root, *numbers = sys.argv[1:]
    getattr(toy_experiment, command)(root, *(float(number) for number in numbers))
