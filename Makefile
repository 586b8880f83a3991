.PHONY: check lint types docs test format audit

check: lint types docs test

lint:
	python -m ruff check .
	python -m ruff format --check .
	lint-imports

types:
	python -m mypy

# The site, in build/site.
docs:
	NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict --quiet

test:
	python -m pytest

format:
	python -m ruff check --fix .
	python -m ruff format .

# Needs a network, and pip install -e ".[audit]".
audit:
	python -m pip_audit --skip-editable
