"""Search for wins by threats; see the header `_threats.pxd`.

Depth-first in an and-or tree, with one more move of the attacker's each time, so that the first win
found is the shortest of its kind. Patterns are counts of stones in *windows*, rows of `line_length`
points: a window is a necessary condition for a line, and `judge_lines` has the last word.
"""

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from engine._board cimport count_liberties, judge_lines
from engine._forbidden cimport is_forbidden
from engine._position cimport (
    PositionCore, RuleTable, history_copy, history_free, history_new, history_pop, legal_actions,
    play, position_key, verdict,
)
from engine._types cimport (
    BLACK, BORDER, EMPTY, FORBIDDEN_ILLEGAL, History, LEGAL, LINE_WINS, MAX_ACTIONS, MAX_CELLS,
    OVERLINE_WINS, Position, RUNNING, Rules, WHITE,
    colours_of, mix,
)

cdef enum:
    FOR_GOOD = 255              # moves within which there is no win: as many as one likes
    FOUR = 64                   # score of a move for each four that it makes; a three scores 1
    CLOCK_NODES = 256           # nodes between two looks at the clock
    UNMARKED = 0xFFFF
    MOST_FORKS = 8              # that are told apart

MOST = MOST_MOVES

cdef extern from *:
    int __builtin_ctzll(unsigned long long) noexcept nogil


# --- memory -------------------------------------------------------------------------------------

cdef Threats *threats_new(const Rules *rules, int table_bits) noexcept nogil:
    cdef Threats *s = <Threats *> calloc(1, sizeof(Threats))
    cdef bint failed = False
    cdef int i
    if s == NULL:
        return NULL
    s.rules = rules
    s.steady = not rules.chains and not rules.unblocked
    s.free = (not rules.captures and (rules.suicide or not rules.switches)
              and rules.forbidden != FORBIDDEN_ILLEGAL)
    _count_windows(s)
    s.padded = (s.windows + 7) // 8 * 8
    s.window_cells = <uint16_t *> malloc((s.windows * rules.line_length + 1) * sizeof(uint16_t))
    s.windows_of = <uint16_t *> malloc((s.windows * rules.line_length + 1) * sizeof(uint16_t))
    s.windows_at = <uint32_t *> calloc(rules.cells + 2, sizeof(uint32_t))
    s.marks = <uint16_t *> malloc(rules.cells * sizeof(uint16_t))
    s.partners = <uint16_t *> malloc(rules.cells * sizeof(uint16_t))
    s.found = <uint16_t *> malloc((s.windows + 1) * sizeof(uint16_t))
    s.cells = <uint16_t *> malloc((3 * s.windows + 1) * sizeof(uint16_t))
    s.table = <uint64_t *> calloc(<size_t> 1 << table_bits, sizeof(uint64_t))
    s.table_mask = (<uint64_t> 1 << table_bits) - 1
    for i in range(LEVELS):
        s.levels[i].position = <Position *> malloc(rules.position_bytes)
        s.levels[i].filled = <uint8_t *> malloc(s.padded + 8)
        s.levels[i].moves = <uint16_t *> malloc(rules.actions * sizeof(uint16_t))
        s.levels[i].scores = <int16_t *> malloc(rules.actions * sizeof(int16_t))
        failed = (failed or s.levels[i].position == NULL or s.levels[i].filled == NULL
                  or s.levels[i].moves == NULL or s.levels[i].scores == NULL)
    if (failed or s.window_cells == NULL or s.windows_of == NULL or s.windows_at == NULL
            or s.marks == NULL or s.partners == NULL or s.found == NULL or s.cells == NULL
            or s.table == NULL):
        threats_free(s)
        return NULL
    _list_windows(s)
    memset(s.marks, 0xFF, rules.cells * sizeof(uint16_t))
    return s


