# cython: language_level=3
"""Large blocks of memory that are read here and there."""

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <stdint.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    static void narabe_wish_huge_pages(void *block, size_t bytes) {
    #if defined(MADV_HUGEPAGE)
        const uintptr_t page = 4096;    /* the least; where pages are larger, it is refused */
        uintptr_t start = ((uintptr_t) block + page - 1) / page * page;
        uintptr_t end = ((uintptr_t) block + bytes) / page * page;
        if (block != NULL && start < end)
            madvise((void *) start, end - start, MADV_HUGEPAGE);
    #else
        (void) block;
        (void) bytes;
    #endif
    }
    """
    # Asks for large pages below a block just allocated, so that reading it here and there does not
    # cost looking up its pages besides. A wish: where it is not granted, nothing else changes.
    void wish_huge_pages "narabe_wish_huge_pages"(void *block, size_t bytes)
