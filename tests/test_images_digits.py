"""The digits: whole files or none, whatever happens on the way, and no image in two sets."""

import gzip
import hashlib
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from nmu.images import digits

ROOT = Path(__file__).parents[1]
HTML = b"<!DOCTYPE html><title>Sign in to the network</title>"


def idx(shape, numbers):
    """An IDX file of unsigned bytes."""
    header = b"".join(number.to_bytes(4, "big") for number in (0x0800 + len(shape), *shape))
    return header + bytes(numbers)


SHAPE = (5, 160, 160)
PIXELS = random.Random(0).randbytes(128_000)  # they do not compress, so that a download takes several pieces
CONTENT = {
    file.name: idx(SHAPE, PIXELS) if "images" in file.name else idx((5,), [3, 1, 4, 1, 9])
    for file in digits.FILES
}
GZIPPED = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in CONTENT.items()}
IMAGES, LABELS = digits.FILES[0].name, digits.FILES[1].name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty NMU_DATA, four small files in place of MNIST's, and no mirror."""
    files = tuple(
        replace(
            file,
            shape=SHAPE if "images" in file.name else (5,),
            sha256=hashlib.sha256(CONTENT[file.name]).hexdigest(),
            sha256_gz=hashlib.sha256(GZIPPED[f"{file.name}.gz"]).hexdigest(),
        )
        for file in digits.FILES
    )
    monkeypatch.setattr(digits, "FILES", files)
    monkeypatch.setattr(digits, "MIRRORS", ())
    monkeypatch.setenv("NMU_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "data"


@pytest.fixture
def serve(monkeypatch):
    """Add a mirror on this machine, ``serve(bodies)``; what it is asked for is returned, and grows."""
    servers = []

    def start(bodies, status=200, missing=0, pause=0.0):
        """Send each file's body less its ``missing`` last bytes, then wait and hang up."""
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.rsplit("/", 1)[1]
                asked.append(name)
                body = bodies(name) if callable(bodies) else bodies[name]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - missing])
                self.wfile.flush()
                time.sleep(pause)

            def log_message(self, *arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        monkeypatch.setattr(digits, "MIRRORS", (*digits.MIRRORS, address))
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def put(folder, files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def check(loaded):
    train, test = loaded
    for part in (train, test):
        assert part.images.shape == (5, 1, 160, 160)
        assert part.images.dtype == torch.float32
        assert torch.equal(part.images.flatten(), torch.tensor(list(PIXELS)) / 255)
        assert part.labels.dtype == torch.int64
        assert part.labels.tolist() == [3, 1, 4, 1, 9]
        assert len(part) == 5


# What the folder holds


@pytest.mark.parametrize(
    "files",
    [CONTENT, GZIPPED, {f"{name}.gz": gzip.compress(content, 1) for name, content in CONTENT.items()}],
    ids=["plain", "as the mirrors have them", "gzipped by the reader"],
)
def test_files_that_are_at_hand_are_read(folder, files):
    put(folder, files)
    check(digits.load_mnist())
    assert {path.name for path in folder.iterdir()} == set(files)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (IMAGES, CONTENT[IMAGES][:-1], "128,015 bytes long in place of 128,016"),
        (IMAGES, CONTENT[IMAGES] + b"0", "128,017 bytes long in place of 128,016"),
        (IMAGES, b"", "magic number 0 in place of 2051"),
        (IMAGES, b"\0\0\x08", "magic number 8 in place of 2051"),
        (IMAGES, CONTENT[LABELS], "magic number 2049 in place of 2051"),
        (LABELS, CONTENT[IMAGES], "magic number 2051 in place of 2049"),
        (LABELS, CONTENT[LABELS][:-1] + b"\7", "the SHA-256 of its content is [0-9a-f]{64} in place of"),
        (LABELS, HTML, "magic number"),
        (f"{IMAGES}.gz", HTML, "no whole gzip file .*begins with b'<!DOCTYPE html"),
        (f"{IMAGES}.gz", b"", "magic number"),
        (f"{IMAGES}.gz", GZIPPED[f"{IMAGES}.gz"][:-9], "no whole gzip file"),
        (f"{IMAGES}.gz", GZIPPED[f"{IMAGES}.gz"][:20], "no whole gzip file"),
        (f"{IMAGES}.gz", gzip.compress(CONTENT[IMAGES], mtime=0)[:12] + b"\xff" * 40, "no whole gzip file"),
        (f"{LABELS}.gz", gzip.compress(HTML, mtime=0), "magic number"),
        (f"{LABELS}.gz", gzip.compress(CONTENT[LABELS][:-1] + b"\7", mtime=0), "the SHA-256 of its content"),
    ],
)
def test_a_bad_file_is_refused_by_name(folder, name, content, reason):
    others = {each: CONTENT[each] for each in CONTENT if each != name.removesuffix(".gz")}
    put(folder, {**others, name: content})
    with pytest.raises(ValueError, match=rf"(?s){name} is not the original of MNIST: .*{reason}.*Remove it"):
        digits.load_mnist()
    assert (folder / name).read_bytes() == content


