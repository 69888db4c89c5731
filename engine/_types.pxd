# cython: language_level=3
"""The C structs that the engine shares. `Rules` is made once from a rule set; a `Position` is one
block of memory: the struct, then per-cell arrays at the offsets that `Rules` states.

A *cell* is a point of the board inside a one-cell border (`stride` = width + 1, so that the right
border of a row is the left border of the next); a *point* is the public row-major index.
"""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    MAX_SIDE = 25
    MAX_POINTS = 625            # MAX_SIDE * MAX_SIDE
    MAX_CELLS = 703             # (MAX_SIDE + 2) * (MAX_SIDE + 1) + 1
    MAX_POSITION_WORDS = 832    # 64-bit words that hold any position block
    OPTION_COUNT = 16           # len(engine.notation.OPTIONS)
    MAX_ACTIONS = 641           # MAX_POINTS + OPTION_COUNT
    MAX_PHASES = 24             # rows of an opening's table
    MAX_OFFERS = 12             # engine.openings.MOST_OFFERS
    NOBODY = 2                  # a seat that is none

# Option
cdef enum:
    PASS = 0
    TAKE_BLACK = 1
    TAKE_WHITE = 2
    MORE = 3

# Colour
cdef enum:
    EMPTY = 0
    BLACK = 1
    WHITE = 2
    BORDER = 3

# Seat
cdef enum:
    SEAT_A = 0
    SEAT_B = 1

# Actor: who acts in a phase
cdef enum:
    ACTOR_A = 0
    ACTOR_B = 1
    ACTOR_OTHER = 2             # the seat that did not act last
    ACTOR_OWNER = 3             # the owner of the colour to place
    ACTOR_BLACK = 4             # the owner of Black
    ACTOR_WHITE = 5

# Effect of a point in a phase
cdef enum:
    PLACES = 0
    OFFERS = 1
    PICKS = 2

# Region of a phase; k > 0: the central k x k points, k < 0: outside the central |k| x |k|
cdef enum:
    ANYWHERE = 0
    NEAR_CORNERS = 127          # "central-5-near-corners" in engine.openings

# What becomes of Black's forbidden moves
cdef enum:
    FORBIDS_NOTHING = 0
    FORBIDDEN_ILLEGAL = 1
    FORBIDDEN_LOSES = 2

# Overline: what a run longer than the line does for a colour
cdef enum:
    OVERLINE_WINS = 0
    OVERLINE_NOTHING = 1
    OVERLINE_LOSES = 2

# Judgement: of a stone by the lines through it
cdef enum:
    LINE_NONE = 0
    LINE_WINS = 1
    LINE_LOSES = 2

# Verdict: of an action; the order is that of _position.VERDICTS
cdef enum:
    LEGAL = 0
    OCCUPIED = 1
    SUICIDE = 2
    SUPERKO = 3
    NOT_IN_PHASE = 4
    GAME_OVER = 5
    FORBIDDEN = 6
    EQUIVALENT = 7

# Reason: of a result; 0 while the game runs, else 1 + index in rules.REASONS
cdef enum:
    RUNNING = 0
    BY_LINE = 1
    BY_OVERLINE = 2
    BY_PASSES = 3
    BY_TIEBREAK = 4
    BY_FULL_BOARD = 5
    BY_NO_ACTION = 6
    BY_PLY_LIMIT = 7
    BY_FORBIDDEN = 8

cdef struct Phase:
    uint8_t actor                       # Actor
    uint8_t effect                      # Effect of a point
    int8_t region                       # Region of the points
    uint8_t offers                      # points to offer, 0: the number announced
    uint8_t plain                       # bool: points are placed anywhere, as in normal play
    int8_t after_point                  # phase after a point, -1: no point may be chosen
    int8_t after_option[OPTION_COUNT]   # phase after an option, -1: not offered

