# Everything a fresh machine with Python 3.11, git and make needs; see README.md.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin

CONSTRAINTS ?= constraints.txt

.PHONY: demo test lint docs slow faults matrix clean help

help:
	@echo "make demo   install into .venv, run the demo, say which file to open"
	@echo "make test   install everything the tests need and run them"
	@echo "make lint   ruff, pyright, import-linter"
	@echo "make docs   build the documentation into site/"
	@echo "make slow   the tests that take long"
	@echo "make faults damaged files of every kind: what is refused, what is read"
	@echo "make matrix the same bytes on other vector units, BLAS kernels and threads"
	@echo "make clean  remove .venv and everything made by the targets above"

demo: $(VENV)/.user
	@$(BIN)/giveway demo --out demo

test: $(VENV)/.dev
	@tools/system-packages
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m pytest -n 2 --dist worksteal

slow: $(VENV)/.dev
	@$(BIN)/python -m pytest -n 2 -m slow

faults: $(VENV)/.dev
	@$(BIN)/python tools/faults
	@$(BIN)/python -m pytest tests/fuzz -m faults -n 0
	@$(BIN)/python -m pytest tests/cli/test_full_disk.py -m slow -n 0

matrix: $(VENV)/.dev
	@$(BIN)/python tools/matrix

lint: $(VENV)/.dev
	@$(BIN)/ruff check src tests benchmarks tools
	@$(BIN)/ruff format --check src tests benchmarks tools
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-cache >/dev/null && echo "import contracts kept"

docs: $(VENV)/.dev
	@PYTHONPATH=tools $(BIN)/zensical build --clean --strict

# A stamp file per kind of installation, renewed when the requirements change.
$(VENV)/.user: pyproject.toml $(CONSTRAINTS)
	@tools/install $(PYTHON) $(VENV) all $(CONSTRAINTS) && touch $@

$(VENV)/.dev: pyproject.toml $(CONSTRAINTS)
	@tools/install $(PYTHON) $(VENV) dev $(CONSTRAINTS) && touch $@ $(VENV)/.user

clean:
	rm -rf $(VENV) demo site build dist
