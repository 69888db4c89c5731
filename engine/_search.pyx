"""Tree search over batches of games; see the header `_search.pxd` and `engine.search`.

A simulation descends from the root by PUCT, plays real moves on a copy of the root's position, and
ends in a new leaf (a row of the batch) or in a finished or proven position (backed up at once).
Values are kept for seat A and change sign only where seat B chooses, so nothing assumes that seats
alternate. Edges of a node are ordered: first those with a child, then the unvisited one with the
best prior, then the rest; since all unvisited edges share one first-play value, this scan is exact.

Most nodes are never visited twice, so a node begins with its best few edges only. One that has
visited them all, or has become the root, asks the evaluator (or the cache) again and gets the rest:
the same evaluation, so the tree is the one that it would be with all edges from the start.
"""

from cython cimport final
from libc.math cimport expf, logf, pow, sqrtf
from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from engine._best cimport NEVER, best_of, highest
from engine._board cimport judge_lines, winning_cells, winning_cells_by
from engine._cache cimport (
    Cache, Entry, cache_clear, cache_find, cache_free, cache_make, cache_store, check_of, priors_of,
)
from engine._features cimport GLOBAL_COUNT, PLANE_COUNT, write_features
from engine._memory cimport wish_huge_pages
from engine._position cimport (
    PositionCore, RuleTable, history_copy, history_free, history_new, history_pop, legal_actions,
    play, position_key, verdict,
)
from engine._softmax cimport finite, softmax
from engine._threats cimport MOST_MOVES, ThreatCore, threats_search
from engine._types cimport (
    BLACK, LEGAL, LINE_WINS, MAX_ACTIONS, MAX_CELLS, NOBODY, OPTION_COUNT, Position, RUNNING, Rules,
    SEAT_A, WHITE, colours_of, mix,
)

cdef enum:                      # Node.state
    FRESH = 0                   # made, not yet sent to the network
    WAITING = 1                 # a row of the batch in flight
    EXPANDED = 2                # priors known, or finished
    REFILLING = 3               # expanded, and a row of the batch in flight for the edges left out

cdef enum:                      # Node.proof
    UNPROVEN = 0
    A_WINS = 1                  # 1 + the winning seat
    B_WINS = 2
    DRAWN = 3

cdef enum:                      # how a descent ended
    LEAF
    SHORT                       # at a node that wants its further edges first
    SCORED
    COLLISION

cdef enum:                      # an action, a prior and a child
    EDGE_BYTES = sizeof(uint16_t) + sizeof(float) + sizeof(uint32_t)

cdef enum:
    TABLED = 1024                   # numbers of simulations whose exploration is tabled

cdef enum:
    THREAT_BITS = 12                # of the table of a search for threats at leaves

cdef extern from * nogil:
    """
    #if defined(__GNUC__) || defined(__clang__)
    /* To GCC a function that only prefetches has no effect, and its calls are left out; the empty
       instruction is one. */
    #define narabe_prefetch(at) do { __builtin_prefetch(at); __asm__ volatile (""); } while (0)
    #else
    #define narabe_prefetch(at) ((void) (at))
    #endif
    """
    void prefetch "narabe_prefetch"(const void *at)

cdef enum:
    LARGEST_POSITION = sizeof(Position) + 9 * MAX_CELLS + 16


cdef inline float _proven_value(int proof) noexcept nogil:
    # for seat A
    return 1 if proof == A_WINS else -1 if proof == B_WINS else 0


# --- arenas -------------------------------------------------------------------------------------

cdef inline void *_carve(size_t *at, size_t bytes) noexcept nogil:
    # A piece of a block, at the beginning of a cache line; `at` moves behind it.
    cdef size_t piece = at[0]
    at[0] += (bytes + 63) // 64 * 64
    return <void *> piece


cdef void _carve_arena(Arena *arena, size_t *at, uint32_t nodes, uint32_t edges) noexcept nogil:
    arena.nodes = <Node *> _carve(at, nodes * sizeof(Node))
    arena.actions = <uint16_t *> _carve(at, edges * sizeof(uint16_t))
    arena.priors = <float *> _carve(at, edges * sizeof(float))
    arena.children = <uint32_t *> _carve(at, edges * sizeof(uint32_t))
    arena.node_capacity, arena.edge_capacity = nodes, edges
    arena.node_count = arena.edge_count = 0


cdef uint32_t _new_node(Arena *arena, uint32_t parent, int seat) noexcept nogil:
    cdef Node *node = &arena.nodes[arena.node_count]
    memset(node, 0, sizeof(Node))
    node.parent = parent
    node.seat = seat
    arena.node_count += 1
    return arena.node_count - 1


cdef void _move_subtree(const Arena *source, uint32_t top, Arena *target) noexcept nogil:
    # Copies breadth first: a node's children are appended while its own edges are copied.
    cdef uint32_t i = 0, first, size
    cdef int k
    cdef Node *node
    target.nodes[0] = source.nodes[top]
    target.nodes[0].parent = 0
    target.node_count = 1
    target.edge_count = 0
    while i < target.node_count:
        node = &target.nodes[i]
        first, size = node.first, node.kept
        node.first = target.edge_count
        target.edge_count += size
        memcpy(&target.actions[node.first], &source.actions[first], size * sizeof(uint16_t))
        memcpy(&target.priors[node.first], &source.priors[first], size * sizeof(float))
        for k in range(node.visited):
            target.nodes[target.node_count] = source.nodes[source.children[first + k]]
            target.nodes[target.node_count].parent = i
            target.children[node.first + k] = target.node_count
            target.node_count += 1
        i += 1


# --- edges --------------------------------------------------------------------------------------

cdef void _swap_edges(Arena *arena, uint32_t first, uint32_t second) noexcept nogil:
    # Of unvisited edges, which have no children yet.
    cdef uint16_t action = arena.actions[first]
    cdef float prior = arena.priors[first]
    arena.actions[first], arena.priors[first] = arena.actions[second], arena.priors[second]
    arena.actions[second], arena.priors[second] = action, prior


cdef void _best_unvisited_first(Arena *arena, const Node *node) noexcept nogil:
    cdef uint32_t start = node.first + node.visited, end = node.first + node.kept, best = start, i
    for i in range(start + 1, end):
        if arena.priors[i] > arena.priors[best]:
            best = i
    if best != start:
        _swap_edges(arena, start, best)


cdef uint32_t _visit_edge(Arena *arena, uint32_t parent, int edge, int seat) noexcept nogil:
    # Gives an unvisited edge (an offset from the first) a child; returns the child.
    cdef Node *node = &arena.nodes[parent]
    cdef uint32_t at = node.first + node.visited, child
    if node.first + edge != at:
        _swap_edges(arena, at, node.first + edge)
    child = _new_node(arena, parent, seat)
    arena.children[at] = child
    node.visited_prior += arena.priors[at]
    node.visited += 1
    _best_unvisited_first(arena, node)
    return child


# --- choosing an edge ---------------------------------------------------------------------------

cdef inline bint _is_lost(const Node *child, int seat) noexcept nogil:
    return child.proof == A_WINS + 1 - seat


cdef inline float _edge_value(const Node *child, float sign,
                              const Settings *settings) noexcept nogil:
    # Mean value for the choosing seat; simulations in flight count as (virtual) losses.
    cdef float count = child.visits + child.in_flight
    if child.proof and settings.solver:
        return sign * _proven_value(child.proof)
    return (sign * child.total - settings.virtual_loss * child.in_flight) / count


cdef float _exploration(const Settings *settings, uint32_t played) noexcept nogil:
    # What PUCT multiplies P / (1 + n) with at a node of so many simulations below it.
    cdef float count = played
    cdef float factor = settings.c_init + logf((1 + count + settings.c_base) / settings.c_base)
    return factor * sqrtf(count if count > 1 else 1)


