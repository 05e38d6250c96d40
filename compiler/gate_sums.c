/* A program that sums in, its edges' extents out. One idea: what breaks is told by what an axis is
 * for: the length of a row that is reduced, or rows, columns and depth of a product; so cases are
 * named by these and given to whatever axes have them. */
#include "compiler/gate_edge.h"

typedef struct Sums {
    Arena *arena;
    EdgeShapes *shapes;
    const Ir *ir;
} Sums;

static int64_t *no_extents(const Sums *sums) {
    int64_t *extent = arena_array(sums->arena, int64_t, sums->shapes->axes->count);
    for (uint32_t i = 0; i < sums->shapes->axes->count; i++) extent[i] = -1;
    return extent;
}

/* An axis with two roles gets the smaller extent. */
static void set_extent(int64_t *extent, int axis, int64_t size) {
    if (axis >= 0 && (extent[axis] < 0 || size < extent[axis])) extent[axis] = size;
}

static void add(const Sums *sums, const char *label, EdgeData data, bool misaligned,
                int64_t *extent, int64_t rest) {
    for (uint32_t i = 0; i < sums->shapes->axes->count; i++)
        if (extent[i] < 0) extent[i] = rest;
    edge_add(sums->arena, sums->shapes, sums->ir, label, data, extent, misaligned);
}

/* --- rows */

static bool is_reduction(const IrNode *node) {
    return node->op >= IR_SUM && node->op <= IR_VAR;
}

/* The first reduced axis is the length; of the others, one is the rows. */
static void find_rows(const Sums *sums) {
    EdgeShapes *shapes = sums->shapes;
    for (Value v = 1; v < sums->ir->nodes.count && shapes->length < 0; v++) {
        const IrNode *node = ir_node(sums->ir, v);
        if (!is_reduction(node)) continue;
        const Type *type = &ir_node(sums->ir, node->arg[0])->type;
        for (uint32_t i = type->rank; i-- > 0 && shapes->length < 0;)
            if (axes_have(node->axes, i))
                shapes->length = axes_of_value(shapes->axes, sums->ir, node->arg[0], i);
    }
    for (int i = 0; i < (int)shapes->axes->count && shapes->rows < 0; i++)
        if (i != shapes->length && i != shapes->depth) shapes->rows = i;
}

static void add_rows(const Sums *sums, const char *kind, EdgeData data, bool misaligned,
                     int64_t rows, int64_t length) {
    int64_t *extent = no_extents(sums);
    const char *space = *kind ? " " : "";
    set_extent(extent, sums->shapes->length, length);
    set_extent(extent, sums->shapes->rows, rows);
    add(sums,
        arena_printf(sums->arena, "%s%s%lldx%lld", kind, space, (long long)rows, (long long)length),
        data, misaligned, extent, rows < 2 ? 1 : 2);
}

/* Longer than one pass of any block (4096, 16384, 65536 elements), and more rows than a grid's
 * second dimension has (65535). */
