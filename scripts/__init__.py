"""Entry points, run as modules: `python -m scripts.NAME`."""
