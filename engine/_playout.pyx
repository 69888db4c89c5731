"""Loops in C for measurements: random playouts, copies, lists and look-ups; and faces for tests.

Nothing of the engine uses them. `benchmarks/engine.py` times them; what they return keeps the
compiler from leaving the work out, and lets tests check that it was done right.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from engine._features cimport GLOBAL_COUNT, PLANE_COUNT, write_blank, write_features
from engine._forbidden cimport FIVE, forbidden_cells, fouls_at, is_forbidden
from engine._position cimport (
    PositionCore, RuleTable, history_copy, history_free, history_has, history_new, history_pop,
    legal_actions, play, position_key, start, verdict,
)
from engine._types cimport (
    EMPTY, History, LEGAL, MAX_ACTIONS, MAX_CELLS, MAX_POINTS, MAX_POSITION_WORDS, PASS, Position,
    RUNNING, Rules, colours_of, mix,
)

cdef enum:
    MOST_TRACED = 256           # trees of `retrace`

cdef struct Board:              # the points, the empty ones first
    int empty
    uint16_t points[MAX_POINTS]

cdef struct Item:               # a position of a list, with what its functions want to know
    const Rules *rules
    const Position *position
    const History *history


# --- random playouts ----------------------------------------------------------------------------

cdef inline uint32_t _below(uint64_t *state, uint32_t limit) noexcept nogil:
    # xorshift64* (Vigna 2016), its upper half scaled: uneven by less than limit / 2**32.
    state[0] ^= state[0] >> 12
    state[0] ^= state[0] << 25
    state[0] ^= state[0] >> 27
    return (state[0] * <uint64_t> 0x2545F4914F6CDD1D >> 32) * limit >> 32


cdef uint64_t _state_of(uint64_t seed) noexcept nogil:
    # The generator must not start from zero: there it stays.
    cdef uint64_t state = mix(seed)
    return state if state else 1


cdef inline void _exchange(Board *board, int first, int second) noexcept nogil:
    cdef uint16_t point = board.points[first]
    board.points[first] = board.points[second]
    board.points[second] = point


cdef void _find_empty(const Rules *rules, const Position *position, Board *board) noexcept nogil:
    cdef int point
    board.empty = 0
    for point in range(rules.points):
        board.points[point] = point
        if colours_of(rules, position)[rules.cell_of[point]] == EMPTY:
            _exchange(board, board.empty, point)
            board.empty += 1


cdef int _sampled(const Rules *rules, const Position *position, const History *history,
                  Board *board, uint64_t *state) noexcept nogil:
    # An empty point is drawn until one is legal: so each legal one is as likely as the others.
    cdef int left = board.empty, point
    while left:
        left -= 1
        _exchange(board, _below(state, left + 1), left)
        point = board.points[left]
        if verdict(rules, position, history, point) == LEGAL:
            board.empty -= 1
            _exchange(board, left, board.empty)
            return point
    return rules.points + PASS


cdef void _add_emptied(const Rules *rules, const Position *position, Board *board) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int i, empty = rules.points - position.stones
    for i in range(board.empty, rules.points):
        if board.empty == empty:
            return
        if colours[rules.cell_of[board.points[i]]] == EMPTY:
            _exchange(board, i, board.empty)
            board.empty += 1


cdef int _listed(const Rules *rules, const Position *position, const History *history,
                 uint64_t *state) noexcept nogil:
    # In normal play a pass is the last of the list; it is only chosen where it is alone.
    cdef uint16_t actions[MAX_ACTIONS]
    cdef uint64_t banned
    cdef int count = legal_actions(rules, position, history, actions, &banned)
    if position.phase == rules.play_phase and count > 1 and actions[count - 1] >= rules.points:
        count -= 1
    return actions[_below(state, count)]


cdef void _play_game(const Rules *rules, Position *position, History *history, uint64_t seed,
                     bint lists, int cap, uint16_t *actions) noexcept nogil:
    # `actions` receives what is played, unless it is NULL.
    cdef uint64_t state = _state_of(seed)
    cdef Board board
    cdef bint plain
    cdef int action
    start(rules, position, history)
    _find_empty(rules, position, &board)
    while position.reason == RUNNING and position.ply < cap:
        plain = position.phase == rules.play_phase and not lists
        if plain:
            action = _sampled(rules, position, history, &board, &state)
        else:
            action = _listed(rules, position, history, &state)
        if actions != NULL:
            actions[position.ply] = action
        play(rules, position, history, action)
        if plain:
            _add_emptied(rules, position, &board)
        elif not lists:
            _find_empty(rules, position, &board)


def playouts(RuleTable table, int games, uint64_t seed, bint lists, int cap):
    """Games of uniformly random legal placements; a pass only where there is none.

    Opening phases draw from all their legal actions. Game i is drawn from `seed + i` and ends
    after `cap` plies at the latest. With `lists` the full list of legal actions is made at each
    ply, else points are drawn until one is legal: the same distribution, but other games. Returns
    (plies, games, the final positions' keys combined by xor). Raises `MemoryError`.
    """
    cdef const Rules *rules = &table.rules
    cdef uint64_t block[MAX_POSITION_WORDS]
    cdef Position *position = <Position *> block
    cdef uint64_t plies = 0, checksum = 0
    cdef History *history = history_new()
    cdef int i
    if history == NULL:
        raise MemoryError
    with nogil:
        for i in range(games):
            _play_game(rules, position, history, seed + i, lists, cap, NULL)
            plies += position.ply
            checksum ^= position_key(rules, position)
    history_free(history)
    return plies, games, checksum


def playout(RuleTable table, uint64_t seed, bint lists, int cap):
    """The actions of the game that `playouts` draws from a seed. Raises `MemoryError`."""
    cdef uint64_t block[MAX_POSITION_WORDS]
    cdef Position *position = <Position *> block
    cdef History *history = history_new()
    cdef uint16_t *actions = <uint16_t *> malloc((cap + 1) * sizeof(uint16_t))
    try:
        if history == NULL or actions == NULL:
            raise MemoryError
        _play_game(&table.rules, position, history, seed, lists, cap, actions)
        return [actions[i] for i in range(position.ply)]
    finally:
        free(actions)
        history_free(history)


# --- copies -------------------------------------------------------------------------------------

def repeat_copy(PositionCore core, int copies, bint with_history):
    """Copies the position to and fro, which takes two blocks of memory; returns the copy's key.

    `with_history`: the set of earlier boards as well. Raises `MemoryError`.
    """
    cdef const Rules *rules = &core.table.rules
    cdef uint64_t blocks[2][MAX_POSITION_WORDS]
    cdef History *histories[2]
    cdef uint32_t size = rules.position_bytes
    cdef int i, failed = 0
    histories[0], histories[1] = history_new(), history_new()
    try:
        if histories[0] == NULL or histories[1] == NULL:
            raise MemoryError
        memcpy(blocks[0], core.block, size)
        if history_copy(core.history, histories[0]) < 0:
            raise MemoryError
        with nogil:
            for i in range(copies):
                memcpy(blocks[~i & 1], blocks[i & 1], size)
                if with_history:
                    failed |= history_copy(histories[i & 1], histories[~i & 1])
        if failed:
            raise MemoryError
        return position_key(rules, <Position *> blocks[copies & 1])
    finally:
        history_free(histories[0])
        history_free(histories[1])


# --- lists and look-ups -------------------------------------------------------------------------

cdef Item *_items(list cores) except NULL:
    # Of `PositionCore`s, which must outlive them; the caller frees.
    cdef Item *items = <Item *> malloc((len(cores) + 1) * sizeof(Item))
    cdef PositionCore core
    cdef int i
    if items == NULL:
        raise MemoryError
    for i in range(len(cores)):
        core = cores[i]
        items[i].rules = &core.table.rules
        items[i].position = core.block
        items[i].history = core.history
    return items


def list_legal(list cores):
    """Makes the list of legal actions of each position; returns the number of actions."""
    cdef uint16_t actions[MAX_ACTIONS]
    cdef uint64_t banned, total = 0
    cdef int i, count = len(cores)
    cdef Item *items = _items(cores)
    with nogil:
        for i in range(count):
            total += legal_actions(items[i].rules, items[i].position, items[i].history, actions,
                                   &banned)
    free(items)
    return total


def list_fouls(list cores):
    """Judges all points of each position for Black; returns the number of forbidden ones."""
    cdef uint8_t flags[MAX_CELLS]
    cdef uint64_t total = 0
    cdef int i, cell, count = len(cores)
    cdef Item *items = _items(cores)
    with nogil:
        for i in range(count):
            forbidden_cells(items[i].rules, items[i].position, flags)
            for cell in range(items[i].rules.cells):
                total += flags[cell] > FIVE
    free(items)
    return total


def look_up(PositionCore core, int keys):
    """Looks up so many keys, all but a few of them absent, in the set of earlier boards.

    Returns the number found.
    """
    cdef const Rules *rules = &core.table.rules
    cdef uint64_t key, found = 0
    cdef int i
    with nogil:
        for i in range(keys):
            # Keys as of a stone placed: what is asked for under superko.
            key = core.block.stones_key ^ rules.stone_keys[1 + (i & 1)][i % rules.cells]
            found += history_has(core.history, key ^ rules.seat_keys[i & 1])
    return found


def remembered(PositionCore core):
    """The number of earlier boards that the position's history holds."""
    return core.history.count


# --- a search without its tree --------------------------------------------------------------------

def retrace(list cores, const int32_t[:, ::1] parents, const int32_t[:, ::1] actions,
            const int32_t[::1] canvas):
    """Plays to every node of some trees, lists its actions and writes its features.

    `cores` are the trees' positions, of one game; node i > 0 of tree t is reached by
    `actions[i, t]` from node `parents[i, t]` < i, which is -1 behind the tree's last node. The
    trees take turns, a node each, as they do in a search; what that costs beyond this is the trees.
    Returns the number of actions listed and the combined key of the positions.
    """
    cdef RuleTable table = (<PositionCore> cores[0]).table
    cdef const Rules *rules = &table.rules
    cdef Position *blocks[MOST_TRACED]
    cdef History *histories[MOST_TRACED]
    cdef uint64_t block[MAX_POSITION_WORDS]
    cdef Position *position = <Position *> block
    cdef uint16_t legal[MAX_ACTIONS]
    cdef int path[MAX_ACTIONS]
    cdef uint64_t banned, key = 0, total = 0
    cdef uint32_t known
    cdef int tree, i, at, depth, count, trees = len(cores)
    if trees > MOST_TRACED:
        raise ValueError(f"retrace: {trees} trees are more than {MOST_TRACED}")
    for tree in range(trees):
        blocks[tree] = (<PositionCore> cores[tree]).block
        histories[tree] = (<PositionCore> cores[tree]).history
    planes = np.zeros((trees, PLANE_COUNT, canvas.shape[0]), np.uint8)
    globals_ = np.zeros((trees, GLOBAL_COUNT), np.float32)
    cdef uint8_t[:, :, ::1] planes_at = planes
    cdef float[:, ::1] globals_at = globals_
    cdef uint8_t blank[2 * MAX_POINTS]
    write_blank(rules, &canvas[0], rules.points, blank)
    with nogil:
        for i in range(1, parents.shape[0]):
            for tree in range(trees):
                if parents[i, tree] < 0:
                    continue
                memcpy(position, blocks[tree], rules.position_bytes)
                known = histories[tree].count
                at, depth = i, 0
                while at:
                    path[depth] = actions[at, tree]
                    depth += 1
                    at = parents[at, tree]
                while depth:
                    depth -= 1
                    play(rules, position, histories[tree], path[depth])
                if position.reason == RUNNING:
                    count = legal_actions(rules, position, histories[tree], legal, &banned)
                    total += count
                    key ^= position_key(rules, position) ^ banned
                    write_features(rules, position, 0, legal, count, &canvas[0], blank,
                                   rules.points, &planes_at[tree, 0, 0], &globals_at[tree, 0])
                history_pop(histories[tree], known)
    return total, key


# --- forbidden points, for tests ------------------------------------------------------------------

def flagged_points(PositionCore core):
    """The flags of all points where a black stone makes a five or a foul, by point."""
    cdef const Rules *rules = &core.table.rules
    cdef uint8_t flags[MAX_CELLS]
    cdef int point
    cdef dict flagged = {}
    forbidden_cells(rules, core.block, flags)
    for point in range(rules.points):
        if flags[rules.cell_of[point]]:
            flagged[point] = flags[rules.cell_of[point]]
    return flagged


def point_flags(PositionCore core, int point):
    """The flags of one point; 0 where it is not empty."""
    return fouls_at(&core.table.rules, core.block, _cell(core, point))


def point_is_forbidden(PositionCore core, int point):
    """Whether Black must not play on a point."""
    return bool(is_forbidden(&core.table.rules, core.block, _cell(core, point)))


cdef int _cell(PositionCore core, int point) except -1:
    if not 0 <= point < core.table.rules.points:
        raise IndexError(f"point: {point} is not on the board")
    return core.table.rules.cell_of[point]