cdef void threats_free(Threats *s) noexcept nogil:
    cdef int i
    if s == NULL:
        return
    for i in range(LEVELS):
        free(s.levels[i].position)
        free(s.levels[i].filled)
        free(s.levels[i].moves)
        free(s.levels[i].scores)
    free(s.window_cells)
    free(s.windows_of)
    free(s.windows_at)
    free(s.marks)
    free(s.partners)
    free(s.found)
    free(s.cells)
    free(s.table)
    free(s)


cdef bint _is_window(const Rules *rules, int cell, int step) noexcept nogil:
    cdef int _k
    for _k in range(rules.line_length):
        if cell < 0 or cell >= rules.cells or not rules.in_region[cell]:
            return False
        cell += step
    return True


cdef void _count_windows(Threats *s) noexcept nogil:
    cdef int point, i
    for point in range(s.rules.points):
        for i in range(4):
            s.windows += _is_window(s.rules, s.rules.cell_of[point], s.rules.directions[i])


cdef void _list_windows(Threats *s) noexcept nogil:
    # The cells of each window, then the windows of each cell.
    cdef const Rules *rules = s.rules
    cdef int point, i, k, cell, window = 0, line = rules.line_length
    for point in range(rules.points):
        for i in range(4):
            if _is_window(rules, rules.cell_of[point], rules.directions[i]):
                for k in range(line):
                    cell = rules.cell_of[point] + k * rules.directions[i]
                    s.window_cells[window * line + k] = cell
                    s.windows_at[cell + 2] += 1
                window += 1
    for cell in range(rules.cells):
        s.windows_at[cell + 2] += s.windows_at[cell + 1]
    for window in range(s.windows):
        for k in range(line):
            cell = s.window_cells[window * line + k]
            s.windows_of[s.windows_at[cell + 1]] = window
            s.windows_at[cell + 1] += 1


# --- stones in windows --------------------------------------------------------------------------

cdef inline int _weight(int colour) noexcept nogil:
    return 1 if colour == BLACK else 16 if colour == WHITE else 0


cdef inline void _add(const Threats *s, uint8_t *filled, int cell, int weight) noexcept nogil:
    cdef uint32_t i
    for i in range(s.windows_at[cell], s.windows_at[cell + 1]):
        filled[s.windows_of[i]] += weight


cdef void _fill(const Threats *s, int level) noexcept nogil:
    # From the colours alone. No window has the number that fills up the last word.
    cdef const Rules *rules = s.rules
    cdef const uint8_t *colours = colours_of(rules, s.levels[level].position)
    cdef uint8_t *filled = s.levels[level].filled
    cdef int point
    memset(filled, 0, s.windows)
    memset(filled + s.windows, 0xFF, s.padded - s.windows)
    for point in range(rules.points):
        if colours[rules.cell_of[point]] != EMPTY:
            _add(s, filled, rules.cell_of[point], _weight(colours[rules.cell_of[point]]))


cdef int _windows_with(const Threats *s, int level, int colour, int stones,
                       uint16_t *cells) noexcept nogil:
    # The windows with so many stones of a colour and none of the other: writes the empty cells of
    # one after the other, `line_length - stones` each, and returns the number of windows.
    cdef const uint8_t *colours = colours_of(s.rules, s.levels[level].position)
    cdef const uint8_t *filled = s.levels[level].filled
    cdef const uint16_t *window
    cdef uint64_t ones = <uint64_t> 0x0101010101010101, highs = <uint64_t> 0x8080808080808080
    cdef uint64_t pattern = ones * <uint64_t> (stones * _weight(colour)), eight, zeros
    cdef int base, at, k, count = 0, line = s.rules.line_length
    if stones < 0:
        return 0
    for base in range(0, s.padded, 8):
        memcpy(&eight, filled + base, 8)
        eight ^= pattern
        zeros = (eight - ones) & ~eight & highs     # a bit for each zero byte, perhaps some more
        while zeros:
            at = base + (__builtin_ctzll(zeros) >> 3)
            zeros &= zeros - 1
            if filled[at] != stones * _weight(colour):
                continue
            window = s.window_cells + at * line
            for k in range(line):
                if colours[window[k]] == EMPTY:
                    cells[0] = window[k]
                    cells += 1
            count += 1
    return count


