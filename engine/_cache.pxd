# cython: language_level=3
"""Evaluations by position, so that a transposition costs the network nothing."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from engine._types cimport Position, Rules

cdef struct Entry:                  # followed by the priors, float[Cache.actions]
    uint64_t key
    uint64_t check                  # a second key: equal keys of other positions are noticed
    uint32_t age                    # Cache.age when it was stored
    float value                     # for the seat to act
    uint16_t edges                  # legal actions
    uint8_t used                    # bool: found since it was last spared

cdef struct Cache:                  # buckets of WAYS entries
    uint8_t *entries
    uint32_t entry_bytes
    uint32_t actions                # the most edges that an entry holds
    uint64_t buckets                # 0: nothing is kept
    uint32_t age                    # older entries count as empty

# Room for as many entries as fit into so many bytes; returns -1 where memory ran out.
cdef int cache_make(Cache *cache, uint64_t room, uint32_t actions) noexcept nogil
cdef void cache_free(Cache *cache) noexcept nogil

# Drops everything.
cdef void cache_clear(Cache *cache) noexcept nogil

# The entry of a position with so many legal actions, or NULL.
cdef Entry *cache_find(const Cache *cache, uint64_t key, uint64_t check,
                       int edges) noexcept nogil

# Keeps an evaluation in place of one that was not asked for lately.
cdef void cache_store(const Cache *cache, uint64_t key, uint64_t check, int edges,
                      const float *priors, float value) noexcept nogil

# The second key: a hash of stones and state that shares nothing with the Zobrist tables.
cdef uint64_t check_of(const Rules *rules, const Position *position) noexcept nogil

cdef inline float *priors_of(Entry *entry) noexcept nogil:
    return <float *> (entry + 1)
