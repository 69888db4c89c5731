"""Stones, chains, captures and lines; see the header `_board.pxd`.

Chains keep *pseudo-liberties*: the number of pairs (stone of the chain, empty neighbour). The count
is zero exactly when the chain has no liberty, and it is updated in constant time per stone.
"""

from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from engine._types cimport (
    BLACK, BORDER, EMPTY, LINE_LOSES, LINE_NONE, LINE_WINS, MAX_POSITION_WORDS,
    OVERLINE_LOSES, OVERLINE_WINS, Position, Rules, WHITE,
    colours_of, heads_of, liberties_of, links_of, sizes_of,
)


cdef int place(const Rules *rules, Position *position, int cell, int colour) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    colours[cell] = colour
    position.stones_key ^= rules.stone_keys[colour][cell]
    position.stones += 1
    if not rules.chains:
        return 0
    _join_chains(rules, position, cell, colour)
    if rules.switches:
        return 0
    return _capture_around(rules, position, cell, BLACK + WHITE - colour)


cdef void _join_chains(const Rules *rules, Position *position, int cell,
                       int colour) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef uint16_t *heads = heads_of(rules, position)
    cdef uint16_t *liberties = liberties_of(rules, position)
    cdef int i, neighbour, empty = 0
    heads[cell] = cell
    links_of(rules, position)[cell] = cell
    sizes_of(rules, position)[cell] = 1
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        if colours[neighbour] == EMPTY:
            empty += 1
        elif colours[neighbour] != BORDER:
            liberties[heads[neighbour]] -= 1
    liberties[cell] = empty
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        if colours[neighbour] == colour and heads[neighbour] != heads[cell]:
            _merge(rules, position, heads[cell], heads[neighbour])


cdef void _merge(const Rules *rules, Position *position, int first, int second) noexcept nogil:
    # The smaller chain takes the larger one's head: n stones are relabelled O(n log n) times.
    cdef uint16_t *heads = heads_of(rules, position)
    cdef uint16_t *links = links_of(rules, position)
    cdef uint16_t *sizes = sizes_of(rules, position)
    cdef uint16_t *liberties = liberties_of(rules, position)
    cdef int large = first, small = second, stone, link
    if sizes[first] < sizes[second]:
        large, small = second, first
    stone = small
    while True:
        heads[stone] = large
        stone = links[stone]
        if stone == small:
            break
    link = links[large]
    links[large] = links[small]
    links[small] = link
    sizes[large] += sizes[small]
    liberties[large] += liberties[small]


cdef int _capture_around(const Rules *rules, Position *position, int cell,
                         int opponent) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef int i, neighbour, removed = 0
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        if colours[neighbour] == opponent and is_dead(rules, position, neighbour):
            removed += remove_chain(rules, position, neighbour)
    return removed


cdef bint switch_around(const Rules *rules, Position *position, int cell,
                        Switches *switches) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef int mover = colours[cell], i, neighbour
    switches.count = 0
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        if colours[neighbour] == BLACK + WHITE - mover and is_dead(rules, position, neighbour):
            _switch(rules, position, neighbour, switches)
    return _makes_line(rules, position, switches, 0)


cdef bint switch_own(const Rules *rules, Position *position, int cell,
                     Switches *switches) noexcept nogil:
    # No other chain of the mover can be surrounded: a switch empties and fills nothing, so only a
    # chain that holds the placed stone or took it as its last liberty can have lost it.
    cdef int first = switches.count
    if not is_dead(rules, position, cell) or not _meets_opponent(rules, position, cell):
        return False
    _switch(rules, position, cell, switches)
    return _makes_line(rules, position, switches, first)


cdef void _switch(const Rules *rules, Position *position, int cell,
                  Switches *switches) noexcept nogil:
    # Recolours the chain of `cell`, then joins it with the chains of its new colour around it.
    cdef uint8_t *colours = colours_of(rules, position)
    cdef uint16_t *heads = heads_of(rules, position)
    cdef uint16_t *links = links_of(rules, position)
    cdef int colour = BLACK + WHITE - colours[cell], first = switches.count, stone = cell
    cdef int i, k, neighbour
    while True:
        position.stones_key ^= rules.stone_keys[colours[stone]][stone]
        position.stones_key ^= rules.stone_keys[colour][stone]
        colours[stone] = colour
        switches.cells[switches.count] = stone
        switches.count += 1
        stone = links[stone]
        if stone == cell:
            break
    for k in range(first, switches.count):
        for i in range(4):
            neighbour = switches.cells[k] + rules.orthogonal[i]
            if colours[neighbour] == colour and heads[neighbour] != heads[cell]:
                _merge(rules, position, heads[cell], heads[neighbour])