cdef int _completions(const Threats *s, int level, int colour, int limit,
                      uint16_t *cells) noexcept nogil:
    # The cells where a stone of the colour wins by a line, up to `limit`; returns their number.
    cdef const Position *position = s.levels[level].position
    cdef uint16_t *found = s.found
    cdef int i, k, count = 0
    cdef int windows = _windows_with(s, level, colour, s.rules.line_length - 1, found)
    for i in range(windows):
        for k in range(count):
            if cells[k] == found[i]:
                break
        else:
            if judge_lines(s.rules, position, found[i], colour) == LINE_WINS:
                cells[count] = found[i]
                count += 1
                if count == limit:
                    break
    return count


# --- going down ---------------------------------------------------------------------------------

cdef void _descend(Threats *s, int level, int action) noexcept nogil:
    # Makes the level below the position after a legal action.
    cdef const Rules *rules = s.rules
    cdef Position *here = s.levels[level].position
    cdef Position *below = s.levels[level + 1].position
    cdef uint8_t *filled = s.levels[level + 1].filled
    cdef int point, cell, colour = here.to_play
    memcpy(below, here, rules.position_bytes)
    play(rules, below, s.history, action)
    memcpy(filled, s.levels[level].filled, s.padded)
    s.nodes += 1
    if action >= rules.points:
        return
    if not rules.chains or (not rules.switches and below.stones == here.stones + 1):
        _add(s, filled, rules.cell_of[action], _weight(colour))
        return
    for point in range(rules.points):
        cell = rules.cell_of[point]
        if colours_of(rules, here)[cell] != colours_of(rules, below)[cell]:
            _add(s, filled, cell, _weight(colours_of(rules, below)[cell])
                 - _weight(colours_of(rules, here)[cell]))


cdef inline bint _is_legal(const Threats *s, int level, int cell) noexcept nogil:
    return s.free or verdict(s.rules, s.levels[level].position, s.history,
                             s.rules.point_of[cell]) == LEGAL


cdef bint _is_spent(Threats *s) noexcept nogil:
    cdef timespec now
    if s.nodes >= s.limit:
        s.spent = True
    elif s.deadline and s.nodes >= s.look:
        s.look = s.nodes + CLOCK_NODES
        clock_gettime(CLOCK_MONOTONIC, &now)
        s.spent = <int64_t> now.tv_sec * 1000000000 + now.tv_nsec >= s.deadline
    return s.spent


cdef void _keep_line(Threats *s, int level, int action) noexcept nogil:
    # The line from here is the action and the line below.
    cdef Level *here = &s.levels[level]
    cdef Level *below = &s.levels[level + 1]
    here.line[0] = action
    memcpy(here.line + 1, below.line, below.length * sizeof(uint16_t))
    here.length = below.length + 1


cdef inline void _clear_list(Threats *s, int level) noexcept nogil:
    # Forgets where the cells of the list are, so that another one can be made.
    cdef int k
    for k in range(s.levels[level].count):
        if s.levels[level].moves[k] < s.rules.points:
            s.marks[s.rules.cell_of[s.levels[level].moves[k]]] = UNMARKED


cdef inline int _list(Threats *s, int level, int cell) noexcept nogil:
    # The place of a cell in the level's list, which it is put into if it is not there yet.
    cdef Level *here = &s.levels[level]
    if s.marks[cell] == UNMARKED:
        s.marks[cell] = here.count
        here.moves[here.count] = s.rules.point_of[cell]
        here.scores[here.count] = 0
        here.count += 1
    return s.marks[cell]


# --- the attacker -------------------------------------------------------------------------------

