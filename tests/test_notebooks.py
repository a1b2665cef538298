"""The notebooks for download: what the page says as plain Markdown, what was executed, and the exercises."""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import notebooks
from tools.chapters import Chapter
from tools.prose import Prose

ROOT = Path(__file__).resolve().parents[1]

PAGE = r'''<article class="bd-article"><section id="s">
<h1>8 Noise<a class="headerlink" href="#s">#</a></h1>
<p>See <a class="reference internal" href="05-ranges.html#ch-ranges">Chapter 5</a>: a * b costs 3 $.</p>
<div class="cell"><div class="cell_input"><pre>import math
from nmu import plots</pre></div></div>
<section id="t"><h2>The question</h2>
<div class="math"><span class="eqno">(7)</span>\[
z = x_1
\]</div>
<div class="cell"><div class="cell_input"><pre>unused = 1</pre></div></div>
<div class="cell"><div class="cell_input"><pre>base = 2</pre></div></div>
<figure class="align-default" id="fig-noise"><img alt="A line that rises from 0 to 1." src="noise.png"/>
<figcaption><p><span class="caption-number">Fig. 3 </span><span class="caption-text">It rises.</span></p>
</figcaption></figure></section>
<section id="exercises"><h2>Exercises</h2>
<div class="exercise admonition" id="ex-add">
<p class="admonition-title"><span class="caption-number">Exercise 4 </span> (Code · Add)</p>
<section id="exercise-content"><p>Add <span class="math">\(x\)</span>.</p></section></div>
<div class="hint dropdown admonition"><p class="admonition-title">Hint</p><p>Use plus.</p></div>
<div class="solution dropdown admonition" id="s1">
<p class="admonition-title">Solution to<a href="#ex-add"> Exercise 4</a></p>
<section id="solution-content"><p>The secret is a sum.</p>
<div class="cell tag_answer"><div class="cell_input"><pre>def add(x):
    """Add the base."""
    return x + base</pre></div></div>
<div class="cell tag_check"><div class="cell_input"><pre>assert add(1) == 3</pre></div></div></section></div>
<div class="exercise admonition" id="ex-say">
<p class="admonition-title"><span class="caption-number">Exercise 5 </span></p>
<section id="exercise-content"><p>Say it.</p></section></div>
<div class="solution dropdown admonition" id="s2">
<p class="admonition-title">Solution to<a href="#ex-say"> Exercise 5</a></p>
<section id="solution-content"><p>Said in secret.</p></section></div>
</section></section></article>'''
PICTURE = '<img alt="A line that rises from 0 to 1." src="data:image/png;base64,aGk=">'
WIDGET = "application/vnd.jupyter.widget-view+json"
RECORD = "application/papermill.record/"
ADD = 'def add(x):\n    """Add the base."""\n    return x + base'
DRAWING = 'glue("noise", figure, display=False)'


@pytest.fixture
def chapter(tmp_path):
    """Read a small chapter back; ``chapter(site)``."""
    for folder in ("html/book", "jupyter_execute/book"):
        (tmp_path / "_build" / folder).mkdir(parents=True)
    (tmp_path / "_build/html/book/08-noise.html").write_text(PAGE)
    picture = {f"{RECORD}image/png": "aGk=", f"{RECORD}text/plain": "Figure"}
    scrap = {"scrapbook": {"mime_prefix": RECORD, "name": "noise"}}
    cells = [
        new_code_cell("import math\nfrom nmu import plots"),
        new_code_cell("unused = 1", outputs=[new_output("stream", name="stderr", text="10 %")]),
        new_code_cell(
            "base = 2\n", outputs=[new_output("execute_result", data={WIDGET: {}, "text/plain": "at 0x7f"})]
        ),
        new_code_cell(
            DRAWING,
            metadata={"tags": ["remove-cell"]},
            outputs=[new_output("display_data", data=picture, metadata=scrap)],
        ),
        new_markdown_cell("```{glue:figure} noise\n:alt: A line.\n:name: fig-noise\n```"),
        new_markdown_cell("```{solution-start} ex-add\n```"),
        new_code_cell(ADD, metadata={"tags": ["answer"]}),
        new_code_cell("assert add(1) == 3", metadata={"tags": ["check"]}),
        new_markdown_cell("```{solution-end}\n```"),
    ]
    notebook = new_notebook(cells=cells)
    nbformat.write(notebook, tmp_path / "_build/jupyter_execute/book/08-noise.ipynb")
    executed = SimpleNamespace(merge_match_into_notebook=lambda source: (1, notebook))
    return lambda site="": Chapter(tmp_path, "book/08-noise", site, executed)


@pytest.fixture
def three(chapter):
    """Return the notebooks of the small chapter, by the end of their names."""
    return notebooks.notebooks(chapter(), ROOT, "")


def sources(notebook, kind=None):
    return [cell.source for cell in notebook.cells if kind in {None, cell.cell_type}]


def prose(html, address=""):
    soup = BeautifulSoup(html, "html.parser")
    return Prose(Path("book/page.html"), address).markdown(*soup.find_all(True, recursive=False))


def test_formulas_keep_their_numbers_and_boxes_hold_them_in_one_line():
    number = '<span class="eqno">(7)<a class="headerlink" href="#e">#</a></span>'
    formula = f'<div class="math">{number}\\[a\n= b\\]</div>'
    assert prose(formula) == "$$\na\n= b\n\\tag{7}\n$$"
    box = f'<div class="note admonition"><p class="admonition-title">Note</p>{formula}</div>'
    assert prose(box) == "> **Note**\n>\n> $$a = b \\tag{7}$$"


