"""Which files of the project count: not those that something else leaves beside them."""

BY_PRODUCTS = {"__pycache__", "shards"}  # shards: the parts of a run, from which its tables are made


def files(path):
    """Return the files that count below `path`, or the file `path` itself, sorted.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    list of pathlib.Path
    """
    return [
        file
        for file in sorted([path, *path.rglob("*")])
        if file.is_file() and not BY_PRODUCTS & set(file.parts) and not file.name.startswith(".")
    ]
