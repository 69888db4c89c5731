"""Exact results by alpha-beta search; `engine.solver.Solver` is the public face.

Two questions are searched one after the other, each by its own null-window search: can seat A force
a win, can seat B. A search asks for a win *within a number of plies* and is repeated with more of
them, so wins come with their exact length, and a result of one depth orders the moves of the next.
A transposition table keeps for both seats the shortest win and the longest refuted depth of a
position; positions that are turned into each other by a symmetry of the board share an entry.

Where stones stay on the board and seats simply alternate (*plain* rules: no captures, passes or ply
limit) the search is small because of the following. A *window* is a row of `line_length` points.

- Whoever can complete a line does. A seat that faces one line about to be completed blocks it; one
  that faces two is lost.
- Where every full window wins, a *fork* is a point that makes two such threats at once. Whoever may
  play one wins; a seat that faces forks must spoil all of them or make a threat of its own.
- If the attacker still needs e(w) stones in each window w without a stone of the defender, and the
  sum of 2^-e(w) over these windows is below 1 with the defender to move, then the defender can
  spoil them all (Erdős and Selfridge 1973), and there is no win. The sum may leave out the windows
  that need more stones than the attacker places within the depth. This sees dead lines and draws
  early.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from engine._board cimport judge_lines
from engine._position cimport (
    PositionCore, RuleTable, history_free, history_new, legal_actions, play, position_key,
)
from engine._types cimport (
    BLACK, EMPTY, History, LINE_WINS, MAX_OFFERS, MAX_PHASES, OVERLINE_LOSES, OVERLINE_WINS,
    Position, RUNNING, Rules, WHITE,
    colours_of,
)

cdef enum:
    NEVER = 32000               # a depth that no game reaches: refuted for good
    UNKNOWN = 32001             # no win known
    NO_MOVE = 0xFFFF
    WAYS = 2                    # entries that a key can be stored in
    SIGNAL_NODES = 1 << 18      # nodes between two looks for Ctrl-C

FOREVER = NEVER

cdef struct Entry:              # 24 bytes
    uint64_t key                # 0: free
    uint16_t win[2]             # by attacker's seat: plies of the shortest win known, or UNKNOWN
    uint16_t refuted[2]         # no win within so many plies
    uint16_t move[2]            # the action that decided, as the canonical symmetry sees it
    uint32_t cost               # nodes that the last result took

cdef struct Level:              # one ply of the line that is being searched
    uint64_t turned_keys[8]     # Zobrist keys of the stones under each symmetry
    uint16_t *moves             # [actions]
    int32_t *scores             # [actions]

cdef struct Fork:               # what a stone on a cell would threaten
    uint16_t threats            # cells where the next stone would win; 3 for more
    uint16_t wins[2]            # the first two of them

# A result is a number of plies: n >= 0 says that the attacker wins within n, n < 0 that there is no
# win within -1 - n.
cdef inline int _refuted(int depth) noexcept nogil:
    return -1 - (depth if depth < NEVER else <int> NEVER)


cdef inline bint _add_threat(Fork *fork, int cell) noexcept nogil:
    # Returns whether it is a second one.
    cdef int k
    for k in range(fork.threats if fork.threats < 2 else 2):
        if fork.wins[k] == cell:
            return False
    if fork.threats < 2:
        fork.wins[fork.threats] = cell
    if fork.threats < 3:
        fork.threats += 1
    return fork.threats > 1


@final
cdef class SolverCore:
    """Searches positions of one `RuleTable`."""

    cdef readonly RuleTable table
    cdef const Rules *rules
    cdef bint plain                     # see the module's text
    cdef bint bounded[3]                # by the attacker's colour: the potential holds
    cdef bint exact_windows             # a full window always wins
    cdef Entry *entries
    cdef uint64_t buckets_mask
    cdef uint8_t *blocks                # [levels] positions
    cdef Level *levels
    cdef int level_count
    cdef History *history
    cdef int turns                      # symmetries of the board
    cdef uint16_t *turned_cells         # [8][cells]
    cdef uint16_t *turned_actions       # [8][actions]
    cdef int back[8]                    # inverse symmetries
    cdef int windows                    # number of windows
    cdef int line
    cdef uint16_t *window_cells         # [windows][line]
    cdef uint16_t *windows_at           # [cells + 1] where a cell's list begins
    cdef uint16_t *windows_of           # windows by cell
    cdef uint8_t *filled                # [3][windows] stones in a window by colour
    cdef int32_t *totals                # [4][cells] sums over the windows of an empty cell
    cdef Fork *own_forks                # [cells] of the colour to move
    cdef Fork *other_forks              # [cells]
    cdef uint16_t *answers              # [cells] forks of the other colour that a stone spoils
    cdef int64_t budget                 # nodes that a call may still visit; < 0: no limit
    cdef bint spent                     # the budget ran out: results mean nothing
    cdef object error                   # raised by a signal's handler during the search, or None
    cdef readonly int64_t nodes         # visited since the solver was made

    def __cinit__(self, RuleTable table, int table_bits, object turned):
        cdef const Rules *rules = &table.rules
        cdef int i, actions = rules.actions
        self.table = table
        self.rules = rules
        self.line = rules.line_length
        self.plain = not (
            rules.chains or rules.passing or rules.ply_limit or rules.forbidden or rules.unblocked
        )
        self.exact_windows = True
        for colour in (BLACK, WHITE):
            if rules.overline[colour] != OVERLINE_WINS:
                self.exact_windows = False
            # A defender whose overlines lose may be forced to make one; then a bound on the
            # attacker's lines bounds nothing.
            self.bounded[BLACK + WHITE - colour] = rules.overline[colour] != OVERLINE_LOSES
        self.level_count = self._longest_game() + 2
        self.buckets_mask = (<uint64_t> 1 << table_bits) // WAYS - 1
        self.entries = <Entry *> calloc(<size_t> 1 << table_bits, sizeof(Entry))
        self.blocks = <uint8_t *> malloc(<size_t> self.level_count * rules.position_bytes)
        self.levels = <Level *> calloc(self.level_count, sizeof(Level))
        self.history = history_new()
        self.totals = <int32_t *> calloc(4 * rules.cells, sizeof(int32_t))
        self.own_forks = <Fork *> calloc(rules.cells, sizeof(Fork))
        self.other_forks = <Fork *> calloc(rules.cells, sizeof(Fork))
        self.answers = <uint16_t *> calloc(rules.cells, sizeof(uint16_t))
        if (self.entries == NULL or self.blocks == NULL or self.levels == NULL
                or self.history == NULL or self.totals == NULL
                or self.own_forks == NULL or self.other_forks == NULL or self.answers == NULL):
            raise MemoryError
        for i in range(self.level_count):
            self.levels[i].moves = <uint16_t *> malloc(actions * sizeof(uint16_t))
            self.levels[i].scores = <int32_t *> malloc(actions * sizeof(int32_t))
            if self.levels[i].moves == NULL or self.levels[i].scores == NULL:
                raise MemoryError
        self._set_symmetries(turned)
        self._set_windows()

    def __dealloc__(self):
        cdef int i
        if self.levels != NULL:
            for i in range(self.level_count):
                free(self.levels[i].moves)
                free(self.levels[i].scores)
        free(self.levels)
        free(self.blocks)
        free(self.entries)
        history_free(self.history)
        free(self.turned_cells)
        free(self.turned_actions)
        free(self.window_cells)
        free(self.windows_at)
        free(self.windows_of)
        free(self.filled)
        free(self.totals)
        free(self.own_forks)
        free(self.other_forks)
        free(self.answers)

    def _longest_game(self):
        rules = self.table.rule_set
        if rules.ply_limit:
            return rules.ply_limit
        # Without captures every placement fills a point, and no two passes follow each other
        # but at the end; an opening's options are taken once each, and its offers.
        return (2 if rules.passing else 1) * rules.points + 2 + MAX_PHASES + MAX_OFFERS

    def _set_symmetries(self, turned):
        # `turned` [symmetries][actions]: where each action goes.
        cdef const Rules *rules = self.rules
        cdef int s, t, action
        self.turns = len(turned)
        self.turned_cells = <uint16_t *> calloc(8 * rules.cells, sizeof(uint16_t))
        self.turned_actions = <uint16_t *> calloc(8 * rules.actions, sizeof(uint16_t))
        if self.turned_cells == NULL or self.turned_actions == NULL:
            raise MemoryError
        for s in range(self.turns):
            for action in range(rules.actions):
                self.turned_actions[s * rules.actions + action] = turned[s][action]
            for action in range(rules.points):
                self.turned_cells[s * rules.cells + rules.cell_of[action]] = (
                    rules.cell_of[<int> turned[s][action]])
            for t in range(self.turns):
                if all(turned[t][turned[s][action]] == action for action in range(rules.points)):
                    self.back[s] = t

    def _set_windows(self):
        cdef const Rules *rules = self.rules
        cdef int cell, i, k, at = 0
        found = []
        if self.plain:
            for point in range(rules.points):
                for i in range(4):
                    cell = rules.cell_of[point]
                    row = []
                    while len(row) < self.line and rules.in_region[cell]:
                        row.append(cell)
                        cell += rules.directions[i]
                    if len(row) == self.line:
                        found.append(row)
        self.windows = len(found)
        self.window_cells = <uint16_t *> malloc((len(found) * self.line + 1) * sizeof(uint16_t))
        self.windows_of = <uint16_t *> malloc((len(found) * self.line + 1) * sizeof(uint16_t))
        self.windows_at = <uint16_t *> calloc(rules.cells + 1, sizeof(uint16_t))
        self.filled = <uint8_t *> calloc(3 * len(found) + 1, sizeof(uint8_t))
        if (self.window_cells == NULL or self.windows_of == NULL or self.windows_at == NULL
                or self.filled == NULL):
            raise MemoryError
        for i, row in enumerate(found):
            for k in range(self.line):
                self.window_cells[i * self.line + k] = row[k]
        for cell in range(rules.cells):
            self.windows_at[cell] = at
            for i, row in enumerate(found):
                if cell in row:
                    self.windows_of[at] = i
                    at += 1
        self.windows_at[rules.cells] = at

    # --- what Python calls ---

    def set_position(self, PositionCore position):
        """The position that `attack` searches."""
        cdef const Rules *rules = self.rules
        cdef const uint8_t *colours = colours_of(rules, position.block)
        cdef int cell, colour, s
        memcpy(self.blocks, position.block, rules.position_bytes)
        memset(self.filled, 0, 3 * self.windows)
        for s in range(self.turns):
            self.levels[0].turned_keys[s] = rules.rules_key
        for point in range(rules.points):
            cell = rules.cell_of[point]
            colour = colours[cell]
            if colour == EMPTY:
                continue
            self._count_windows(cell, colour, 1)
            for s in range(self.turns):
                self.levels[0].turned_keys[s] ^= (
                    rules.stone_keys[colour][self.turned_cells[s * rules.cells + cell]])

    def attack(self, int seat, int depth, int64_t max_nodes):
        """Whether the seat can force a win within `depth` plies of the position set.

        Returns (True, plies of the shortest win known), (False, plies within which there is none),
        or None when more than `max_nodes` nodes (-1: any number) were needed. The position must not
        be over.
        """
        cdef int found
        self.budget = max_nodes
        self.spent = False
        with nogil:
            found = self._search(0, seat, min(depth, <int> NEVER))
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.spent:
            return None
        if found >= 0:
            return True, found
        return False, -1 - found

    def clear(self):
        """Forgets all results."""
        memset(self.entries, 0, (self.buckets_mask + 1) * WAYS * sizeof(Entry))

    # --- the search ---

    cdef inline Position *_position(self, int level) noexcept nogil:
        return <Position *> (self.blocks + <size_t> level * self.rules.position_bytes)

    cdef int _search(self, int level, int attacker, int depth) noexcept nogil:
        # `depth` >= 1; the level's position is not over.
        cdef const Position *position = self._position(level)
        cdef int turn = 0, found, count
        cdef int64_t before = self.nodes
        cdef uint64_t key
        cdef Entry *entry
        cdef int hint = NO_MOVE, decided = NO_MOVE
        if self.budget == 0:
            self.spent = True
            return _refuted(0)
        self.budget -= 1
        self.nodes += 1
        if self.nodes % SIGNAL_NODES == 0 and self._interrupted():
            return _refuted(0)
        key = self._key(level, &turn)
        entry = self._entry(key)
        if entry.key == key:
            if entry.win[attacker] <= depth:
                return entry.win[attacker]
            if entry.refuted[attacker] >= depth:
                return _refuted(entry.refuted[attacker])
            if entry.move[attacker] != NO_MOVE:
                hint = self.turned_actions[self.back[turn] * self.rules.actions
                                           + entry.move[attacker]]
        found = 0
        if self.plain and position.phase == self.rules.play_phase:
            count = self._plain_moves(level, attacker, depth, hint, &found)
        else:
            found = _refuted(NEVER) if position.seat == attacker else 0
            count = self._all_moves(level, hint)
        if count:
            found = self._try_moves(level, attacker, depth, count, found, &decided)
            if self.spent:
                return found
        if decided != NO_MOVE:
            decided = self.turned_actions[turn * self.rules.actions + decided]
        self._store(key, attacker, found, decided, self.nodes - before)
        return found

    cdef bint _interrupted(self) noexcept nogil:
        # After Ctrl-C the search ends as if its budget were spent; the exception is kept.
        with gil:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.error = error
                self.spent = True
        return self.spent

    cdef int _try_moves(self, int level, int attacker, int depth, int count, int held,
                        int *decided) noexcept nogil:
        # The result of the moves listed; `held` is that of the moves left out.
        cdef Level *here = &self.levels[level]
        cdef bint attacks = self._position(level).seat == attacker
        cdef int k, found, action, worst = held
        for k in range(count):
            action = self._next_move(here, k, count)
            found = self._after(level, action, attacker, depth - 1)
            if self.spent:
                return found
            if found >= 0:
                found += 1
            else:
                found = _refuted(-found)
            if attacks == (found >= 0):
                decided[0] = action
                return found
            if attacks:
                held = max(held, found)     # the lowest depth refuted
            elif found > worst:
                worst = found
        return held if attacks else worst

    cdef int _after(self, int level, int action, int attacker, int depth) noexcept nogil:
        # The result after an action at this level.
        cdef const Rules *rules = self.rules
        cdef Position *position = self._position(level)
        cdef Position *below = self._position(level + 1)
        cdef int cell = -1, colour = position.to_play, found, s
        memcpy(below, position, rules.position_bytes)
        play(rules, below, self.history, action)
        if below.reason != RUNNING:
            return 0 if below.winner == attacker else _refuted(NEVER)
        if depth == 0:
            return _refuted(0)
        for s in range(self.turns):
            self.levels[level + 1].turned_keys[s] = self.levels[level].turned_keys[s]
        if action < rules.points:
            cell = rules.cell_of[action]
            for s in range(self.turns):
                self.levels[level + 1].turned_keys[s] ^= (
                    rules.stone_keys[colour][self.turned_cells[s * rules.cells + cell]])
            self._count_windows(cell, colour, 1)
        found = self._search(level + 1, attacker, depth)
        if cell >= 0:
            self._count_windows(cell, colour, -1)
        return found

    cdef inline void _count_windows(self, int cell, int colour, int change) noexcept nogil:
        cdef uint8_t *filled = self.filled + colour * self.windows
        cdef int i
        for i in range(self.windows_at[cell], self.windows_at[cell + 1]):
            filled[self.windows_of[i]] += change

    cdef int _next_move(self, Level *here, int first, int count) noexcept nogil:
        # The best move not tried yet, moved to its place: most nodes need only a few.
        cdef int k, best = first, action, score
        for k in range(first + 1, count):
            if here.scores[k] > here.scores[best]:
                best = k
        action, score = here.moves[best], here.scores[best]
        here.moves[best], here.scores[best] = here.moves[first], here.scores[first]
        here.moves[first], here.scores[first] = action, score
        return action

    # --- moves ---

    cdef int _all_moves(self, int level, int hint) noexcept nogil:
        cdef Level *here = &self.levels[level]
        cdef uint64_t banned = 0
        cdef int count, k
        count = legal_actions(self.rules, self._position(level), self.history, here.moves, &banned)
        for k in range(count):
            here.scores[k] = here.moves[k] == hint
        return count

    cdef int _plain_moves(self, int level, int attacker, int depth, int hint,
                          int *found) noexcept nogil:
        # Moves worth trying and their scores; returns their number. Where it is 0, `found` is the
        # position's result, else that of the moves left out.
        cdef const Position *position = self._position(level)
        cdef bint attacks = position.seat == attacker
        cdef int mover = position.to_play, other = BLACK + WHITE - mover
        cdef int colour = mover if attacks else other
        cdef Level *here = &self.levels[level]
        cdef int wins, only = 0, forks = 0, k
        if self._winning_cells(position, mover, &only):
            found[0] = 1 if attacks else _refuted(NEVER)
            return 0
        wins = self._winning_cells(position, other, &only)
        if wins > 1:
            found[0] = _refuted(NEVER) if attacks else 2 if depth >= 2 else _refuted(1)
            return 0
        if not attacks and self.bounded[colour]:
            k = self._depth_refuted(colour)
            if k >= depth:
                found[0] = _refuted(k)
                return 0
        found[0] = _refuted(NEVER) if attacks else 0
        if wins and not attacks:
            # Whatever is no block loses within two plies.
            found[0] = 2 if depth >= 2 else _refuted(1)
            here.moves[0], here.scores[0] = self.rules.point_of[only], 0
            return depth >= 2
        if self.exact_windows and not wins:
            if self._find_forks(position, mover, self.own_forks):
                found[0] = 3 if attacks else _refuted(NEVER)
                if attacks and depth < 3:
                    found[0] = _refuted(2)
                return 0
            if (attacks or depth >= 4) and self._find_forks(position, other, self.other_forks):
                forks = self._answer_forks()
                if not attacks:
                    found[0] = 4
        return self._scored_moves(level, colour, attacks, depth, hint, only, forks, found)

    cdef bint _find_forks(self, const Position *position, int colour, Fork *forks) noexcept nogil:
        # A fork is a cell where a stone of the colour threatens to win on two others. Fills `forks`
        # [cells]; returns whether there is one.
        cdef const uint8_t *own = self.filled + colour * self.windows
        cdef const uint8_t *foreign = self.filled + (BLACK + WHITE - colour) * self.windows
        cdef const uint8_t *colours = colours_of(self.rules, position)
        cdef const uint16_t *cells
        cdef int w, k, first, second
        cdef bint any_ = False
        memset(forks, 0, self.rules.cells * sizeof(Fork))
        for w in range(self.windows):
            if own[w] != self.line - 2 or foreign[w]:
                continue
            cells = self.window_cells + w * self.line
            first = second = 0
            for k in range(self.line):
                if colours[cells[k]] == EMPTY:
                    first, second = second, cells[k]
            any_ |= _add_threat(&forks[first], second)
            any_ |= _add_threat(&forks[second], first)
        return any_

    cdef int _answer_forks(self) noexcept nogil:
        # Marks in `answers` how many of the other colour's forks a stone on each cell would spoil;
        # returns the number of forks.
        cdef const Fork *fork
        cdef int cell, forks = 0
        memset(self.answers, 0, self.rules.cells * sizeof(uint16_t))
        for cell in range(self.rules.cells):
            fork = &self.other_forks[cell]
            if fork.threats >= 2:
                forks += 1
                self.answers[cell] += 1
                if fork.threats == 2:
                    self.answers[fork.wins[0]] += 1
                    self.answers[fork.wins[1]] += 1
        return forks

    cdef int _winning_cells(self, const Position *position, int colour, int *cell) noexcept nogil:
        # Cells where a stone of the colour wins at once: their number up to 2, and one of them.
        cdef const uint8_t *own = self.filled + colour * self.windows
        cdef const uint8_t *foreign = self.filled + (BLACK + WHITE - colour) * self.windows
        cdef const uint8_t *colours = colours_of(self.rules, position)
        cdef const uint16_t *cells
        cdef int w, k, count = 0
        for w in range(self.windows):
            if own[w] != self.line - 1 or foreign[w]:
                continue
            cells = self.window_cells + w * self.line
            k = 0
            while colours[cells[k]] != EMPTY:
                k += 1
            if count and cells[k] == cell[0]:
                continue
            if (not self.exact_windows
                    and judge_lines(self.rules, position, cells[k], colour) != LINE_WINS):
                continue
            count += 1
            cell[0] = cells[k]
            if count == 2:
                break
        return count

    cdef int _depth_refuted(self, int colour) noexcept nogil:
        # Plies within which the potential forbids the colour a win, the opponent to move.
        cdef const uint8_t *own = self.filled + colour * self.windows
        cdef const uint8_t *foreign = self.filled + (BLACK + WHITE - colour) * self.windows
        cdef int32_t counts[16]
        cdef int w, stones, total = 0
        memset(counts, 0, sizeof(counts))
        for w in range(self.windows):
            if not foreign[w]:
                counts[own[w]] += 1
        for stones in range(1, self.line + 1):
            total += counts[self.line - stones] << (self.line - stones)
            if total >= 1 << self.line:
                return 2 * stones - 1
        return NEVER

    cdef int _scored_moves(self, int level, int colour, bint attacks, int depth, int hint, int only,
                           int forks, int *found) noexcept nogil:
        # The empty cells (or `only`) that may decide, with scores: those that answer all forks or
        # make a threat, and that the potential does not refute.
        cdef const Rules *rules = self.rules
        cdef const uint8_t *colours = colours_of(rules, self._position(level))
        cdef Level *here = &self.levels[level]
        cdef int32_t *all_ = self.totals                    # windows of the attacker, 2 ** stones
        cdef int32_t *near = all_ + rules.cells             # ... that it can fill within the depth
        cdef int32_t *nearer = near + rules.cells           # ... within it less one stone
        cdef int32_t *urgent = nearer + rules.cells         # both seats' windows, weighted
        cdef int total = 0, reached = 0, count = 0, point, cell
        cdef bint pruned = attacks and self.bounded[colour]
        self._sum_windows(level, colour, (depth + 1) // 2, &total, &reached)
        for point in range(rules.points):
            cell = rules.cell_of[point]
            if colours[cell] != EMPTY or (only and cell != only):
                continue
            if forks and self.answers[cell] != forks and not self.own_forks[cell].threats:
                continue
            if pruned:
                if total + all_[cell] < 1 << self.line:
                    continue
                if reached - nearer[cell] + 2 * near[cell] < 1 << self.line:
                    found[0] = max(found[0], _refuted(depth))
                    continue
            here.moves[count] = point
            here.scores[count] = 1 << 30 if point == hint else urgent[cell]
            count += 1
        return count

    cdef void _sum_windows(self, int level, int colour, int stones, int *total,
                           int *reached) noexcept nogil:
        # Fills `totals`; `stones` is how many the attacker can still place.
        cdef const Rules *rules = self.rules
        cdef const uint8_t *colours = colours_of(rules, self._position(level))
        cdef const uint8_t *own = self.filled + colour * self.windows
        cdef const uint8_t *foreign = self.filled + (BLACK + WHITE - colour) * self.windows
        cdef const uint16_t *cells
        cdef int32_t *sums = self.totals
        cdef int w, k, n = rules.cells, weight, near, nearer, urgent
        # Found by trying: the colour to move counts its own windows half as much again.
        cdef int ours = 3 if self._position(level).to_play == colour else 2
        cdef int theirs = 5 - ours
        memset(sums, 0, 4 * n * sizeof(int32_t))
        for w in range(self.windows):
            if own[w] and foreign[w]:
                continue
            weight = near = nearer = urgent = 0
            if not own[w]:
                urgent = theirs << foreign[w]
            if not foreign[w]:
                urgent += ours << own[w]
                weight = 1 << own[w]
                near = weight if own[w] >= self.line - stones else 0
                nearer = weight if own[w] > self.line - stones else 0
                total[0] += weight
                reached[0] += nearer
            cells = self.window_cells + w * self.line
            for k in range(self.line):
                if colours[cells[k]] == EMPTY:
                    sums[cells[k]] += weight
                    sums[n + cells[k]] += near
                    sums[2 * n + cells[k]] += nearer
                    sums[3 * n + cells[k]] += urgent

    # --- the table ---

    cdef uint64_t _key(self, int level, int *turn) noexcept nogil:
        # The least key of the position's symmetric twins, and the symmetry that leads there.
        cdef const Position *position = self._position(level)
        cdef const uint64_t *keys = self.levels[level].turned_keys
        cdef uint64_t key = position_key(self.rules, position)
        cdef int s
        if self.turns == 1:
            return key
        for s in range(1, self.turns):
            if keys[s] < keys[turn[0]]:
                turn[0] = s
        return key ^ position.stones_key ^ keys[turn[0]]

    cdef Entry *_entry(self, uint64_t key) noexcept nogil:
        cdef Entry *bucket = self.entries + (key & self.buckets_mask) * WAYS
        return bucket + 1 if bucket[1].key == key else bucket

    cdef void _store(self, uint64_t key, int attacker, int found, int action,
                     int64_t cost) noexcept nogil:
        # The first entry of a bucket keeps the result that took most nodes, the second the newest.
        cdef Entry *bucket = self.entries + (key & self.buckets_mask) * WAYS
        cdef Entry *entry = self._entry(key)
        cdef int seat
        if cost > 0x7FFFFFFF:
            cost = 0x7FFFFFFF
        if entry.key != key:
            if bucket[0].cost <= cost:
                bucket[1] = bucket[0]
            else:
                entry = bucket + 1
            entry.key = key
            for seat in range(2):
                entry.win[seat], entry.refuted[seat], entry.move[seat] = UNKNOWN, 0, NO_MOVE
        entry.cost = cost
        if found >= 0:
            entry.win[attacker] = found
        else:
            entry.refuted[attacker] = -1 - found
        if action != NO_MOVE:
            entry.move[attacker] = action