cdef bint _attack(Threats *s, int level, int moves) noexcept nogil:
    # Whether the attacker, who is to act, wins with at most so many moves.
    cdef Level *here = &s.levels[level]
    cdef uint16_t cells[1]
    cdef uint32_t known = s.history.count
    cdef bint outer = s.cut, won
    cdef uint64_t key
    cdef int k, action
    if _is_spent(s):
        return False
    if _completions(s, level, s.colour, 1, cells):
        here.line[0], here.length = s.rules.point_of[cells[0]], 1
        return True
    key = position_key(s.rules, here.position) ^ s.salt
    if moves < 2:
        s.cut = s.cut or _may_go_on(s, level)
        return False
    if _is_refuted(s, key, moves):
        return False
    s.cut = False
    _list_threats(s, level, moves)
    for k in range(here.count):
        action = _next_move(here, k)
        if not _is_legal(s, level, s.rules.cell_of[action]):
            continue
        _descend(s, level, action)
        won = _defend(s, level + 1, moves - 1)
        history_pop(s.history, known)
        if won:
            _keep_line(s, level, action)
            return True
        if s.spent:
            return False
    s.table[key >> 8 & s.table_mask] = key & ~<uint64_t> 0xFF | (moves if s.cut else FOR_GOOD)
    s.cut = s.cut or outer
    return False


cdef bint _is_refuted(Threats *s, uint64_t key, int moves) noexcept nogil:
    # Whether the table knows that so many moves do not win. Notes whether more of them might.
    cdef uint64_t entry = s.table[key >> 8 & s.table_mask]
    if (entry ^ key) >> 8 or entry & 0xFF < <uint64_t> moves:
        return False
    if entry & 0xFF != FOR_GOOD:
        s.cut = True
    return True


cdef int _next_move(Level *here, int first) noexcept nogil:
    # The best move not tried yet, moved to its place.
    cdef int k, best = first
    cdef uint16_t action
    cdef int16_t score
    for k in range(first + 1, here.count):
        if here.scores[k] > here.scores[best]:
            best = k
    action, score = here.moves[best], here.scores[best]
    here.moves[best], here.scores[best] = here.moves[first], here.scores[first]
    here.moves[first], here.scores[first] = action, score
    return action


cdef void _list_threats(Threats *s, int level, int moves) noexcept nogil:
    # The moves that may make a four or a three, with scores. Where the defender threatens to
    # complete a line, and a stone stops that only there, nothing else.
    cdef Level *here = &s.levels[level]
    cdef uint16_t *cells = s.cells
    cdef uint16_t stopping[2]
    cdef int line = s.rules.line_length, i, windows, stops
    here.count = 0
    stops = _completions(s, level, BLACK + WHITE - s.colour, 2, stopping)
    if stops < 2 or not s.steady:
        for i in range(stops):
            _list(s, level, stopping[i])
    if not (stops and s.steady):
        windows = _windows_with(s, level, s.colour, line - 2, cells)
        for i in range(2 * windows):
            here.scores[_list(s, level, cells[i])] += FOUR
        if s.threes and moves >= 3:
            windows = _windows_with(s, level, s.colour, line - 3, cells)
            for i in range(3 * windows):
                here.scores[_list(s, level, cells[i])] += 1
        if s.rules.chains:                  # what leaves the board may have stood in a line's way
            _list_last_liberties(s, level, BLACK + WHITE - s.colour)
    s.cut = s.cut or (s.threes and moves < 3)
    _clear_list(s, level)


cdef bint _may_go_on(const Threats *s, int level) noexcept nogil:
    # Whether the attacker may have another threat: it has the stones, or something to capture.
    cdef int line = s.rules.line_length
    return (s.rules.chains or _windows_with(s, level, s.colour, line - 2, s.cells) > 0
            or (s.threes and _windows_with(s, level, s.colour, line - 3, s.cells) > 0))


# --- the defender -------------------------------------------------------------------------------