cdef float _exploration_at(const Node *node, const Settings *settings) noexcept nogil:
    # The present descent is in flight already, and the node's own evaluation is not below it.
    cdef uint32_t played = node.visits + node.in_flight - 2
    return settings.explorations[played] if played < TABLED else _exploration(settings, played)


cdef inline float _unvisited_score(const Arena *arena, const Node *node, float explore,
                                   const Settings *settings) noexcept nogil:
    # Of the best unvisited edge.
    cdef float sign = 1 if node.seat == SEAT_A else -1
    cdef float score = sign * node.total / node.visits
    score -= settings.fpu_reduction * sqrtf(node.visited_prior)
    return score + explore * arena.priors[node.first + node.visited]


cdef int _select(const Arena *arena, const Node *node, const Settings *settings) noexcept nogil:
    # PUCT in the published AlphaZero form (Silver et al. 2018, supplementary materials, "Search"):
    # Q + c * P * sqrt(N) / (1 + n), c = c_init + log((1 + N + c_base) / c_base). Unvisited edges
    # have the parent's value less a reduction (first-play urgency).
    cdef float sign = 1 if node.seat == SEAT_A else -1
    cdef float explore, score, best_score = -1e30
    cdef const Node *child
    cdef int k, best = -1
    if node.edges == 1:
        return 0
    explore = _exploration_at(node, settings)
    for k in range(node.visited):
        child = &arena.nodes[arena.children[node.first + k]]
        if settings.solver and _is_lost(child, node.seat):
            continue
        score = _edge_value(child, sign, settings)
        score += explore * arena.priors[node.first + k] / (1 + child.visits + child.in_flight)
        if score > best_score:
            best, best_score = k, score
    if (node.visited < node.kept
            and _unvisited_score(arena, node, explore, settings) > best_score):
        best = node.visited
    return best


cdef void _look_at(Tree *tree, int edge, const Settings *settings) noexcept nogil:
    # Notes what a visited edge of the root is worth.
    cdef const Node *root = &tree.arena.nodes[0]
    cdef const Node *child = &tree.arena.nodes[tree.arena.children[root.first + edge]]
    tree.counts[edge] = 1 + child.visits + child.in_flight
    if settings.solver and _is_lost(child, root.seat):
        tree.means[edge] = NEVER
    else:
        tree.means[edge] = _edge_value(child, 1 if root.seat == SEAT_A else -1, settings)


cdef int _select_at_root(Tree *tree, const Settings *settings) noexcept nogil:
    # `_select` where every simulation begins and most children are: their values are kept side by
    # side, and only those that simulations have gone through since are looked at again.
    cdef const Node *root = &tree.arena.nodes[0]
    cdef float explore = _exploration_at(root, settings)
    cdef float best_score = NEVER
    cdef int k, best
    if root.edges == 1:
        return 0
    if tree.changed_count > CHANGED:            # more than there was room for
        tree.known = 0
    for k in range(min(tree.changed_count, <int32_t> CHANGED)):
        if tree.changed[k] < tree.known:
            _look_at(tree, tree.changed[k], settings)
    for k in range(tree.known, root.visited):
        _look_at(tree, k, settings)
    tree.known = root.visited
    if root.in_flight == 1:                     # by this descent
        tree.changed_count = 0
    best = highest(tree.means, &tree.arena.priors[root.first], tree.counts, explore, root.visited,
                   &best_score)
    if (root.visited < root.kept
            and _unvisited_score(&tree.arena, root, explore, settings) > best_score):
        best = root.visited
    return best


cdef inline void _note_change(Tree *tree, int edge) noexcept nogil:
    # A simulation goes through this edge of the root.
    if tree.changed_count < CHANGED:
        tree.changed[tree.changed_count] = edge
    tree.changed_count += 1


cdef int _edge_of(const Arena *arena, const Node *node, int action) noexcept nogil:
    cdef int k
    for k in range(node.kept):
        if arena.actions[node.first + k] == action:
            return k
    return -1


cdef int _most_visited(const Arena *arena, const Node *node) noexcept nogil:
    # The first of equals; -1 where no edge has been visited.
    cdef int k, best = -1
    for k in range(node.visited):
        if best < 0 or (arena.nodes[arena.children[node.first + k]].visits
                        > arena.nodes[arena.children[node.first + best]].visits):
            best = k
    return best


cdef bint _is_searched(const Arena *arena, int edge) noexcept nogil:
    # Whether the root's edge leads to a node with all of its edges, as a root needs them.
    cdef const Node *child = &arena.nodes[arena.children[arena.nodes[0].first + edge]]
    return child.edges > 0 and not child.forced


cdef float _mixed_value(const Tree *tree, const Settings *settings) noexcept nogil:
    # The root's value for its seat, as an estimate of unvisited actions' values: the network's
    # value and the visited actions' values weighted by prior (Danihelka et al. 2022, appendix D).
    cdef const Arena *arena = &tree.arena
    cdef const Node *node = &arena.nodes[0]
    cdef float sign = 1 if node.seat == SEAT_A else -1
    cdef float mass = 0, weighted = 0, visits = 0, prior
    cdef const Node *child
    cdef int k
    for k in range(node.visited):
        child = &arena.nodes[arena.children[node.first + k]]
        if child.visits:
            prior = expf(tree.logits[arena.actions[node.first + k]])
            mass += prior
            weighted += prior * _edge_value(child, sign, settings)
            visits += child.visits
    if not mass:
        return sign * node.value
    return (sign * node.value + visits * weighted / mass) / (1 + visits)


cdef int _select_gumbel(const Tree *tree, const Settings *settings) noexcept nogil:
    # Sequential halving (Danihelka et al. 2022, algorithm 2): the schedule says how many visits the
    # next action has; among considered actions with that many, the best by Gumbel + logit + q.
    cdef const Arena *arena = &tree.arena
    cdef const Node *node = &arena.nodes[0]
    cdef float sign = 1 if node.seat == SEAT_A else -1
    cdef float mixed = _mixed_value(tree, settings), q, score, best_score = -1e30, most = 0
    cdef int index = node.visits + node.in_flight - 2, wanted, visits, distance, k, edge
    cdef int best = -1, best_distance = 1 << 30
    cdef const Node *child
    # Visits count the root's own evaluation, and this descent is in flight already.
    wanted = tree.schedule[index if index < tree.budget else tree.budget - 1]
    for k in range(node.visited):
        child = &arena.nodes[arena.children[node.first + k]]
        if child.visits > most:
            most = child.visits
    for k in range(tree.considered_count):
        edge = _edge_of(arena, node, tree.considered[k])
        visits, q = 0, mixed
        if edge < node.visited:
            child = &arena.nodes[arena.children[node.first + edge]]
            if settings.solver and _is_lost(child, node.seat):
                continue
            visits = child.visits + child.in_flight
            q = _edge_value(child, sign, settings)
        score = tree.gumbels[tree.considered[k]] + tree.logits[tree.considered[k]]
        score += (settings.gumbel_c_visit + most) * settings.gumbel_c_scale * (1 + q) / 2
        # Proofs can end an action early; then the least visited one takes its place.
        distance = 0 if visits == wanted else 1 + visits
        if distance < best_distance or (distance == best_distance and score > best_score):
            best, best_distance, best_score = edge, distance, score
    # -1: all that were considered are proven lost.
    return best


cdef int _block(const Tree *tree, const Node *root) noexcept nogil:
    # The root's edge that stops the opponent's threat, while it has not been visited; else -1.
    cdef int edge = _edge_of(&tree.arena, root, tree.rules.point_of[root.threat])
    return edge if edge >= root.visited else -1


