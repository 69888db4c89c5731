"""The forbidden points of Black in Renju; see the header `_forbidden.pxd`.

What a stone makes along one line depends on five neighbours on either side: a straight four reaches
four points from the new stone, and the point beyond must not be black. So a table, whose index is
the number that these ten points write in base three, knows it (`SHAPES`).

A three counts only if Black may make a straight four of it (RIF 9.3 a, b), which is this question
again about another point, with one more stone on the board. The stones are put on a copy of the
board and taken back; each adds one, so the recursion ends, and its depth needs no limit.

Few points need any of that: masks of the rows find, for all points at once, those with enough black
stones on open lines (`_find_candidates`).
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from engine._types cimport BLACK, EMPTY, Position, Rules, WHITE, colours_of

cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil

cdef enum:
    REACH = 5                   # neighbours on either side that matter
    SPAN = 11                   # they and the point itself: 2 * REACH + 1
    CODES = 59049               # 3 ** (2 * REACH)
    FEWEST_STONES = 4           # on a board where a stone makes a five or a foul
    MAX_ROWS = 32               # MAX_SIDE, in full blocks of ROW_BLOCK
    ROW_BLOCK = 8
    PADDED_ROWS = 42            # MAX_ROWS + 2 * REACH
    PADDED_CELLS = 1055         # (MAX_SIDE + 2 * REACH) * (MAX_SIDE + REACH) + REACH

# A shape: the bits FIVE and OVERLINE, and these.
cdef enum:
    FOURS_AT = 2                # two bits: the number of fours
    THREE_AT = 4                # seven bits: the points that make a three a straight four,
    THREE_REACH = 3             # from -THREE_REACH to THREE_REACH

cdef struct Board:              # a copy of the stones inside a border of REACH points
    int32_t steps[4]            # cell steps along a row, a column and the two diagonals
    int32_t stride              # cells from one row to the next
    uint8_t cells[PADDED_CELLS]     # EMPTY, BLACK, or WHITE: what ends a row of black stones

cdef struct Masks:              # a bit for each point of a row; REACH rows of nothing around
    uint32_t black[PADDED_ROWS]
    uint32_t open[PADDED_ROWS]      # empty or black
    uint32_t fours[PADDED_ROWS]     # where windows begin, in the direction at hand
    uint32_t threes[PADDED_ROWS]
    uint32_t once[MAX_ROWS]         # points in a window for threes in some direction
    uint32_t found[MAX_ROWS]        # in one for a four, or for threes in two directions

cdef uint16_t SHAPES[CODES]     # what a black stone makes along a line, by the line's code


# --- one line -----------------------------------------------------------------------------------

cdef inline int _code(const uint8_t *centre, int step) noexcept nogil:
    # The neighbours along a line as digits, the farthest before the point first.
    cdef int k, before = 0, after = 0
    for k in range(REACH):
        before = 3 * before + centre[(k - REACH) * step]
        after = 3 * after + centre[(k + 1) * step]
    return 243 * before + after


cdef int _shape_of(uint8_t *line) noexcept nogil:
    # Of a line of SPAN points with a black stone in the middle (RIF 3, definitions).
    cdef int first, last, found, at, run, four, shape = 0, fours = 0
    cdef int known[2]
    _find_run(line, REACH, &first, &last)
    if last - first >= 4:
        return FIVE if last - first == 4 else OVERLINE
    for at in range(1, SPAN - 1):
        if line[at] != EMPTY:
            continue
        _find_run(line, at, &first, &last)
        if not first <= REACH <= last:
            continue
        run = last - first + 1
        if run == 5:
            # Four stones that two points complete are one four.
            four = (1 << last + 1) - (1 << first) - (1 << at)
            for found in range(fours):
                if known[found] == four:
                    break
            else:
                known[fours] = four
                fours += 1
        elif run == 4 and line[first - 1] == EMPTY and line[last + 1] == EMPTY:
            if line[first - 2] != BLACK and line[last + 2] != BLACK:
                shape |= 1 << THREE_AT + THREE_REACH + at - REACH
    return shape | fours << FOURS_AT


cdef void _find_run(const uint8_t *line, int at, int *first, int *last) noexcept nogil:
    # Ends of the row of black stones through `at`, which counts as one.
    first[0] = last[0] = at
    while first[0] > 0 and line[first[0] - 1] == BLACK:
        first[0] -= 1
    while last[0] < SPAN - 1 and line[last[0] + 1] == BLACK:
        last[0] += 1


cdef void _fill_shapes() noexcept nogil:
    cdef uint8_t line[SPAN]
    cdef int code, rest, at
    line[REACH] = BLACK
    for code in range(CODES):
        rest = code
        for at in range(2 * REACH):
            line[SPAN - 1 - at if at < REACH else SPAN - 2 - at] = rest % 3
            rest //= 3
        SHAPES[code] = _shape_of(line)


# --- one point ----------------------------------------------------------------------------------

cdef void _copy_board(const Rules *rules, const Position *position, Board *board) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int y, stride = rules.width + REACH
    board.stride = stride
    board.steps[0], board.steps[1] = 1, stride
    board.steps[2], board.steps[3] = stride + 1, stride - 1
    memset(board.cells, WHITE, (rules.height + 2 * REACH) * stride + REACH)
    for y in range(rules.height):
        memcpy(board.cells + (y + REACH) * stride + REACH,
               colours + rules.cell_of[y * rules.width], rules.width)


cdef int _fouls(Board *board, int at, bint every) noexcept nogil:
    # Flags of an empty point; without `every` they are only complete as to whether there are any.
    cdef int shapes[4]
    cdef int i, seen = 0, fours = 0, threes = 0, flags
    for i in range(4):
        shapes[i] = SHAPES[_code(board.cells + at, board.steps[i])]
        seen |= shapes[i]
        fours += shapes[i] >> FOURS_AT & 3
        threes += shapes[i] >> THREE_AT != 0
    if seen & FIVE:
        return FIVE
    flags = seen & OVERLINE
    if fours > 1:
        flags |= DOUBLE_FOUR
    if threes > 1 and (every or not flags) and _has_double_three(board, at, shapes, threes):
        flags |= DOUBLE_THREE
    return flags


cdef bint _has_double_three(Board *board, int at, const int *shapes, int threes) noexcept nogil:
    # `threes`: how many of the shapes are of threes.
    cdef int i, real = 0
    board.cells[at] = BLACK
    for i in range(4):
        if not shapes[i] >> THREE_AT:
            continue
        if _is_real(board, at, board.steps[i], shapes[i] >> THREE_AT):
            real += 1
        else:
            threes -= 1
        if real == 2 or threes < 2:
            break
    board.cells[at] = EMPTY
    return real == 2


cdef bint _is_real(Board *board, int at, int step, int completing) noexcept nogil:
    # Whether some point makes the three a straight four, without a foul (RIF 9.3) and without
    # making a five at the same time (RIF 3, definition of a three).
    cdef int k
    for k in range(2 * THREE_REACH + 1):
        if completing >> k & 1 and not _fouls(board, at + (k - THREE_REACH) * step, False):
            return True
    return False


cdef int _fouls_of_cell(const Rules *rules, const Position *position, int cell,
                        bint every) noexcept nogil:
    cdef Board board
    cdef int point = rules.point_of[cell]
    if position.stones < FEWEST_STONES or colours_of(rules, position)[cell] != EMPTY:
        return 0
    _copy_board(rules, position, &board)
    return _fouls(&board, _padded_cell(&board, point % rules.width, point // rules.width), every)


cdef inline int _padded_cell(const Board *board, int x, int y) noexcept nogil:
    return (y + REACH) * board.stride + x + REACH


cdef int fouls_at(const Rules *rules, const Position *position, int cell) noexcept nogil:
    return _fouls_of_cell(rules, position, cell, True)


cdef bint is_forbidden(const Rules *rules, const Position *position, int cell) noexcept nogil:
    return _fouls_of_cell(rules, position, cell, False) & ~FIVE != 0


# --- all points ---------------------------------------------------------------------------------

cdef void forbidden_cells(const Rules *rules, const Position *position,
                          uint8_t *flags) noexcept nogil:
    cdef Masks masks
    cdef Board board
    cdef uint32_t candidates
    cdef bint copied = False
    cdef int x, y
    memset(flags, 0, rules.cells)
    if position.stones < FEWEST_STONES:
        return
    _find_candidates(rules, position, &masks)
    for y in range(rules.height):
        candidates = masks.found[y] & masks.open[y + REACH] & ~masks.black[y + REACH]
        while candidates:
            if not copied:
                _copy_board(rules, position, &board)
                copied = True
            x = __builtin_ctz(candidates)
            candidates &= candidates - 1
            flags[rules.cell_of[y * rules.width + x]] = _fouls(
                &board, _padded_cell(&board, x, y), True)


cdef void _find_candidates(const Rules *rules, const Position *position,
                           Masks *masks) noexcept nogil:
    # Fills `masks`; every empty point with a flag is in `found`, and some others are. Such a point
    # lies in a window of a four (also where it makes a five or more), or in two of threes.
    cdef int rows = (rules.height + ROW_BLOCK - 1) & ~(ROW_BLOCK - 1)
    memset(masks, 0, sizeof(Masks))
    _read_rows(rules, position, masks)
    _add_direction(masks, rows, 0, 1, 0)
    _add_direction(masks, rows, 1, 0, 0)
    _add_direction(masks, rows, 1, 1, 0)
    _add_direction(masks, rows, 1, 0, 1)


cdef void _read_rows(const Rules *rules, const Position *position, Masks *masks) noexcept nogil:
    cdef const uint8_t *row
    cdef uint32_t black, white, on_board = (<uint32_t> 1 << rules.width) - 1
    cdef uint64_t eight
    cdef int x, y
    for y in range(rules.height):
        row = colours_of(rules, position) + rules.cell_of[y * rules.width]
        black = white = 0
        # The last eight may reach beyond the row, at most by the width + 2 cells of border that
        # follow the last row.
        for x in range(0, rules.width, 8):
            eight = _load(row + x)
            black |= _gather(eight) << x
            white |= _gather(eight >> 1) << x
        masks.black[y + REACH] = black & ~white & on_board
        masks.open[y + REACH] = ~white & on_board


cdef inline uint64_t _load(const uint8_t *cells) noexcept nogil:
    # Eight cells, the first one lowest.
    return (<uint64_t> cells[0] | <uint64_t> cells[1] << 8 | <uint64_t> cells[2] << 16
            | <uint64_t> cells[3] << 24 | <uint64_t> cells[4] << 32 | <uint64_t> cells[5] << 40
            | <uint64_t> cells[6] << 48 | <uint64_t> cells[7] << 56)


cdef inline uint32_t _gather(uint64_t eight) noexcept nogil:
    # The lowest bits of eight bytes: the factor moves each to its place in the highest byte.
    return ((eight & <uint64_t> 0x0101010101010101) * <uint64_t> 0x0102040810204080) >> 56


cdef inline uint32_t _ahead(const uint32_t *row, int k, int dy, int right,
                            int left) noexcept nogil:
    # The points k steps on, each at the place of the point from which it is so far.
    return row[k * dy] >> k * right << k * left


cdef inline uint32_t _behind(const uint32_t *row, int k, int dy, int right,
                             int left) noexcept nogil:
    return row[-k * dy] << k * right >> k * left


cdef inline void _add_direction(Masks *masks, int rows, int dy, int right,
                                int left) noexcept nogil:
    # A step goes `dy` rows on, and one point to the right or to the left or neither.
    cdef int y
    cdef uint32_t four, three
    _find_windows(masks, rows, dy, right, left)
    for y in range(rows):
        four = masks.fours[y + REACH]
        four |= _behind(masks.fours + REACH + y, 1, dy, right, left)
        four |= _behind(masks.fours + REACH + y, 2, dy, right, left)
        four |= _behind(masks.fours + REACH + y, 3, dy, right, left)
        four |= _behind(masks.fours + REACH + y, 4, dy, right, left)
        three = _behind(masks.threes + REACH + y, 1, dy, right, left)
        three |= _behind(masks.threes + REACH + y, 2, dy, right, left)
        three |= _behind(masks.threes + REACH + y, 3, dy, right, left)
        three |= _behind(masks.threes + REACH + y, 4, dy, right, left)
        masks.found[y] |= four | masks.once[y] & three
        masks.once[y] |= three


cdef inline void _find_windows(Masks *masks, int rows, int dy, int right, int left) noexcept nogil:
    # Fours: five open points with three black stones at least. Threes: six open points, the outer
    # ones empty, with two black stones at least.
    cdef int y
    cdef uint32_t b0, b1, b2, b3, b4, b5, open5, pair, ones, twos, more
    for y in range(rows):
        b0 = masks.black[y + REACH]
        b1 = _ahead(masks.black + REACH + y, 1, dy, right, left)
        b2 = _ahead(masks.black + REACH + y, 2, dy, right, left)
        b3 = _ahead(masks.black + REACH + y, 3, dy, right, left)
        b4 = _ahead(masks.black + REACH + y, 4, dy, right, left)
        b5 = _ahead(masks.black + REACH + y, 5, dy, right, left)
        open5 = masks.open[y + REACH]
        open5 &= _ahead(masks.open + REACH + y, 1, dy, right, left)
        open5 &= _ahead(masks.open + REACH + y, 2, dy, right, left)
        open5 &= _ahead(masks.open + REACH + y, 3, dy, right, left)
        open5 &= _ahead(masks.open + REACH + y, 4, dy, right, left)
        pair = b1 & b2 | b3 & b4 | (b1 | b2) & (b3 | b4)
        masks.threes[y + REACH] = (open5 & pair & ~b0 & ~b5
                                   & _ahead(masks.open + REACH + y, 5, dy, right, left))
        # b0 + b1 + b2 is ones + 2 * twos, and b3 + b4 + ones is the lowest bit and 2 * more.
        ones = b0 ^ b1 ^ b2
        twos = b0 & b1 | b2 & (b0 | b1)
        more = b3 & b4 | ones & (b3 | b4)
        masks.fours[y + REACH] = open5 & (twos & more | (twos | more) & (ones ^ b3 ^ b4))


_fill_shapes()
