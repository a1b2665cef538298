"""Files of results: what is written is read back, and nothing else is accepted."""

import gzip
import hashlib
import io
import json
import os
import re
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from nmu import store
from nmu.store import StoreError

SPEC = {"module": "NMU", "seeds": (0, 1)}
LINES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8)
KINDS = {
    "float64": st.floats(),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "str": LINES | st.sampled_from(["", "NA", "nan", "1", "1.0", "True", ' "a", b ', "'", "#", "None"]),
}


def table():
    return pd.DataFrame(
        {
            "range": ["U[-2,2]", "U[1,2]", "×"],
            "solved": [True, False, True],
            "solved_at": [1000.0, np.nan, 0.1 + 0.2],
            "seed": [0, 1, 2**60],
        }
    )


@pytest.fixture
def results(tmp_path):
    """A folder with two tables and a manifest."""
    folder = tmp_path / "toy"
    tables = {"runs.csv": table(), "curves.csv.gz": table()[["seed", "solved_at"]]}
    store.write_results(folder, tables, {"experiment": "toy", "spec": SPEC, "command": "make toy"})
    return folder


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "shards" / "one.zip"
    store.write_shard(path, {"runs.csv": table(), "b.csv.gz": table()}, {"spec": SPEC, "seconds": 1.5})
    return path


def refusal(function, *arguments):
    """The message with which a call is refused."""
    with pytest.raises(StoreError) as caught:
        function(*arguments)
    return str(caught.value)


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    names = draw(st.lists(LINES.filter(bool), min_size=len(kinds), max_size=len(kinds), unique=True))
    rows = draw(st.integers(0, 5))
    columns = {}
    for name, kind in zip(names, kinds, strict=True):
        values = draw(st.lists(KINDS[kind], min_size=rows, max_size=rows))
        columns[name] = pd.Series(values, dtype=kind)
    return pd.DataFrame(columns)


@given(tables())
@example(pd.DataFrame({"x": pd.Series([np.nan, np.inf, -np.inf, -0.0, 5e-324, 0.1 + 0.2])}))
@example(pd.DataFrame({"x": pd.Series([""], dtype="str")}))
@example(pd.DataFrame({"x": pd.Series(dtype="str"), "y": pd.Series(dtype="bool")}))
def test_a_table_is_read_back_as_it_was(tmp_path_factory, frame):
    folder = tmp_path_factory.mktemp("results")
    both = {"t.csv": frame, "t.csv.gz": frame}
    store.write_results(folder, both, {"experiment": "toy", "spec": {}})
    store.write_shard(folder / "s.zip", both, {"spec": {}})
    for back in (store.read_results(folder)[0], store.read_shard(folder / "s.zip", {})[0]):
        for name in both:
            assert_frame_equal(back[name], frame, check_exact=True, check_column_type=False)
            for column in frame.select_dtypes("float64"):
                assert (np.signbit(back[name][column]) == np.signbit(frame[column])).all() or frame[
                    column
                ].isna().any()


def test_single_precision_keeps_its_values(tmp_path):
    frame = pd.DataFrame({"error": np.array([0.1, 1e-30, np.nan], "float32")})
    store.write_results(tmp_path, {"t.csv": frame}, {"experiment": "toy", "spec": {}})
    back = store.read_table(tmp_path, "t.csv")["error"]
    assert back.dtype == "float64"
    assert back.equals(frame["error"].astype("float64"))


def test_the_bytes_depend_on_nothing_else(results, shard, tmp_path):
    before = {path: path.read_bytes() for path in [*results.iterdir(), shard]}
    manifest = store.read_results(results)[1]
    store.write_results(results, store.read_results(results)[0], manifest)
    store.write_shard(shard, *store.read_shard(shard, SPEC))
    assert before == {path: path.read_bytes() for path in before}

    text = (results / "runs.csv").read_text(encoding="utf-8")
    assert text == (
        "range,solved,solved_at,seed\n"
        '"U[-2,2]",True,1000.0,0\n'
        '"U[1,2]",False,,1\n'
        "×,True,0.30000000000000004,1152921504606846976\n"
    )
    compressed = (results / "curves.csv.gz").read_bytes()
    assert compressed[3] == 0  # no file name in the header
    assert compressed[4:8] == bytes(4)  # no time
    assert gzip.decompress(compressed).startswith(b"seed,solved_at\n")


def test_the_manifest_describes_the_tables(results):
    text = (results / "manifest.json").read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, sort_keys=True, indent=2) + "\n"
    assert manifest["command"] == "make toy"
    runs = manifest["tables"]["runs.csv"]
    assert runs["rows"] == 3
    assert runs["sha256"] == hashlib.sha256((results / "runs.csv").read_bytes()).hexdigest()
    assert runs["columns"] == {"range": "str", "solved": "bool", "solved_at": "float64", "seed": "int64"}


def test_a_shard_is_an_ordinary_zip_with_its_record(shard):
    with zipfile.ZipFile(shard) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["record.json", "b.csv.gz", "runs.csv"]
    read, record = store.read_shard(shard, SPEC)
    assert_frame_equal(read["runs.csv"], table())
    assert record["spec"] == {"module": "NMU", "seeds": [0, 1]}
    assert record["seconds"] == 1.5


