"""How numbers and formulas stand in a line: powers of ten, minus signs, and where a line must not break."""

import re

from docutils import nodes

SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
SCIENTIFIC = re.compile(r"(?P<sign>-?)(?P<digits>\d(?:\.\d+)?)e(?P<power>[+-]\d+)")
JOINER = "\u2060"  # no break here, and no width


def number(text):
    """Return a number as print has it: 7 · 10⁻⁵ for ``7e-05``, a minus for a hyphen, 40 % for ``40%``."""

    def power_of_ten(match):
        power = f"10{str(int(match['power'])).translate(SUPERSCRIPT)}"
        return match["sign"] + (power if match["digits"] == "1" else f"{match['digits']}\u00a0·\u00a0{power}")

    text = SCIENTIFIC.sub(power_of_ten, text)
    text = re.sub(r"(?<![\w⁻])-(?=\d)", "−", text)
    return re.sub(r"(?<=\d)%", "\u00a0%", text)


def set_numbers(app, doctree, docname):
    """Set the numbers that cells have given to the text; a name such as U[-2,-1] is none."""
    for inline in doctree.findall(nodes.inline):
        if "pasted-text" in inline["classes"] and "U[" not in inline.astext():
            inline[:] = [nodes.Text(number(inline.astext()))]


def keep_together(app, doctree, docname):
    """Keep a formula with the sign before or after it, and a number with its per cent."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw | nodes.math):
            continue
        kept = re.sub(r"(?<=\d) %", "\u00a0%", text)
        at = text.parent.index(text)
        if at > 0 and isinstance(text.parent[at - 1], nodes.math) and kept[:1] in tuple(".,;:?!)]"):
            kept = JOINER + kept
        if (
            at + 1 < len(text.parent)
            and isinstance(text.parent[at + 1], nodes.math)
            and kept[-1:] in tuple("([")
        ):
            kept += JOINER
        if kept != text:
            text.parent.replace(text, nodes.Text(kept))


def setup(app):
    """Connect the handlers."""
    app.connect("doctree-resolved", set_numbers)
    app.connect("doctree-resolved", keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