cdef bint _defend(Threats *s, int level, int moves) noexcept nogil:
    # Whether the attacker wins with at most so many moves, whatever the defender does now.
    cdef const Rules *rules = s.rules
    cdef Level *here = &s.levels[level]
    cdef const Position *position = here.position
    cdef uint16_t cells[MOST_COMPLETIONS]
    cdef uint32_t known = s.history.count
    cdef int k, completions
    cdef bint won
    here.length = 0
    if position.reason != RUNNING:
        return position.winner == s.attacker
    if rules.ply_limit and position.ply + 1 >= rules.ply_limit:
        return False                # whatever is played, the game ends
    if _completions(s, level, BLACK + WHITE - s.colour, 1, cells):
        return False
    completions = _completions(s, level, s.colour, MOST_COMPLETIONS, cells)
    if completions:
        if not _answer_four(s, level, cells, completions):
            return False
    elif not s.threes or not _answer_three(s, level, moves):
        return False
    for k in range(here.count):
        _descend(s, level, here.moves[k])
        if s.levels[level + 1].position.reason != RUNNING:
            s.levels[level + 1].length = 0
            won = s.levels[level + 1].position.winner == s.attacker
        else:
            won = _attack(s, level + 1, moves)
        history_pop(s.history, known)
        if not won:
            return False
        if s.levels[level + 1].length + 1 > here.length:
            _keep_line(s, level, here.moves[k])
    return True


cdef bint _answer_four(Threats *s, int level, const uint16_t *completions,
                       int count) noexcept nogil:
    # Lists the legal actions after which the attacker cannot complete a line; False: not known.
    cdef Level *here = &s.levels[level]
    cdef int i, kept = 0
    here.count = 0
    if s.steady:
        if count == 1 and _is_legal(s, level, completions[0]):
            _list(s, level, completions[0])
            _clear_list(s, level)
        return True
    if count == MOST_COMPLETIONS:
        return False
    for i in range(count):
        _list(s, level, completions[i])
        if s.rules.unblocked:
            _list_ends(s, level, completions[i])
    if s.rules.chains:
        _list_last_liberties(s, level, s.colour)
    _clear_list(s, level)
    for i in range(here.count):
        if _stops(s, level, here.moves[i]):
            here.moves[kept] = here.moves[i]
            kept += 1
    here.count = kept
    return True


cdef bint _stops(Threats *s, int level, int action) noexcept nogil:
    # Whether the action is legal and the attacker can neither complete a line then nor has won.
    cdef uint16_t cells[1]
    cdef uint32_t known = s.history.count
    if not _is_legal(s, level, s.rules.cell_of[action]):
        return False
    _descend(s, level, action)
    history_pop(s.history, known)
    if s.levels[level + 1].position.reason != RUNNING:
        return s.levels[level + 1].position.winner != s.attacker
    return not _completions(s, level + 1, s.colour, 1, cells)


cdef void _list_ends(Threats *s, int level, int completion) noexcept nogil:
    # The empty cells at both ends of the runs that the attacker's stone on a cell would make.
    cdef const uint8_t *colours = colours_of(s.rules, s.levels[level].position)
    cdef int i, step, at
    for i in range(8):
        step = s.rules.directions[i >> 1] if i & 1 else -s.rules.directions[i >> 1]
        at = completion + step
        while colours[at] == s.colour:
            at += step
        if colours[at] == EMPTY:
            _list(s, level, at)


cdef void _list_last_liberties(Threats *s, int level, int colour) noexcept nogil:
    # The empty cells that are the last liberty of a chain of a colour.
    cdef const Position *position = s.levels[level].position
    cdef const uint8_t *colours = colours_of(s.rules, position)
    cdef int point, i, cell, neighbour
    for point in range(s.rules.points):
        cell = s.rules.cell_of[point]
        if colours[cell] != EMPTY:
            continue
        for i in range(4):
            neighbour = cell + s.rules.orthogonal[i]
            if colours[neighbour] == colour and count_liberties(
                s.rules, position, neighbour, 2
            ) == 1:
                _list(s, level, cell)
                break


