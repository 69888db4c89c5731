"""Evaluations by position; see the header `_cache.pxd`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from engine._memory cimport wish_huge_pages
from engine._types cimport Position, Rules, colours_of, mix

cdef enum:
    WAYS = 4


cdef int cache_make(Cache *cache, uint64_t room, uint32_t actions) noexcept nogil:
    cache.actions = actions
    cache.entry_bytes = (sizeof(Entry) + actions * sizeof(float) + 7) // 8 * 8
    cache.buckets = room // (WAYS * cache.entry_bytes)
    cache.age = 1
    cache.entries = NULL
    if not cache.buckets:
        return 0
    # Zeros from calloc cost no memory until they are written.
    cache.entries = <uint8_t *> calloc(cache.buckets * WAYS, cache.entry_bytes)
    wish_huge_pages(cache.entries, cache.buckets * WAYS * cache.entry_bytes)
    return 0 if cache.entries != NULL else -1


cdef void cache_free(Cache *cache) noexcept nogil:
    free(cache.entries)


cdef void cache_clear(Cache *cache) noexcept nogil:
    cache.age += 1


cdef inline Entry *_entry(const Cache *cache, uint64_t key, int way) noexcept nogil:
    return <Entry *> (
        cache.entries + ((key % cache.buckets) * WAYS + way) * cache.entry_bytes
    )


cdef Entry *cache_find(const Cache *cache, uint64_t key, uint64_t check,
                       int edges) noexcept nogil:
    cdef Entry *entry
    cdef int way
    if not cache.buckets:
        return NULL
    for way in range(WAYS):
        entry = _entry(cache, key, way)
        if (entry.key == key and entry.check == check and entry.age == cache.age
                and entry.edges == edges):
            entry.used = True
            return entry
    return NULL


cdef void cache_store(const Cache *cache, uint64_t key, uint64_t check, int edges,
                      const float *priors, float value) noexcept nogil:
    # Second chance (the clock algorithm) within the bucket: entries found since the last look are
    # spared once.
    cdef Entry *entry
    cdef Entry *victim = NULL
    cdef int way
    if not cache.buckets or <uint32_t> edges > cache.actions:
        return
    for way in range(WAYS):
        entry = _entry(cache, key, way)
        if entry.key == key and entry.check == check or entry.age != cache.age:
            victim = entry
            break
        if victim == NULL and not entry.used:
            victim = entry
    if victim == NULL:
        for way in range(WAYS):
            _entry(cache, key, way).used = False
        victim = _entry(cache, key, mix(check) % WAYS)
    victim.key, victim.check, victim.age = key, check, cache.age
    victim.value, victim.edges, victim.used = value, edges, False
    memcpy(priors_of(victim), priors, edges * sizeof(float))


cdef uint64_t check_of(const Rules *rules, const Position *position) noexcept nogil:
    # Multiply and shift over the colours, eight cells at a time.
    cdef const uint8_t *rest = colours_of(rules, position)
    cdef const uint64_t *words = <const uint64_t *> rest
    cdef int i, whole = rules.cells // 8
    cdef uint64_t check = position.ko | <uint64_t> position.to_play << 16
    check |= <uint64_t> position.seat << 18 | <uint64_t> position.black_seat << 19
    check |= <uint64_t> position.phase << 20 | <uint64_t> position.passes << 28
    check = mix(check | <uint64_t> position.first_passer << 30)
    for i in range(whole):
        check = (check ^ words[i]) * <uint64_t> 0xFF51AFD7ED558CCD
        check ^= check >> 32
    for i in range(whole * 8, rules.cells):
        check = (check ^ rest[i]) * <uint64_t> 0xFF51AFD7ED558CCD
    return mix(check)
