"""Where the metrics of a run go: terminal, CSV and JSON files, TensorBoard."""
