/* A plan in, the header lines of its kernel's space out. One idea: sizes are known only at a
 * launch, so what is legal, sensible and launched are expressions over sizes, knobs and `sms`. */
#include "compiler/cuda_space.h"

/* Above this many operations only one element at a time is compiled, once: NVRTC takes 6 s for 20
 * 000. */
enum { VECTOR_OPERATIONS = 300 };

static bool is_long(const Plan *plan) {
    return plan->body.count > VECTOR_OPERATIONS;
}

/* --- knobs */

/* Bytes of the widest and of the narrowest element that vectors hold. */
static void element_bytes(const Plan *plan, uint32_t *widest, uint32_t *narrowest) {
    *widest = 1;
    *narrowest = 16;
    for (uint32_t i = 0; i < access_count(plan); i++) {
        uint32_t bytes = dtype_info(access_at(plan, i)->dtype)->bytes;
        if (bytes > *widest) *widest = bytes;
        if (bytes < *narrowest) *narrowest = bytes;
    }
}

/* Bytes that one element brings into registers. */
static uint32_t flight_bytes(const Plan *plan) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++)
        bytes += dtype_info(plan->loads.data[i].dtype)->bytes;
    return bytes ? bytes : 1;
}

enum {
    VECTOR_BYTES = 16,
    FLIGHT_BYTES = 768,     /* 192 of 255 registers */
    TILE_BYTES = 32,        /* an element, of 46 that 48 KiB have room for */
    TILES_FROM = 1 << 16,   /* elements, below which they leave too few threads */
    RESIDENT_THREADS = 2048 /* of a multiprocessor; of compute capability 8.6 and 8.9 1536 */
};

static bool rows_of_vectors(const Plan *plan, int64_t vec) {
    return plan->rank >= 2 && plan->extent[plan->rank - 1] % vec == 0;
}

/* Elements of a 16-byte vector of the widest type, fewer where many arrays would fill the
 * registers. */
static uint32_t full_vector(const Plan *plan) {
    uint32_t widest, narrowest;
    element_bytes(plan, &widest, &narrowest);
    uint32_t vec = is_long(plan) ? 1 : VECTOR_BYTES / widest;
    while (vec > 1 && vec * flight_bytes(plan) > FLIGHT_BYTES) vec /= 2;
    return vec;
}

static bool any_load(const Plan *plan, bool (*is)(const Plan *plan, const Access *access)) {
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (is(plan, &plan->loads.data[i])) return true;
    return false;
}

static bool is_strided(const Plan *plan, const Access *access) {
    (void)plan;
    return access->class == ACCESS_STRIDED;
}

/* Each array that is read down takes 1056 elements of shared memory. */
bool cuda_tiles(const Plan *plan) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (plan_reads_down(plan, &plan->loads.data[i]))
            bytes += dtype_info(plan->loads.data[i].dtype)->bytes;
    return full_vector(plan) > 1 && bytes > 0 && bytes <= TILE_BYTES;
}

static KnobText vec_knob(const Plan *plan) {
    KnobText knob = {.label = "VEC"};
    uint32_t widest, narrowest, first = full_vector(plan);
    element_bytes(plan, &widest, &narrowest);
    while (first > 1 && !language_linear(plan) && !rows_of_vectors(plan, first)) first /= 2;
    knob.values[knob.count++] = first;
    for (uint32_t vec = VECTOR_BYTES / narrowest; vec >= 1 && !is_long(plan); vec /= 2)
        if (vec != first && vec * flight_bytes(plan) <= FLIGHT_BYTES)
            knob.values[knob.count++] = vec;
    return knob;
}

uint32_t cuda_knobs(const Plan *plan, KnobText knobs[CUDA_KNOBS]) {
    uint32_t count = 0;
    knobs[count++] = vec_knob(plan);
    int64_t vec = knobs[0].values[0];
    knobs[count++] = (KnobText){"BLOCK", {128, 256, 512, 1024}, 4};
    bool tiles = cuda_tiles(plan);
    knobs[count++] = (KnobText){"UNROLL", {1, 2, 4, 8}, is_long(plan) ? 1 : tiles ? 4 : 3};
    knobs[count++] = (KnobText){"GRID", {0, 8, 16}, 3};
    knobs[count++] = (KnobText){"NEXT", {0, 1}, 2};
    bool rows = plan->rank >= 2, line = language_linear(plan), first = rows_of_vectors(plan, vec);
    if (tiles)
        knobs[count++] =
            line ? (KnobText){"INDEX", {first, !first, 2}, 3} : (KnobText){"INDEX", {1, 2}, 2};
    else if (rows && line)
        knobs[count++] = (KnobText){"INDEX", {first, !first}, 2};
    return count;
}

