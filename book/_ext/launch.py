"""Where a chapter's notebooks are: on its page, among the buttons of the header, and in the table of all.

The addresses have one place, ``_config.yml``. With ``repository: {url: https://github.com/OWNER/NAME}`` the
notebooks open in Colab and on Binder too, from the published site, which lies on the branch
``published_branch`` of that repository. Without it there are no such links.
"""

import re

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

CHAPTER = re.compile(r"book/(\d\d-.*)")
KINDS = {"": "Notebook", "-exercises": "Exercises", "-solutions": "Solutions"}  # by the end of a name
HOSTS = {
    "Colab": "https://colab.research.google.com/github/{repository}/blob/{branch}/notebooks/{name}.ipynb",
    "Binder": "https://mybinder.org/v2/gh/{repository}/{branch}?urlpath=lab/tree/notebooks/{name}.ipynb",
}
LOGOS = {"Colab": "_static/images/logo_colab.png", "Binder": "_static/images/logo_binder.svg"}


def repository(config):
    """Return the repository on GitHub, as OWNER/NAME; "" if none is configured."""
    url = config.html_theme_options.get("repository_url") or ""
    found = re.fullmatch(r"https://github\.com/([^/]+/[^/]+?)(\.git)?/?", url)
    return found[1] if found else ""


def launches(config, name):
    """Return the addresses that run a notebook, by host: none without a repository.

    Parameters
    ----------
    config : sphinx.config.Config
    name : str
        Of the notebook, without its suffix.

    Returns
    -------
    dict of str to str
    """
    where = {"repository": repository(config), "branch": config.published_branch, "name": name}
    return {host: url.format(**where) for host, url in HOSTS.items() if where["repository"]}


def link(text, url, tooltip, icon):
    """Return a link as the theme's header wants it."""
    return {"type": "link", "text": text, "url": url, "tooltip": tooltip, "icon": icon}


def add_buttons(app, pagename, templatename, context, doctree):
    """Offer the notebooks of a chapter in the theme's menu of downloads, and in a menu of hosts."""
    chapter = CHAPTER.fullmatch(pagename)
    if not chapter:
        return
    menus = [menu for menu in context["header_buttons"] if menu.get("label") == "download-buttons"]
    if not menus:
        raise ExtensionError("The theme's header no longer has a menu of downloads: see launch.py.")
    folder = context["pathto"]("notebooks", 1)
    menus[0]["buttons"][:0] = [
        link(
            kind,
            f"{folder}/{chapter[1]}{end}.ipynb",
            f"{kind} of this chapter, to run in Jupyter",
            "fas fa-book",
        )
        for end, kind in KINDS.items()
    ]
    buttons = [
        link(f"{host}: {kind.lower()}", url, f"Run it on {host}", LOGOS[host])
        for end, kind in KINDS.items()
        for host, url in launches(app.config, chapter[1] + end).items()
        if end != "-solutions"
    ]
    if buttons:
        menu = {
            "type": "group",
            "tooltip": "Run this chapter",
            "icon": "fas fa-rocket",
            "label": "launch-buttons",
        }
        context["header_buttons"].insert(0, menu | {"buttons": buttons})


class notebook_table(nodes.General, nodes.Element):
    """Where the table of all notebooks comes."""


class NotebookTable(SphinxDirective):
    """The notebooks of all chapters, a row a chapter."""

    def run(self):
        """Leave the place: the titles of the chapters are known when all are read."""
        return [notebook_table()]


class Launched(SphinxDirective):
    """Text that is there only where the notebooks open in Colab and on Binder."""

    has_content = True

    def run(self):
        """Keep the content, or leave it out."""
        return self.parse_content_to_nodes() if repository(self.config) else []


def fill_tables(app, doctree, docname):
    """Put a table in each place for one."""
    chapters = list(filter(CHAPTER.fullmatch, sorted(app.env.found_docs)))
    for place in list(doctree.findall(notebook_table)):
        heads = ["Chapter", *KINDS.values(), *(["Run it on"] if repository(app.config) else [])]
        rows = [row(app, chapter, docname) for chapter in chapters]
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
        group[0]["stub"] = 1
        group += nodes.thead("", cells([nodes.Text(head)] for head in heads))
        group += nodes.tbody("", *rows)
        place.replace_self(nodes.table("", group))


def row(app, chapter, docname):
    """Return the row of a chapter, as seen from the page `docname`."""
    name, up = CHAPTER.fullmatch(chapter)[1], "../" * docname.count("/")
    title = app.env.titles[chapter].astext()
    page = app.builder.get_relative_uri(docname, chapter)
    entries = [[nodes.reference("", title, refuri=page, internal=True)]]
    for end, kind in KINDS.items():
        entries.append([nodes.reference("", kind.lower(), refuri=f"{up}notebooks/{name}{end}.ipynb")])
    hosts = [nodes.reference("", host, refuri=url) for host, url in launches(app.config, name).items()]
    if hosts:
        entries.append([part for host in hosts for part in (host, nodes.Text(" "))][:-1])
    return cells(entries)


def cells(entries):
    """Return a row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *entry)) for entry in entries))


def setup(app):
    """Connect the directives and the menus."""
    app.add_config_value("published_branch", "gh-pages", "html")
    app.add_node(notebook_table)
    app.add_directive("notebook-table", NotebookTable)
    app.add_directive("launched", Launched)
    app.connect("doctree-resolved", fill_tables)
    app.connect("html-page-context", add_buttons, priority=600)  # after the theme's own, at 501
    return {"parallel_read_safe": True, "parallel_write_safe": True}