cdef bint _meets_opponent(const Rules *rules, const Position *position, int cell) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int stone = cell, i
    while True:
        for i in range(4):
            if colours[stone + rules.orthogonal[i]] == BLACK + WHITE - colours[cell]:
                return True
        stone = links_of(rules, position)[stone]
        if stone == cell:
            return False


cdef bint _makes_line(const Rules *rules, const Position *position, const Switches *switches,
                      int first) noexcept nogil:
    cdef int k, cell
    for k in range(first, switches.count):
        cell = switches.cells[k]
        if judge_lines(rules, position, cell, colours_of(rules, position)[cell]) == LINE_WINS:
            return True
    return False


cdef bint loses_own_chain(const Rules *rules, const Position *position, int cell,
                          int colour) noexcept nogil:
    cdef uint64_t block[MAX_POSITION_WORDS]
    cdef Position *after = <Position *> block
    cdef Switches switches
    cdef int i
    for i in range(4):
        if colours_of(rules, position)[cell + rules.orthogonal[i]] == EMPTY:
            return False
    if judge_lines(rules, position, cell, colour) == LINE_WINS:
        return False
    memcpy(after, position, rules.position_bytes)
    place(rules, after, cell, colour)
    if switch_around(rules, after, cell, &switches):
        return False
    return is_dead(rules, after, cell) and _meets_opponent(rules, after, cell)


cdef bint is_dead(const Rules *rules, const Position *position, int cell) noexcept nogil:
    return liberties_of(rules, position)[heads_of(rules, position)[cell]] == 0


cdef int remove_chain(const Rules *rules, Position *position, int cell) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef uint16_t *heads = heads_of(rules, position)
    cdef uint16_t *links = links_of(rules, position)
    cdef uint16_t *liberties = liberties_of(rules, position)
    cdef int colour = colours[cell], stone = cell, i, neighbour, size = 0
    while True:
        colours[stone] = EMPTY
        position.stones_key ^= rules.stone_keys[colour][stone]
        size += 1
        stone = links[stone]
        if stone == cell:
            break
    while True:
        for i in range(4):
            neighbour = stone + rules.orthogonal[i]
            if colours[neighbour] == BLACK or colours[neighbour] == WHITE:
                liberties[heads[neighbour]] += 1
        stone = links[stone]
        if stone == cell:
            break
    position.stones -= size
    return size


cdef int judge_lines(const Rules *rules, const Position *position, int cell,
                     int colour) noexcept nogil:
    # `run` is the run's length on the whole board, `counted` its part inside the region.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int overline = rules.overline[colour], line = rules.line_length
    cdef int judgement = LINE_NONE, i, step, run, counted, at
    for i in range(4):
        step = rules.directions[i]
        run = 1
        counted = rules.in_region[cell]
        at = cell + step
        while colours[at] == colour:
            run += 1
            counted += rules.in_region[at]
            at += step
        at = cell - step
        while colours[at] == colour:
            run += 1
            counted += rules.in_region[at]
            at -= step
        # Where ends matter the whole board is the region: `at` has come to one end of the run.
        if run < line or rules.unblocked and run == line and _is_blocked(
            colours, at, at + (run + 1) * step, colour
        ):
            continue
        if overline == OVERLINE_WINS:
            if counted >= line:
                return LINE_WINS
        elif run == line:
            if counted == line:
                judgement = LINE_WINS
        elif overline == OVERLINE_LOSES:
            return LINE_LOSES
    return judgement


cdef int winning_cells(const Rules *rules, const Position *position, int colour, int limit,
                       int *cell) noexcept nogil:
    # A line has three stones at least, so the last one has a neighbour of its colour.
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int point, at, i, step, count = 0
    for point in range(rules.points):
        at = rules.cell_of[point]
        if colours[at] != EMPTY:
            continue
        for i in range(4):
            step = rules.directions[i]
            if colours[at + step] == colour or colours[at - step] == colour:
                if judge_lines(rules, position, at, colour) == LINE_WINS:
                    cell[0] = at
                    count += 1
                break
        if count == limit:
            break
    return count


cdef int winning_cells_by(const Rules *rules, const Position *position, int stone,
                          int *cell) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef int colour = colours[stone], i, step, ahead, behind, beyond, count = 0
    for i in range(8):
        step = rules.directions[i >> 1] if i & 1 else -rules.directions[i >> 1]
        ahead = behind = 1              # steps from the stone to the ends of its run
        while colours[stone + ahead * step] == colour:
            ahead += 1
        if colours[stone + ahead * step] != EMPTY:
            continue
        while colours[stone - behind * step] == colour:
            behind += 1
        beyond = ahead + 1
        while colours[stone + beyond * step] == colour:
            beyond += 1
        if (beyond + behind - 1 >= rules.line_length
                and judge_lines(rules, position, stone + ahead * step, colour) == LINE_WINS):
            cell[0] = stone + ahead * step
            count += 1
            if count == 2:
                break
    return count