# --- results ------------------------------------------------------------------------------------

cdef void _back_up(Arena *arena, uint32_t at, float value) noexcept nogil:
    # Adds one simulation's value (for seat A) from a node up to the root.
    cdef Node *node
    while True:
        node = &arena.nodes[at]
        node.visits += 1
        node.total += value
        node.in_flight -= 1
        if at == 0:
            return
        at = node.parent


cdef void _withdraw(Arena *arena, uint32_t at) noexcept nogil:
    # Undoes a descent that led to nothing.
    while True:
        arena.nodes[at].in_flight -= 1
        if at == 0:
            return
        at = arena.nodes[at].parent


cdef int _proof_from_children(const Arena *arena, const Node *node) noexcept nogil:
    # A seat with a winning child wins; with all children proven it gets the best of them.
    cdef int won = A_WINS + node.seat, result, k, proof
    cdef bint complete = node.visited == node.edges
    result = A_WINS + 1 - node.seat
    for k in range(node.visited):
        proof = arena.nodes[arena.children[node.first + k]].proof
        if proof == won:
            return won
        if proof == UNPROVEN:
            complete = False
        elif proof == DRAWN:
            result = DRAWN
    return result if complete else UNPROVEN


cdef void _prove_upwards(Arena *arena, uint32_t at) noexcept nogil:
    # Called with a node just proven: its ancestors may be proven by it.
    cdef Node *parent
    while at != 0:
        at = arena.nodes[at].parent
        parent = &arena.nodes[at]
        if parent.proof:
            return
        parent.proof = _proof_from_children(arena, parent)
        if not parent.proof:
            return


# --- descents -----------------------------------------------------------------------------------

cdef inline bint _is_short(const Node *node, uint32_t at) noexcept nogil:
    # Whether the next choice at an expanded node needs more edges than it has.
    return node.kept < node.edges and (node.visited == node.kept or at == 0)


cdef bint _wants_more(const Tree *tree, const Settings *settings) noexcept nogil:
    cdef const Node *root = &tree.arena.nodes[0]
    if not tree.active or tree.full or root.state == WAITING or root.state == REFILLING:
        return False
    if root.state == FRESH or _is_short(root, 0):
        return True
    if settings.solver and root.proof:
        return False
    return <int32_t> (root.visits + root.in_flight) - 1 < tree.budget


cdef bint _has_room(const Tree *tree) noexcept nogil:
    # for one more node with any number of edges, and a forced move above it
    return (tree.arena.node_count < tree.arena.node_capacity
            and tree.arena.edge_count + tree.rules.actions < tree.arena.edge_capacity)


cdef bint _is_finished(const Tree *tree, const Settings *settings) noexcept nogil:
    return tree.active and not tree.arena.nodes[0].in_flight and not _wants_more(tree, settings)


cdef inline int _play(const Tree *tree, Position *position, int action) noexcept nogil:
    # Returns the cell of the stone placed, if that is all that has changed on the board; else 0.
    cdef int stones = position.stones
    play(tree.rules, position, tree.history, action)
    return tree.rules.cell_of[action] if (
        action < tree.rules.points and position.stones == stones + 1 and not tree.rules.switches
    ) else 0


cdef bint _expand_forced(Tree *tree, uint32_t at) noexcept nogil:
    # A new node with one move that does not lose at once needs no network: it is worth that move.
    # Returns whether that is so (and the arena has room for the move's own leaf).
    cdef Arena *arena = &tree.arena
    cdef Node *node = &arena.nodes[at]
    if not node.forced or not _has_room(tree):
        return False
    node.first, node.edges, node.kept = arena.edge_count, 1, 1
    arena.actions[node.first] = tree.rules.point_of[node.threat]
    arena.priors[node.first] = 1
    arena.edge_count += 1
    node.state = EXPANDED
    return True


cdef inline bint _leads_on(const Node *node, uint32_t at) noexcept nogil:
    # Whether a descent that has come to a node chooses one of its edges.
    return node.state == EXPANDED and not (node.proof and at) and not _is_short(node, at)


cdef int _choose_at_root(Tree *tree, const Settings *settings) noexcept nogil:
    cdef const Node *root = &tree.arena.nodes[0]
    cdef int edge = -1
    if tree.considered_count:
        edge = _select_gumbel(tree, settings)
    elif root.forced:
        edge = _block(tree, root)
    if edge < 0:
        edge = _select_at_root(tree, settings)
    _note_change(tree, edge)
    return edge


cdef void _set_out(Walk *walk, Tree *tree) noexcept nogil:
    # Begins a descent.
    walk.at = walk.length = 0
    walk.goes_on = True
    tree.arena.nodes[0].in_flight += 1


cdef void _walk_on(Walk *walk, Tree *tree, const Settings *settings) noexcept nogil:
    # Chooses the next edge of a descent, if it leads on. What the next choice needs is fetched.
    cdef Arena *arena = &tree.arena
    cdef Node *node = &arena.nodes[walk.at]
    cdef int edge
    walk.goes_on = _leads_on(node, walk.at)
    if not walk.goes_on:
        return
    edge = _select(arena, node, settings) if walk.at else _choose_at_root(tree, settings)
    prefetch(&arena.actions[node.first + edge])
    walk.edges[walk.length] = edge
    walk.length += 1
    walk.goes_on = edge < node.visited
    if walk.goes_on:
        walk.at = arena.children[node.first + edge]
        node = &arena.nodes[walk.at]
        node.in_flight += 1
        prefetch(&arena.children[node.first])
        prefetch(&arena.priors[node.first])


cdef int _arrive(Walk *walk, Tree *tree, const Settings *settings, Position *position,
                 uint32_t *leaf) noexcept nogil:
    # Plays the edges that were chosen, up to the descent's end; `position` is left there where that
    # is a leaf.
    cdef Arena *arena = &tree.arena
    cdef Node *node
    cdef uint32_t at = 0
    cdef int edge, i = 0
    memcpy(position, tree.root, tree.rules.position_bytes)
    # Behind the chosen edges come forced moves, each of which is its node's only edge.
    while i < walk.length or (arena.nodes[at].state == FRESH and _expand_forced(tree, at)):
        node = &arena.nodes[at]
        edge = walk.edges[i] if i < walk.length else 0
        i += 1
        if edge < node.visited:
            at = arena.children[node.first + edge]
            if arena.nodes[at].state == EXPANDED and not arena.nodes[at].proof:
                play(tree.rules, position, tree.history, arena.actions[node.first + edge])
        else:
            at = _enter(tree, settings, position, at, edge)
            arena.nodes[at].in_flight += 1
    leaf[0], walk.length = at, i
    node = &arena.nodes[at]
    if node.state == FRESH:
        return LEAF
    if node.state != EXPANDED:
        _withdraw(arena, at)
        return COLLISION
    if node.proof and at:
        _back_up(arena, at, _proven_value(node.proof))
        return SCORED
    return SHORT


cdef uint32_t _enter(Tree *tree, const Settings *settings, Position *position, uint32_t at,
                     int edge) noexcept nogil:
    # Plays an edge for the first time; returns its node, proven where its result is seen.
    cdef Arena *arena = &tree.arena
    cdef int last = _play(tree, position, arena.actions[arena.nodes[at].first + edge])
    cdef uint32_t below = _visit_edge(arena, at, edge, position.seat)
    cdef Node *node = &arena.nodes[below]
    if position.reason != RUNNING:
        node.state = EXPANDED
        node.proof = DRAWN if position.winner == NOBODY else A_WINS + position.winner
    elif settings.solver:
        _judge_at_sight(tree.rules, position, node, &arena.nodes[at], last)
        if tree.threats and not node.proof:
            _look_for_fours(tree, settings, position, node)
    if settings.solver and node.proof:
        _prove_upwards(arena, below)
    return below