/* --- rules */

static void print_divisible(Text *out, const Plan *plan, Arena *scratch) {
    if (plan->rank < 2) return;
    text_printf(out, "//! require  %skf_cols %% __VEC__ == 0",
                language_linear(plan) ? "__INDEX__ == 0 || " : "");
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        for (uint32_t axis = 0; access->class == ACCESS_ROWS && axis + 1 < plan->rank; axis++)
            if (plan_stride_given(plan, access, axis))
                text_printf(out, " && %s %% __VEC__ == 0", plan_stride_name(scratch, access, axis));
    }
    text_add(out, "\n");
}

/* Whether tiles of `unit` rows fit: "kf_rows % 4 == 0 && kf_inT_x_s0 == 1 && kf_inT_x_s1 % 4 == 0", so
 * that vectors down the rows are whole and aligned. */
static const char *tiles_fit(const Plan *plan, const char *unit, Arena *scratch) {
    uint32_t below = plan->rank - 2;
    const char *rows = below == 0 ? "kf_rows" : arena_printf(scratch, "kf_e%u", below);
    const char *fit = arena_printf(scratch, "%s %% %s == 0", rows, unit);
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        const Access *access = &plan->loads.data[i];
        for (uint32_t axis = 0; plan_reads_down(plan, access) && axis < plan->rank; axis++) {
            if (!plan_stride_given(plan, access, axis)) continue;
            const char *stride = plan_stride_name(scratch, access, axis);
            fit = axis == below ? arena_printf(scratch, "%s && %s == 1", fit, stride)
                                : arena_printf(scratch, "%s && %s %% %s == 0", fit, stride, unit);
        }
    }
    return fit;
}

/* Tiles of vectors need whole ones; 8 by 8 elements take the registers of a block of 256 threads, and
 * small ones are for where multiprocessors would not be full. Tiles of single elements are 32 by 32, a
 * block's. */
static void print_tile_rules(Text *out, const Plan *plan, Arena *scratch) {
    uint32_t full = full_vector(plan), least = full < 4 ? full : 4;
    text_printf(out,
                "//! require  __INDEX__ != 2 || (__GRID__ == 0 && (__VEC__ == 1 ? __BLOCK__ * "
                "__UNROLL__ == 1024"
                " : __UNROLL__ > 1 && __UNROLL__ <= __VEC__ && %s))\n",
                tiles_fit(plan, "__UNROLL__", scratch));
    text_printf(out,
                "//! prefer   __INDEX__ != 2 ? kf_rows * kf_cols < %d : __VEC__ == 1 ||"
                " (__VEC__ * __UNROLL__ * __BLOCK__ <= 16384 &&"
                " (__UNROLL__ >= %u || kf_rows * kf_cols < 2 * __VEC__ * __UNROLL__ * %d * sms))\n",
                TILES_FROM, least, RESIDENT_THREADS);
}

/* "TILES", or where INDEX is not 2 "OTHERWISE". */
static const char *in_tiles(const Plan *plan, Arena *a, const char *tiles, const char *otherwise) {
    return cuda_tiles(plan) ? arena_printf(a, "__INDEX__ == 2 ? %s : %s", tiles, otherwise)
                            : otherwise;
}

