.PHONY: check lint types test format

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