cdef bint _may_complete(const Rules *rules, const Position *position) noexcept nogil:
    # Whether the seat to act places a stone of its own where it likes. One that completes a line is
    # legal whatever else it does: neither suicide nor repetition nor a foul forbids it.
    cdef int owner = position.black_seat if position.to_play == BLACK else 1 - position.black_seat
    return (rules.phases[position.phase].plain and owner == position.seat
            and rules.phases[position.phase].after_point >= 0)


cdef bint _must_block(const Rules *rules, const Position *position) noexcept nogil:
    # Whether a line that the opponent is about to complete can only be stopped by a stone on its
    # last point: nothing is captured, no end of it can be closed, and the game does not end before.
    return (not rules.chains and not rules.unblocked and not rules.ply_limit
            and position.phase == rules.play_phase and not position.passes)


cdef bint _can_win(const Rules *rules, const Position *position, const Node *parent,
                   int last) noexcept nogil:
    # Whether the seat to act can complete a line. What it threatened before its opponent's stone
    # `last` (0: more has changed than that) is known where `parent` is sighted.
    cdef int cell = 0
    if last and parent.sighted:
        return (parent.threat and parent.threat != last and judge_lines(
            rules, position, parent.threat, position.to_play) == LINE_WINS)
    return winning_cells(rules, position, position.to_play, 1, &cell)


cdef int _see_threats(const Rules *rules, const Position *position, Node *node,
                      bint known, int last) noexcept nogil:
    # Notes where the opponent could win if it were to move; returns the number of cells, up to 2.
    # Where its stone `last` is all that has changed since it could not (`known`), it made them.
    cdef int threats, cell = 0
    if known:
        threats = winning_cells_by(rules, position, last, &cell)
    else:
        threats = winning_cells(rules, position, BLACK + WHITE - position.to_play, 2, &cell)
    node.sighted = threats < 2
    node.threat = cell if node.sighted else 0
    return threats


cdef void _judge_at_sight(const Rules *rules, const Position *position, Node *node,
                          const Node *parent, int last) noexcept nogil:
    # Who can complete a line wins; who faces two threats that must be blocked loses.
    cdef int threats
    cdef bint known = last and parent.sighted and (
        colours_of(rules, position)[last] != position.to_play
    )
    if not _may_complete(rules, position):
        return
    if _can_win(rules, position, parent, last if known else 0):
        node.proof = A_WINS + position.seat
    elif not rules.switches:
        threats = _see_threats(rules, position, node, known, last)
        if threats and _must_block(rules, position):
            node.forced = threats == 1 and verdict(
                rules, position, NULL, rules.point_of[node.threat]
            ) == LEGAL
            if not node.forced:
                node.proof = A_WINS + 1 - position.seat
    if node.proof:
        node.state = EXPANDED


cdef void _look_for_fours(const Tree *tree, const Settings *settings, const Position *position,
                          Node *node) noexcept nogil:
    # Proves a new node in which continuous fours win.
    cdef int moves = threats_search(tree.threats, position, tree.history, False, MOST_MOVES,
                                    settings.threat_nodes, 0)
    if moves:
        node.proof = A_WINS + position.seat
        node.plies = 2 * moves - 1
        node.state = EXPANDED


cdef void _judge_root(Tree *tree) noexcept nogil:
    # Visits the root's winning move, if it has one: the search ends there. Otherwise notes the move
    # that stops a threat, to be visited first.
    cdef Arena *arena = &tree.arena
    cdef Node *root = &arena.nodes[0]
    cdef int cell = 0
    cdef uint32_t child
    if not _may_complete(tree.rules, tree.root):
        return
    winning_cells(tree.rules, tree.root, tree.root.to_play, 1, &cell)
    if not cell or arena.node_count == arena.node_capacity:
        if not tree.rules.switches:
            root.forced = (_see_threats(tree.rules, tree.root, root, False, 0) == 1
                           and _must_block(tree.rules, tree.root))
        return
    child = _visit_edge(arena, 0, _edge_of(arena, root, tree.rules.point_of[cell]), root.seat)
    arena.nodes[child].state = EXPANDED
    arena.nodes[child].proof = A_WINS + root.seat
    arena.nodes[child].in_flight += 1
    root.in_flight += 1
    _back_up(arena, child, _proven_value(arena.nodes[child].proof))
    _prove_upwards(arena, child)


cdef void _lose_edge(Arena *arena, int edge) noexcept nogil:
    # Proves a visited edge of the root lost for its seat.
    cdef Node *root = &arena.nodes[0]
    cdef uint32_t at = arena.children[root.first + edge]
    if not arena.nodes[at].in_flight:
        arena.priors[root.first + edge] = 0
        arena.nodes[at].state, arena.nodes[at].proof = EXPANDED, A_WINS + 1 - root.seat
        _prove_upwards(arena, at)


cdef void _share_priors(Arena *arena, Node *root) noexcept nogil:
    # Scales the root's priors to the sum 1 again, if any are left.
    cdef float sum_ = 0
    cdef uint32_t i
    for i in range(root.first, root.first + root.kept):
        sum_ += arena.priors[i]
    if sum_ <= 0:
        return
    root.visited_prior = 0
    for i in range(root.first, root.first + root.kept):
        arena.priors[i] /= sum_
        if i < root.first + root.visited:
            root.visited_prior += arena.priors[i]
    _best_unvisited_first(arena, root)


cdef void _keep_best(Arena *arena, const Node *node, const uint16_t *actions,
                     const float *priors) noexcept nogil:
    # The node's `kept` edges: all, or those with the best priors, the first of equals.
    cdef uint16_t *best = &arena.actions[node.first]
    cdef float *best_priors = &arena.priors[node.first]
    cdef uint16_t order[KEPT]
    cdef int k
    if node.kept == node.edges:
        memcpy(best, actions, node.kept * sizeof(uint16_t))
        memcpy(best_priors, priors, node.kept * sizeof(float))
        _best_unvisited_first(arena, node)
        return
    best_of(priors, node.edges, node.kept, order)
    for k in range(node.kept):
        best[k], best_priors[k] = actions[order[k]], priors[order[k]]


cdef void _keep_all(Arena *arena, Node *node, uint32_t first, const uint16_t *actions,
                    const float *priors) noexcept nogil:
    # Moves the node's visited edges to `first` and puts the others behind them.
    cdef int rank[MAX_ACTIONS]
    cdef int k, size = node.visited
    for k in range(node.edges):
        rank[actions[k]] = -1
    for k in range(node.visited):
        rank[arena.actions[node.first + k]] = k
    node.visited_prior = 0
    for k in range(node.edges):
        if rank[actions[k]] >= 0:
            arena.children[first + rank[actions[k]]] = arena.children[node.first + rank[actions[k]]]
            node.visited_prior += priors[k]
        else:
            rank[actions[k]] = size
            size += 1
        arena.actions[first + rank[actions[k]]] = actions[k]
        arena.priors[first + rank[actions[k]]] = priors[k]
    node.first, node.kept = first, node.edges
    _best_unvisited_first(arena, node)


cdef void _expand(Arena *arena, uint32_t at, float value) noexcept nogil:
    # Of a node whose priors are known; `value` is for the seat to act.
    cdef Node *node = &arena.nodes[at]
    node.state = EXPANDED
    node.value = value if node.seat == SEAT_A else -value
    _back_up(arena, at, node.value)


