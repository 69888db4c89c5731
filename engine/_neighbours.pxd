# cython: language_level=3
"""What lies around all points at once, in C that compilers turn into vector instructions."""

from libc.stdint cimport uint8_t

cdef extern from * nogil:
    """
    #include <stdint.h>

    /* EMPTY is 0; rows are `row` cells apart, and the first and the last are border. */
    static void narabe_breathing(const uint8_t *restrict colours, const uint8_t *restrict barred,
                                 int row, int cells, uint8_t *restrict found) {
        int cell;
        for (cell = row; cell < cells - row; cell++) {
            uint8_t empty = (colours[cell - row] == 0) | (colours[cell - 1] == 0)
                          | (colours[cell + 1] == 0) | (colours[cell + row] == 0);
            uint8_t beside = barred[cell - row] | barred[cell - 1]
                         | barred[cell + 1] | barred[cell + row];
            found[cell] = (colours[cell] == 0) & empty & (beside == 0);
        }
    }
    """
    # Whether a cell is empty, has an empty neighbour and none with a mark in `barred`: 1 or 0 by
    # cell, in `found` (of border rows: undefined).
    void breathing "narabe_breathing"(const uint8_t *colours, const uint8_t *barred, int row,
                                      int cells, uint8_t *found)
