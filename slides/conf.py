"""The slides of two classes: a Sphinx project of its own beside the book, built by tools/slides.py."""

from importlib.util import find_spec
from pathlib import Path

from myst_nb.core.render import base_render_priority
from sphinx.writers.html5 import HTML5Translator
from sphinx_revealjs._ext.notes import revealjs_notes
from sphinx_revealjs.writers import RevealjsSlideTranslator

project = "Learning to Multiply"
author = "The authors of Learning to Multiply"
copyright = "2026, the authors of Learning to Multiply"
language = "en"

extensions = ["myst_nb", "sphinx_revealjs"]
exclude_patterns = [
    "**.ipynb_checkpoints",
    # Of the static files, too: what no slide loads.
    *(
        f"mathjax/{part}"
        for part in ["a11y", "adaptors", "input", "output/svg", "sre", "ui", "*-svg*", "mml-*", "*-full*"]
    ),
    *(
        f"revealjs/{part}"
        for part in ["css", "dist/theme/*.css", "plugin/highlight", "plugin/m*", "plugin/search"]
    ),
    "**.eot",
    "**.esm.js",
    "**.map",
]
pygments_style = "a11y-high-contrast-light"
html_favicon = "../book/_static/logo.svg"

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_url_schemes = {
    "https": None,
    # Where a slide is from: the slides are served beside the book's pages.
    "chapter": {"url": "../book/{{path}}.html#{{fragment}}", "classes": ["chapter"]},
}
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"chtml": {"matchFontHeight": False}}  # a hidden slide has no height to match

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_mime_priority_overrides = [("revealjs", *entry) for entry in base_render_priority()["html"].items()]

revealjs_html_theme = "revealjs-simple"
offline = Path(
    find_spec("sphinx-mathjax-offline").origin
).parent  # as an extension it would copy all of MathJax
revealjs_static_path = ["_static", str(offline / "static")]
revealjs_style_theme = "slides.css"
revealjs_css_files = ["pygments.css"]
revealjs_use_section_ids = True
revealjs_script_plugins = [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}]
revealjs_script_conf = {
    "width": 1280,
    "height": 720,
    "margin": 0,
    "center": False,
    "controlsTutorial": False,
    "hash": True,
    "slideNumber": "c/t",
    "transition": "none",
    "navigationMode": "linear",
    "pdfMaxPagesPerSlide": 1,
}


class Translator(RevealjsSlideTranslator):
    """Colour code while building, as the book does, and not in the browser; close the last slide, too."""

    visit_literal_block = HTML5Translator.visit_literal_block
    depart_literal_block = HTML5Translator.depart_literal_block

    def depart_section(self, node):
        """End a section; nothing else ends what the last one has begun."""
        super().depart_section(node)
        if self.section_level == 0:
            self.body.append("</section>\n" * self._nest_step)


def visit_notes(self, node):
    """Begin a speaker note; the extension would write it as one text without paragraphs."""
    self.body.append('<aside class="notes">\n')


def depart_notes(self, node):
    """End a speaker note."""
    self.body.append("</aside>\n")


def setup(app):
    """Put the slides' own writer in place."""
    app.set_translator("revealjs", Translator, override=True)
    app.add_node(revealjs_notes, override=True, revealjs=(visit_notes, depart_notes))
