# cython: language_level=3
"""Search for wins by threats: fours that must be answered, and threes that threaten two of them.

With lines of length n, a *completion* is an empty cell where a stone wins by a line; a *four* is a
move that makes one, and a *three* a move that threatens one that no answer stops. The attacker is
the seat to act where the search begins. It plays nothing but threats; of the defender's actions all
are tried but those that provably change nothing. So a win that is found is one, and a win that is
not found may still be there. See docs/decisions/0016-threat-search.md for why that is so.
"""

from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine._position cimport RuleTable
from engine._types cimport History, Position, Rules

cdef enum:
    MOST_MOVES = 24             # of the attacker in a line, the completing one included
    LEVELS = 52                 # 2 * MOST_MOVES + 4
    MOST_COMPLETIONS = 24       # that are told apart

cdef struct Level:              # one ply of the line that is being searched
    Position *position
    uint8_t *filled             # [padded windows] stones in each: Black's + 16 * White's
    uint16_t *moves             # [actions] actions to be tried
    int16_t *scores             # [actions] of the attacker's
    int count                   # of both
    int length                  # of the line found from here, and the line
    uint16_t line[LEVELS]

cdef struct Threats:            # memory of a search, for one rule table
    const Rules *rules
    History *history            # of the game up to level 0; a descent pushes and pops
    int windows                 # rows of `line_length` points inside the region
    int padded                  # windows, rounded up to whole words
    uint16_t *window_cells      # [windows][line_length]
    uint32_t *windows_at        # [cells + 1] where a cell's list begins
    uint16_t *windows_of        # windows by cell
    uint16_t *marks             # [cells] scratch: places in a list of moves
    uint16_t *partners          # [cells] scratch: with which cell a stone makes a four
    uint16_t *found             # [windows] scratch: empty cells of windows with one
    uint16_t *cells             # [3 * windows] scratch: empty cells of windows with two or three
    uint64_t *table             # positions without a win in so many moves
    uint64_t table_mask
    uint64_t searches           # so far: salts the table's keys, so that it is never cleared
    uint64_t salt
    Level levels[LEVELS]
    int attacker                # seat
    int colour                  # of the attacker's stones
    bint threes                 # whether threes are played too
    bint free                   # whether every empty point may be played by either colour
    bint steady                 # whether stones stay, and a line is stopped only on its last point
    bint cut                    # something was left out that more moves might win
    bint spent                  # nodes or time ran out: what was not found is not known
    int64_t nodes               # positions made in this search
    int64_t limit
    int64_t look                # nodes at which the clock is looked at next
    int64_t deadline            # nanoseconds of the monotonic clock, 0: none

cdef Threats *threats_new(const Rules *rules, int table_bits) noexcept nogil     # NULL: no memory
cdef void threats_free(Threats *threats) noexcept nogil

# Searches for a win of the seat to act with fours, and with `threes` too, in at most `most` moves
# of its own (at most MOST_MOVES); returns their number in the shortest line, 0 where none is found.
# The line is left in level 0. Outside normal play, and after a game's end, nothing is looked for.
# `history` grows on the way and is as before at the end.
cdef int threats_search(Threats *threats, const Position *position, History *history, bint threes,
                        int most, int64_t nodes, int64_t deadline) noexcept nogil


cdef class ThreatCore:
    cdef readonly RuleTable table
    cdef Threats *threats
    cdef History *history
