"""Files of results: written whole or not at all, and refused when they are not what they should be."""

import gzip
import hashlib
import io
import json
import os
import time
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from filelock import FileLock

__all__ = [
    "StoreError",
    "canonical",
    "check_unclaimed",
    "read_results",
    "read_shard",
    "read_table",
    "sweep",
    "write_atomic",
    "write_results",
    "write_shard",
]

MANIFEST = "manifest.json"
_SHARD_MARK = b"nmu shard 1, SHA-256 of what precedes: "
_DIGEST_LENGTH = 64
_LEFTOVER_AGE = 3600.0  # seconds; a write takes far less, so an older temporary file has no writer


class StoreError(Exception):
    """A file of results cannot be used; the message names it, says why and what to do."""


def canonical(value: object) -> str:
    """Return the JSON text of a specification; it is the same for equal ones."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_atomic(path: Path | str, data: bytes) -> None:
    """Write a file so that its name never stands for a part of it, even if the process is killed.

    Missing folders are made; a file of the same name is replaced.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(folder: Path | str) -> None:
    """Delete the temporary files that killed writers left in a folder an hour ago or earlier."""
    for leftover in Path(folder).glob(".*.tmp"):
        try:
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_AGE:
                leftover.unlink()
        except FileNotFoundError:  # its writer, or another sweep, was faster
            pass


def write_shard(path: Path | str, tables: Mapping[str, pd.DataFrame], record: Mapping) -> None:
    """Write one finished part of a run: a zip of ``record.json`` and the tables, by name.

    Parameters
    ----------
    path : Path or str
        The file.
    tables : mapping of str to pandas.DataFrame
        File name (``….csv`` or ``….csv.gz``) and table. The index is not written.
    record : mapping
        JSON-able; ``record["spec"]`` is what :func:`read_shard` asks for.

    Raises
    ------
    ValueError
        If a table cannot be written so that the same values and types are read back.
    """
    record = {**record, "columns": {name: _columns(name, table) for name, table in tables.items()}}
    members = {"record.json": _json_bytes(record)}
    members |= {name: _csv_bytes(tables[name]) for name in sorted(tables)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # its time stamp is that of 1980
            member.create_system, member.external_attr = 3, 0o644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
        archive.comment = _SHARD_MARK + b"0" * _DIGEST_LENGTH
    body = buffer.getvalue()[:-_DIGEST_LENGTH]
    write_atomic(path, body + hashlib.sha256(body).hexdigest().encode())


def read_shard(path: Path | str, spec: object) -> tuple[dict[str, pd.DataFrame], dict]:
    """Read a file of :func:`write_shard`.

    Returns
    -------
    tables : dict of str to pandas.DataFrame
        The tables by file name.
    record : dict
        As it was written, with lists in place of tuples.

    Raises
    ------
    StoreError
        If the file is missing, cut short or altered, was not written by :func:`write_shard`, or is of
        another ``spec``.
    """
    path = Path(path)
    data = _read_bytes(path, "Run the experiment again: it computes what is missing.")
    body, digest = data[:-_DIGEST_LENGTH], data[-_DIGEST_LENGTH:]
    remedy = "Delete it and run the experiment again: only this part is computed anew."
    if not body.endswith(_SHARD_MARK) or hashlib.sha256(body).hexdigest().encode() != digest:
        raise StoreError(f"{path} is damaged, cut short, or no finished part of an nmu run. {remedy}")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        record = json.loads(archive.read("record.json"))
        tables = {name: _read_csv(archive.read(name), types) for name, types in record["columns"].items()}
    if canonical(record["spec"]) != canonical(spec):
        raise StoreError(f"{path} belongs to another run ({_difference(record['spec'], spec)}). {remedy}")
    return tables, record


def write_results(folder: Path | str, tables: Mapping[str, pd.DataFrame], manifest: Mapping) -> None:
    """Write the tables of a finished run, then the manifest that vouches for them.

    Parameters
    ----------
    folder : Path or str
        Where to write. A lock file there lets one process write at a time.
    tables : mapping of str to pandas.DataFrame
        File name (``….csv`` or ``….csv.gz``) and table. The index is not written.
    manifest : mapping
        JSON-able, with ``"experiment"`` and ``"spec"``. ``"tables"`` is added: for each table its
        ``"sha256"``, ``"rows"`` and ``"columns"`` with their types.

    Raises
    ------
    StoreError
        If the folder holds the results of another run.
    ValueError
        If a table cannot be written so that the same values and types are read back.
    """
    folder = Path(folder)
    files, entries = {}, {}
    for name, table in tables.items():
        columns, data = _columns(name, table), _csv_bytes(table)
        files[name] = _gzip(data) if name.endswith(".gz") else data
        digest = hashlib.sha256(files[name]).hexdigest()
        entries[name] = {"sha256": digest, "rows": len(table), "columns": columns}
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        check_unclaimed(folder, manifest)
        sweep(folder)
        for name, data in files.items():
            write_atomic(folder / name, data)
        write_atomic(folder / MANIFEST, _json_bytes({**manifest, "tables": entries}))


def check_unclaimed(folder: Path | str, manifest: Mapping) -> None:
    """Refuse a folder with the results of another experiment or specification than ``manifest`` names.

    Raises
    ------
    StoreError
        If they differ, or the manifest in the folder cannot be read.
    """
    if not (Path(folder) / MANIFEST).exists():
        return
    held, wanted = (
        {key: m.get(key) for key in ("experiment", "spec")} for m in (_read_manifest(folder), manifest)
    )
    if canonical(held) != canonical(wanted):
        if held["experiment"] == wanted["experiment"]:
            held, wanted = held["spec"], wanted["spec"]
        raise StoreError(
            f"{folder} holds the results of another run ({_difference(held, wanted)}). "
            "Choose another folder, or move this one away."
        )


def read_results(folder: Path | str) -> tuple[dict[str, pd.DataFrame], dict]:
    """Read all tables of a finished run and their manifest.

    Returns
    -------
    tables : dict of str to pandas.DataFrame
        The tables by file name.
    manifest : dict
        The manifest.

    Raises
    ------
    StoreError
        If the manifest or a table is missing, or a table is not the one that the manifest names.
    """
    manifest = _read_manifest(folder)
    return {name: _verified(folder, name, manifest) for name in manifest["tables"]}, manifest


def read_table(folder: Path | str, file_name: str) -> pd.DataFrame:
    """Read one table of a finished run, such as ``"runs.csv"``; see :func:`read_results`."""
    return _verified(folder, file_name, _read_manifest(folder))


def _remedy(manifest: Mapping) -> str:
    return f"Run `python -m nmu run {manifest.get('experiment', 'NAME')}` again, or restore it from git."


def _read_bytes(path: Path, remedy: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist. {remedy}") from None


def _read_manifest(folder: Path | str) -> dict:
    path = Path(folder) / MANIFEST
    data = _read_bytes(path, f"There are no finished results in this folder. {_remedy({})}")
    try:
        manifest = json.loads(data)
        complete = all({"sha256", "columns"} <= entry.keys() for entry in manifest["tables"].values())
    except (ValueError, TypeError, KeyError, AttributeError):
        complete = False
    if not complete:
        raise StoreError(f"{path} is damaged or no manifest. Delete it; then: {_remedy({})}")
    return manifest


def _verified(folder: Path | str, name: str, manifest: dict) -> pd.DataFrame:
    path = Path(folder) / name
    if name not in manifest["tables"]:
        raise StoreError(f"{path} is not in the manifest, which lists {', '.join(manifest['tables'])}.")
    entry, data = manifest["tables"][name], _read_bytes(path, _remedy(manifest))
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise StoreError(f"{path} is not the table of {MANIFEST}: its SHA-256 differs. {_remedy(manifest)}")
    return _read_csv(gzip.decompress(data) if name.endswith(".gz") else data, entry["columns"])


def _difference(held: object, wanted: object) -> str:
    """Where two specifications differ, in a few words."""

    def short(value: object) -> str:
        text = canonical(value)
        return text if len(text) <= 60 else text[:57] + "..."

    if not (isinstance(held, dict) and isinstance(wanted, dict)):
        return f"{short(held)} there, {short(wanted)} asked for"
    held, wanted = (json.loads(canonical(spec)) for spec in (held, wanted))
    keys = sorted(k for k in held.keys() | wanted.keys() if held.get(k) != wanted.get(k))
    return "; ".join(f"{k}: {short(held.get(k))} there, {short(wanted.get(k))} asked for" for k in keys)


def _json_bytes(value: Mapping) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=2, allow_nan=False) + "\n").encode()


