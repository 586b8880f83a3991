.PHONY: check lint types test format audit

check: lint types test

lint:
	python -m ruff check .
	python -m ruff format --check .
	lint-imports

types:
	python -m mypy

test:
	python -m pytest

format:
	python -m ruff check --fix .
	python -m ruff format .

# Needs a network, and pip install -e ".[audit]".
audit:
	python -m pip_audit --skip-editable
