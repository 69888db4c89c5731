"""Features of one position; see the header `_features.pxd` and `engine.features`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from engine._board cimport count_liberties
from engine._forbidden cimport FIVE, forbidden_cells
from engine._position cimport RuleTable, packed_bytes, unpack
from engine._types cimport (
    BLACK, EMPTY, FORBIDDEN_ILLEGAL, FORBIDDEN_LOSES, MAX_ACTIONS, MAX_CELLS, MAX_OFFERS,
    MAX_PHASES, MAX_POINTS, OFFERS, OPTION_COUNT, Phase, Position, Rules, WHITE,
    colours_of, heads_of, liberties_of, sizes_of,
)

from engine.rules import OPTIONS

OPTION_SLOTS = OPTION_COUNT

cdef enum:                      # planes, in the order of PLANES
    ON_BOARD
    OWN
    OTHER
    LEGAL_POINT
    REGION
    ONE_LIBERTY
    TWO_LIBERTIES
    OFFERED
    FOUL

PLANES = (
    "on_board",
    "own",
    "other",
    "legal",
    "region",
    "one_liberty",
    "two_liberties",
    "offered",
    "foul",
)

cdef enum:
    OPENING_SLOTS = 23          # so that there are 96 globals: see below
    FIRST_OPENING = 33          # index of "opening_0" in GLOBALS

# Their number is a multiple of 16: so each row of a batch begins at a whole cache line, and matrix
# products sum every row in the same order, wherever it stands in the batch.
GLOBALS = (
    "own_is_black",
    "seat_owns_own",
    "in_play",
    "width",
    "height",
    "line_length",
    "gutter",
    "own_overline_wins",
    "own_overline_nothing",
    "own_overline_loses",
    "other_overline_wins",
    "other_overline_nothing",
    "other_overline_loses",
    "unblocked",
    "fouls_illegal",
    "fouls_lose",
    "captures",
    "switches",
    "suicide",
    "superko",
    "passing",
    "pass_after",
    "pass_tiebreak",
    "majority",
    "passes",
    "first_passer_is_seat",
    "first_passer_is_other",
    "fill",
    "ply_limit",
    "plies_left",
    "announced",
    "offers_left",
    "opening_number",
    *(f"opening_{i}" for i in range(OPENING_SLOTS)),
    *(f"phase_{i}" for i in range(MAX_PHASES)),
    *(f"legal_{option}" for option in OPTIONS),
)


cdef void write_blank(const Rules *rules, const int32_t *canvas, int area,
                      uint8_t *blank) noexcept nogil:
    cdef int point
    memset(blank, 0, 2 * area)
    for point in range(rules.points):
        blank[canvas[point]] = 1
        blank[area + canvas[point]] = rules.in_region[rules.cell_of[point]]


cdef void write_features(const Rules *rules, const Position *position, int opening,
                         const uint16_t *legal, int count, const int32_t *canvas,
                         const uint8_t *blank, int area, uint8_t *planes,
                         float *globals_) noexcept nogil:
    memset(planes, 0, PLANE_COUNT * area)
    memcpy(planes + ON_BOARD * area, blank, area)
    memcpy(planes + REGION * area, blank + area, area)
    _write_planes(rules, position, legal, count, canvas, area, planes)
    _write_globals(rules, position, opening, legal, count, globals_)


cdef void _write_planes(const Rules *rules, const Position *position, const uint16_t *legal,
                        int count, const int32_t *canvas, int area, uint8_t *planes) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int point, cell, at, i, stones = 0
    cdef uint8_t known[MAX_CELLS]
    cdef uint16_t places[MAX_POINTS]
    for point in range(rules.points):       # no branch: it would be guessed wrong too often
        places[stones] = point
        stones += colours[rules.cell_of[point]] != EMPTY
    if rules.chains:
        memset(known, 0, rules.cells)
    for i in range(stones):
        cell, at = rules.cell_of[places[i]], canvas[places[i]]
        planes[(OWN if colours[cell] == position.to_play else OTHER) * area + at] = 1
        if rules.chains:
            _write_liberties(_liberties(rules, position, cell, known), planes + at, area)
    for i in range(count):
        if legal[i] < rules.points:
            planes[LEGAL_POINT * area + canvas[legal[i]]] = 1
    for i in range(position.offered):
        planes[OFFERED * area + canvas[rules.point_of[position.offers[i]]]] = 1
    if rules.forbidden:
        forbidden_cells(rules, position, known)
        for point in range(rules.points):
            if known[rules.cell_of[point]] > FIVE:
                planes[FOUL * area + canvas[point]] = 1


cdef inline void _write_liberties(int liberties, uint8_t *planes, int area) noexcept nogil:
    # Of a stone, whose point in the first plane is `planes`.
    planes[ONE_LIBERTY * area] = liberties == 1
    planes[TWO_LIBERTIES * area] = liberties == 2


cdef int _liberties(const Rules *rules, const Position *position, int cell,
                    uint8_t *known) noexcept nogil:
    # Liberties of a stone's chain, 3 for more; `known` remembers them by head. A chain of nine
    # adjacencies has at least three liberties, since a liberty has four sides; a single stone has
    # as many as adjacencies.
    cdef int head = heads_of(rules, position)[cell]
    cdef int adjacencies = liberties_of(rules, position)[head]
    if not known[head]:
        if adjacencies > 8 or sizes_of(rules, position)[head] == 1:
            known[head] = min(adjacencies, 3)
        else:
            known[head] = count_liberties(rules, position, head, 3)
    return known[head]


cdef void _write_globals(const Rules *rules, const Position *position, int opening,
                         const uint16_t *legal, int count, float *globals_) noexcept nogil:
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef int own = position.to_play, other = BLACK + WHITE - own, i
    cdef int owner = position.black_seat if own == BLACK else 1 - position.black_seat
    memset(globals_, 0, GLOBAL_COUNT * sizeof(float))
    globals_[0] = own == BLACK
    globals_[1] = owner == position.seat
    globals_[2] = position.phase == rules.play_phase
    globals_[3] = rules.width / <float> 19
    globals_[4] = rules.height / <float> 19
    globals_[5] = rules.line_length / <float> 7
    globals_[6] = _gutter(rules) / <float> 2
    globals_[7 + rules.overline[own]] = 1
    globals_[10 + rules.overline[other]] = 1
    globals_[13] = rules.unblocked
    globals_[14] = rules.forbidden == FORBIDDEN_ILLEGAL
    globals_[15] = rules.forbidden == FORBIDDEN_LOSES
    globals_[16] = rules.captures
    globals_[17] = rules.switches
    globals_[18] = rules.suicide
    globals_[19] = rules.superko
    globals_[20] = rules.passing
    globals_[21] = position.stones < rules.pass_after
    globals_[22] = rules.pass_tiebreak
    globals_[23] = rules.majority
    globals_[24] = position.passes
    globals_[25] = position.first_passer == position.seat
    globals_[26] = position.first_passer == 1 - position.seat
    globals_[27] = position.stones / <float> rules.points
    globals_[28] = rules.ply_limit > 0
    if rules.ply_limit:
        globals_[29] = (rules.ply_limit - position.ply) / <float> rules.points
    globals_[30] = position.announced / <float> MAX_OFFERS
    if phase.effect == OFFERS:
        i = phase.offers if phase.offers else position.announced
        globals_[31] = (i - position.offered) / <float> MAX_OFFERS
    globals_[32] = rules.opening_number / <float> MAX_OFFERS
    globals_[FIRST_OPENING + opening] = 1
    globals_[FIRST_OPENING + OPENING_SLOTS + position.phase] = 1
    for i in range(count):
        if legal[i] >= rules.points:
            globals_[FIRST_OPENING + OPENING_SLOTS + MAX_PHASES + legal[i] - rules.points] = 1


cdef int _gutter(const Rules *rules) noexcept nogil:
    # Width of the strip around the region: the middle of the board is always inside.
    cdef int x = 0, row = (rules.height // 2 + 1) * rules.stride + 1
    while not rules.in_region[row + x]:
        x += 1
    return x


def blank(RuleTable table, const int32_t[::1] canvas, uint8_t[:, ::1] planes):
    """Fills planes [2, area] with what all positions share; see `engine.features.blank`."""
    write_blank(&table.rules, &canvas[0], planes.shape[1], &planes[0, 0])


def decode(RuleTable table, int opening, list packed, const int32_t[:, ::1] canvases,
           const int64_t[::1] turns, const int64_t[::1] rows,
           uint8_t[:, :, :, ::1] planes, float[:, ::1] globals_, uint8_t[:, ::1] legal):
    """Features of packed positions into these rows of a batch; see `engine.features.decode_into`.

    `turns` says which row of `canvases` a position is seen on. Other threads run meanwhile.
    """
    cdef const Rules *rules = &table.rules
    cdef int i, row, decoded = 0, count = len(packed), area = planes.shape[2] * planes.shape[3]
    cdef const uint8_t **data
    cdef bytes one
    if not count == turns.shape[0] == rows.shape[0]:
        raise ValueError("packed positions, symmetries and rows differ in number")
    if area > MAX_POINTS:
        raise ValueError(f"canvas: {area} points are more than {MAX_POINTS}")
    for i, one in enumerate(packed):
        if len(one) != packed_bytes(rules):
            raise ValueError(f"packed position: {len(one)} bytes, expected {packed_bytes(rules)}")
        if not 0 <= rows[i] < planes.shape[0]:
            raise ValueError(f"row {rows[i]} of a batch of {planes.shape[0]}")
    cdef Position *position = <Position *> malloc(rules.position_bytes)
    data = <const uint8_t **> malloc(count * sizeof(uint8_t *) + 1)
    try:
        if position == NULL or data == NULL:
            raise MemoryError
        for i in range(count):
            data[i] = <const uint8_t *> <const char *> <bytes> packed[i]
        with nogil:
            for i in range(count):
                row = rows[i]
                if not _decode(rules, opening, data[i], &canvases[turns[i], 0], area, position,
                               &planes[row, 0, 0, 0], &globals_[row, 0], &legal[row, 0]):
                    break
                decoded += 1
        if decoded < count:
            raise ValueError("packed position: made for other rules or by another version")
    finally:
        free(data)
        free(position)


cdef bint _decode(const Rules *rules, int opening, const uint8_t *packed, const int32_t *canvas,
                  int area, Position *position, uint8_t *planes, float *globals_,
                  uint8_t *legal) noexcept nogil:
    # One packed position, by way of `position`; False where these are none of its bytes.
    cdef uint16_t actions[MAX_ACTIONS]
    cdef uint8_t blank[2 * MAX_POINTS]
    cdef int i, count = unpack(rules, packed, position, actions)
    if count < 0:
        return False
    write_blank(rules, canvas, area, blank)
    write_features(rules, position, opening, actions, count, canvas, blank, area, planes, globals_)
    for i in range(count):
        legal[canvas[actions[i]]] = 1
    return True


if (len(PLANES), len(GLOBALS)) != (PLANE_COUNT, GLOBAL_COUNT):
    raise AssertionError("PLANE_COUNT or GLOBAL_COUNT does not match the lists of names")
if GLOBALS[FIRST_OPENING] != "opening_0":
    raise AssertionError("FIRST_OPENING does not match the list of names")
