"""The Cython extensions; everything else about the package is in pyproject.toml.

Two switches from the environment:

NARABE_NATIVE=1  compiles for this machine's processor (the Makefile sets it).
NARABE_DEBUG=1   checks bounds and assertions, for the tests. Indices from the end stay off in
                 every build, so that here a negative index is an error and not another element.
"""

import os
from pathlib import Path

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError as error:  # a build without isolation, in an environment without Cython
    raise SystemExit(
        f"narabe's extensions need Cython to build: pip install cython ({error})"
    ) from error


def switch(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


DEBUG = switch("NARABE_DEBUG")
NATIVE = switch("NARABE_NATIVE")
# Each flavour has its own folder, so that changing a switch never reuses the other's objects.
BUILD = Path(".build") / ("debug" if DEBUG else "native" if NATIVE else "release")

# No fused multiply-add unless written: with it, trees and fingerprints differ between processors.
FLAGS = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wno-unreachable-code"]
FLAGS += ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-DNDEBUG", "-DCYTHON_WITHOUT_ASSERTIONS"]
if NATIVE:
    # Without AVX-512, which gains nothing here: valgrind, which counts instructions, lacks it.
    FLAGS += ["-march=native", "-mno-avx512f"]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
}

extensions = [
    Extension(f"engine.{source.stem}", [str(source)], extra_compile_args=FLAGS)
    for source in sorted(Path("engine").glob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir=str(BUILD),
        compiler_directives=DIRECTIVES,
    )
    if extensions
    else [],
    options={"build": {"build_temp": str(BUILD)}, "build_ext": {"parallel": 2}},
)