def test_where_the_files_are_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("NMU_DATA", "~/somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert digits.data_folder() == tmp_path / "somewhere"
    monkeypatch.setenv("NMU_DATA", "")
    assert digits.data_folder().name == "mnist"
    assert digits.data_folder().parent == digits.pooch.os_cache("nmu")


def test_the_table_of_files():
    sizes = [4 + 4 * len(file.shape) + math.prod(file.shape) for file in digits.FILES]
    assert sizes == [47_040_016, 60_008, 7_840_016, 10_008]
    hashes = {digest for file in digits.FILES for digest in (file.sha256, file.sha256_gz)}
    assert len(hashes) == 8
    assert all(len(digest) == 64 for digest in hashes)


# Downloads


def test_missing_files_are_downloaded_once(folder, serve, capsys):
    put(folder, {LABELS: CONTENT[LABELS]})
    asked = serve(GZIPPED)
    for _ in range(2):
        check(digits.load_mnist())
    assert asked == [name for name in GZIPPED if name != f"{LABELS}.gz"]
    assert {path.name for path in folder.iterdir()} == {*asked, LABELS}
    assert f"{IMAGES}.gz" in capsys.readouterr().err
    for name in asked:
        (folder / name).unlink()
    check(digits.load_mnist(progress=False))
    assert capsys.readouterr().err == ""


def test_every_mirror_is_tried_in_turn(folder, serve):
    broken = [
        serve(lambda name: HTML),
        serve(GZIPPED, status=404),
        serve(GZIPPED, missing=1),
        serve(lambda name: GZIPPED[name][:-1]),
    ]
    good, unused = serve(GZIPPED), serve(GZIPPED)
    check(digits.load_mnist())
    assert broken == [list(GZIPPED)] * 4
    assert good == list(GZIPPED)
    assert unused == []
    assert {path.name for path in folder.iterdir()} == set(GZIPPED)


def test_without_a_network_the_message_says_what_to_do(folder, serve):
    serve(GZIPPED, missing=1)
    digits.MIRRORS = (*digits.MIRRORS, "http://127.0.0.1:9/")
    with pytest.raises(FileNotFoundError) as caught:
        digits.load_mnist()
    message = str(caught.value)
    assert str(folder) in message
    assert "plain or gzipped" in message
    assert "NMU_DATA" in message
    assert all(f"\n  {name}\n" in message for name in CONTENT)
    assert all(f"\n  {mirror}: " in message for mirror in digits.MIRRORS)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_download_that_is_killed_is_begun_again(folder, serve):
    asked = serve(GZIPPED, missing=50_000, pause=60)
    script = (
        "from nmu.images import digits\n"
        "from nmu.images.digits import IdxFile\n"
        f"digits.FILES = {digits.FILES}\n"
        f"digits.MIRRORS = {digits.MIRRORS}\n"
        "digits.load_mnist(progress=False)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        deadline = time.monotonic() + 180
        while not (asked and folder.is_dir() and any(path.stat().st_size for path in folder.iterdir())):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    partial = list(folder.iterdir())
    assert partial
    assert not {path.name for path in partial} & {*CONTENT, *GZIPPED}
    digits.MIRRORS = ()
    asked = serve(GZIPPED)
    check(digits.load_mnist())
    assert asked == list(GZIPPED)


# The bundled digits


@pytest.fixture(scope="module")
def bundled():
    return digits.load_bundled()


def test_the_bundled_digits(bundled):
    train, test = bundled
    assert (len(train), len(test)) == (1347, 450)
    for part in bundled:
        assert part.images.shape == (len(part), 1, 8, 8)
        assert part.images.dtype == torch.float32
        assert (part.images.min(), part.images.max()) == (0, 1)
        assert part.labels.dtype == torch.int64
        share = part.labels.bincount() / len(part)
        assert len(share) == 10
        assert (share - 0.1).abs().max() < 0.005


@pytest.mark.parametrize("seed", [0, 1])
def test_no_image_is_in_both_sets(seed):
    train, test = ({image.numpy().tobytes() for image in part.images} for part in digits.load_bundled(seed))
    assert len(train) == 1347
    assert len(test) == 450
    assert not train & test


def test_the_seed_decides_the_sets(bundled):
    again, other = digits.load_bundled(), digits.load_bundled(seed=1)
    for part, same, different in zip(bundled, again, other, strict=True):
        assert torch.equal(part.images, same.images)
        assert torch.equal(part.labels, same.labels)
        assert not torch.equal(part.images, different.images)


# The real thing, where it is at hand


@pytest.mark.slow
def test_the_real_mnist():
    folder = digits.data_folder()
    if not all((folder / f).exists() or (folder / f"{f}.gz").exists() for f in CONTENT):
        pytest.skip(f"MNIST is not in {folder}")
    train, test = digits.load_mnist()
    assert train.images.shape == (60_000, 1, 28, 28)
    assert test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    torch.testing.assert_close(train.images.mean(), torch.tensor(0.1307), atol=1e-4, rtol=0)
    torch.testing.assert_close(train.images.std(), torch.tensor(0.3081), atol=1e-4, rtol=0)
    distinct = [{image.numpy().tobytes() for image in part.images} for part in (train, test)]
    assert [len(images) for images in distinct] == [60_000, 10_000]
    assert not distinct[0] & distinct[1]
