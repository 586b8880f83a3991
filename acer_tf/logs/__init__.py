"""Sinks for the metrics of a run: terminal, CSV and JSON files, TensorBoard, Weights & Biases."""
