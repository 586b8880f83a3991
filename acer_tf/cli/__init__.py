"""Command lines: parsing, and what several commands share."""
