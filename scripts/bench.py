"""Measure this machine: `python -m scripts.bench` prints speeds and the search's fingerprint."""

from benchmarks.speed import main

if __name__ == "__main__":
    main()