# --- caches -------------------------------------------------------------------------------------

cdef void _fetch_root(const Tree *tree) noexcept nogil:
    # What every descent needs: its root's position, and where nodes are looked at and made.
    cdef uint32_t at
    if tree.active:
        for at in range(0, tree.rules.position_bytes, 64):      # lines of a cache
            prefetch(<const char *> tree.root + at)
        prefetch(tree.arena.nodes)
        prefetch(&tree.arena.nodes[tree.arena.node_count])      # where the next one will be made
        prefetch(tree.history)


cdef void _fetch_children(const Walk *walk, const Tree *tree) noexcept nogil:
    # What the next choice of a descent looks at.
    cdef const Arena *arena = &tree.arena
    cdef const Node *node = &arena.nodes[walk.at]
    cdef int k
    if walk.at:
        for k in range(node.visited):
            prefetch(&arena.nodes[arena.children[node.first + k]])
        return
    for k in range(min(tree.changed_count, <int32_t> CHANGED)):
        if tree.changed[k] < tree.known:
            prefetch(&arena.nodes[arena.children[node.first + tree.changed[k]]])
    for k in range(0, node.visited + 1, 16):
        prefetch(&tree.means[k])
        prefetch(&tree.counts[k])
        prefetch(&arena.priors[node.first + k])


# --- what a root has found ----------------------------------------------------------------------

cdef int _visit_policy(int count, const int32_t *visits, const float *values, const float *logits,
                       const signed char *proofs, float *policy) noexcept nogil:
    # The actions of a root by visits; proven wins take all of it, proven losses none. Returns the
    # best one: value, then prior, then the lower action break ties.
    cdef int k, best = 0, allowed = -1
    cdef double total = 0
    for k in range(count):
        # Any win before what is open, and that before losses.
        allowed = max(allowed, 1 if proofs[k] == 1 else 0 if proofs[k] != -1 else -1)
    for k in range(count):
        policy[k] = proofs[k] == 1 if allowed == 1 else visits[k] * (proofs[k] != -1 or allowed < 0)
        total += policy[k]
    if not total:
        for k in range(count):
            policy[k] = expf(logits[k]) if proofs[k] != -1 or allowed < 0 else 0
            total += policy[k]
    for k in range(count):
        policy[k] = <float> (policy[k] / total)
        if policy[k] > policy[best] or policy[k] == policy[best] and (
                values[k] > values[best] or values[k] == values[best] and logits[k] > logits[best]):
            best = k
    return best


def draw(const float[::1] policy, double power, double chance):
    """An index of `policy` drawn in proportion to its powers; `chance` is uniform in [0, 1)."""
    cdef double[MAX_ACTIONS] reached        # sums of the powers so far
    cdef double most = 0, total = 0
    cdef int k, last = 0
    for k in range(policy.shape[0]):
        most = max(most, policy[k])
    for k in range(policy.shape[0]):
        if policy[k] > 0:
            total += policy[k] if power == 1 else pow(policy[k] / most, power)
            last = k
        reached[k] = total
    for k in range(last):
        if reached[k] > chance * total:
            return k
    return last


# --- the batch ----------------------------------------------------------------------------------

