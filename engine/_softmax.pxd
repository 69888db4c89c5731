# cython: language_level=3
"""Probabilities of legal actions, in C that compilers turn into vector instructions.

The sums run in eight lanes whatever the processor, so that every build gives the same bits.
"""

from libc.stdint cimport int32_t, uint16_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    #define NARABE_LANES 8

    /* exp(x) for x <= 0, within 2e-7 of it, not below 2**-126: 2**n * 2**f with |f| <= 1/2, and
       the Taylor polynomial of 2**f. */
    static inline float narabe_exp(float x) {
        const float rounder = 12582912.0f;      /* 1.5 * 2**23: its last bit is worth 1 */
        float power = x * 1.44269504f, whole, rest, result;
        int32_t bits;
        power = power > -126.0f ? power : -126.0f;
        whole = power + rounder;
        memcpy(&bits, &whole, sizeof bits);
        rest = power - (whole - rounder);
        result = 1.5403530e-4f;
        result = result * rest + 1.3333558e-3f;
        result = result * rest + 9.6181291e-3f;
        result = result * rest + 5.5504109e-2f;
        result = result * rest + 2.4022651e-1f;
        result = result * rest + 6.9314718e-1f;
        result = result * rest + 1.0f;
        bits = (bits - 0x4B400000 + 127) << 23;
        memcpy(&whole, &bits, sizeof whole);
        return result * whole;
    }

    static void narabe_softmax(const float *restrict logits, const int32_t *restrict canvas,
                               const uint16_t *restrict actions, int count,
                               float *restrict priors) {
        float total[NARABE_LANES] = {0}, top, sum;
        int i, k, padded = (count + NARABE_LANES - 1) / NARABE_LANES * NARABE_LANES;
        int32_t bits, most = INT32_MIN;
        for (k = 0; k < count; k++)
            priors[k] = logits[canvas[actions[k]]];
        for (; k < padded; k++)
            priors[k] = -1e30f;
        for (k = 0; k < padded; k++) {      /* Integers in the order of floats: compared in any. */
            memcpy(&bits, &priors[k], sizeof bits);
            bits ^= bits >> 31 & INT32_MAX;
            most = bits > most ? bits : most;
        }
        most ^= most >> 31 & INT32_MAX;
        memcpy(&top, &most, sizeof top);
        for (k = 0; k < padded; k++)
            priors[k] = narabe_exp(priors[k] - top);
        for (k = 0; k < padded; k += NARABE_LANES)
            for (i = 0; i < NARABE_LANES; i++)
                total[i] += priors[k + i];
        sum = 0.0f;
        for (i = 0; i < NARABE_LANES; i++)
            sum += total[i];
        sum = 1.0f / sum;
        for (k = 0; k < padded; k++)
            priors[k] *= sum;
    }

    static int narabe_finite(const float *numbers, int64_t count) {
        /* 0 * x is 0 unless x is infinite or no number. */
        float lanes[NARABE_LANES] = {0};
        int64_t k;
        int i;
        for (k = 0; k + NARABE_LANES <= count; k += NARABE_LANES)
            for (i = 0; i < NARABE_LANES; i++)
                lanes[i] += 0.0f * numbers[k + i];
        for (; k < count; k++)
            lanes[0] += 0.0f * numbers[k];
        for (i = 1; i < NARABE_LANES; i++)
            lanes[0] += lanes[i];
        return lanes[0] == 0.0f;
    }
    """
    # Softmax of the logits canvas[actions[0 .. count-1]]; `priors` needs room for count + 7.
    void softmax "narabe_softmax"(const float *logits, const int32_t *canvas,
                                  const uint16_t *actions, int count, float *priors)
    # Whether all of them are finite.
    bint finite "narabe_finite"(const float *numbers, long long count)
