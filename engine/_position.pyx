"""Rule tables, histories and positions; see the header `_position.pxd`."""

import dataclasses
from hashlib import blake2b
import json

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython cimport final
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from engine._board cimport (
    Effect, Switches, clear_board, foresee, is_dead, judge_lines, loses_own_chain, place, rebuild,
    remove_chain, switch_around, switch_own,
)
from engine._forbidden cimport FIVE, forbidden_cells, is_forbidden
from engine._neighbours cimport ABREAST, breathing
from engine._types cimport (
    ACTOR_A, ACTOR_B, ACTOR_BLACK, ACTOR_OTHER, ACTOR_OWNER, ANYWHERE, BLACK, BY_FORBIDDEN,
    BY_FULL_BOARD, BY_LINE, BY_NO_ACTION, BY_OVERLINE, BY_PASSES, BY_PLY_LIMIT, BY_TIEBREAK, EMPTY,
    EQUIVALENT, FORBIDDEN, FORBIDDEN_ILLEGAL, FORBIDDEN_LOSES, GAME_OVER, History, LEGAL,
    LINE_LOSES, LINE_NONE, LINE_WINS, MAX_ACTIONS, MAX_CELLS, MAX_OFFERS, MAX_PHASES,
    MAX_POINTS, MAX_POSITION_WORDS, NEAR_CORNERS, NEWEST, NOBODY, NOT_IN_PHASE, OCCUPIED, OFFERS,
    OPTION_COUNT, OVERLINE_LOSES, OVERLINE_NOTHING, OVERLINE_WINS, PASS, PICKS, PLACES, Phase,
    Position, RUNNING, Rules, SEAT_A, SEAT_B, SUICIDE, SUPERKO, Symmetry, TAKE_BLACK, TAKE_WHITE,
    WHITE,
    colours_of, heads_of, liberties_of, mix, sizes_of,
)

from engine.openings import ACTORS, EFFECTS, MOST_OFFERS
from engine.rules import FORBIDDEN as FORBIDDEN_KINDS
from engine.rules import OPTIONS, REASONS, RuleError

#: Verdicts by number; None: the action is legal.
VERDICTS = (
    None,
    "occupied",
    "suicide",
    "superko",
    "not-in-this-phase",
    "game-over",
    "forbidden",
    "equivalent",
)

#: First byte of a packed position.
PACK_VERSION = 1
cdef enum:
    PACK_VERSION_BYTE = 1
    PACK_HEADER = 16
    PACK_OFFERS = 2 + 2 * MAX_OFFERS
    FIRST_NUMBER = 4            # index of the option "1"
    BARRED = 128                # beside the flags of fouls: the opening lets no stone lie there


# --- histories ----------------------------------------------------------------------------------

cdef enum:
    SMALLEST_HISTORY = 256