@final
cdef class SearchCore:
    """The trees and the batch in flight. `engine.search.SearchBatch` is its public face."""

    cdef Tree *trees
    cdef readonly int tree_count
    cdef readonly int batch_size
    cdef readonly int area                  # points of the canvas
    cdef readonly int rows                  # rows in flight
    cdef Settings settings
    cdef float[TABLED] explorations
    cdef Statistics counts
    cdef Cache cache
    cdef Walk[WALKS] walks                  # descents that are chosen together
    cdef Arena spare                        # the other half of the copying collector
    cdef void *block                        # memory of all that follows, and of trees
    cdef Position *scratch
    cdef int32_t *row_trees
    cdef uint32_t *row_nodes
    cdef uint64_t *row_checks
    cdef uint32_t *row_edges                # where the edges of a refilled node will lie
    cdef uint16_t *row_actions              # [batch_size, MAX_ACTIONS] legal actions
    cdef float *priors                      # [MAX_ACTIONS] of the row that is being answered
    cdef int first_tree                     # where the next collect begins
    cdef list held                          # Python objects whose memory the trees point into
    cdef readonly object planes             # [batch_size or more, C, H, W] uint8
    cdef readonly object globals_           # [batch_size or more, G] float32
    cdef dict threats                       # ThreatCore by rule table, where leaves want one
    cdef uint8_t *planes_at
    cdef float *globals_at
    cdef uint64_t *keys_at
    cdef readonly object keys               # [batch_size] uint64

    def __cinit__(self, int trees, int batch_size, int height, int width, uint32_t nodes,
                  uint64_t cache_bytes, dict settings):
        # A refilled node needs room for all actions; few are.
        cdef uint32_t edges = nodes * KEPT + (4 + nodes // 16) * (height * width + OPTION_COUNT)
        cdef size_t size
        cdef int i
        self.tree_count, self.batch_size, self.area = trees, batch_size, height * width
        self._set(settings)
        self.held = [None] * trees
        self.threats = {}
        self.keys = np.zeros(batch_size, np.uint64)
        cdef uint64_t[::1] keys = self.keys
        self.keys_at = &keys[0]
        self.write_into(np.zeros((batch_size, PLANE_COUNT, height, width), np.uint8),
                        np.zeros((batch_size, GLOBAL_COUNT), np.float32))
        self.trees = <Tree *> calloc(trees, sizeof(Tree))
        if self.trees == NULL or cache_make(&self.cache, cache_bytes, self.area + OPTION_COUNT) < 0:
            raise MemoryError
        for i in range(trees):
            self.trees[i].history = history_new()
            if self.trees[i].history == NULL:
                raise MemoryError
        size = self._lay_out(0, nodes, edges)
        # Untouched pages of it cost no memory: pages of 2 MiB, where the wish is granted.
        self.block = malloc(size + 63)
        if self.block == NULL:
            raise MemoryError
        wish_huge_pages(self.block, size)
        self._lay_out((<size_t> self.block + 63) // 64 * 64, nodes, edges)

    cdef size_t _lay_out(self, size_t start, uint32_t nodes, uint32_t edges) noexcept nogil:
        # Puts all that searches read and write into one block; returns the bytes it takes.
        cdef size_t at = start
        cdef int rows = self.batch_size, i
        cdef Tree *tree
        self.scratch = <Position *> _carve(&at, LARGEST_POSITION)
        self.row_trees = <int32_t *> _carve(&at, rows * sizeof(int32_t))
        self.row_nodes = <uint32_t *> _carve(&at, rows * sizeof(uint32_t))
        self.row_checks = <uint64_t *> _carve(&at, rows * sizeof(uint64_t))
        self.row_edges = <uint32_t *> _carve(&at, rows * sizeof(uint32_t))
        self.row_actions = <uint16_t *> _carve(&at, rows * MAX_ACTIONS * sizeof(uint16_t))
        self.priors = <float *> _carve(&at, (MAX_ACTIONS + 7) * sizeof(float))
        for i in range(WALKS):
            self.walks[i].edges = <uint16_t *> _carve(&at, nodes * sizeof(uint16_t))
        for i in range(self.tree_count):
            tree = &self.trees[i]
            tree.root = <Position *> _carve(&at, LARGEST_POSITION)
            tree.logits = <float *> _carve(&at, MAX_ACTIONS * sizeof(float))
            tree.gumbels = <float *> _carve(&at, MAX_ACTIONS * sizeof(float))
            tree.means = <float *> _carve(&at, MAX_ACTIONS * sizeof(float))
            tree.counts = <float *> _carve(&at, MAX_ACTIONS * sizeof(float))
            tree.considered = <uint16_t *> _carve(&at, MAX_ACTIONS * sizeof(uint16_t))
            _carve_arena(&tree.arena, &at, nodes, edges)
        _carve_arena(&self.spare, &at, nodes, edges)
        return at - start

    cdef void _set(self, dict settings):
        cdef Settings *own = &self.settings
        cdef int i
        own.c_init, own.c_base = settings["c_init"], settings["c_base"]
        own.fpu_reduction = settings["fpu_reduction"]
        own.virtual_loss = settings["virtual_loss"]
        own.gumbel_c_visit = settings["gumbel_c_visit"]
        own.gumbel_c_scale = settings["gumbel_c_scale"]
        own.leaves_per_step = settings["leaves_per_step"]
        own.solver, own.threat_nodes = settings["solver"], settings["threat_nodes"]
        for i in range(TABLED):
            self.explorations[i] = _exploration(own, i)
        own.explorations = self.explorations

    def __dealloc__(self):
        cdef int i
        if self.trees != NULL:
            for i in range(self.tree_count):
                history_free(self.trees[i].history)
        free(self.trees)
        free(self.block)
        cache_free(&self.cache)

    def write_into(self, planes, globals_):
        """Batches are written into these arrays from now on, [batch_size or more, ...]."""
        cdef uint8_t[:, :, :, ::1] planes_view = planes
        cdef float[:, ::1] globals_view = globals_
        self.planes_at, self.globals_at = &planes_view[0, 0, 0, 0], &globals_view[0, 0]
        self.planes, self.globals_ = planes, globals_

    def start(self, int index, PositionCore position, int opening):
        """A tree with nothing but its root: this position."""
        cdef Tree *tree = &self.trees[index]
        tree.rules = &position.table.rules
        tree.opening = opening
        memcpy(tree.root, position.block, tree.rules.position_bytes)
        if history_copy(position.history, tree.history) < 0:
            raise MemoryError
        tree.threats = NULL
        if self.settings.threat_nodes:
            tree.threats = self._threats_of(position.table).threats
        tree.active = True
        self._plant(tree)

    cdef ThreatCore _threats_of(self, RuleTable table):
        # Trees take turns, so those of one game share a search.
        if table not in self.threats:
            self.threats[table] = ThreatCore(table, THREAT_BITS)
        return self.threats[table]

    cdef void _plant(self, Tree *tree) noexcept nogil:
        tree.arena.node_count = tree.arena.edge_count = 0
        tree.full = False
        tree.known = tree.changed_count = 0
        _new_node(&tree.arena, 0, tree.root.seat)

    def stop(self, int index):
        """The tree asks for nothing more."""
        self.trees[index].active = False

    def turn(self, int index, const int32_t[::1] canvas, const uint8_t[:, ::1] blank, int turn):
        """Under which symmetry the network sees the tree's positions, and on which canvas.

        `canvas` and `blank` are those of `engine.symmetry` and `engine.features`. All trees of a
        game share them, so that they stay in the processor's caches; they are held here.
        """
        cdef Tree *tree = &self.trees[index]
        tree.salt = mix(tree.opening << 8 | tree.rules.opening_number << 4 | turn)
        self.held[index] = [canvas, blank, None]
        tree.canvas = &canvas[0]
        tree.blank = &blank[0, 0]

    def begin(self, int index, int budget):
        """The root is searched from now on, to so many simulations."""
        cdef Tree *tree = &self.trees[index]
        tree.budget = budget
        tree.considered_count = tree.known = tree.changed_count = 0
        if self.cache.buckets and _is_short(&tree.arena.nodes[0], 0):
            self._recall_root(tree, index)

    def extend(self, int index, int budget):
        """The root is searched on as it is, to so many simulations."""
        self.trees[index].budget = budget

    def advance(self, int index, int action, bint keep):
        """Plays a legal action at the root; with `keep`, its subtree becomes the tree."""
        cdef Tree *tree = &self.trees[index]
        cdef Arena *arena = &tree.arena
        cdef int edge = _edge_of(arena, &arena.nodes[0], action)
        cdef Arena emptied
        tree.considered_count = 0
        play(tree.rules, tree.root, tree.history, action)
        if (keep and 0 <= edge < arena.nodes[0].visited and tree.root.reason == RUNNING
                and _is_searched(arena, edge)):
            _move_subtree(arena, arena.children[arena.nodes[0].first + edge], &self.spare)
            emptied = tree.arena
            tree.arena = self.spare
            self.spare = emptied
            tree.full = False
            if not _has_room(tree):
                self._plant(tree)
        else:
            self._plant(tree)
        tree.active = tree.root.reason == RUNNING

    cdef void _recall_root(self, Tree *tree, int index) noexcept nogil:
        # The further edges of a node that has become the root, if the cache has them.
        cdef Node *root = &tree.arena.nodes[0]
        cdef uint64_t banned = 0
        legal_actions(tree.rules, tree.root, tree.history, self.row_actions, &banned)
        self.keys_at[0] = position_key(tree.rules, tree.root) ^ banned
        self.row_checks[0] = check_of(tree.rules, tree.root)
        self.row_trees[0], self.row_nodes[0] = index, 0
        self.row_edges[0] = tree.arena.edge_count
        root.in_flight += 1
        if self._recall(tree, 0):
            tree.arena.edge_count += root.edges
        else:
            root.in_flight -= 1

    def collect(self):
        """Descends in all trees until the batch is full or nothing more is wanted; returns rows."""
        cdef int leaves = self.settings.leaves_per_step, left = self.tree_count, size, i
        with nogil:
            while left and self.rows + leaves <= self.batch_size:
                size = min(WALKS, left, (self.batch_size - self.rows) // leaves)
                self._walk_together(size)
                for i in range(size):
                    self._collect_from(self.first_tree, &self.walks[i])
                    self.first_tree = (self.first_tree + 1) % self.tree_count
                left -= size
            if self.rows:
                self.counts.steps += 1
                self.counts.evaluations += self.rows
        return self.rows

    cdef void _walk_together(self, int size) noexcept nogil:
        # Chooses the next trees' descents, level by level: while one tree's nodes are fetched from
        # memory the others' are looked at. The network has emptied the processor's caches.
        cdef int i, index, walking = size
        for i in range(size):
            _fetch_root(&self.trees[(self.first_tree + i) % self.tree_count])
        for i in range(size):
            index = (self.first_tree + i) % self.tree_count
            self._begin_walk(&self.walks[i], &self.trees[index])
        while walking:
            walking = 0
            for i in range(size):
                if self.walks[i].goes_on:
                    index = (self.first_tree + i) % self.tree_count
                    _fetch_children(&self.walks[i], &self.trees[index])
            for i in range(size):
                if self.walks[i].goes_on:
                    index = (self.first_tree + i) % self.tree_count
                    _walk_on(&self.walks[i], &self.trees[index], &self.settings)
                    walking += 1

    cdef void _begin_walk(self, Walk *walk, Tree *tree) noexcept nogil:
        # If a tree wants one more simulation and has room for it.
        walk.begun = walk.goes_on = False
        if not _wants_more(tree, &self.settings):
            return
        if _has_room(tree):
            walk.begun = True
            _set_out(walk, tree)
        else:
            self.counts.full += 1
            tree.full = True

    cdef void _collect_from(self, int index, Walk *walk) noexcept nogil:
        cdef Tree *tree = &self.trees[index]
        cdef int taken = 0, end
        cdef uint32_t known, leaf = 0
        while walk.begun:
            while walk.goes_on:
                _walk_on(walk, tree, &self.settings)
            known = tree.history.count
            end = _arrive(walk, tree, &self.settings, self.scratch, &leaf)
            if end == LEAF or end == SHORT:
                taken += self._ask(tree, index, leaf)
            history_pop(tree.history, known)
            self.counts.depth += walk.length
            if end == COLLISION:
                self.counts.collisions += 1
                return
            self.counts.simulations += end != SHORT
            self.counts.terminals += end == SCORED
            if taken == self.settings.leaves_per_step:
                return
            self._begin_walk(walk, tree)

    cdef bint _ask(self, Tree *tree, int index, uint32_t at) noexcept nogil:
        # Makes a node, whose position is in `scratch`, the next row of the batch; returns False
        # where the cache answers instead. It is not asked for new roots, which may get noise first.
        cdef Arena *arena = &tree.arena
        cdef Node *node = &arena.nodes[at]
        cdef uint16_t *actions = &self.row_actions[self.rows * MAX_ACTIONS]
        cdef uint64_t banned = 0, key
        cdef int row = self.rows
        cdef bint again = node.state == EXPANDED
        node.edges = legal_actions(tree.rules, self.scratch, tree.history, actions, &banned)
        key = position_key(tree.rules, self.scratch) ^ banned
        self.row_edges[row] = arena.edge_count
        if not again:
            node.first = arena.edge_count
            node.kept = node.edges if at == 0 or node.edges < KEPT else KEPT
        arena.edge_count += node.edges if again else node.kept
        self.keys_at[row] = key
        self.row_trees[row], self.row_nodes[row] = index, at
        if self.cache.buckets:
            self.row_checks[row] = check_of(tree.rules, self.scratch)
            if at != 0 and self._recall(tree, row):
                return False
        node.state = REFILLING if again else WAITING
        self.counts.refills += again
        write_features(tree.rules, self.scratch, tree.opening, actions, node.edges, tree.canvas,
                       tree.blank, self.area, self.planes_at + row * PLANE_COUNT * self.area,
                       self.globals_at + row * GLOBAL_COUNT)
        self.rows = row + 1
        return True

    cdef bint _recall(self, Tree *tree, int row) noexcept nogil:
        # Answers a row that is being made from the cache, if it is there.
        cdef Node *node = &tree.arena.nodes[self.row_nodes[row]]
        cdef Entry *entry = cache_find(&self.cache, self.keys_at[row] ^ tree.salt,
                                       self.row_checks[row], node.edges)
        if entry == NULL:
            return False
        self.counts.cached += 1
        self._install(tree, row, priors_of(entry), entry.value)
        return True

    cdef void _install(self, Tree *tree, int row, const float *priors, float value) noexcept nogil:
        # Gives a node its edges, or further ones.
        cdef uint32_t at = self.row_nodes[row]
        cdef Node *node = &tree.arena.nodes[at]
        cdef const uint16_t *actions = &self.row_actions[row * MAX_ACTIONS]
        if node.visits:
            _keep_all(&tree.arena, node, self.row_edges[row], actions, priors)
            node.state = EXPANDED
            _withdraw(&tree.arena, at)
        else:
            _keep_best(&tree.arena, node, actions, priors)
            _expand(&tree.arena, at, value)

    def forget(self):
        """Empties the cache: another evaluator will answer."""
        cache_clear(&self.cache)

    def apply(self, const float[:, ::1] logits, const float[::1] values):
        """Answers the batch in flight; returns the trees whose root was just expanded."""
        cdef int row
        cdef list roots = []
        if (logits.shape[0] != self.rows or values.shape[0] != self.rows
                or logits.shape[1] != self.area + OPTION_COUNT):
            raise ValueError(
                f"apply: logits {logits.shape[0]}x{logits.shape[1]} and {values.shape[0]} values;"
                f" the batch in flight wants {self.rows}x{self.area + OPTION_COUNT}"
            )
        if not self.rows:
            return roots
        if not (finite(&logits[0, 0], logits.shape[0] * logits.shape[1])
                and finite(&values[0], values.shape[0])):
            raise ValueError("search: the evaluator returned a number that is not finite")
        for row in range(self.rows):
            if not -1.01 <= values[row] <= 1.01:        # a little more than 1 is rounding
                raise ValueError(f"search: the evaluator returned the value {values[row]:g}")
        with nogil:
            for row in range(self.rows):
                self._fetch_path(row)
                if row + 1 < self.rows:
                    self._fetch_answer(row + 1, &logits[row + 1, 0])
                self._answer(row, &logits[row, 0], values[row])
        for row in range(self.rows):
            if self.row_nodes[row] == 0:
                roots.append(self.row_trees[row])
        self.rows = 0
        return roots

    cdef void _fetch_path(self, int row) noexcept nogil:
        # The ends of the next rows' ways up to their roots, and where their edges will lie.
        cdef const Node *nodes
        cdef const Arena *arena
        if row + 2 < self.rows:
            nodes = self.trees[self.row_trees[row + 2]].arena.nodes
            prefetch(&nodes[self.row_nodes[row + 2]])
            prefetch(nodes)
        if row + 1 < self.rows:
            nodes = self.trees[self.row_trees[row + 1]].arena.nodes
            prefetch(&nodes[nodes[self.row_nodes[row + 1]].parent])
            arena = &self.trees[self.row_trees[row + 1]].arena
            prefetch(&arena.actions[self.row_edges[row + 1]])
            prefetch(&arena.priors[self.row_edges[row + 1]])

    cdef void _fetch_answer(self, int row, const float *logits) noexcept nogil:
        cdef uint32_t at
        for at in range(0, (self.area + OPTION_COUNT) * sizeof(float), 64):
            prefetch(<const char *> logits + at)
        for at in range(0, self.area * sizeof(uint16_t), 64):
            prefetch(<const char *> &self.row_actions[row * MAX_ACTIONS] + at)

    cdef void _answer(self, int row, const float *logits, float value) noexcept nogil:
        cdef uint32_t at = self.row_nodes[row]
        cdef Tree *tree = &self.trees[self.row_trees[row]]
        cdef Node *node = &tree.arena.nodes[at]
        cdef bint begins = node.state == WAITING
        softmax(logits, tree.canvas, &self.row_actions[row * MAX_ACTIONS], node.edges, self.priors)
        cache_store(&self.cache, self.keys_at[row] ^ tree.salt, self.row_checks[row], node.edges,
                    self.priors, value)
        self._install(tree, row, self.priors, value)
        if at == 0 and begins and self.settings.solver:
            _judge_root(tree)

    def root_is_expanded(self, int index):
        cdef const Node *root = &self.trees[index].arena.nodes[0]
        return root.state == EXPANDED and root.kept == root.edges

    def settle_root(self, int index):
        """Remembers the root's priors as they are before any noise."""
        cdef Tree *tree = &self.trees[index]
        cdef const Node *root = &tree.arena.nodes[0]
        cdef uint32_t i
        for i in range(root.first, root.first + root.edges):
            tree.logits[tree.arena.actions[i]] = logf(max(tree.arena.priors[i], <float> 1e-30))

    def give_up(self, int index, const int32_t[::1] actions):
        """Takes these actions of the root as proven losses; the others share their priors.

        Where the arena is half full, the rest of them are searched like any other.
        """
        cdef Arena *arena = &self.trees[index].arena
        cdef Node *root = &arena.nodes[0]
        cdef int k, edge
        for k in range(actions.shape[0]):
            edge = _edge_of(arena, root, actions[k])
            if edge >= root.visited and 2 * arena.node_count < arena.node_capacity:
                _visit_edge(arena, 0, edge, 1 - root.seat)
                edge = root.visited - 1
            if 0 <= edge < root.visited:
                _lose_edge(arena, edge)
        self.trees[index].known = 0
        _share_priors(arena, root)

    def mix_noise(self, int index, const double[::1] noise, float fraction):
        """Mixes noise over the root's edges, scaled to the sum 1, into its priors."""
        cdef Arena *arena = &self.trees[index].arena
        cdef Node *root = &arena.nodes[0]
        cdef double total = 0
        cdef int k
        for k in range(root.edges):
            total += noise[k]
        if total <= 0:                      # all of it too small for a number
            return
        root.visited_prior = 0
        for k in range(root.edges):
            arena.priors[root.first + k] += fraction * (
                noise[k] / total - arena.priors[root.first + k])
            if k < root.visited:
                root.visited_prior += arena.priors[root.first + k]
        _best_unvisited_first(arena, root)

    def set_gumbel(self, int index, const int32_t[::1] actions, const float[::1] gumbels,
                   const int32_t[::1] considered, const int32_t[::1] schedule):
        """Gumbel noise of the root's actions, those considered, and the visits each time wants."""
        cdef Tree *tree = &self.trees[index]
        cdef int k
        for k in range(actions.shape[0]):
            tree.gumbels[actions[k]] = gumbels[k]
        for k in range(considered.shape[0]):
            tree.considered[k] = considered[k]
        tree.considered_count = considered.shape[0]
        tree.schedule = &schedule[0]
        self.held[index][2] = schedule

    def budget(self, int index):
        return self.trees[index].budget

    def gumbels(self, int index, const int32_t[::1] actions):
        """[n] Gumbel noise of these actions of the root."""
        cdef int k
        found = np.zeros(actions.shape[0], np.float32)
        for k in range(actions.shape[0]):
            found[k] = self.trees[index].gumbels[actions[k]]
        return found

    def finished(self):
        """The trees that were begun and want nothing more."""
        cdef int i
        for i in range(self.tree_count):
            prefetch(self.trees[i].arena.nodes)
        return [i for i in range(self.tree_count) if _is_finished(&self.trees[i], &self.settings)]

    def root_edges(self, int index):
        """Arrays over the root's actions, ascending, and the index of the best one by visits.

        Actions, visits, values, log priors, proofs, policy by visits. Values are means for the seat
        to act (exact where proven, 0 where unvisited); proofs are +1, 0, -1 for that seat and 2
        where unproven.
        """
        cdef const Tree *tree = &self.trees[index]
        cdef const Arena *arena = &tree.arena
        cdef const Node *root = &arena.nodes[0]
        cdef const Node *child
        cdef float sign = 1 if root.seat == SEAT_A else -1
        cdef int16_t edge_of[MAX_ACTIONS]
        cdef int action, edge, at = 0, n = root.edges
        # One array and one view of it: each costs as much as all that is written here.
        table = np.zeros((6, n), np.int32)
        cdef int32_t[:, ::1] table_at = table
        cdef int32_t *actions_at = &table_at[0, 0]
        cdef int32_t *visits_at = actions_at + n
        cdef float *values_at = <float *> (visits_at + n)
        cdef float *logits_at = values_at + n
        cdef float *policy_at = logits_at + n
        cdef signed char *proofs_at = <signed char *> (policy_at + n)
        for action in range(tree.rules.actions):
            edge_of[action] = -1
        for edge in range(n):
            edge_of[arena.actions[root.first + edge]] = edge
        for action in range(tree.rules.actions):
            edge = edge_of[action]
            if edge < 0:
                continue
            actions_at[at], logits_at[at], proofs_at[at] = action, tree.logits[action], 2
            if edge < root.visited:
                child = &arena.nodes[arena.children[root.first + edge]]
                visits_at[at] = child.visits
                if child.proof:
                    values_at[at] = sign * _proven_value(child.proof)
                    proofs_at[at] = <int> values_at[at]
                elif child.visits:
                    values_at[at] = sign * child.total / child.visits
            at += 1
        edge = _visit_policy(n, visits_at, values_at, logits_at, proofs_at, policy_at)
        floats = table.view(np.float32)
        proofs = table[5].view(np.int8)[:n]
        return table[0], table[1], floats[2], floats[3], proofs, floats[4], edge

    def root_size(self, int index):
        """Number of the root's actions."""
        return self.trees[index].arena.nodes[0].edges

    def root_values(self, int index):
        """(mean value, network's value, proof or 2, simulations) of the root for its seat."""
        cdef const Node *root = &self.trees[index].arena.nodes[0]
        cdef float sign = 1 if root.seat == SEAT_A else -1
        mean = sign * root.total / root.visits if root.visits else 0.0
        proof = int(sign * _proven_value(root.proof)) if root.proof else 2
        return mean, sign * root.value, proof, max(<int32_t> root.visits - 1, 0)

    def mixed_value(self, int index):
        """Estimate of the value of the root's unvisited actions (Gumbel's completed q)."""
        return _mixed_value(&self.trees[index], &self.settings)

    def line(self, int index, int action):
        """The most visited way down that begins with an action of the root.

        Each node's action, visits and mean value for seat A.
        """
        cdef const Arena *arena = &self.trees[index].arena
        cdef const Node *node = &arena.nodes[0]
        cdef const Node *child
        cdef int edge = _edge_of(arena, node, action)
        cdef list found = []
        while 0 <= edge < node.visited:
            child = &arena.nodes[arena.children[node.first + edge]]
            if not child.visits:
                break
            found.append((arena.actions[node.first + edge], child.visits,
                          child.total / child.visits))
            node = child
            edge = _most_visited(arena, node)
        return found

    def node_table(self, int index):
        """[nodes, 7] float64, in the order of their making, for tests.

        Columns: parent, action that led there, visits, value for seat A, seat, proof, edges.
        """
        cdef const Arena *arena = &self.trees[index].arena
        cdef const Node *node
        cdef uint32_t i
        cdef int k
        table = np.zeros((arena.node_count, 7))
        for i in range(arena.node_count):
            node = &arena.nodes[i]
            table[i, 0] = node.parent
            table[i, 2], table[i, 3] = node.visits, node.total
            table[i, 4], table[i, 5], table[i, 6] = node.seat, node.proof, node.edges
            for k in range(node.visited):
                table[arena.children[node.first + k], 1] = arena.actions[node.first + k]
        return table

    def stale_edges(self, int index):
        """Edges of the root noted with values out of date though nothing says so; for tests."""
        cdef Tree *tree = &self.trees[index]
        cdef float mean, count
        cdef int k
        if tree.changed_count > CHANGED:        # all of them are looked at again
            return []
        changed = {tree.changed[k] for k in range(tree.changed_count)}
        stale = []
        for k in range(tree.known):
            mean, count = tree.means[k], tree.counts[k]
            _look_at(tree, k, &self.settings)
            if k not in changed and (mean, count) != (tree.means[k], tree.counts[k]):
                stale.append(k)
            tree.means[k], tree.counts[k] = mean, count
        return stale

    def threat_plies(self, int index):
        """[nodes]: plies that a win by fours found at a node takes at most; 0 where none was."""
        cdef const Arena *arena = &self.trees[index].arena
        cdef uint32_t i
        return [arena.nodes[i].plies for i in range(arena.node_count)]

    @property
    def statistics(self):
        return self.counts

    def used_bytes(self, int index):
        """Memory that a tree takes up in its arena."""
        cdef const Arena *arena = &self.trees[index].arena
        return arena.node_count * sizeof(Node) + arena.edge_count * EDGE_BYTES

    @property
    def arena_bytes(self):
        """Size of one tree's arena when all of it is used."""
        return self.spare.node_capacity * sizeof(Node) + self.spare.edge_capacity * EDGE_BYTES