# --- the defender against a three ---------------------------------------------------------------
# If the attacker could move again, a stone would make a four that no answer stops: a *fork*. Where
# stones stay on the board, an action that touches no cell that the fork depends on, and makes no
# four, does not stop it and need not be tried. Elsewhere all legal actions are tried.

cdef bint _answer_three(Threats *s, int level, int moves) noexcept nogil:
    # Lists the defender's actions that must be tried; False: there is no three, or not known.
    cdef Level *here = &s.levels[level]
    cdef uint16_t candidates[MAX_CELLS]
    cdef uint16_t forks[MOST_FORKS]
    cdef uint8_t cover[MAX_CELLS]           # by cell: a bit for each fork that depends on it
    cdef bint local = _is_local(s, here.position)
    cdef int count, i, found = 0
    if moves < 2:
        s.cut = True
        return False
    _pass_turn(s, level)
    count = _list_forks(s, level + 1, candidates)
    memset(cover, 0, s.rules.cells)
    for i in range(count):
        if _is_fork(s, level + 1, candidates[i], local, 1 << found, cover):
            forks[found] = candidates[i]
            found += 1
            if found == MOST_FORKS:
                break
    if not found:
        return False
    here.count = 0
    for i in range(s.rules.points):
        if cover[s.rules.cell_of[i]] == (1 << found) - 1:
            _list_legal(s, level, s.rules.cell_of[i])
    if local:
        _list_fours(s, level)
        if s.rules.forbidden and s.colour == BLACK:
            _list_foul_makers(s, level, forks, found, cover)
    else:
        _list_all(s, level)
    _clear_list(s, level)
    return True


cdef bint _is_local(const Threats *s, const Position *position) noexcept nogil:
    # Whether stones stay, and whoever is not stopped can go on. The owner of Black may have nothing
    # but forbidden points left, which ends the game unless there is a pass.
    if s.rules.chains:
        return False
    if s.rules.forbidden == FORBIDDEN_ILLEGAL and s.colour == WHITE:
        return s.rules.passing and position.stones >= s.rules.pass_after
    return True


cdef void _pass_turn(Threats *s, int level) noexcept nogil:
    # Makes the level below the same position with the other seat to act.
    cdef Position *below = s.levels[level + 1].position
    memcpy(below, s.levels[level].position, s.rules.position_bytes)
    memcpy(s.levels[level + 1].filled, s.levels[level].filled, s.padded)
    below.to_play = BLACK + WHITE - below.to_play
    below.seat = 1 - below.seat
    below.ko = 0
    below.ply += 1


cdef int _list_forks(Threats *s, int level, uint16_t *candidates) noexcept nogil:
    # The cells where a stone may make a fork: it makes fours with two different cells left, or with
    # one where the answer may be illegal. Returns their number.
    cdef uint16_t *cells = s.cells
    cdef uint16_t *partners = s.partners
    cdef Level *here = &s.levels[level]
    cdef int windows = _windows_with(s, level, s.colour, s.rules.line_length - 2, cells)
    cdef int i, cell, partner, count = 0
    here.count = 0
    for i in range(2 * windows):
        cell, partner = cells[i], cells[i ^ 1]
        if s.marks[cell] == UNMARKED:
            partners[cell] = partner
        elif partners[cell] != partner:
            partners[cell] = 0              # several
        _list(s, level, cell)
    _clear_list(s, level)
    for i in range(here.count):
        cell = s.rules.cell_of[here.moves[i]]
        if not partners[cell] or not s.free:
            candidates[count] = cell
            count += 1
    return count


