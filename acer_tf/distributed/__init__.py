"""Segments that are collected elsewhere, and trials that run elsewhere: all that knows Ray."""
