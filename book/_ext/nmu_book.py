"""What the book needs of Sphinx beyond the published extensions."""


def without_thebe(app, pagename, templatename, context, doctree):
    """Drop the scripts of Thebe, which the book does not use and Jupyter Book adds to every page.

    They also declare the same constant twice, an error in the browser's console.
    """
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "thebe" not in f"{script.filename} {script.attributes.get('body')}"
    ]


def setup(app):
    """Connect the handlers."""
    app.connect("html-page-context", without_thebe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
