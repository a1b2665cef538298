"""Images of handwritten digits: the real MNIST, and a small set that needs no network."""

import gzip
import hashlib
import math
import os
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor
from tqdm import tqdm

pooch.get_logger().setLevel("WARNING")  # the progress bar says what is downloaded

__all__ = ["Digits", "data_folder", "load_bundled", "load_mnist"]


@dataclass(frozen=True, eq=False)
class Digits:
    """Images of single digits, and what they show.

    Attributes
    ----------
    images : Tensor
        ``(n, 1, h, w)``, float32 in [0, 1]; 0 is the ground, 1 the pen.
    labels : Tensor
        ``(n,)``, int64, the digits 0 to 9.
    """

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class IdxFile:
    """One of MNIST's four files, in the IDX format: a header, then one byte a number.

    Attributes
    ----------
    name : str
        Name of the plain file; the gzipped one ends in ``.gz``.
    shape : tuple of int
        Shape of the numbers.
    sha256 : str
        SHA-256 of the plain file, which is what a gzipped one holds.
    sha256_gz : str
        SHA-256 of the gzipped file that the mirrors offer.
    """

    name: str
    shape: tuple[int, ...]
    sha256: str
    sha256_gz: str


FILES = (
    IdxFile(
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    IdxFile(
        "train-labels-idx1-ubyte",
        (60_000,),
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    IdxFile(
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    IdxFile(
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)
"""Images and labels of the training set, then of the test set."""

MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
)
"""Where MNIST is downloaded from; each is tried in turn."""


def data_folder() -> Path:
    """Return the folder of MNIST's files: ``NMU_DATA`` if that is set, else one in the user's cache."""
    return Path(os.environ.get("NMU_DATA") or pooch.os_cache("nmu") / "mnist").expanduser().absolute()


def load_mnist(progress: bool = True) -> tuple[Digits, Digits]:
    """Load the MNIST digits, and download them first if they are not at hand.

    The four files are looked for in :func:`data_folder`, plain or gzipped. A file that is missing is
    downloaded there, and gets its name only once it is whole. Whatever its source, a file is read only
    if the SHA-256 of its content is that of the original.

    Parameters
    ----------
    progress : bool, optional
        Whether a download shows how far it is.

    Returns
    -------
    train, test : Digits
        60,000 and 10,000 images of 28 by 28 pixels.

    Raises
    ------
    FileNotFoundError
        If a file is neither in the folder nor to be had from a mirror.
    ValueError
        If a file in the folder is not the original: truncated, altered or something else.
    """
    folder = data_folder()
    arrays = [torch.from_numpy(_read(file, _located(file, folder, progress))) for file in FILES]
    images = [array.unsqueeze(1).float() / 255 for array in arrays[::2]]
    train, test = map(Digits, images, [array.long() for array in arrays[1::2]])
    return train, test


def load_bundled(seed: int = 0) -> tuple[Digits, Digits]:
    """Load the 1,797 digits of 8 by 8 pixels that come with scikit-learn, divided into two sets.

    A quarter of each digit's images is for the test.

    Parameters
    ----------
    seed : int, optional
        Decides which images are for training and which for the test.

    Returns
    -------
    train, test : Digits
        1,347 and 450 images; none is in both.
    """
    pixels, labels = load_digits(return_X_y=True)
    images = pixels.astype(np.float32).reshape(-1, 1, 8, 8) / 16
    parts = train_test_split(images, labels, test_size=0.25, stratify=labels, random_state=seed)
    train_images, test_images, train_labels, test_labels = map(torch.from_numpy, parts)
    return Digits(train_images, train_labels.long()), Digits(test_images, test_labels.long())


def _located(file: IdxFile, folder: Path, progress: bool) -> Path:
    """Return where the file is, after a download if need be."""
    gzipped = folder / f"{file.name}.gz"
    for path in (folder / file.name, gzipped):
        if path.exists():
            return path
    failures = []
    for mirror in MIRRORS:
        with tqdm(
            total=1, desc=gzipped.name, unit="B", unit_scale=True, leave=False, disable=not progress
        ) as bar:
            try:
                pooch.retrieve(
                    mirror + gzipped.name,
                    known_hash=f"sha256:{file.sha256_gz}",
                    fname=gzipped.name,
                    path=folder,
                    downloader=pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16),
                )
                return gzipped
            except (OSError, ValueError) as error:
                failures.append(f"\n  {mirror}: {textwrap.shorten(str(error), 300)}")
    names = "".join(f"\n  {each.name}" for each in FILES)
    raise FileNotFoundError(
        f"{file.name} of MNIST is not in {folder}, and no mirror has it to offer. Put these four files into "
        f"that folder, plain or gzipped (with .gz at the end), or name their folder in NMU_DATA:{names}\n"
        f"What the mirrors said:{''.join(failures)}"
    )


def _read(file: IdxFile, path: Path) -> np.ndarray:
    """Return the numbers of an IDX file, as bytes of its shape."""
    content = _content(path)
    magic = 0x0800 + len(file.shape)  # unsigned bytes, and how many dimensions they have
    header = 4 + 4 * len(file.shape)
    size = header + math.prod(file.shape)
    found = int.from_bytes(content[:4], "big")
    if len(content) < 4 or found != magic:
        raise _refusal(path, f"its content begins with the magic number {found} in place of {magic}")
    if len(content) != size:
        raise _refusal(path, f"its content is {len(content):,} bytes long in place of {size:,}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise _refusal(path, f"the SHA-256 of its content is {digest} in place of {file.sha256}")
    return np.frombuffer(bytearray(content), np.uint8, offset=header).reshape(file.shape)


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise _refusal(
            path, f"it is no whole gzip file ({error}); it begins with {content[:15]!r}"
        ) from error


def _refusal(path: Path, reason: str) -> ValueError:
    return ValueError(f"{path} is not the original of MNIST: {reason}. Remove it, and it is downloaded anew.")
