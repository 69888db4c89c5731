# cython: language_level=3
"""What lies around all points at once, in C that compilers turn into vector instructions."""

from libc.stdint cimport uint8_t

cdef extern from * nogil:
    """
    #include <stdint.h>

    #define NARABE_ABREAST 32

    /* EMPTY is 0; rows are `row` cells apart. */
    static inline void narabe_breathe(const uint8_t *restrict colours,
                                      const uint8_t *restrict barred, int row,
                                      uint8_t *restrict found) {
        const uint8_t *above = colours + row, *below = colours - row;
        const uint8_t *barred_above = barred + row, *barred_below = barred - row;
        int i;
        for (i = 0; i < NARABE_ABREAST; i++) {
            uint8_t empty = (below[i] == 0) | (colours[i - 1] == 0)
                          | (colours[i + 1] == 0) | (above[i] == 0);
            uint8_t beside = barred_below[i] | barred[i - 1] | barred[i + 1] | barred_above[i];
            found[i] = (colours[i] == 0) & empty & (beside == 0);
        }
    }

    /* The first row and the last are border. Some cells may be done twice: one by one would take
       as long as all the others. */
    static void narabe_breathing(const uint8_t *colours, const uint8_t *barred, int row, int cells,
                                 uint8_t *found) {
        int last = cells - row - NARABE_ABREAST, cell;
        for (cell = row; cell < last; cell += NARABE_ABREAST)
            narabe_breathe(colours + cell, barred + cell, row, found + cell);
        narabe_breathe(colours + last, barred + last, row, found + last);
    }
    """
    # Cells that are judged at once: a board has at least so many between its border rows.
    const int ABREAST "NARABE_ABREAST"
    # Whether a cell is empty, has an empty neighbour and none with a mark in `barred`: 1 or 0 by
    # cell, in `found` (of border rows: undefined).
    void breathing "narabe_breathing"(const uint8_t *colours, const uint8_t *barred, int row,
                                      int cells, uint8_t *found)
