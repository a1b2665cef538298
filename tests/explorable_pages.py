"""Pages with one or more explorables and no kernel, as the book's site shows them."""

import json
from pathlib import Path

from ipywidgets.embed import dependency_state, embed_data

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
FIGURE = (
    '<figure class="align-default explorable"><img alt="" src="data:,">'
    "<figcaption>A caption.</figcaption></figure>"
)
CELL = (
    '<div class="cell"><div class="cell_output"><div class="output">'
    '<script type="application/vnd.jupyter.widget-view+json">{view}</script></div></div></div>'
)


def page_of(*widgets, theme="light"):
    """Return the text of a page that shows the widgets, each in the place of a static figure."""
    state = dependency_state(widgets, drop_defaults=False)
    data = embed_data(views=list(widgets), state=state)
    saved = json.dumps(data["manager_state"]).replace("</", r"<\/")
    cells = "".join(CELL.format(view=json.dumps(view)) + FIGURE for view in data["view_specs"])
    style, host = ((STATIC / name).read_text() for name in ("custom.css", "widgets.js"))
    return f"""<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Explorables</title>
<style>body {{ margin: 1rem }} figure {{ margin: 0 }} {style}
:root[data-theme="dark"] {{
  --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; background: #14181e; color: #ced6dd;
}}</style>
<script type="application/vnd.jupyter.widget-state+json">{saved}</script>
<script>{host}</script>
</head>
<body><main class="bd-article"><h1>Explorables</h1>{cells}</main></body>
</html>"""
