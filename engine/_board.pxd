# cython: language_level=3
"""Stones, chains, captures and lines. Functions assume legal placements; nothing allocates."""

from libc.stdint cimport uint16_t, uint64_t

from engine._types cimport MAX_POINTS, Position, Rules

# Stones that a turn has switched: first those that the mover won, then those that the opponent won.
cdef struct Switches:
    int count
    uint16_t cells[2 * MAX_POINTS]

# Puts a stone of `colour` on an empty cell and removes what it captures; returns the number of
# stones removed. The own chain may be left without liberties. Under rules that switch only the
# stone is placed.
cdef int place(const Rules *rules, Position *position, int cell, int colour) noexcept nogil

# Switches the opponent's chains around a stone just placed that have no liberty; returns whether a
# stone among them now wins by a line.
cdef bint switch_around(const Rules *rules, Position *position, int cell,
                        Switches *switches) noexcept nogil

# Then switches the placed stone's own chain if it has no liberty and an opponent next to it.
cdef bint switch_own(const Rules *rules, Position *position, int cell,
                     Switches *switches) noexcept nogil

# Whether a placement on an empty cell would end with the own chain switched, without a win.
cdef bint loses_own_chain(const Rules *rules, const Position *position, int cell,
                          int colour) noexcept nogil

# Removes the chain of `cell` from the board; returns its size.
cdef int remove_chain(const Rules *rules, Position *position, int cell) noexcept nogil

# Whether the chain of `cell` touches no empty point.
cdef bint is_dead(const Rules *rules, const Position *position, int cell) noexcept nogil

# Judges the runs that a stone of `colour` makes, or would make, on `cell`.
cdef int judge_lines(const Rules *rules, const Position *position, int cell,
                     int colour) noexcept nogil

# Counts the empty cells where a stone of `colour` would win by a line, up to `limit`; `cell`
# receives the last one counted.
cdef int winning_cells(const Rules *rules, const Position *position, int colour, int limit,
                       int *cell) noexcept nogil

# As `winning_cells` with a limit of 2, but only those that owe it to one stone: on the lines
# through it, next to the run that it stands in. A stone on the board makes no others.
cdef int winning_cells_by(const Rules *rules, const Position *position, int stone,
                          int *cell) noexcept nogil

# What a placement would do without doing it: whether it would be suicide, how many stones it would
# remove, and the key of the stones afterwards (only computed where `wants_key`).
cdef struct Effect:
    bint suicide                # the own chain would have no liberties and nothing is captured
    int captured                # stones of the opponent that would leave the board
    uint64_t stones_key         # afterwards; a suicide's own chain is taken off
cdef Effect foresee(const Rules *rules, const Position *position, int cell, int colour,
                    bint wants_key) noexcept nogil

# Distinct liberties of the chain of `cell`, counted up to `limit` (at most 4).
cdef int count_liberties(const Rules *rules, const Position *position, int cell,
                         int limit) noexcept nogil

# Makes chains, keys and counts anew from the colours alone.
cdef void rebuild(const Rules *rules, Position *position) noexcept nogil

# An empty board: border set, counts zero.
cdef void clear_board(const Rules *rules, Position *position) noexcept nogil
