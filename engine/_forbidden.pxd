# cython: language_level=3
"""The forbidden points of Black in Renju: overlines, double-fours and double-threes.

Sources: RIF rules of Renju, section 3 (five, four, three, overline) and 9.2-9.3 (what Black must
not make, and which threes count). `five` below is a row of exactly five.
"""

from libc.stdint cimport uint8_t

from engine._types cimport Position, Rules

# What a black stone on an empty point would make. FIVE stands alone: it wins, whatever else the
# stone makes. Of the others, all that hold are set; a point with one of them is forbidden.
cdef enum:
    FIVE = 1
    OVERLINE = 2                # a row of six or more
    DOUBLE_FOUR = 4             # two fours or more, perhaps on one line
    DOUBLE_THREE = 8            # two threes or more that can each become a straight four

# The flags of one cell; 0 where it is not empty.
cdef int fouls_at(const Rules *rules, const Position *position, int cell) noexcept nogil

# Whether Black must not play on a cell: less work than `fouls_at` where several fouls hold.
cdef bint is_forbidden(const Rules *rules, const Position *position, int cell) noexcept nogil

# The flags of all cells at once: `flags` is [cells].
cdef void forbidden_cells(const Rules *rules, const Position *position,
                          uint8_t *flags) noexcept nogil
