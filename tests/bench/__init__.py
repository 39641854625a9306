"""Figures of speed and memory, side by side in one run: ``python -m tests.bench``."""