cdef inline bint _is_blocked(const uint8_t *colours, int end, int other_end,
                             int colour) noexcept nogil:
    return colours[end] == BLACK + WHITE - colour and colours[other_end] == BLACK + WHITE - colour


cdef Effect foresee(const Rules *rules, const Position *position, int cell, int colour,
                    bint wants_key) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef const uint16_t *heads = heads_of(rules, position)
    cdef const uint16_t *liberties = liberties_of(rules, position)
    cdef int around[4]
    cdef int i, j, neighbour, touching
    cdef bint breathes = False, seen
    cdef Effect effect
    effect.captured = 0
    effect.stones_key = position.stones_key ^ rules.stone_keys[colour][cell]
    for i in range(4):
        neighbour = cell + rules.orthogonal[i]
        around[i] = 0
        if colours[neighbour] == EMPTY:
            breathes = True
        elif colours[neighbour] != BORDER:
            around[i] = heads[neighbour]
    for i in range(4):
        if not around[i]:
            continue
        touching = 0
        seen = False
        for j in range(4):
            if around[j] == around[i]:
                touching += 1
                seen = seen or j < i
        if seen:
            continue
        if liberties[around[i]] > touching:
            breathes = breathes or colours[around[i]] == colour
        elif colours[around[i]] != colour:
            effect.captured += sizes_of(rules, position)[around[i]]
            if wants_key:
                effect.stones_key ^= _chain_key(rules, position, around[i])
    effect.suicide = not breathes and not effect.captured
    if effect.suicide and wants_key:
        effect.stones_key ^= rules.stone_keys[colour][cell]
        for i in range(4):
            seen = False
            for j in range(i):
                seen = seen or around[j] == around[i]
            if around[i] and not seen and colours[around[i]] == colour:
                effect.stones_key ^= _chain_key(rules, position, around[i])
    return effect


cdef uint64_t _chain_key(const Rules *rules, const Position *position, int head) noexcept nogil:
    cdef const uint16_t *links = links_of(rules, position)
    cdef int colour = colours_of(rules, position)[head], stone = head
    cdef uint64_t key = 0
    while True:
        key ^= rules.stone_keys[colour][stone]
        stone = links[stone]
        if stone == head:
            return key


cdef int count_liberties(const Rules *rules, const Position *position, int cell,
                         int limit) noexcept nogil:
    cdef const uint8_t *colours = colours_of(rules, position)
    cdef const uint16_t *links = links_of(rules, position)
    cdef int found[4]
    cdef int count = 0, stone = cell, i, j, neighbour
    while True:
        for i in range(4):
            neighbour = stone + rules.orthogonal[i]
            if colours[neighbour] != EMPTY:
                continue
            for j in range(count):
                if found[j] == neighbour:
                    break
            else:
                found[count] = neighbour
                count += 1
                if count == limit:
                    return count
        stone = links[stone]
        if stone == cell:
            return count


cdef void rebuild(const Rules *rules, Position *position) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef int point, cell
    position.stones_key = rules.rules_key
    position.stones = 0
    for point in range(rules.points):
        cell = rules.cell_of[point]
        if colours[cell] != EMPTY:
            position.stones_key ^= rules.stone_keys[colours[cell]][cell]
            position.stones += 1
    position.peak = position.stones
    if rules.chains:
        _rebuild_chains(rules, position)


cdef void _rebuild_chains(const Rules *rules, Position *position) noexcept nogil:
    # Every stone starts as its own chain with its own liberties; then neighbours are merged.
    cdef uint8_t *colours = colours_of(rules, position)
    cdef uint16_t *heads = heads_of(rules, position)
    cdef uint16_t *liberties = liberties_of(rules, position)
    cdef int point, cell, i, neighbour
    for point in range(rules.points):
        cell = rules.cell_of[point]
        heads[cell] = cell
        links_of(rules, position)[cell] = cell
        sizes_of(rules, position)[cell] = 1
        liberties[cell] = 0
        for i in range(4):
            if colours[cell + rules.orthogonal[i]] == EMPTY:
                liberties[cell] += 1
    for point in range(rules.points):
        cell = rules.cell_of[point]
        if colours[cell] == EMPTY:
            continue
        for i in range(4):
            neighbour = cell + rules.orthogonal[i]
            if colours[neighbour] == colours[cell] and heads[neighbour] != heads[cell]:
                _merge(rules, position, heads[cell], heads[neighbour])


cdef void clear_board(const Rules *rules, Position *position) noexcept nogil:
    cdef uint8_t *colours = colours_of(rules, position)
    cdef int point
    memset(colours, BORDER, rules.cells)
    for point in range(rules.points):
        colours[rules.cell_of[point]] = EMPTY
    position.stones_key = rules.rules_key
    position.stones = position.peak = 0
