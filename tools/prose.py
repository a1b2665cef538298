"""From a built page to Markdown that any notebook shows: no directive, no role, nothing left to resolve."""

import base64
import mimetypes
import re
from html import escape
from urllib.parse import unquote, urljoin, urlsplit

from markdownify import ATX, MarkdownConverter


class Prose(MarkdownConverter):
    """Markdown of the elements of a page of the book.

    Parameters
    ----------
    page : pathlib.Path
        The built page, from which its pictures are read.
    address : str
        Its address on the web, to which links between pages lead. Without one they become plain text: a
        notebook does not know where its book lies.
    """

    def __init__(self, page, address=""):
        super().__init__(
            heading_style=ATX, bullets="-", wrap=True, wrap_width=None, code_language_callback=_language
        )
        self.page, self.address = page, address

    def markdown(self, *elements):
        """Return the Markdown of `elements`, one after the other."""
        found = (self.process_element(element, parent_tags=set()).strip() for element in elements)
        return "\n\n".join(filter(None, found))

    def caption(self, figure):
        """Return the caption of a figure, and under it, folded, what it shows."""
        shown = figure.img.get("alt", "").strip() if figure.img else ""
        caption = self.markdown(*figure.find_all("figcaption"))
        return "\n\n".join(
            filter(None, [caption, shown and details("What the figure shows", self.escape(shown, ()))])
        )

    def escape(self, text, parent_tags):
        """Keep text from being read as markup or mathematics."""
        return re.sub(r"([*_`$\\])", r"\\\1", text.replace("<", "&lt;"))

    def convert_a(self, el, text, parent_tags):
        """Lead to the web, or be plain text."""
        url = el.get("href", "")
        if "headerlink" in el.get("class", []) or not text.strip():
            return ""
        if el.get("role") in {"doc-backlink", "doc-noteref"}:
            return text
        if not urlsplit(url).scheme:
            url = urljoin(self.address, url) if self.address else ""
        return f"[{text.strip()}]({url})" if urlsplit(url).scheme else text

    def convert_span(self, el, text, parent_tags):
        """Set formulas within dollars, and the number of a figure in bold."""
        if "math" in el.get("class", []):
            formula = _formula(el)
            if {"td", "th"} & parent_tags:  # a bar would end the cell
                formula = formula.replace("|", r"\vert ").strip()
            return f"${formula}$"
        if "caption-number" in el.get("class", []) and el.find_parent("figcaption"):
            return f"**{text.strip()}.** "
        return text

    def convert_div(self, el, text, parent_tags):
        """Tell formulas, boxes and questions apart."""
        classes = el.get("class", [])
        if "math" in classes:
            return f"\n\n{_display(el)}\n\n"
        if "self-check" in classes:
            return f"\n\n{self._question(el)}\n\n"
        if "admonition" in classes:
            title = el.find("p", class_="admonition-title", recursive=False)
            body = self.markdown(
                *(child for child in el.find_all(True, recursive=False) if child is not title)
            )
            if "dropdown" in classes:
                return f"\n\n{details(escape(title.get_text().strip()), body)}\n\n"
            title = f"**{self._title(title)}**\n\n" if title else ""
            return f"\n\n{quote(title + re.sub('^Proof[.]', '*Proof.*', body))}\n\n"
        return f"\n\n{text.strip()}\n\n" if text.strip() else ""

    def convert_aside(self, el, text, parent_tags):
        """Put the number of a footnote before its text."""
        return "\n\n" + re.sub(r"^(\[\d+\])\s*", r"\1 ", text.strip()) + "\n\n"

    def convert_details(self, el, text, parent_tags):
        """Keep what is folded folded."""
        return f"\n\n{details(escape(el.summary.get_text().strip()), text.strip())}\n\n"

    def convert_summary(self, el, text, parent_tags):
        """Leave it to `convert_details`."""
        return ""

    def convert_figure(self, el, text, parent_tags):
        """Show the picture above its caption."""
        return f"\n\n{self.convert_img(el.img, '', parent_tags)}\n\n{self.caption(el)}\n\n"

    def convert_img(self, el, text, parent_tags):
        """Put the picture itself into the text: Colab shows no attachments, and no file lies beside it."""
        file = self.page.parent / unquote(el["src"])
        content = base64.b64encode(file.read_bytes()).decode()
        alt = escape(" ".join(el.get("alt", "").split()), quote=True)
        return f'<img alt="{alt}" src="data:{mimetypes.guess_type(file.name)[0]};base64,{content}">'

    def _title(self, title):
        number, rest = title.find(class_="caption-number"), self.markdown(title)
        if number is None:
            return rest
        name = re.sub(r"^\((.*)\)$", r"\1", rest.removeprefix(number.get_text().strip()).strip())
        return f"{number.get_text().strip()}. {name}" if name else f"{number.get_text().strip()}."

    def _question(self, el):
        title, *question = el.select_one(".self-check-question").find_all(True, recursive=False)
        options, verdicts = [], []
        for letter, option in zip("abcdefgh", el.select(".self-check-option"), strict=False):
            verdict, *feedback = option.select_one(".self-check-feedback").find_all(True, recursive=False)
            options.append(f"- ({letter}) {self.markdown(option.label)}")
            said = " ".join(self.markdown(verdict, *feedback).split())
            verdicts.append(f"- ({letter}) {said}")
        asked = f"**{self.markdown(title)}.** {self.markdown(*question)}"
        return "\n\n".join([asked, "\n".join(options), details("Answers", "\n".join(verdicts))])


def details(summary, body):
    """Return what a reader unfolds; the empty lines let its body be Markdown."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def quote(text):
    """Return `text` as a block quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _formula(el):
    text = "".join(el.find_all(string=True, recursive=False))  # without the number beside it
    return re.sub(r"^\s*\\[(\[]|\\[)\]]\s*$", "", text).strip()


def _display(el):
    """Return a displayed formula with its number; in one line where a quotation would cut it up."""
    number = el.find(class_="eqno")
    tag = f" \\tag{{{number.get_text().strip('()#')}}}" if number else ""
    formula = re.sub(
        r"(?s)^\\begin{split}\s*(\\begin{aligned}.*\\end{aligned})\s*\\end{split}$", r"\1", _formula(el)
    )
    lines = [line for line in formula.splitlines() if line.strip()]
    if el.find_parent(["li", "td"]) or el.find_parent(class_=["admonition", "self-check"]):
        return f"$${' '.join(lines)}{tag}$$"
    return "\n".join(["$$", *lines, *([tag.strip()] if tag else []), "$$"])


def _language(pre):
    classes = pre.parent.parent.get("class", [])
    language = next((c.removeprefix("highlight-") for c in classes if c.startswith("highlight-")), "")
    return {"ipython3": "python", "default": "", "none": ""}.get(language, language)
