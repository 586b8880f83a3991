"""Command lines: parsing, and code that several commands share."""