@pytest.mark.parametrize(
    ("name", "frame", "message"),
    [
        ("t.txt", table(), "must end in .csv"),
        ("a/t.csv", table(), "without a folder"),
        ("t.csv", pd.DataFrame(index=[0]), "columns must exist"),
        ("t.csv", pd.DataFrame([[1, 2]], columns=["a", "a"]), "different names"),
        ("t.csv", pd.DataFrame({3: [1]}), "column 3: the name must be a line of text"),
        ("t.csv", pd.DataFrame({"": [1]}), "the name must be"),
        ("t.csv", pd.DataFrame({"a": ["x\ny"]}), "column 'a': values must be"),
        ("t.csv", pd.DataFrame({"a": ["x", None]}), "values must be"),
        ("t.csv", pd.DataFrame({"a": ["x", 1]}), "values must be"),
        ("t.csv", pd.DataFrame({"a": [1j]}), "values must be"),
        ("t.csv", pd.DataFrame({"a": pd.Series([2**63], dtype="uint64")}), "range of int64"),
        ("t.csv", pd.DataFrame({"a": pd.Series([1, None], dtype="Int64")}), "none missing"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, name, frame, message):
    for write, target, rest in [
        (store.write_results, tmp_path / "folder", {"experiment": "toy", "spec": {}}),
        (store.write_shard, tmp_path / "shard.zip", {"spec": {}}),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            write(target, {name: frame}, rest)
        assert not target.exists()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "new" / "file"
    store.write_atomic(path, b"old")

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        store.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_only_old_leftovers_are_swept(tmp_path):
    old, young, other = tmp_path / ".runs.csv.0a.tmp", tmp_path / ".runs.csv.1b.tmp", tmp_path / "notes.tmp"
    for path in (old, young, other):
        path.write_text("x")
    for path in (old, other):
        os.utime(path, (time.time() - 4000,) * 2)
    store.sweep(tmp_path)
    store.sweep(tmp_path / "no such folder")
    assert sorted(tmp_path.iterdir()) == sorted([young, other])


def test_a_truncated_shard_is_refused_at_every_length(shard):
    whole = shard.read_bytes()
    for length in range(len(whole)):
        shard.write_bytes(whole[:length])
        message = refusal(store.read_shard, shard, SPEC)
    assert message.startswith(f"{shard} is damaged, cut short, or no finished part of an nmu run. Delete it")
    shard.write_bytes(whole)
    store.read_shard(shard, SPEC)


def test_every_flipped_bit_is_noticed(shard):
    whole = shard.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        shard.write_bytes(damaged)
        assert "is damaged" in refusal(store.read_shard, shard, SPEC)


def test_a_foreign_file_is_refused(shard, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("record.json", '{"spec": {}, "columns": {}}')
    for data in (buffer.getvalue(), b"", b"no zip at all", shard.read_bytes() + b"\n"):
        foreign = tmp_path / "foreign.zip"
        foreign.write_bytes(data)
        message = refusal(store.read_shard, foreign, {})
        assert message.startswith(f"{foreign} is damaged, cut short, or no finished part")


def test_a_shard_of_another_specification_is_refused(shard):
    message = refusal(store.read_shard, shard, {**SPEC, "seeds": [0, 2]})
    assert message == (
        f"{shard} belongs to another run (seeds: [0,1] there, [0,2] asked for). "
        "Delete it and run the experiment again: only this part is computed anew."
    )
    assert "absent.zip does not exist. Run" in refusal(store.read_shard, shard.parent / "absent.zip", SPEC)


def test_an_altered_table_is_refused(results):
    for name, other in [("runs.csv", "curves.csv.gz"), ("curves.csv.gz", "runs.csv")]:
        path = results / name
        whole = path.read_bytes()
        for data in (whole[:-1], whole + b"\n", whole.replace(b"\n", b"\r\n") + b"\r", b""):
            path.write_bytes(data)
            assert refusal(store.read_table, results, name) == (
                f"{path} is not the table of manifest.json: its SHA-256 differs. "
                "Run `python -m nmu run toy` again, or restore it from git."
            )
            assert refusal(store.read_results, results).startswith(str(path))
            store.read_table(results, other)
        path.write_bytes(whole)
    store.read_results(results)


def test_a_missing_table_is_named(results):
    (results / "runs.csv").unlink()
    message = refusal(store.read_results, results)
    assert message.startswith(f"{results / 'runs.csv'} does not exist. Run `python -m nmu run toy`")
    message = refusal(store.read_table, results, "other.csv")
    assert message.endswith("other.csv is not in the manifest, which lists curves.csv.gz, runs.csv.")


def test_a_missing_or_damaged_manifest_is_refused(results):
    path = results / "manifest.json"
    whole = path.read_bytes()
    for data in (b"", whole[:-20], b"[]", b"{}", b'{"tables": 3}', b'{"tables": {"runs.csv": {}}}', b"\xff"):
        path.write_bytes(data)
        message = refusal(store.read_table, results, "runs.csv")
        assert message.startswith(f"{path} is damaged or no manifest. Delete it; then: Run `python")
        assert refusal(store.check_unclaimed, results, {}) == message
    path.unlink()
    message = refusal(store.read_results, results)
    assert message.startswith(f"{path} does not exist. There are no finished results in this folder. Run")
    store.check_unclaimed(results, {})


def test_results_of_another_run_are_not_overwritten(results):
    before = {path: path.read_bytes() for path in results.iterdir()}
    spec = {"module": "NMU", "seeds": list(range(100))}
    for manifest, difference in [
        ({"experiment": "toy", "spec": spec}, r"seeds: \[0,1\] there, \[0,1,2.*\.\.\. asked for"),
        ({"experiment": "toy", "spec": {}}, r'module: "NMU" there, null asked for; seeds: '),
        ({"experiment": "game", "spec": SPEC}, 'experiment: "toy" there, "game" asked for'),
    ]:
        message = refusal(store.write_results, results, {"runs.csv": table()}, manifest)
        assert message.startswith(f"{results} holds the results of another run (")
        assert re.search(difference, message)
        assert message.endswith("Choose another folder, or move this one away.")
    assert before == {path: path.read_bytes() for path in results.iterdir()}
    store.write_results(results, {"runs.csv": table()}, {"experiment": "toy", "spec": SPEC})
