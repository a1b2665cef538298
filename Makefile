# `make book` and `make test` need nothing but make and a suitable Python: they build .venv themselves.
# To choose the Python that .venv is made with: make clean; make book PYTHON=/path/to/python3.12

VENV := .venv/bin
.PHONY: book test pdf test-book serve lab lint clean environment browser

book: environment
	@$(VENV)/python -m tools.build_book

test: environment browser
	@$(VENV)/python -m pytest -n auto -m "not built"

# The whole book as one PDF, and the course as a ZIP file. Needs `make book` first.
pdf: environment browser
	@$(VENV)/python -m tools.pdf

# The built book: links, figures, exercises, every page in a browser, the PDF. Needs `make book pdf` first.
test-book: environment browser
	@$(VENV)/python -m pytest -n auto -m built

serve: book
	@echo "The book is at http://localhost:8000 (Ctrl-C stops it)"
	@$(VENV)/python -m http.server 8000 --bind localhost --directory _build/html >/dev/null 2>&1

# The chapters open as notebooks: double-click a file under book/.
lab: environment
	@$(VENV)/jupyter lab --LabApp.default_url=/lab/tree/book

lint: environment
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

clean:
	rm -rf _build .venv .pytest_cache .ruff_cache .hypothesis nmu.egg-info

environment:
	@PYTHON="$(PYTHON)" tools/environment.sh

browser:
	@tools/browser.sh