cdef bint _is_fork(Threats *s, int level, int cell, bint local, int bit,
                   uint8_t *cover) noexcept nogil:
    # Whether the attacker's stone there, with its seat to act, is a fork; if so, sets the bit of
    # the cells that it depends on. With `local`, only forks whose every cell is known.
    cdef Level *below = &s.levels[level + 1]
    cdef uint16_t cells[MOST_COMPLETIONS]
    cdef uint32_t known = s.history.count
    cdef int i, count
    if not _is_legal(s, level, cell):
        return False
    _descend(s, level, s.rules.point_of[cell])
    history_pop(s.history, known)
    if below.position.reason != RUNNING:
        return False
    if s.rules.ply_limit and below.position.ply + 1 >= s.rules.ply_limit:
        return False
    if _completions(s, level + 1, BLACK + WHITE - s.colour, 1, cells):
        return False
    count = _completions(s, level + 1, s.colour, MOST_COMPLETIONS, cells)
    if not count or (local and count < 2):
        return False
    if not _answer_four(s, level + 1, cells, count) or below.count:
        return False
    below.count = 0
    _list(s, level + 1, cell)
    for i in range(count if s.rules.unblocked or count == 2 or not local else 0):
        _list(s, level + 1, cells[i])
        if s.rules.unblocked:
            _list_ends(s, level + 1, cells[i])
    _clear_list(s, level + 1)
    for i in range(below.count):
        cover[s.rules.cell_of[below.moves[i]]] |= bit
    return True


cdef inline void _list_legal(Threats *s, int level, int cell) noexcept nogil:
    if (colours_of(s.rules, s.levels[level].position)[cell] == EMPTY
            and s.marks[cell] == UNMARKED and _is_legal(s, level, cell)):
        _list(s, level, cell)


cdef void _list_fours(Threats *s, int level) noexcept nogil:
    # Whatever may be a four of the defender's, which the attacker would have to answer.
    cdef uint16_t *cells = s.cells
    cdef int i
    cdef int windows = _windows_with(s, level, BLACK + WHITE - s.colour, s.rules.line_length - 2,
                                     cells)
    for i in range(2 * windows):
        _list_legal(s, level, cells[i])


cdef void _list_foul_makers(Threats *s, int level, const uint16_t *forks, int count,
                            const uint8_t *cover) noexcept nogil:
    # White's stones anywhere that forbid Black all those forks that do not depend on them: a stone
    # can make a three real by spoiling a four elsewhere.
    cdef Position *scratch = s.levels[level + 1].position       # the same stones
    cdef uint8_t *colours = colours_of(s.rules, scratch)
    cdef bint fragile[MOST_FORKS]
    cdef int point, cell, i
    for i in range(count):
        fragile[i] = _may_become_foul(s, level, forks[i])
    for point in range(s.rules.points):
        cell = s.rules.cell_of[point]
        if colours[cell] != EMPTY:
            continue
        colours[cell] = WHITE
        for i in range(count):
            if not cover[cell] >> i & 1 and not (
                fragile[i] and is_forbidden(s.rules, scratch, forks[i])
            ):
                break
        else:
            _list_legal(s, level, cell)
        colours[cell] = EMPTY


cdef bint _may_become_foul(const Threats *s, int level, int cell) noexcept nogil:
    # A white stone can add no five, overline or four: only a double-three, which has two black
    # stones within four points on two lines at least.
    cdef const uint8_t *colours = colours_of(s.rules, s.levels[level].position)
    cdef int i, k, side, step, stones, lines = 0
    for i in range(4):
        stones = 0
        for side in range(2):
            step = s.rules.directions[i] if side else -s.rules.directions[i]
            for k in range(1, 5):
                if colours[cell + k * step] == BORDER:
                    break
                stones += colours[cell + k * step] == BLACK
        lines += stones >= 2
    return lines >= 2


