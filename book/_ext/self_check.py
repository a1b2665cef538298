"""Questions that a reader answers on the page: a directive, ``self-check``.

No script: a ticked answer shows what is to be said about it by style alone (``custom.css``), in a live region
that a screen reader reads out. Boxes and no radio buttons, for among these the arrow keys would choose an
answer, and give it away, on the way past it. In print, what is said about the right answer is shown.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


class self_check(nodes.General, nodes.Element):
    """A question with its options."""


class self_check_part(nodes.General, nodes.Element):
    """The question, an option, its answer or the feedback on it."""


class SelfCheck(SphinxDirective):
    """A question; a list of answers, each with a second paragraph, the feedback; and which is right.

    An answer needs words or numbers beside its formulas: a formula alone gives its box no name.

    Examples
    --------
    ::

        :::{self-check}
        :right: 2

        What does the NMU return at $W_1 = W_2 = 0$?

        - 0

          That would be a sum. Each factor is $W_i x_i + 1 - W_i$: put in 0.
        - 1

          Both factors are 1, so the product is, whatever the inputs are.
        :::
    """

    has_content = True
    option_spec = {"right": directives.positive_int}  # noqa: RUF012

    def run(self):
        """Parse the content into a question and its options."""
        *question, options = self.parse_content_to_nodes()
        if "right" not in self.options or not isinstance(options, nodes.bullet_list):
            raise self.error("a self-check needs :right:, a question, and a list of answers at its end")
        if self.options["right"] > len(options):
            raise self.error(f"there is no answer {self.options['right']}")
        name = f"self-check-{self.env.new_serialno('self-check') + 1}"
        found = self_check("", self_check_part("", *question, kind="question", name=name), name=name)
        for number, item in enumerate(options, 1):
            answer, *feedback = item.children
            if not feedback:
                raise self.error(f"answer {number} has no feedback in a second paragraph")
            about = {"name": f"{name}-{number}", "right": number == self.options["right"]}
            found += self_check_part(
                "",
                self_check_part("", *answer.children, kind="answer", **about),
                self_check_part("", *feedback, kind="feedback", **about),
                kind="option",
                **about,
            )
        return [found]


def visit_self_check(self, node):
    """Open the group of options."""
    self.body.append(f'<div class="self-check" role="group" aria-labelledby="{node["name"]}">')


def depart_self_check(self, node):
    """Close the group of options."""
    self.body.append("</div>")


OPENING = {
    "question": '<div class="self-check-question" id="{name}"><p class="self-check-title">Check yourself</p>',
    "option": '<div class="self-check-option {kind_of}"><input type="checkbox" id="{name}">',
    "answer": '<label for="{name}">',
    "feedback": '<div role="status"><div class="self-check-feedback"><p><strong>{verdict}</strong></p>',
}
CLOSING = {"question": "</div>", "option": "</div>", "answer": "</label>", "feedback": "</div></div>"}


def visit_part(self, node):
    """Open the question, an option with its box to tick, its label, or the feedback."""
    words = ("right", "Right.") if node.get("right") else ("wrong", "Not quite.")
    named = dict(zip(("kind_of", "verdict"), words, strict=True))
    self.body.append(OPENING[node["kind"]].format(**node.attributes, **named))


def depart_part(self, node):
    """Close what was opened."""
    self.body.append(CLOSING[node["kind"]])


def setup(app):
    """Connect the directive and its nodes."""
    app.add_directive("self-check", SelfCheck)
    app.add_node(self_check, html=(visit_self_check, depart_self_check))
    app.add_node(self_check_part, html=(visit_part, depart_part))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
