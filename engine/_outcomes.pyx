"""From logits of win, draw and loss to their probabilities and to values."""

from libc.math cimport expf


def judge(float[:, ::1] logits, float[::1] values):
    """Makes probabilities of logits [n, 3], in place, and writes win less loss to values [n].

    In one call, since evaluators make it for each batch: NumPy needs seven, each of which costs
    more than the numbers do.
    """
    cdef float *row
    cdef float highest, total
    cdef Py_ssize_t i
    cdef int k
    for i in range(logits.shape[0]):
        row = &logits[i, 0]
        highest = max(row[0], row[1], row[2])
        total = 0
        for k in range(3):
            row[k] = expf(row[k] - highest)
            total += row[k]
        for k in range(3):
            row[k] /= total
        values[i] = row[0] - row[2]