def _gzip(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def _columns(name: str, table: pd.DataFrame) -> dict[str, str]:
    """Check that a table can be read back as it is; return its columns and their types."""
    if not name.endswith((".csv", ".csv.gz")) or Path(name).name != name:
        raise ValueError(f"a table's file name must end in .csv or .csv.gz, without a folder; got {name!r}")
    if table.shape[1] == 0 or not table.columns.is_unique:
        raise ValueError(f"{name}: columns must exist and have different names; got {list(table.columns)}")
    return {column: _type(f"{name}, column {column!r}", column, table[column]) for column in table}


def _type(label: str, column: object, values: pd.Series) -> str:
    if not isinstance(column, str) or column == "" or not _is_line(column):
        raise ValueError(f"{label}: the name must be a line of text")
    kind = values.dtype.kind
    if values.dtype.name in ("bool", "float16", "float32", "float64") or kind in "iu":
        if kind in "iu" and (values.dtype.name == "uint64" or values.hasnans):
            raise ValueError(f"{label}: integers must be in the range of int64 and none missing")
        return {"b": "bool", "f": "float64"}.get(kind, "int64")
    if all(isinstance(value, str) and _is_line(value) for value in values):
        return "str"
    raise ValueError(f"{label}: values must be numbers, booleans or lines of text, all of one kind")


def _is_line(text: str) -> bool:
    return not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in text)


def _csv_bytes(table: pd.DataFrame) -> bytes:
    floats = table.select_dtypes(["float16", "float32"]).columns
    table = table.astype(dict.fromkeys(floats, "float64"))
    return table.to_csv(index=False, lineterminator="\n").encode()


def _read_csv(data: bytes, columns: dict[str, str]) -> pd.DataFrame:
    # Floats are read as text first: not every version of pandas parses them to the nearest number.
    types = {name: "str" if kind == "float64" else kind for name, kind in columns.items()}
    table = pd.read_csv(io.BytesIO(data), dtype=types, keep_default_na=False, skip_blank_lines=False)
    for name, kind in columns.items():
        if kind == "float64":
            table[name] = pd.Series([float(text or "nan") for text in table[name]], dtype=kind)
    return table
