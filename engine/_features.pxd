# cython: language_level=3
"""Features of one position, written into a row of a batch."""

from libc.stdint cimport int32_t, uint8_t, uint16_t

from engine._types cimport Position, Rules

# What is the same in all positions on a canvas: the planes `on_board` and `region`, [2, area].
# `canvas` maps action indices to network actions, `area` is the canvas' number of points.
cdef void write_blank(const Rules *rules, const int32_t *canvas, int area,
                      uint8_t *blank) noexcept nogil

# The row's planes and globals are overwritten.
cdef void write_features(const Rules *rules, const Position *position, int opening,
                         const uint16_t *legal, int count, const int32_t *canvas,
                         const uint8_t *blank, int area, uint8_t *planes,
                         float *globals_) noexcept nogil

# Numbers of planes and globals.
cdef enum:
    PLANE_COUNT = 9
    GLOBAL_COUNT = 96
