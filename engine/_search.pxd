# cython: language_level=3
"""Trees of many games in C arenas. A batch is filled by `collect` and answered by `apply`."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine._threats cimport Threats
from engine._types cimport History, Position, Rules

cdef enum:
    KEPT = 14                       # edges that a node begins with, at most
    WALKS = 8                       # descents that are chosen together, in as many trees
    CHANGED = 16                    # edges of a root whose values may be out of date, at most

cdef struct Node:                   # 40 bytes
    uint32_t parent                 # the root is node 0 and its own parent
    uint32_t first                  # its first edge
    uint32_t visits                 # simulations that ended at or below it, its own evaluation too
    float total                     # sum of their values for seat A
    float value                     # its own evaluation for seat A
    float visited_prior             # prior mass of the visited edges
    uint16_t edges                  # legal actions
    uint16_t kept                   # those in the arena: all of a root's, else the best priors
    uint16_t visited                # edges first .. first+visited-1 have a child
    uint16_t threat                 # cell where the opponent of who acts could win, 0: none known
    uint16_t in_flight              # simulations at or below it that wait for the network
    uint8_t seat                    # who acts
    uint8_t state                   # FRESH, WAITING, EXPANDED or REFILLING
    uint8_t proof                   # UNPROVEN, or the result with best play
    uint8_t sighted                 # bool: the opponent could win at `threat` and nowhere else
    uint8_t forced                  # bool: every move but a stone on `threat` loses at once
    uint8_t plies                   # to the end of a win by fours found here at most; 0: none was

cdef struct Arena:                  # nodes and edges of one tree; indices, so that it can be moved
    Node *nodes
    uint32_t node_count
    uint32_t node_capacity
    uint16_t *actions               # of edges; behind the visited ones the best prior comes first
    float *priors
    uint32_t *children
    uint32_t edge_count
    uint32_t edge_capacity

cdef struct Tree:
    Arena arena
    const Rules *rules
    Position *root
    History *history                # of the game up to the root; a descent pushes and pops
    Threats *threats                # looks for wins at leaves; NULL where that is not asked for
    const int32_t *canvas           # action -> network action under the tree's symmetry
    const uint8_t *blank            # [2, area] what features have in common under that symmetry
    int32_t opening                 # the opening's number in the features
    uint64_t salt                   # tells its evaluations in the cache from other trees'
    int32_t budget                  # simulations wanted at the root
    float *means                    # [MAX_ACTIONS] of the root's visited edges, side by side
    float *counts                   # [MAX_ACTIONS] theirs: 1 + simulations, those in flight too
    int32_t known                   # edges that have both
    uint16_t changed[CHANGED]       # of these, those to look at again
    int32_t changed_count
    uint8_t active                  # bool: has a position
    uint8_t full                    # bool: the arena had no room for another node
    float *logits                   # [MAX_ACTIONS] log prior of the root's actions, without noise
    float *gumbels                  # [MAX_ACTIONS] Gumbel noise of the root's actions
    uint16_t *considered            # [MAX_ACTIONS] actions that Gumbel search considers
    int32_t considered_count        # 0: PUCT at the root
    const int32_t *schedule         # visits that the action of each simulation has (Gumbel)

cdef struct Walk:                   # a descent that is being chosen, before its moves are played
    uint32_t at                     # the node that it has come to
    int32_t length                  # edges chosen
    uint16_t *edges                 # these; the last one may be unvisited
    uint8_t begun                   # bool: the tree wants a descent
    uint8_t goes_on                 # bool: more may be chosen

cdef struct Settings:
    float c_init
    float c_base
    float fpu_reduction
    float virtual_loss
    float gumbel_c_visit
    float gumbel_c_scale
    int32_t leaves_per_step
    int32_t solver                  # bool
    int32_t threat_nodes            # positions made for a win by fours at each leaf
    const float *explorations       # what they make of numbers of simulations

cdef struct Statistics:
    uint64_t steps                  # calls of collect that filled a batch
    uint64_t simulations
    uint64_t evaluations            # rows of batches
    uint64_t refills                # of these: for the further actions of a node
    uint64_t terminals              # simulations that ended in a finished or proven position
    uint64_t cached                 # simulations that the cache answered
    uint64_t collisions             # descents that met a leaf in flight
    uint64_t full                   # times that an arena was found full
    uint64_t depth                  # sum over simulations