cdef void _list_all(Threats *s, int level) noexcept nogil:
    cdef Level *here = &s.levels[level]
    cdef uint16_t actions[MAX_ACTIONS]
    cdef uint64_t banned
    cdef int i
    cdef int count = legal_actions(s.rules, here.position, s.history, actions, &banned)
    for i in range(count):
        if actions[i] >= s.rules.points:
            here.moves[here.count] = actions[i]
            here.count += 1
        else:
            _list(s, level, s.rules.cell_of[actions[i]])


# --- the search ---------------------------------------------------------------------------------

cdef bint _has_line(const Threats *s) noexcept nogil:
    # Whether a row that wins is there already, as only a set-up can have it: then a stone beside it
    # wins too, in no window.
    cdef int w, colour
    for colour in range(BLACK, WHITE + 1):
        if s.rules.overline[colour] != OVERLINE_WINS or s.rules.unblocked:
            continue
        for w in range(s.windows):
            if s.levels[0].filled[w] == s.rules.line_length * _weight(colour):
                return True
    return False


cdef int threats_search(Threats *s, const Position *position, History *history, bint threes,
                        int most, int64_t nodes, int64_t deadline) noexcept nogil:
    # Both kinds deepen together, so that the shorter win is found first. Each has its share of the
    # nodes: fours need few, and go on where threes have become too many.
    cdef int64_t left[2]
    cdef bint done[2]
    cdef bint spent = False
    cdef int moves, kind
    if position.reason != RUNNING or position.phase != s.rules.play_phase:
        return 0
    s.history, s.deadline, s.nodes = history, deadline, 0
    s.attacker, s.colour = position.seat, position.to_play
    s.searches += 1
    memcpy(s.levels[0].position, position, s.rules.position_bytes)
    _fill(s, 0)
    if _has_line(s):
        return 0
    left[1] = nodes // 2 if threes else 0
    left[0] = nodes - left[1]
    done[0], done[1] = False, not threes
    for moves in range(1, min(most, MOST_MOVES) + 1):
        for kind in range(2):
            if done[kind]:
                continue
            s.threes, s.salt = kind, mix(2 * s.searches + kind)
            s.cut = s.spent = False
            s.limit, s.look = s.nodes + left[kind], s.nodes
            if _attack(s, 0, moves):
                return moves
            left[kind] = s.limit - s.nodes
            done[kind] = s.spent or not s.cut
            spent = spent or s.spent
            if done[0] and not kind:
                left[1], left[0] = left[1] + left[0], 0
        if done[0] and done[1]:
            break
    s.spent = spent
    return 0


@final
cdef class ThreatCore:
    """Searches positions of one `RuleTable`; `engine.threats` is its public face."""

    def __cinit__(self, RuleTable table, int table_bits):
        self.table = table
        self.threats = threats_new(&table.rules, table_bits)
        self.history = history_new()
        if self.threats == NULL or self.history == NULL:
            raise MemoryError

    def __dealloc__(self):
        threats_free(self.threats)
        history_free(self.history)

    def search(self, PositionCore position, bint threes, int most, int64_t nodes,
               double until, bint passed):
        """The actions of a win of the seat to act, or of the other one with `passed`; else None.

        `until` is a time of the monotonic clock in seconds, 0 for none.
        """
        cdef Threats *s = self.threats
        cdef const Position *block = position.block
        cdef int moves
        cdef int64_t deadline = <int64_t> (until * 1e9)
        if history_copy(position.history, self.history) < 0:
            raise MemoryError
        with nogil:
            if passed:
                memcpy(s.levels[0].position, block, self.table.rules.position_bytes)
                _pass_turn(s, 0)
                block = s.levels[1].position
            moves = threats_search(s, block, self.history, threes, most, nodes, deadline)
        if not moves:
            return None
        return [s.levels[0].line[k] for k in range(s.levels[0].length)], moves

    @property
    def nodes(self):
        """Positions made by the last search."""
        return self.threats.nodes

    @property
    def spent(self):
        """Whether the last search ended for want of nodes or time."""
        return self.threats.spent