/* A block of a rows kernel is as wide as a row has vectors, and as high as BLOCK allows. */
static void print_launch(Text *out, const Plan *plan, bool twin, Arena *a) {
    const char *wide = "max(1, ceildiv(kf_cols, __VEC__))";
    const char *grid_x = "ceildiv(kf_cols, __VEC__ * __BLOCK__)";
    const char *down =
        arena_printf(a, "ceildiv(kf_rows, __UNROLL__ * max(1, __BLOCK__ // %s))", wide);
    const char *grid_y =
        arena_printf(a, "min(65535, __GRID__ ? min(%s, ceildiv(sms * __GRID__, max(1, %s))) : %s)",
                     down, grid_x, down);
    const char *tiles =
        arena_printf(a, "ceildiv(%s, __VEC__ * __BLOCK__ * __UNROLL__)", language_total(plan));
    const char *line = arena_printf(a, "min(%s, __GRID__ ? sms * __GRID__ : 2147483647)", tiles);
    const char *x = arena_printf(a, "min(__BLOCK__, %s)", wide);
    const char *y = arena_printf(a, "max(1, __BLOCK__ // %s)", wide);
    if (plan->rank >= 2 && language_linear(plan)) {
        grid_x = arena_printf(a, "__INDEX__ ? %s : %s", grid_x, line);
        grid_y = arena_printf(a, "__INDEX__ ? %s : 1", grid_y);
        x = arena_printf(a, "__INDEX__ ? %s : __BLOCK__", x);
        y = arena_printf(a, "__INDEX__ ? %s : 1", y);
    }
    const char *tiles_x =
        arena_printf(a, "ceildiv(kf_cols, __VEC__ == 1 ? 32 : __VEC__ * %d)", TILE_THREADS);
    const char *tiles_y = arena_printf(
        a, "min(65535, ceildiv(kf_rows, __VEC__ == 1 ? 32 : __UNROLL__ * (__BLOCK__ // %d)))",
        TILE_THREADS);
    if (plan->rank == 1)
        text_printf(out, "//! launch   grid = %s  block = __BLOCK__", line);
    else
        text_printf(out, "//! launch   grid = %s, %s  block = %s, %s",
                    in_tiles(plan, a, tiles_x, grid_x), in_tiles(plan, a, tiles_y, grid_y),
                    in_tiles(plan, a, "__BLOCK__", x), in_tiles(plan, a, "1", y));
    if (twin) text_printf(out, "  twin = %s_scalar", plan->name);
    text_add(out, "  dependent = 1\n");
}

/* Sensible: registers for what is in flight, a tile for every multiprocessor, and 16-byte accesses
 * but where rows have odd lengths (then single elements win: 53.5 us against 53.6 at 4095x4097) or
 * where twice as wide a vector would leave multiprocessors with fewer threads than they hold, and not
 * where they would have half of them (a chain of functions over 1024x1024 bf16 takes 2.93 us with VEC=4,
 * 3.41 with 8, on an H200; gelu(x + b) 2.42 or as long as that, but beside other kernels 3.13). Several
 * vectors a thread only where they are full (relu(x + res) over 1024x1024 f32 took 4.19 us with
 * eight elements a thread as with four, but 4.77 beside other kernels). */
void cuda_rules(Text *out, const Plan *plan, bool twin) {
    Arena *scratch = arena_open();
    const char *total = language_total(plan);
    uint32_t full = full_vector(plan);
    print_divisible(out, plan, scratch);
    text_printf(out, "//! prefer   __VEC__ * __UNROLL__ * %u <= 256\n", flight_bytes(plan));
    if (cuda_tiles(plan)) print_tile_rules(out, plan, scratch);
    text_printf(
        out,
        "//! prefer   %s(__UNROLL__ == 1 ? __VEC__ == 1 || __VEC__ * __BLOCK__ * sms <= 2 * %s"
        " : __VEC__ * __UNROLL__ * %d * sms <= %s)\n",
        cuda_tiles(plan) ? "__INDEX__ == 2 || " : "", total, RESIDENT_THREADS, total);
    text_printf(out, "//! prefer   __VEC__ <= 4 || __VEC__ * %d * sms <= %s%s\n",
                RESIDENT_THREADS / 2, total, cuda_tiles(plan) ? " || __INDEX__ == 2" : "");
    text_printf(out, "//! prefer   __VEC__ >= %u || %s < 2 * __VEC__ * %d * sms", full, total,
                RESIDENT_THREADS);
    if (plan->rank >= 2) text_printf(out, " || kf_cols %% %u != 0", full);
    if (cuda_tiles(plan)) text_add(out, " || __INDEX__ == 2");
    if (any_load(plan, is_strided)) text_add(out, " || __VEC__ <= 2");
    text_add(out, "\n");
    text_printf(out, "//! prefer   __NEXT__ == (%s < %d)\n", total, CUDA_SHORT_ELEMENTS);
    print_launch(out, plan, twin, scratch);
    arena_close(scratch);
}