cdef struct Rules:
    int32_t width
    int32_t height
    int32_t points                      # width * height
    int32_t actions                     # points + OPTION_COUNT
    int32_t stride                      # cells from one row to the next: width + 1
    int32_t cells                       # size of the per-cell arrays
    int32_t line_length
    int32_t overline[3]                 # Overline by colour
    int32_t unblocked                   # bool: opponents at both ends spoil an exact line
    int32_t forbidden                   # what becomes of Black's forbidden moves
    int32_t chains                      # bool: chains and liberties are kept
    int32_t captures                    # bool: chains without liberties leave the board
    int32_t switches                    # bool: chains without liberties change colour
    int32_t suicide                     # bool
    int32_t superko                     # bool
    int32_t passing                     # bool
    int32_t pass_after                  # stones before which nobody may pass
    int32_t pass_tiebreak               # bool
    int32_t majority                    # bool: a full board goes to the colour with more stones
    int32_t ply_limit                   # 0: none
    int32_t play_phase                  # index of normal play in phases
    int32_t offering                    # bool: some phase offers points
    int32_t opening_number              # N of an opening with a number in its name, 0: none
    Phase phases[MAX_PHASES]
    int32_t directions[4]               # cell steps along a row, a column and the two diagonals
    int32_t orthogonal[4]               # cell steps to the four neighbours
    uint32_t position_bytes             # size of a position block
    uint32_t heads_at                   # offsets of the per-cell arrays in the block
    uint32_t links_at
    uint32_t liberties_at
    uint32_t sizes_at
    uint64_t rules_key                  # Zobrist key of the empty board under these rules
    uint64_t stone_keys[3][MAX_CELLS]   # by colour and cell
    uint64_t seat_keys[2]               # of the seat to act
    uint64_t ban_keys[MAX_CELLS]        # of a point banned by repetition
    uint64_t offer_keys[MAX_CELLS]      # of a point offered
    uint16_t cell_of[MAX_POINTS]
    uint16_t point_of[MAX_CELLS]
    uint8_t in_region[MAX_CELLS]        # bool: lines count here

cdef struct Symmetry:
    # Carries a figure of stones onto itself: cell (x, y) -> (xx*x + xy*y + dx, yx*x + yy*y + dy).
    int8_t xx, xy, yx, yy, dx, dy

cdef struct Position:
    uint64_t stones_key                 # Zobrist key of the stones alone, incremental
    int32_t ply                         # actions so far
    uint16_t stones                     # on the board
    uint16_t peak                       # no board of this game had more stones
    uint16_t ko                         # cell where recapture would repeat the last board, 0: none
    uint8_t phase                       # index in Rules.phases
    uint8_t to_play                     # Colour of the next stone
    uint8_t seat                        # who acts
    uint8_t black_seat                  # who owns Black
    uint8_t passes                      # consecutive passes in normal play, 0-2
    uint8_t first_passer                # who passed first (kept under pass_tiebreak), or NOBODY
    uint8_t removed                     # bool: some stone has left the board in this game
    uint8_t reason                      # Reason; RUNNING while the game goes on
    uint8_t winner                      # seat, or NOBODY
    uint8_t announced                   # fifth moves announced and not yet placed, 0: none
    uint8_t offered                     # points in `offers`
    uint8_t symmetries                  # of the figure on the board, while points are offered
    uint16_t offers[MAX_OFFERS]         # cells offered
    Symmetry figure[7]                  # those symmetries; the identity is left out
    # then, at the offsets in Rules, per cell:
    #   uint8_t colours[cells]
    # and where the rules keep chains:
    #   uint16_t heads[cells]           # the chain's representative cell
    #   uint16_t links[cells]           # next stone of the chain, circular
    #   uint16_t liberties[cells]       # of heads: pseudo-liberties (stone-liberty adjacencies)
    #   uint16_t sizes[cells]           # of heads: stones in the chain

cdef enum:
    NEWEST = 32                         # keys of a history that are not filed

cdef struct History:
    # Keys of all earlier boards with the seat to act: a hash set that forgets in reverse order. The
    # newest keys are only listed: most are gone soon, and each of a table's slots is a cache miss.
    uint64_t *slots                     # open addressing, 0: free
    uint32_t *order                     # slot of each filed key in the order of their coming
    uint32_t mask                       # slots - 1; slots is a power of two
    uint32_t filed                      # keys in the table
    uint32_t count                      # keys held
    uint64_t newest[NEWEST]             # those that are not filed


cdef inline uint8_t *colours_of(const Rules *rules, const Position *position) noexcept nogil:
    return (<uint8_t *> position) + sizeof(Position)

cdef inline uint16_t *heads_of(const Rules *rules, const Position *position) noexcept nogil:
    return <uint16_t *> ((<uint8_t *> position) + rules.heads_at)

cdef inline uint16_t *links_of(const Rules *rules, const Position *position) noexcept nogil:
    return <uint16_t *> ((<uint8_t *> position) + rules.links_at)

cdef inline uint16_t *liberties_of(const Rules *rules, const Position *position) noexcept nogil:
    return <uint16_t *> ((<uint8_t *> position) + rules.liberties_at)

cdef inline uint16_t *sizes_of(const Rules *rules, const Position *position) noexcept nogil:
    return <uint16_t *> ((<uint8_t *> position) + rules.sizes_at)

cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    # splitmix64's output function (Steele, Lea, Flood 2014): makes random-looking keys of counters.
    value += <uint64_t> 0x9E3779B97F4A7C15
    value = (value ^ (value >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * <uint64_t> 0x94D049BB133111EB
    return value ^ (value >> 31)
