"""The labels of the references: authors and year, as the text cites them, in place of initials."""

from pybtex.plugin import register_plugin
from pybtex.style.formatting.alpha import Style as AlphaStyle
from pybtex.style.labels import BaseLabelStyle


def label(entry):
    """Return what the text cites `entry` as, such as ``Kingma and Ba, 2015``."""
    names = [" ".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {entry.fields['year']}"


class Labels(BaseLabelStyle):
    """Labels of authors and year; two of one label get letters at their years, in ``references.bib``."""

    def format_labels(self, sorted_entries):
        """Yield the label of each entry."""
        labels = [label(entry) for entry in sorted_entries]
        if len(set(labels)) < len(labels):
            raise ValueError(f"two references have one label: {sorted(labels)}")
        yield from labels


class Style(AlphaStyle):
    """Sphinx's usual style with these labels."""

    default_label_style = Labels


def setup(app):
    """Make the style known by its name."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
