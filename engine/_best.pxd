# cython: language_level=3
"""The best one or few of many, in C that compilers turn into vector instructions."""

from libc.stdint cimport uint16_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    #define NARABE_NEVER -1e30f

    /* The first k with the highest means[k] + explore * priors[k] / counts[k], and that score; -1
       where none is above NARABE_NEVER. Scores are never -0: they are ordered as these integers. */
    static int narabe_highest(const float *restrict means, const float *restrict priors,
                              const float *restrict counts, float explore, int count,
                              float *restrict score) {
        float scores[1024];
        int32_t bits[1024], top = INT32_MIN;
        int k, first = count;
        for (k = 0; k < count; k++)
            scores[k] = means[k] + explore * priors[k] / counts[k];
        memcpy(bits, scores, count * sizeof(float));
        for (k = 0; k < count; k++)
            bits[k] ^= bits[k] >> 31 & INT32_MAX;
        for (k = 0; k < count; k++)
            top = bits[k] > top ? bits[k] : top;
        for (k = 0; k < count; k++)
            first = bits[k] == top && k < first ? k : first;
        *score = first < count ? scores[first] : NARABE_NEVER;
        return *score > NARABE_NEVER ? first : -1;
    }

    #define NARABE_STRIDES 32   /* `kept` is at most so many */
    #define NARABE_FEW 64       /* Counting compares all pairs, insertion branches. */

    /* A number that at least `kept` of the priors reach and few others: each prior belongs to one
       of the strides, and the `kept` strides with the highest maxima hold one that high each. */
    static int32_t narabe_threshold(const int32_t *priors, int count, int kept) {
        int32_t most[NARABE_STRIDES], above[NARABE_STRIDES] = {0}, least = INT32_MAX;
        int i, j, k, equal = 0;
        if (count < NARABE_STRIDES)
            return 0;
        memcpy(most, priors, sizeof most);
        for (k = NARABE_STRIDES; k + NARABE_STRIDES <= count; k += NARABE_STRIDES)
            for (i = 0; i < NARABE_STRIDES; i++)
                most[i] = priors[k + i] > most[i] ? priors[k + i] : most[i];
        /* All the same, as those of a search without a network are. */
        for (i = 0; i < NARABE_STRIDES; i++)
            equal += most[i] == most[0];
        if (equal == NARABE_STRIDES)
            return most[0];
        for (j = 0; j < NARABE_STRIDES; j++)
            for (i = 0; i < NARABE_STRIDES; i++)
                above[i] += most[j] > most[i];
        for (i = 0; i < NARABE_STRIDES; i++)
            most[i] = above[i] < kept ? most[i] : INT32_MAX;
        for (i = 0; i < NARABE_STRIDES; i++)
            least = most[i] < least ? most[i] : least;
        return least;
    }

    static void narabe_insert(const int32_t *priors, int count, int kept, uint16_t *order) {
        int at, k, size = 0;
        for (k = 0; k < count; k++) {
            if (size == kept) {
                if (priors[k] <= priors[order[size - 1]])
                    continue;
                size--;
            }
            for (at = size; at && priors[k] > priors[order[at - 1]]; at--)
                order[at] = order[at - 1];
            order[at] = k;
            size++;
        }
    }

    /* How many of the first `size` come before each of the first `lanes`: the higher ones, and
       equal ones that stand before it. */
    static inline void narabe_rank(const int32_t *restrict some, int size, int lanes,
                                   int32_t *restrict ranks) {
        int i, j;
        for (i = 0; i < lanes; i++)
            ranks[i] = 0;
        for (j = 0; j < size; j++)
            for (i = 0; i < lanes; i++)
                ranks[i] += some[j] + (i > j) > some[i];
    }

    static void narabe_best(const float *priors, int count, int kept, uint16_t *order) {
        int32_t bits[1024], some[NARABE_FEW];   /* Floats from 0 are ordered as their bits are. */
        int32_t ranks[NARABE_FEW], least;
        uint16_t where[1024], ranked[NARABE_FEW];
        int i, k, size = 0, reach = 0, above = 0;
        memcpy(bits, priors, count * sizeof(float));
        least = narabe_threshold(bits, count, kept);
        for (k = 0; k < count; k++)
            reach += bits[k] >= least;
        if (reach <= NARABE_FEW)
            for (k = 0; k < count; k++) {
                where[size] = k;
                size += bits[k] >= least;
            }
        else {
            /* Many equals, of which the first ones are wanted. */
            for (k = 0; k < count; k++)
                above += bits[k] > least;
            for (k = 0; size < above; k++) {
                where[size] = k;
                size += bits[k] > least;
            }
            for (k = 0; size < kept; k++) {
                where[size] = k;
                size += bits[k] == least;
            }
            if (!above) {
                memcpy(order, where, kept * sizeof(uint16_t));
                return;
            }
        }
        if (size > NARABE_FEW) {
            narabe_insert(bits, count, kept, order);
            return;
        }
        for (i = 0; i < NARABE_FEW; i++)
            some[i] = i < size ? bits[where[i]] : 0;
        if (size <= NARABE_FEW / 2)
            narabe_rank(some, size, NARABE_FEW / 2, ranks);
        else
            narabe_rank(some, size, NARABE_FEW, ranks);
        /* No branch on which are wanted: it would be guessed wrong. */
        for (i = 0; i < size; i++)
            ranked[ranks[i]] = where[i];
        memcpy(order, ranked, kept * sizeof(uint16_t));
    }
    """
    # Indices of the `kept` highest of `count` numbers from 0, the highest first, the first of
    # equals before the others. `kept` is at most 32 and `count`, and `count` at most 1024.
    void best_of "narabe_best"(const float *priors, int count, int kept, uint16_t *order)
    # What is never chosen: the mean of such a child.
    const float NEVER "NARABE_NEVER"
    # The first of `count` children with the best PUCT score; -1 where all are never chosen.
    # `counts` are 1 + visits; `count` is at most 1024.
    int highest "narabe_highest"(const float *means, const float *priors, const float *counts,
                                 float explore, int count, float *score)
