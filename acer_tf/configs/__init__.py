"""Presets: settings under a name, as YAML files."""
