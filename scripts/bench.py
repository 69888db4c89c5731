"""Measure this machine: `python -m scripts.bench` prints speeds and the search's fingerprint."""

from benchmarks import engine, speed

if __name__ == "__main__":
    engine.main([])
    speed.main()
