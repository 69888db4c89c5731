# cython: language_level=3
"""Features of one position, written into a row of a batch."""

from libc.stdint cimport int32_t, uint16_t

from engine._types cimport Position, Rules

# `canvas` maps action indices to network actions, `area` is the canvas' number of points. The row's
# planes and globals are overwritten.
cdef void write_features(const Rules *rules, const Position *position, int opening,
                         const uint16_t *legal, int count, const int32_t *canvas, int area,
                         float *planes, float *globals_) noexcept nogil

# Numbers of planes and globals.
cdef enum:
    PLANE_COUNT = 9
    GLOBAL_COUNT = 96