def test_links_lead_to_the_site_or_are_text():
    html = '<p><a href="05.html#x">Chapter 5</a>, <a href="https://example.org/">there</a></p>'
    assert prose(html) == "Chapter 5, [there](https://example.org/)"
    assert prose(html, "https://book.org/book/page.html") == (
        "[Chapter 5](https://book.org/book/05.html#x), [there](https://example.org/)"
    )


def test_text_that_looks_like_markup_stays_text():
    assert prose("<p>2 * 3 * 4, a_b, 5 $, `x`, 1 &lt; 2</p>") == r"2 \* 3 \* 4, a\_b, 5 \$, \`x\`, 1 &lt; 2"


def test_a_bar_in_a_formula_does_not_split_a_cell_of_a_table():
    cell = r'<td><span class="math">\(|x|\)</span></td>'
    html = f"<table><thead><tr><th>u</th></tr></thead><tbody><tr>{cell}</tr></tbody></table>"
    assert prose(html).splitlines()[-1] == r"| $\vert x\vert$ |"


def test_a_self_check_folds_what_it_says_of_the_answers():
    option = (
        '<div class="self-check-option"><input type="checkbox"><label>{}</label><div role="status">'
        '<div class="self-check-feedback"><p><strong>{}</strong></p><p>{}</p></div></div></div>'
    )
    title = '<p class="self-check-title">Check yourself</p>'
    question = f'<div class="self-check-question">{title}<p>How many?</p></div>'
    none = r'None, as <span class="math">\(z\)</span> is 0.'
    options = option.format(none, "Not quite.", "Count.") + option.format("1", "Right.", "Yes.")
    assert prose(f'<div class="self-check">{question}{options}</div>') == (
        "**Check yourself.** How many?\n\n- (a) None, as $z$ is 0.\n- (b) 1\n\n"
        "<details><summary>Answers</summary>\n\n"
        "- (a) **Not quite.** Count.\n- (b) **Right.** Yes.\n\n</details>"
    )


def test_the_chapter_is_whole_and_shows_its_figure_where_the_page_does(three):
    cells = three[""].cells
    assert [cell.source for cell in cells if cell.cell_type == "code"][1:] == [
        "import math\nfrom nmu import plots",
        "unused = 1",
        "base = 2",
        '# @title Code that is folded on the page\nglue("noise", figure)',
        ADD,
        "assert add(1) == 3",
    ]
    drawing = next(index for index, cell in enumerate(cells) if "glue" in cell.source)
    assert cells[drawing].outputs[0].data["image/png"] == "aGk="
    assert cells[drawing].metadata.jupyter.source_hidden
    assert cells[drawing + 1].source.startswith("**Fig. 3.** It rises.")
    assert "A line that rises from 0 to 1." in cells[drawing + 1].source
    text = "\n".join(sources(three[""], "markdown"))
    assert r"See Chapter 5: a \* b costs 3 \$." in text
    assert "$$\nz = x_1\n\\tag{7}\n$$" in text
    assert "stderr" not in str(cells)
    assert "Run this cell, and what is drawn below" in str(cells)
    assert "0x7f" not in str(cells)


def test_exercises_have_hints_stubs_and_checks_and_no_solution(three):
    assert sources(three["-exercises"])[2:] == [
        "## Set-up\n\nWhat the exercises use from the chapter.",
        "import math\nfrom nmu import plots",
        "base = 2",
        "## Exercises",
        "### Exercise 4. Code · Add\n\nAdd $x$.\n\n"
        "<details><summary>Hint</summary>\n\nUse plus.\n\n</details>",
        'def add(x):\n    """Add the base."""\n    ...',
        "assert add(1) == 3",
        "### Exercise 5\n\nSay it.",
        "*Your answer:*",
    ]


def test_solutions_are_the_same_exercises_answered(three):
    text = "\n".join(sources(three["-solutions"]))
    assert "The secret is a sum." in text
    assert "Said in secret." in text
    assert "return x + base" in text
    assert "unused" not in text


def test_solutions_are_folded_in_the_chapter_and_open_in_the_notebook_of_solutions(three):
    for end, count in {"": 2, "-solutions": 0}.items():
        folded = [cell.source for cell in three[end].cells if "jp-MarkdownHeadingCollapsed" in cell.metadata]
        assert folded == ["#### Solution"] * count


def test_a_page_that_is_not_of_its_cells_is_refused(chapter, tmp_path):
    page = tmp_path / "_build/html/book/08-noise.html"
    page.write_text(page.read_text().replace("unused = 1", "unused = 2"))
    with pytest.raises(ValueError, match="differ"):
        chapter()


def test_a_figure_far_from_its_cell_is_embedded(chapter, tmp_path):
    page = tmp_path / "_build/html/book/08-noise.html"
    (page.parent / "noise.png").write_bytes(b"hi")
    cell = '<div class="cell"><div class="cell_input"><pre>base = 2</pre></div></div>'
    page.write_text(
        page.read_text().replace(cell, "").replace('<section id="exercises">', f"{cell}<section>")
    )
    whole = "".join(sources(notebooks.notebooks(chapter(), ROOT, "")[""]))
    assert PICTURE in whole
    assert DRAWING in whole
