"""What the book needs of Sphinx beyond the published extensions.

The site's address has one home, ``html.baseurl`` in ``_config.yml``; what needs it takes it from there, or
is left out. Most of the rest repairs what a screen reader or the browser's console would stumble over. A
repair that no longer finds its fault stops the build, so that none outlives the fault.
"""

import re
from urllib.parse import urlsplit

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput, visit_HideCellInput
from sphinx.errors import ExtensionError
from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.writers.html5 import HTML5Translator

# Template of the theme: {fault: repair}.
REPAIRS = {
    # The label hid the shortcut "Ctrl + K", which is part of what the button shows.
    "search-button-field.html": {""" aria-label="{{ _('Search') }}\"""": ""},
    # The label hid which mode is on: the title of the one icon that is shown.
    "theme-switcher.html": {
        """ aria-label="{{ _('Color mode') }}\"""": "",
        '"tooltip">': """"tooltip"><span class="visually-hidden">{{ _('Color mode') }}: </span>""",
    },
    # The sidebar's logo stood outside all landmarks.
    "pydata_sphinx_theme/layout.html": {
        '<div id="pst-primary-sidebar" ': """<div id="pst-primary-sidebar" role="navigation"
           aria-label="{{ docstitle }}" """
    },
}


def repaired(text, fault, repair, where):
    """`text` with `repair` for `fault`; an error where `fault` is gone."""
    if fault not in text:
        raise ExtensionError(f"{where} no longer contains {fault!r}: drop its repair from nmu_book.py.")
    return text.replace(fault, repair)


class Templates(BuiltinTemplateLoader):
    """The theme's templates, repaired as they are read."""

    def get_source(self, environment, template):
        """Source, path and freshness, as Jinja wants them."""
        source, path, is_fresh = super().get_source(environment, template)
        for fault, repair in REPAIRS.get(template, {}).items():
            source = repaired(source, fault, repair, path)
        return source, path, is_fresh


def visit_hidden_cell(self, node):
    """Name the button of a folded cell by its text; a label hid whether it shows or hides."""
    start = len(self.body)
    visit_HideCellInput(self, node)
    opening = "".join(self.body[start:])
    label = ' aria-label="Toggle hidden content"'
    self.body[start:] = [repaired(opening, label, "", "MyST-NB's folded cell")]


def visit_citation(self, node):
    """Make an entry of the references an item of their list; its own role is deprecated and no item."""
    HTML5Translator.visit_citation(self, node)
    role = ' role="doc-biblioentry"'
    self.body[-1] = repaired(self.body[-1], role, ' role="listitem"', "docutils' citation")


def mend_tables(app, doctree, docname):
    """Make the empty corner of a table of pandas a plain cell, and keep names and intervals in one line."""
    together = r"\[[^\]<>]*\](?: †)?|[^\s<>]*\w-[^\s<>]*"
    for raw in doctree.findall(nodes.raw):
        if 'class="dataframe' in raw.astext():
            cells = re.split(r"(<[^>]*>)", raw.astext().replace("<th></th>", "<td></td>"))
            cells[::2] = [re.sub(together, r'<span class="nobr">\g<0></span>', text) for text in cells[::2]]
            raw[:] = [nodes.Text("".join(cells))]


def without_thebe(app, pagename, templatename, context, doctree):
    """Drop the scripts of Thebe, which the book does not use and Jupyter Book adds to every page.

    They also declare the same constant twice, an error in the browser's console.
    """
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "thebe" not in f"{script.filename} {script.attributes.get('body')}"
    ]


def with_address(app, config):
    """Tell the extensions that need it where the site will be."""
    config.ogp_site_url = config.html_baseurl
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path.rstrip("/") + "/"
    missing = config.notfound_context
    config.notfound_context = missing | {"body": missing["body"].format(home=config.notfound_urls_prefix)}
    config.sitemap_url_scheme = "{link}"


def with_description(app, pagename, templatename, context, doctree):
    """Describe a shared page by what search engines get; else it would be by the page's beginning."""
    for meta in doctree.findall(nodes.meta) if doctree else []:
        if meta.get("name") == "description":
            context["meta"] = {**(context["meta"] or {}), "og:description": meta["content"]}


def without_relative_addresses(app, pagename, templatename, context, doctree):
    """Leave out what only an absolute address can say, where the site has none."""
    if not app.config.html_baseurl:
        relative = r'<meta property="og:(url|image|image:alt)"[^>]*>\n'
        context["metatags"] = re.sub(relative, "", context.get("metatags", ""))


def setup(app):
    """Connect the handlers."""
    if app.config.html_baseurl:
        app.setup_extension("sphinx_sitemap")
    app.setup_extension("myst_nb")  # before its visitor is replaced
    app.config.template_bridge = "nmu_book.Templates"
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_cell, depart_HideCellInput))
    app.add_node(nodes.citation, override=True, html=(visit_citation, None))
    app.connect("config-inited", with_address)
    app.connect("doctree-resolved", mend_tables)
    app.connect("html-page-context", with_description, priority=400)  # before sphinxext.opengraph
    app.connect("html-page-context", without_relative_addresses, priority=600)  # after it
    app.connect("html-page-context", without_thebe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