cdef History *history_new() noexcept nogil:
    cdef History *history = <History *> malloc(sizeof(History))
    if history == NULL:
        return NULL
    history.slots = <uint64_t *> calloc(SMALLEST_HISTORY, sizeof(uint64_t))
    history.order = <uint32_t *> malloc(SMALLEST_HISTORY // 2 * sizeof(uint32_t))
    history.mask = SMALLEST_HISTORY - 1
    history.filed = history.count = 0
    if history.slots == NULL or history.order == NULL:
        history_free(history)
        return NULL
    return history


cdef void history_free(History *history) noexcept nogil:
    if history != NULL:
        free(history.slots)
        free(history.order)
        free(history)


cdef int history_copy(const History *source, History *target) noexcept nogil:
    cdef uint32_t size = source.mask + 1
    cdef uint64_t *slots
    cdef uint32_t *order
    if target.mask != source.mask:
        slots = <uint64_t *> malloc(size * sizeof(uint64_t))
        order = <uint32_t *> malloc(size // 2 * sizeof(uint32_t))
        if slots == NULL or order == NULL:
            free(slots)
            free(order)
            return -1
        free(target.slots)
        free(target.order)
        target.slots, target.order, target.mask = slots, order, source.mask
    memcpy(target.slots, source.slots, size * sizeof(uint64_t))
    memcpy(target.order, source.order, source.filed * sizeof(uint32_t))
    memcpy(target.newest, source.newest, NEWEST * sizeof(uint64_t))
    target.filed, target.count = source.filed, source.count
    return 0


cdef void _file(uint64_t *slots, uint32_t mask, uint32_t *filed_at, uint64_t key) noexcept nogil:
    # Puts a key into a table; `filed_at` is told where.
    cdef uint32_t slot = <uint32_t> key & mask
    while slots[slot]:
        slot = (slot + 1) & mask
    slots[slot] = key
    filed_at[0] = slot


cdef int _grow(History *history) noexcept nogil:
    # Twice as many slots. Returns -1, with nothing changed, where memory is out.
    cdef uint32_t mask = 2 * history.mask + 1, i
    cdef uint64_t *slots = <uint64_t *> calloc(mask + 1, sizeof(uint64_t))
    cdef uint32_t *order = <uint32_t *> malloc((mask + 1) // 2 * sizeof(uint32_t))
    if slots == NULL or order == NULL:
        free(slots)
        free(order)
        return -1
    for i in range(history.filed):
        _file(slots, mask, &order[i], history.slots[history.order[i]])
    free(history.slots)
    free(history.order)
    history.slots, history.order, history.mask = slots, order, mask
    return 0


cdef int history_push(History *history, uint64_t key) noexcept nogil:
    cdef int i
    if history.count - history.filed == NEWEST:
        if 2 * history.count > history.mask and _grow(history) < 0:
            return -1
        for i in range(NEWEST):
            _file(history.slots, history.mask, &history.order[history.filed + i],
                  history.newest[i])
        history.filed = history.count
    history.newest[history.count - history.filed] = key if key else 1
    history.count += 1
    return 0


cdef void history_pop(History *history, uint32_t count) noexcept nogil:
    # Keys leave in the reverse order of their coming, so freeing their slots breaks no probe chain.
    while history.filed > count:
        history.filed -= 1
        history.slots[history.order[history.filed]] = 0
    history.count = min(history.count, count)


cdef bint history_has(const History *history, uint64_t key) noexcept nogil:
    cdef uint32_t slot, i
    if not key:
        key = 1
    for i in range(history.count - history.filed):
        if history.newest[i] == key:
            return True
    slot = <uint32_t> key & history.mask
    while history.slots[slot]:
        if history.slots[slot] == key:
            return True
        slot = (slot + 1) & history.mask
    return False


# --- what an action does ------------------------------------------------------------------------

cdef int _actor(const Rules *rules, const Position *position, int phase, int to_play,
                int last_seat) noexcept nogil:
    cdef int actor = rules.phases[phase].actor
    if actor == ACTOR_OWNER:
        return position.black_seat if to_play == BLACK else 1 - position.black_seat
    if actor == ACTOR_OTHER:
        return 1 - last_seat
    if actor == ACTOR_A or actor == ACTOR_B:
        return SEAT_A if actor == ACTOR_A else SEAT_B
    return position.black_seat if actor == ACTOR_BLACK else 1 - position.black_seat


cdef inline int _owner(const Position *position, int colour) noexcept nogil:
    return position.black_seat if colour == BLACK else 1 - position.black_seat


cdef void start(const Rules *rules, Position *position, History *history) noexcept nogil:
    memset(position, 0, sizeof(Position))
    clear_board(rules, position)
    position.to_play = BLACK
    position.black_seat = SEAT_A
    position.first_passer = NOBODY
    position.winner = NOBODY
    position.seat = _actor(rules, position, 0, BLACK, SEAT_B)
    history_pop(history, 0)
    if rules.superko:
        history_push(history, position.stones_key ^ rules.seat_keys[position.seat])


cdef void play(const Rules *rules, Position *position, History *history,
               int action) noexcept nogil:
    cdef int acting = position.seat, option = action - rules.points
    cdef const Phase *phase = &rules.phases[position.phase]
    position.ko = 0
    position.ply += 1
    if option < 0:
        if phase.effect == OFFERS:
            _offer(rules, position, history, rules.cell_of[action])
        else:
            _play_point(rules, position, rules.cell_of[action])
            position.phase = phase.after_point
            if phase.effect == PICKS:
                _forget_offers(position)
    elif position.phase == rules.play_phase:
        _play_pass(rules, position)
    else:
        _choose(position, option)
        position.phase = phase.after_option[option]
    if rules.phases[position.phase].effect == OFFERS and phase.effect != OFFERS:
        _find_symmetries(rules, position)
    position.seat = _actor(rules, position, position.phase, position.to_play, acting)
    # Where a seat only chooses, nothing can be recreated: such positions are not remembered.
    if rules.superko and _places(&rules.phases[position.phase]):
        history_push(history, position.stones_key ^ rules.seat_keys[position.seat])
    if position.reason == RUNNING:
        _judge_quiet_end(rules, position, history)


cdef inline bint _places(const Phase *phase) noexcept nogil:
    return phase.after_point >= 0 and phase.effect != OFFERS


cdef void _choose(Position *position, int option) noexcept nogil:
    # A pass in an opening is no pass: it swaps, so that whoever places owns the colour placed.
    if option == TAKE_BLACK:
        position.black_seat = position.seat
    elif option == TAKE_WHITE:
        position.black_seat = 1 - position.seat
    elif option == PASS:
        position.black_seat = 1 - position.black_seat
    elif option > FIRST_NUMBER:
        # An announced 1 is simply played: nothing is offered.
        position.announced = option - FIRST_NUMBER + 1


cdef void _play_point(const Rules *rules, Position *position, int cell) noexcept nogil:
    cdef int colour = position.to_play
    cdef bint foul = (
        rules.forbidden == FORBIDDEN_LOSES and colour == BLACK
        and is_forbidden(rules, position, cell)
    )
    cdef int captured = place(rules, position, cell, colour)
    cdef int judgement = judge_lines(rules, position, cell, colour)
    position.to_play = BLACK + WHITE - colour
    position.passes = 0
    if captured:
        position.removed = True
    position.peak = max(position.peak, position.stones)
    if judgement != LINE_NONE:
        _end(position, BY_LINE if judgement == LINE_WINS else BY_OVERLINE,
             colour if judgement == LINE_WINS else BLACK + WHITE - colour)
    elif foul:
        _end(position, BY_FORBIDDEN, WHITE)
    elif rules.switches:
        _switch_chains(rules, position, cell, colour)
    elif rules.captures:
        if captured == 1 and rules.superko:
            position.ko = _ko_cell(rules, position, cell)
        elif not captured and is_dead(rules, position, cell):
            remove_chain(rules, position, cell)
            position.removed = True


cdef void _switch_chains(const Rules *rules, Position *position, int cell,
                         int colour) noexcept nogil:
    cdef Switches switches
    if switch_around(rules, position, cell, &switches):
        _end(position, BY_LINE, colour)
    elif switch_own(rules, position, cell, &switches):
        _end(position, BY_LINE, BLACK + WHITE - colour)


cdef inline void _end(Position *position, int reason, int winning_colour) noexcept nogil:
    position.reason = reason
    position.winner = _owner(position, winning_colour)


cdef int _ko_cell(const Rules *rules, const Position *position, int cell) noexcept nogil:
    # One stone took one stone and has no other liberty: taking back at once would repeat the board.
    cdef int i
    if sizes_of(rules, position)[heads_of(rules, position)[cell]] > 1:
        return 0
    if liberties_of(rules, position)[cell] > 1:
        return 0
    for i in range(4):
        if colours_of(rules, position)[cell + rules.orthogonal[i]] == EMPTY:
            return cell + rules.orthogonal[i]
    return 0


cdef void _play_pass(const Rules *rules, Position *position) noexcept nogil:
    position.to_play = BLACK + WHITE - position.to_play
    position.passes += 1
    if rules.pass_tiebreak and position.first_passer == NOBODY:
        position.first_passer = position.seat
    if position.passes == 2:
        _end_without_line(rules, position, BY_PASSES)


cdef void _end_without_line(const Rules *rules, Position *position, int reason) noexcept nogil:
    position.reason = reason
    if position.first_passer != NOBODY:
        position.reason = BY_TIEBREAK
        position.winner = position.first_passer


cdef void _end_with_full_board(const Rules *rules, Position *position) noexcept nogil:
    cdef int i, black = 0
    if not rules.majority:
        _end_without_line(rules, position, BY_FULL_BOARD)
        return
    position.reason = BY_FULL_BOARD
    for i in range(rules.points):
        black += colours_of(rules, position)[rules.cell_of[i]] == BLACK
    if 2 * black != rules.points:
        position.winner = _owner(position, BLACK if 2 * black > rules.points else WHITE)


cdef void _judge_quiet_end(const Rules *rules, Position *position,
                           const History *history) noexcept nogil:
    if position.stones == rules.points and not (rules.captures and rules.passing):
        _end_with_full_board(rules, position)
    elif not _has_action(rules, position, history):
        _end_without_line(rules, position, BY_NO_ACTION)
    elif rules.ply_limit and position.ply >= rules.ply_limit:
        position.reason = BY_PLY_LIMIT


# --- offered fifth moves ------------------------------------------------------------------------

cdef void _offer(const Rules *rules, Position *position, const History *history,
                 int cell) noexcept nogil:
    # The phase ends with the last offer, also where nothing is left that could be offered.
    cdef const Phase *phase = &rules.phases[position.phase]
    position.offers[position.offered] = cell
    position.offered += 1
    if (
        position.offered == (phase.offers if phase.offers else position.announced)
        or not _has_action(rules, position, history)
    ):
        position.phase = phase.after_point


cdef void _forget_offers(Position *position) noexcept nogil:
    position.announced = position.offered = position.symmetries = 0
    memset(position.offers, 0, sizeof(position.offers))
    memset(position.figure, 0, sizeof(position.figure))


cdef void _find_symmetries(const Rules *rules, Position *position) noexcept nogil:
    # Rotations and reflections with the shift that carries the figure's bounding box onto itself.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef uint16_t stones[MAX_POINTS]
    cdef Symmetry symmetry
    cdef int count = 0, i, turn
    for i in range(rules.points):
        if colours[rules.cell_of[i]] != EMPTY:
            stones[count] = rules.cell_of[i]
            count += 1
    for turn in range(1, 8):
        symmetry = _linear_map(turn)
        _shift(rules, stones, count, &symmetry)
        for i in range(count):
            if colours[_image_cell(rules, &symmetry, stones[i])] != colours[stones[i]]:
                break
        else:
            position.figure[position.symmetries] = symmetry
            position.symmetries += 1


cdef Symmetry _linear_map(int turn) noexcept nogil:
    # One of the square's eight: bit 0 mirrors x, bit 1 mirrors y, bit 2 exchanges them.
    cdef Symmetry found
    cdef int x = -1 if turn & 1 else 1, y = -1 if turn & 2 else 1
    memset(&found, 0, sizeof(found))
    if turn & 4:
        found.xy, found.yx = x, y
    else:
        found.xx, found.yy = x, y
    return found


cdef void _shift(const Rules *rules, const uint16_t *stones, int count,
                 Symmetry *symmetry) noexcept nogil:
    # Chooses dx and dy so that the smallest coordinates of the image are those of the figure.
    cdef int i, x, y, left = 99, bottom = 99, image_left = 99, image_bottom = 99
    for i in range(count):
        x, y = stones[i] % rules.stride, stones[i] // rules.stride
        left, bottom = min(left, x), min(bottom, y)
        image_left = min(image_left, symmetry.xx * x + symmetry.xy * y)
        image_bottom = min(image_bottom, symmetry.yx * x + symmetry.yy * y)
    symmetry.dx, symmetry.dy = left - image_left, bottom - image_bottom


cdef inline int _image_cell(const Rules *rules, const Symmetry *symmetry, int cell) noexcept nogil:
    # The cell that a cell is carried to, 0 where that lies off the board.
    cdef int x = cell % rules.stride, y = cell // rules.stride
    cdef int to_x = symmetry.xx * x + symmetry.xy * y + symmetry.dx
    cdef int to_y = symmetry.yx * x + symmetry.yy * y + symmetry.dy
    if not (1 <= to_x <= rules.width and 1 <= to_y <= rules.height):
        return 0
    return to_y * rules.stride + to_x


cdef bint _is_offered(const Position *position, int cell) noexcept nogil:
    cdef int i
    for i in range(position.offered):
        if position.offers[i] == cell:
            return True
    return False


cdef int _equivalent_offer(const Rules *rules, const Position *position, int cell) noexcept nogil:
    # The offered cell to which a symmetry of the figure carries this one, the edge ignored; else 0.
    cdef int i, image
    if _is_offered(position, cell):
        return cell
    for i in range(position.symmetries):
        image = _image_cell(rules, &position.figure[i], cell)
        if _is_offered(position, image):
            return image
    return 0


# --- what is legal ------------------------------------------------------------------------------

cdef bint _may_pass(const Rules *rules, const Position *position,
                    const History *history) noexcept nogil:
    # A pass must not recreate a board with the same seat to act, unless it ends the game.
    if not rules.passing or position.stones < rules.pass_after:
        return False
    if not rules.superko or not position.removed or position.passes == 1:
        return True
    return not history_has(history, position.stones_key ^ rules.seat_keys[1 - position.seat])


cdef bint _has_action(const Rules *rules, const Position *position,
                      const History *history) noexcept nogil:
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef int i, cell, seat_after
    if position.phase == rules.play_phase:
        if _may_pass(rules, position, history):
            return True
    else:
        for i in range(OPTION_COUNT):
            if phase.after_option[i] >= 0:
                return True
    if phase.after_point < 0:
        return False
    seat_after = _seat_after_point(rules, position)
    for i in range(rules.points):
        # From the centre on, where openings leave points.
        cell = rules.cell_of[(i + rules.points // 2) % rules.points]
        if (
            _point_verdict(rules, position, history, cell, seat_after) == LEGAL
            and not _is_foul(rules, position, cell)
        ):
            return True
    return False


cdef int _seat_after_point(const Rules *rules, const Position *position) noexcept nogil:
    # The seat to act once the stone stands: for an offered one that is after the pick.
    cdef int after = rules.phases[position.phase].after_point
    if rules.phases[position.phase].effect == OFFERS:
        after = rules.phases[after].after_point
    return _actor(rules, position, after, BLACK + WHITE - position.to_play, position.seat)


cdef inline bint _is_foul(const Rules *rules, const Position *position, int cell) noexcept nogil:
    return (
        rules.forbidden == FORBIDDEN_ILLEGAL and position.to_play == BLACK
        and is_forbidden(rules, position, cell)
    )


cdef bint _in_region(const Rules *rules, const Position *position, int region,
                     int cell) noexcept nogil:
    cdef int point = rules.point_of[cell], i, j
    cdef int x = point % rules.width - rules.width // 2
    cdef int y = point // rules.width - rules.height // 2
    cdef int centre = rules.cell_of[rules.height // 2 * rules.width + rules.width // 2]
    if region == NEAR_CORNERS:
        if abs(x) == 2 and abs(y) == 2:
            for i in range(-1, 2):
                for j in range(-1, 2):
                    if colours_of(rules, position)[centre + i * rules.stride + j] == WHITE:
                        return j * x + i * y >= 0
        return abs(x) <= 2 and abs(y) <= 2
    if region > 0:
        return 2 * abs(x) < region and 2 * abs(y) < region
    return 2 * abs(x) >= -region or 2 * abs(y) >= -region


cdef int _phase_verdict(const Rules *rules, const Position *position, int cell) noexcept nogil:
    # What the opening's phase says to an empty point.
    cdef const Phase *phase = &rules.phases[position.phase]
    if phase.region != ANYWHERE and not _in_region(rules, position, phase.region, cell):
        return NOT_IN_PHASE
    if phase.effect == PICKS and not _is_offered(position, cell):
        return NOT_IN_PHASE
    if phase.effect == OFFERS and _equivalent_offer(rules, position, cell):
        return EQUIVALENT
    return LEGAL


cdef void _bar_points(const Rules *rules, const Position *position, uint8_t *bars) noexcept nogil:
    # Flags of all cells: BARRED where `_phase_verdict` says no, else 0. Empty cells matter only.
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef int centre = rules.cell_of[rules.height // 2 * rules.width + rules.width // 2]
    cdef int region = 5 if phase.region == NEAR_CORNERS else phase.region
    cdef int side = region if region > 0 else -region, row, i, k
    cdef bint inside = region > 0 or phase.effect == PICKS
    memset(bars, BARRED if inside else 0, rules.cells)
    if phase.region != ANYWHERE:
        for row in range(-(side // 2), side // 2 + 1):
            memset(&bars[centre + row * rules.stride - side // 2], 0 if inside else BARRED, side)
    if phase.region == NEAR_CORNERS:
        for i in range(4):
            k = centre + (2 if i & 1 else -2) * rules.stride + (2 if i & 2 else -2)
            if not _in_region(rules, position, phase.region, k):
                bars[k] = BARRED
    for i in range(position.offered):
        bars[position.offers[i]] = 0 if phase.effect == PICKS else BARRED
        if phase.effect == OFFERS:
            for k in range(position.symmetries):
                bars[_image_cell(rules, &position.figure[k], position.offers[i])] = BARRED


cdef inline bint _is_quiet(const Rules *rules, const Position *position, int cell) noexcept nogil:
    # Whether a stone there has an empty neighbour and surely captures nothing: each chain of the
    # opponent has more liberties than the stone could take.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int i, neighbour, head, opponents = 0, fewest = MAX_CELLS
    cdef bint breathes = False
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        if colours[neighbour] == EMPTY:
            breathes = True
        elif colours[neighbour] == BLACK + WHITE - position.to_play:
            opponents += 1
            head = heads_of(rules, position)[neighbour]
            fewest = min(fewest, liberties_of(rules, position)[head])
    return breathes and fewest > opponents


cdef int _point_verdict(const Rules *rules, const Position *position, const History *history,
                        int cell, int seat_after) noexcept nogil:
    # Verdict on a point in a phase that allows one, but for Black's forbidden moves.
    cdef int found
    if colours_of(rules, position)[cell] != EMPTY:
        return OCCUPIED
    if not rules.phases[position.phase].plain:
        found = _phase_verdict(rules, position, cell)
        if found != LEGAL:
            return found
    return _stone_verdict(rules, position, history, cell, seat_after)


cdef int _stone_verdict(const Rules *rules, const Position *position, const History *history,
                        int cell, int seat_after) noexcept nogil:
    # Verdict on an empty point where the phase allows a stone, but for Black's forbidden moves.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef Effect effect
    if rules.switches and not rules.suicide:
        return SUICIDE if loses_own_chain(rules, position, cell, position.to_play) else LEGAL
    if not rules.captures:
        return LEGAL
    if not position.removed and (
        colours[cell + rules.orthogonal[0]] == EMPTY
        or colours[cell + rules.orthogonal[1]] == EMPTY
        or colours[cell + rules.orthogonal[2]] == EMPTY
        or colours[cell + rules.orthogonal[3]] == EMPTY
    ):
        return LEGAL
    if _is_quiet(rules, position, cell):
        # More stones than ever before make a new board.
        if not rules.superko or position.stones >= position.peak:
            return LEGAL
        # The stone is all that changes.
        if not history_has(history, position.stones_key ^ rules.seat_keys[seat_after]
                           ^ rules.stone_keys[position.to_play][cell]):
            return LEGAL
    effect = foresee(rules, position, cell, position.to_play,
                     rules.superko and (position.removed or rules.suicide))
    if effect.suicide and not rules.suicide:
        if judge_lines(rules, position, cell, position.to_play) == LINE_WINS:
            return LEGAL
        return SUICIDE
    # Before stones have left the board every placement makes a new one, but for a suicide.
    if rules.superko and (position.removed or effect.suicide):
        if history_has(history, effect.stones_key ^ rules.seat_keys[seat_after]):
            if judge_lines(rules, position, cell, position.to_play) == LINE_NONE:
                return SUPERKO
    return LEGAL


cdef int verdict(const Rules *rules, const Position *position, const History *history,
                 int action) noexcept nogil:
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef int found
    if position.reason != RUNNING:
        return GAME_OVER
    if action < rules.points:
        if phase.after_point < 0:
            return NOT_IN_PHASE
        found = _point_verdict(rules, position, history, rules.cell_of[action],
                               _seat_after_point(rules, position))
        if found == LEGAL and _is_foul(rules, position, rules.cell_of[action]):
            return FORBIDDEN
        return found
    if position.phase == rules.play_phase:
        if (action - rules.points != PASS or not rules.passing
                or position.stones < rules.pass_after):
            return NOT_IN_PHASE
        return LEGAL if _may_pass(rules, position, history) else SUPERKO
    return LEGAL if phase.after_option[action - rules.points] >= 0 else NOT_IN_PHASE


cdef inline bint _is_free(const Rules *rules) noexcept nogil:
    # Whether any empty point may be played in a phase that restricts none, but for fouls.
    return not rules.captures and (rules.suicide or not rules.switches)


cdef int _empty_points(const Rules *rules, const Position *position, const uint8_t *flags,
                       uint16_t *actions) noexcept nogil:
    # Those that `flags` (by cell; NULL: none) neither call a foul nor barred. No branch on what
    # lies on a point: it would be guessed wrong too often.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int count = 0, i
    if flags == NULL:
        for i in range(rules.points):
            actions[count] = i
            count += colours[rules.cell_of[i]] == EMPTY
        return count
    for i in range(rules.points):
        actions[count] = i
        count += (colours[rules.cell_of[i]] == EMPTY) & (flags[rules.cell_of[i]] <= FIVE)
    return count


cdef bint _mark_quiet(const Rules *rules, const Position *position, uint8_t *quiet) noexcept nogil:
    # Marks, by cell, empty points where a stone is legal as `_is_quiet` says: next to another empty
    # one, and to no chain that it might capture. Captures matter where the board may repeat: not
    # before stones have left it. Returns False where that is not enough, and on tiny boards.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef const uint16_t *heads = heads_of(rules, position)
    cdef uint8_t weak[MAX_CELLS]
    cdef int opponent = BLACK + WHITE - position.to_play, i, cell
    if not rules.captures or rules.superko and position.stones < position.peak:
        return False
    if rules.cells - 2 * rules.stride < ABREAST:
        return False
    memset(weak, 0, rules.cells)
    if rules.superko and position.removed:
        for i in range(rules.points):
            cell = rules.cell_of[i]
            if colours[cell] == opponent:
                # With an empty neighbour a stone touches a chain three times at most.
                weak[cell] = liberties_of(rules, position)[heads[cell]] <= 3
    breathing(colours, weak, rules.stride, rules.cells, quiet)
    return True


cdef const uint8_t *_flags(const Rules *rules, const Position *position,
                           uint8_t *flags) noexcept nogil:
    # Fouls and barred points by cell, in `flags`; NULL where nothing restricts the points.
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef bint forbids = rules.forbidden == FORBIDDEN_ILLEGAL and position.to_play == BLACK
    cdef uint8_t bars[MAX_CELLS]
    cdef int i
    if phase.plain and not forbids:
        return NULL
    if not forbids:
        _bar_points(rules, position, flags)
        return flags
    forbidden_cells(rules, position, flags)
    if not phase.plain:
        _bar_points(rules, position, bars)
        for i in range(rules.cells):
            flags[i] |= bars[i]
    return flags


cdef int legal_actions(const Rules *rules, const Position *position, const History *history,
                       uint16_t *actions, uint64_t *banned) noexcept nogil:
    cdef const Phase *phase = &rules.phases[position.phase]
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef const uint8_t *flags
    cdef uint8_t memory[MAX_CELLS]
    cdef uint8_t quiet[MAX_CELLS]
    cdef int count = 0, i, cell, seat_after, found
    banned[0] = 0
    if position.reason != RUNNING:
        return 0
    if phase.after_point >= 0:
        flags = _flags(rules, position, memory)
        if _is_free(rules):
            count = _empty_points(rules, position, flags, actions)
        else:
            seat_after = _seat_after_point(rules, position)
            if flags != NULL or not _mark_quiet(rules, position, quiet):
                memset(quiet, 0, rules.cells)
            for i in range(rules.points):
                cell = rules.cell_of[i]
                actions[count] = i
                if quiet[cell] or colours[cell] != EMPTY:
                    count += quiet[cell]
                    continue
                if flags != NULL and flags[cell] & BARRED:
                    continue
                found = _stone_verdict(rules, position, history, cell, seat_after)
                if found == SUPERKO:
                    banned[0] ^= rules.ban_keys[cell]
                count += found == LEGAL and (flags == NULL or flags[cell] <= FIVE)
    if position.phase == rules.play_phase:
        if _may_pass(rules, position, history):
            actions[count] = rules.points + PASS
            count += 1
        elif rules.passing and position.stones >= rules.pass_after:
            banned[0] ^= rules.ban_keys[0]
        return count
    for i in range(OPTION_COUNT):
        if phase.after_option[i] >= 0:
            actions[count] = rules.points + i
            count += 1
    return count


cdef uint64_t position_key(const Rules *rules, const Position *position) noexcept nogil:
    cdef uint64_t state = position.phase
    state = state << 2 | position.to_play
    state = state << 1 | position.seat
    state = state << 1 | position.black_seat
    state = state << 2 | position.passes
    state = state << 2 | position.first_passer
    state = state << 16 | position.ko
    if rules.ply_limit:
        state = state << 32 | <uint32_t> position.ply
    return position.stones_key ^ mix(state) ^ _offers_key(rules, position)


cdef uint64_t _offers_key(const Rules *rules, const Position *position) noexcept nogil:
    cdef uint64_t key = mix(<uint64_t> position.announced << 60) if position.announced else 0
    cdef int i
    for i in range(position.offered):
        key ^= rules.offer_keys[position.offers[i]]
    return key


# --- packing ------------------------------------------------------------------------------------
# Bytes 0-15: version, width, height, phase, to_play, seat, black_seat, passes, first_passer,
# removed, ko point (little endian, 0xFFFF: none), ply (little endian, 32 bits). Then bit sets,
# least significant bit first, each padded to bytes: black points, white points, legal actions.
# Where the opening offers moves: the number announced, the number offered, and twelve points
# offered (little endian, 16 bits).

cdef int packed_bytes(const Rules *rules) noexcept nogil:
    cdef int sets = 2 * ((rules.points + 7) // 8) + (rules.actions + 7) // 8
    return PACK_HEADER + sets + (PACK_OFFERS if rules.offering else 0)


cdef void pack(const Rules *rules, const Position *position, const uint16_t *legal, int count,
               uint8_t *out) noexcept nogil:
    cdef int bytes_a_set = (rules.points + 7) // 8, i, colour, point
    cdef int ko = rules.point_of[position.ko] if position.ko else 0xFFFF
    cdef uint8_t *sets = out + PACK_HEADER
    memset(out, 0, packed_bytes(rules))
    out[0], out[1], out[2] = PACK_VERSION_BYTE, rules.width, rules.height
    out[3], out[4], out[5] = position.phase, position.to_play, position.seat
    out[6], out[7], out[8] = position.black_seat, position.passes, position.first_passer
    out[9], out[10], out[11] = position.removed, ko & 255, ko >> 8
    for i in range(4):
        out[12 + i] = (position.ply >> (8 * i)) & 255
    for i in range(rules.points):
        colour = colours_of(rules, position)[rules.cell_of[i]]
        if colour != EMPTY:
            sets[(colour - BLACK) * bytes_a_set + (i >> 3)] |= 1 << (i & 7)
    sets += 2 * bytes_a_set
    for i in range(count):
        sets[legal[i] >> 3] |= 1 << (legal[i] & 7)
    if rules.offering:
        sets += (rules.actions + 7) // 8
        sets[0], sets[1] = position.announced, position.offered
        for i in range(position.offered):
            point = rules.point_of[position.offers[i]]
            sets[2 + 2 * i], sets[3 + 2 * i] = point & 255, point >> 8


cdef bint _fits(const Rules *rules, const uint8_t *data) noexcept nogil:
    cdef int ko = data[10] | data[11] << 8
    return (
        data[0] == PACK_VERSION_BYTE and data[1] == rules.width and data[2] == rules.height
        and data[3] <= rules.play_phase and (data[4] == BLACK or data[4] == WHITE)
        and data[5] <= 1 and data[6] <= 1 and data[7] <= 2 and data[8] <= NOBODY
        and (ko < rules.points or ko == 0xFFFF)
    )


cdef int unpack(const Rules *rules, const uint8_t *data, Position *position,
                uint16_t *legal) noexcept nogil:
    cdef int bytes_a_set = (rules.points + 7) // 8, i, count = 0, ko, ply = 0
    cdef const uint8_t *sets = data + PACK_HEADER
    cdef uint8_t *colours = colours_of(rules, position)
    if not _fits(rules, data):
        return -1
    memset(position, 0, sizeof(Position))
    clear_board(rules, position)
    position.phase, position.to_play, position.seat = data[3], data[4], data[5]
    position.black_seat, position.passes, position.first_passer = data[6], data[7], data[8]
    position.removed = data[9]
    position.winner = NOBODY
    ko = data[10] | data[11] << 8
    position.ko = 0 if ko == 0xFFFF else rules.cell_of[ko]
    for i in range(4):
        ply |= data[12 + i] << (8 * i)
    position.ply = ply
    for i in range(rules.points):
        if sets[i >> 3] >> (i & 7) & 1:
            colours[rules.cell_of[i]] = BLACK
        elif sets[bytes_a_set + (i >> 3)] >> (i & 7) & 1:
            colours[rules.cell_of[i]] = WHITE
    rebuild(rules, position)
    sets += 2 * bytes_a_set
    for i in range(rules.actions):
        if sets[i >> 3] >> (i & 7) & 1:
            legal[count] = i
            count += 1
    if rules.offering and not _unpack_offers(rules, sets + (rules.actions + 7) // 8, position):
        return -1
    return count


cdef bint _unpack_offers(const Rules *rules, const uint8_t *data,
                         Position *position) noexcept nogil:
    cdef int i, point
    if data[0] > MAX_OFFERS or data[1] > MAX_OFFERS:
        return False
    position.announced, position.offered = data[0], data[1]
    for i in range(position.offered):
        point = data[2 + 2 * i] | data[3 + 2 * i] << 8
        if point >= rules.points:
            return False
        position.offers[i] = rules.cell_of[point]
    return True


# --- tables -------------------------------------------------------------------------------------

_OVERLINES = {
    "symmetric-win": (OVERLINE_WINS, OVERLINE_WINS),
    "symmetric-loss": (OVERLINE_LOSES, OVERLINE_LOSES),
    "asymmetric": (OVERLINE_LOSES, OVERLINE_WINS),
    "exact": (OVERLINE_NOTHING, OVERLINE_NOTHING),
    "black-exact": (OVERLINE_NOTHING, OVERLINE_WINS),
}

_REGIONS = {"anywhere": ANYWHERE, "central-5-near-corners": NEAR_CORNERS}


def _region(name):
    """The Region of `engine.openings.REGIONS`."""
    if name in _REGIONS:
        return _REGIONS[name]
    kind, side = name.split("-")
    return int(side) if kind == "central" else -int(side)


def _rules_key(rule_set, opening):
    """64 bits that differ between any two rule sets and openings.

    The label is left out, and so are rules at their defaults: a new rule changes no key of a game
    that does not use it.
    """
    fields = {
        field.name: getattr(rule_set, field.name)
        for field in dataclasses.fields(rule_set)
        if field.name != "name" and getattr(rule_set, field.name) != field.default
    }
    fields["opening"] = opening.name
    digest = blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@final
cdef class RuleTable:
    """The C table of a rule set with an opening. Make it through `engine.position.rule_table`."""

    def __init__(self, rule_set, opening):
        if len(opening.phases) > MAX_PHASES:
            raise RuleError(f"opening {opening.name}: more than {MAX_PHASES} phases")
        opening.check(rule_set)
        self.rule_set = rule_set
        self.opening = opening
        self._set_rules()
        self._set_geometry()
        self._set_phases()
        self._set_keys()

    def _set_rules(self):
        cdef Rules *rules = &self.rules
        rule_set = self.rule_set
        rules.width, rules.height = rule_set.width, rule_set.height
        rules.points = rule_set.points
        rules.actions = rule_set.num_actions
        rules.line_length = rule_set.line_length
        rules.overline[BLACK], rules.overline[WHITE] = _OVERLINES[rule_set.overline]
        rules.unblocked = rule_set.unblocked
        rules.forbidden = FORBIDDEN_KINDS.index(rule_set.forbidden)
        rules.chains = rule_set.capture != "none"
        rules.captures = rule_set.capture == "remove"
        rules.switches = rule_set.capture == "switch"
        rules.suicide, rules.superko = rule_set.suicide, rule_set.superko
        rules.passing, rules.pass_tiebreak = rule_set.passing, rule_set.pass_tiebreak
        rules.pass_after = rule_set.pass_after
        rules.majority = rule_set.full_board == "majority"
        rules.ply_limit = rule_set.ply_limit

    def _set_geometry(self):
        cdef Rules *rules = &self.rules
        cdef int x, y, cell, gutter = self.rule_set.gutter, at
        rules.stride = rules.width + 1
        rules.cells = (rules.height + 2) * rules.stride + 1
        rules.directions[:] = [1, rules.stride, rules.stride + 1, rules.stride - 1]
        rules.orthogonal[:] = [-rules.stride, -1, 1, rules.stride]
        for y in range(rules.height):
            for x in range(rules.width):
                cell = (y + 1) * rules.stride + x + 1
                rules.cell_of[y * rules.width + x] = cell
                rules.point_of[cell] = y * rules.width + x
                rules.in_region[cell] = (
                    gutter <= x < rules.width - gutter and gutter <= y < rules.height - gutter
                )
        at = (sizeof(Position) + rules.cells + 7) // 8 * 8
        rules.heads_at = at
        rules.links_at = at + 2 * rules.cells
        rules.liberties_at = at + 4 * rules.cells
        rules.sizes_at = at + 6 * rules.cells
        rules.position_bytes = at + (8 * rules.cells if rules.chains else 0)
        assert rules.position_bytes <= 8 * MAX_POSITION_WORDS

    def _set_phases(self):
        cdef Rules *rules = &self.rules
        cdef Phase *row
        index = {phase.name: i for i, phase in enumerate(self.opening.phases)}
        rules.play_phase = index["play"]
        rules.opening_number = self.opening.number
        for i, phase in enumerate(self.opening.phases):
            row = &rules.phases[i]
            row.actor = ACTORS.index(phase.actor)
            row.effect = EFFECTS.index(phase.effect)
            row.region = _region(phase.where)
            row.offers = phase.offers
            row.plain = row.effect == PLACES and row.region == ANYWHERE
            rules.offering = rules.offering or row.effect == OFFERS
            row.after_point = -1 if phase.point is None else index[phase.point]
            for k, option in enumerate(OPTIONS):
                after = phase.options.get(option)
                row.after_option[k] = -1 if after is None else index[after]

    def _set_keys(self):
        cdef Rules *rules = &self.rules
        cdef int i, colour
        rules.rules_key = mix(_rules_key(self.rule_set, self.opening))
        rules.seat_keys[SEAT_A], rules.seat_keys[SEAT_B] = mix(1), mix(2)
        for i in range(MAX_CELLS):
            rules.ban_keys[i] = mix((<uint64_t> 3 << 32) + i)
            rules.offer_keys[i] = mix((<uint64_t> 7 << 32) + i)
            for colour in range(3):
                rules.stone_keys[colour][i] = mix((<uint64_t> (4 + colour) << 32) + i)


# --- the Python face ----------------------------------------------------------------------------

@final
cdef class PositionCore:
    """A position and its history in C memory; `engine.position.Position` gives it names.

    `play` and the like take action indices and assume that they are in range.
    """

    def __cinit__(self, RuleTable table):
        self.table = table
        self.block = <Position *> malloc(table.rules.position_bytes)
        self.history = history_new()
        if self.block == NULL or self.history == NULL:
            raise MemoryError
        start(&table.rules, self.block, self.history)

    def __dealloc__(self):
        free(self.block)
        history_free(self.history)

    def copy(self):
        cdef PositionCore twin = PositionCore(self.table)
        memcpy(twin.block, self.block, self.table.rules.position_bytes)
        if history_copy(self.history, twin.history) < 0:
            raise MemoryError
        return twin

    def set_up(self, black, white, bint white_to_play):
        """Puts stones on an empty board: the opening is over, the history starts here.

        Raises `ValueError` with the point of a chain without liberties.
        """
        cdef const Rules *rules = &self.table.rules
        cdef int point
        start(rules, self.block, self.history)
        for colour, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                colours_of(rules, self.block)[rules.cell_of[point]] = colour
        rebuild(rules, self.block)
        # On a full board the last switch leaves chains without liberties behind.
        if rules.chains and not (rules.switches and self.block.stones == rules.points):
            for point in (*black, *white):
                if is_dead(rules, self.block, rules.cell_of[point]):
                    raise ValueError(point)
        self.block.phase = rules.play_phase
        self.block.to_play = WHITE if white_to_play else BLACK
        self.block.seat = _owner(self.block, self.block.to_play)
        history_pop(self.history, 0)
        if rules.superko:
            history_push(self.history, self.block.stones_key ^ rules.seat_keys[self.block.seat])
        _judge_quiet_end(rules, self.block, self.history)

    def play(self, int action):
        """Plays a legal action; returns the points whose stones left the board, ascending."""
        cdef const Rules *rules = &self.table.rules
        cdef const uint8_t *colours = colours_of(rules, self.block)
        cdef uint8_t before[MAX_CELLS]
        cdef int point, stones = self.block.stones
        cdef bint places = (action < rules.points
                            and rules.phases[self.block.phase].effect != OFFERS)
        if not (rules.captures and places):
            play(rules, self.block, self.history, action)
            return []
        memcpy(before, colours, rules.cells)
        before[rules.cell_of[action]] = self.block.to_play
        play(rules, self.block, self.history, action)
        if self.block.stones > stones:
            return []
        return [point for point in range(rules.points)
                if before[rules.cell_of[point]] and not colours[rules.cell_of[point]]]

    def verdict(self, int action):
        return VERDICTS[verdict(&self.table.rules, self.block, self.history, action)]

    def legal_actions(self):
        cdef uint16_t actions[MAX_ACTIONS]
        cdef uint64_t banned
        cdef int count = legal_actions(&self.table.rules, self.block, self.history, actions,
                                       &banned)
        found = np.empty(count, dtype=np.int32)
        cdef int32_t[::1] view = found
        cdef int i
        for i in range(count):
            view[i] = actions[i]
        return found

    def switched_by(self, int point):
        """The points, ascending, whose stones a legal placement switches, back again or not."""
        cdef const Rules *rules = &self.table.rules
        cdef PositionCore twin = self.copy()
        cdef Switches switches
        cdef int cell = rules.cell_of[point], colour = self.block.to_play, i
        place(rules, twin.block, cell, colour)
        if judge_lines(rules, twin.block, cell, colour) == LINE_WINS:
            return []
        if not switch_around(rules, twin.block, cell, &switches):
            switch_own(rules, twin.block, cell, &switches)
        return sorted({rules.point_of[switches.cells[i]] for i in range(switches.count)})

    def fouls(self):
        """Black's forbidden points: {point: flags}, as in `_forbidden.pxd`; fives are left out.

        Empty where the rules forbid nothing.
        """
        cdef const Rules *rules = &self.table.rules
        cdef uint8_t flags[MAX_CELLS]
        cdef int i
        if not rules.forbidden:
            return {}
        forbidden_cells(rules, self.block, flags)
        return {
            i: flags[rules.cell_of[i]]
            for i in range(rules.points) if flags[rules.cell_of[i]] > FIVE
        }

    def judge(self, int point, int colour):
        """+1 if a stone of `colour` on `point` would win by a line, -1 if it would lose, else 0."""
        cdef int found = judge_lines(&self.table.rules, self.block,
                                     self.table.rules.cell_of[point], colour)
        return 1 if found == LINE_WINS else -1 if found == LINE_LOSES else 0

    def overline_wins(self, int colour):
        return self.table.rules.overline[colour] == OVERLINE_WINS

    def board(self):
        cdef const Rules *rules = &self.table.rules
        stones = np.empty((rules.height, rules.width), dtype=np.int8)
        cdef signed char[:, ::1] view = stones
        cdef int point
        for point in range(rules.points):
            view[point // rules.width, point % rules.width] = colours_of(
                rules, self.block)[rules.cell_of[point]]
        return stones

    def region(self):
        cdef const Rules *rules = &self.table.rules
        return [point for point in range(rules.points) if rules.in_region[rules.cell_of[point]]]

    def pack(self):
        cdef uint16_t actions[MAX_ACTIONS]
        cdef uint64_t banned
        cdef const Rules *rules = &self.table.rules
        cdef int count = legal_actions(rules, self.block, self.history, actions, &banned)
        packed = PyBytes_FromStringAndSize(NULL, packed_bytes(rules))
        pack(rules, self.block, actions, count, <uint8_t *> PyBytes_AS_STRING(packed))
        return packed

    def perft(self, int depth):
        cdef const Rules *rules = &self.table.rules
        cdef uint64_t count
        if depth < 0:
            raise ValueError(f"perft: depth {depth} is negative")
        blocks = <uint8_t *> malloc((depth + 1) * rules.position_bytes)
        if blocks == NULL:
            raise MemoryError
        memcpy(blocks, self.block, rules.position_bytes)
        with nogil:
            count = _perft(rules, blocks, self.history, depth)
        free(blocks)
        return count

    def recomputed_key(self):
        """`key` with the stones' part computed anew instead of incrementally."""
        cdef PositionCore twin = self.copy()
        rebuild(&twin.table.rules, twin.block)
        return position_key(&twin.table.rules, twin.block)

    @property
    def key(self):
        return position_key(&self.table.rules, self.block)

    @property
    def stones_key(self):
        return self.block.stones_key

    @property
    def ply(self):
        return self.block.ply

    @property
    def phase(self):
        return self.block.phase

    @property
    def to_play(self):
        return self.block.to_play

    @property
    def seat(self):
        return self.block.seat

    @property
    def black_seat(self):
        return self.block.black_seat

    @property
    def announced(self):
        return self.block.announced

    @property
    def offers(self):
        return [self.table.rules.point_of[self.block.offers[i]] for i in range(self.block.offered)]

    def equivalent_offer(self, int point):
        """The point offered already that this one is equivalent to."""
        cdef const Rules *rules = &self.table.rules
        return rules.point_of[_equivalent_offer(rules, self.block, rules.cell_of[point])]

    @property
    def reason(self):
        """None while the game runs, else a member of `engine.rules.REASONS`."""
        return REASONS[self.block.reason - 1] if self.block.reason else None

    @property
    def winner(self):
        """0 or 1 for the winning seat, None for a draw or while the game runs."""
        return None if self.block.winner == NOBODY else self.block.winner


cdef uint64_t _perft(const Rules *rules, uint8_t *blocks, History *history,
                     int depth) noexcept nogil:
    # `blocks` holds this position, then room for one more a level.
    cdef const Position *position = <const Position *> blocks
    cdef Position *below = <Position *> (blocks + rules.position_bytes)
    cdef uint16_t actions[MAX_ACTIONS]
    cdef uint64_t banned, total = 0
    cdef uint32_t known = history.count
    cdef int count, i
    if depth == 0:
        return 1
    count = legal_actions(rules, position, history, actions, &banned)
    if depth == 1:
        return count
    for i in range(count):
        memcpy(below, position, rules.position_bytes)
        play(rules, below, history, actions[i])
        total += _perft(rules, <uint8_t *> below, history, depth - 1)
        history_pop(history, known)
    return total


if MOST_OFFERS != MAX_OFFERS or OPTIONS[FIRST_NUMBER] != "1":
    raise AssertionError("MAX_OFFERS or FIRST_NUMBER does not match the Python constants")