static void add_row_cases(const Sums *sums) {
    static const int lengths[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 127, 1023, 1025, 5000};
    static const int sizes[][2] = {{0, 5},   {1, 1},     {1, 127},   {1025, 2},
                                   {63, 65}, {2, 20011}, {1, 65537}, {70001, 1}};
    static const int patterns[] = {5, 64, 1000, 5003};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        add_rows(sums, "", EDGE_RANDOM, false, 3, lengths[i]);
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_rows(sums, "", EDGE_RANDOM, false, sizes[i][0], sizes[i][1]);
    add_rows(sums, "whole", EDGE_WHOLE, false, 5, 1025);
    add_rows(sums, "whole", EDGE_WHOLE, false, 1025, 5);
    add_rows(sums, "whole", EDGE_WHOLE, false, 2, 20011);
    add_rows(sums, "spikes", EDGE_SPIKES, false, SPIKES, 1031);
    add_rows(sums, "spikes", EDGE_SPIKES, false, 1031, SPIKES);
    add_rows(sums, "spikes", EDGE_SPIKES, false, SPIKES_FAR, 8209);
    for (uint32_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        add_rows(sums, "rows", EDGE_ROWS, false, ROW_PATTERNS, patterns[i]);
    add_rows(sums, "misaligned", EDGE_RANDOM, true, 3, 257);
}

/* --- products */

typedef struct Roles {
    int row, column, depth;
} Roles;

static Roles roles_of(const Sums *sums, Value product) {
    const IrNode *node = ir_node(sums->ir, product);
    uint32_t a = ir_node(sums->ir, node->arg[0])->type.rank,
             b = ir_node(sums->ir, node->arg[1])->type.rank;
    const Axes *axes = sums->shapes->axes;
    Roles roles = {-1, -1, axes_of_value(axes, sums->ir, node->arg[0], a - 1)};
    if (a > 1) roles.row = axes_of_value(axes, sums->ir, node->arg[0], a - 2);
    if (b > 1) roles.column = axes_of_value(axes, sums->ir, node->arg[1], b - 1);
    return roles;
}

static void add_product(const Sums *sums, const char *kind, EdgeData data, bool misaligned,
                        const Roles *roles, const int *size) {
    int64_t *extent = no_extents(sums);
    set_extent(extent, roles->row, size[0]);
    set_extent(extent, roles->column, size[1]);
    set_extent(extent, roles->depth, size[2]);
    add(sums,
        arena_printf(sums->arena, "%s%s%dx%dx%d", kind, *kind ? " " : "", size[0], size[1],
                     size[2]),
        data, misaligned, extent, 2);
}

/* Rows, columns, depth: nothing, one, less than a tile, whole tiles, tiles and a little, a depth of
 * many tiles. */
static void add_product_cases(const Sums *sums, Roles roles) {
    static const int sizes[][3] = {
        {1, 1, 1},    {3, 5, 7},    {8, 8, 8},      {16, 16, 16},   {15, 17, 16},
        {33, 31, 9},  {64, 64, 64}, {65, 63, 32},   {1, 129, 65},   {129, 1, 65},
        {129, 65, 1}, {1, 1, 1025}, {0, 9, 7},      {9, 0, 7},      {9, 7, 0},
        {256, 8, 40}, {8, 256, 40}, {127, 129, 33}, {129, 65, 257}, {17, 19, 4099},
    };
    static const int whole[][3] = {{65, 129, 257}, {128, 128, 64}, {17, 19, 4099}};
    static const int spikes[3] = {SPIKES, SPIKES, 1031}, odd[3] = {33, 17, 65};
    static const int specials[][3] = {{SPECIALS, SPECIALS, 1}, {SPECIALS, SPECIALS, 2}};
    for (uint32_t i = 0; i < sizeof specials / sizeof *specials; i++)
        add_product(sums, "specials", EDGE_SPECIAL, false, &roles, specials[i]);
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_product(sums, "", EDGE_RANDOM, false, &roles, sizes[i]);
    for (uint32_t i = 0; i < sizeof whole / sizeof *whole; i++)
        add_product(sums, "whole", EDGE_WHOLE, false, &roles, whole[i]);
    add_product(sums, "spikes", EDGE_SPIKES, false, &roles, spikes);
    add_product(sums, "misaligned", EDGE_RANDOM, true, &roles, odd);
}

/* --- both */

bool edge_add_sums(Arena *arena, EdgeShapes *shapes, const Ir *ir) {
    Sums sums = {arena, shapes, ir};
    Value product = 0;
    bool rows = false;
    for (Value v = 1; v < ir->nodes.count; v++) {
        rows |= is_reduction(ir_node(ir, v));
        if (product == 0 && ir_node(ir, v)->op == IR_MATMUL) product = v;
    }
    if (product != 0) {
        Roles roles = roles_of(&sums, product);
        shapes->depth = roles.depth;
        add_product_cases(&sums, roles);
    }
    if (!rows) return product != 0;
    find_rows(&sums);
    int64_t *extent = no_extents(&sums);
    add(&sums, "specials", EDGE_SPECIAL, false, extent, SPECIALS);
    add_row_cases(&sums);
    return true;
}
