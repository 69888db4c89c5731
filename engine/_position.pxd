# cython: language_level=3
"""Rule tables, histories and positions: what is legal, what an action does, how a game ends."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from engine._types cimport History, Position, Rules

# Histories. `push` grows the set when it is half full (it returns -1 where memory ran out).
cdef History *history_new() noexcept nogil
cdef void history_free(History *history) noexcept nogil
cdef int history_copy(const History *source, History *target) noexcept nogil
cdef int history_push(History *history, uint64_t key) noexcept nogil
cdef void history_pop(History *history, uint32_t count) noexcept nogil    # down to `count` keys
cdef bint history_has(const History *history, uint64_t key) noexcept nogil

# The start of a game.
cdef void start(const Rules *rules, Position *position, History *history) noexcept nogil

# Plays a legal action; under superko the new board is pushed where a stone may be placed on it.
cdef void play(const Rules *rules, Position *position, History *history,
               int action) noexcept nogil

# Verdict on an action index in 0..Rules.actions-1.
cdef int verdict(const Rules *rules, const Position *position, const History *history,
                 int action) noexcept nogil

# Writes the legal actions in ascending order, returns their number (0 when the game is over).
# `banned` receives the combined key of the points that only repetition forbids.
cdef int legal_actions(const Rules *rules, const Position *position, const History *history,
                       uint16_t *actions, uint64_t *banned) noexcept nogil

# Key of everything that affects play, but for bans by repetition other than the immediate ko.
cdef uint64_t position_key(const Rules *rules, const Position *position) noexcept nogil

# Bit-packed position and legal actions: see `packed_bytes` for the layout.
cdef int packed_bytes(const Rules *rules) noexcept nogil
cdef void pack(const Rules *rules, const Position *position, const uint16_t *legal, int count,
               uint8_t *out) noexcept nogil
# The inverse, without history; returns the number of legal actions written, or -1 if the bytes do
# not fit the rules.
cdef int unpack(const Rules *rules, const uint8_t *data, Position *position,
                uint16_t *legal) noexcept nogil


cdef class RuleTable:
    cdef Rules rules
    cdef readonly object rule_set       # engine.rules.RuleSet
    cdef readonly object opening        # engine.openings.Opening


cdef class PositionCore:
    cdef readonly RuleTable table
    cdef Position *block
    cdef History *history
