"""What all tests share."""

from pathlib import Path

import engine


def pytest_report_header() -> str:
    """Says which build is tested: `make test` runs those of the engine twice."""
    return f"engine: {Path(engine.__file__).parent}"
