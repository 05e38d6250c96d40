/* What is known of a kernel over rows in, the header lines of its space out. The limits are those of
 * softmax.cu and layernorm.cu, found by tuning them: here for the bytes and registers of several
 * arrays. */
#include <string.h>

#include "compiler/cuda_space.h"
#include "compiler/rows_cuda.h"

/* Above this many operations a vector is one element, and one at a time is compiled. */
enum {
    VECTOR_OPERATIONS = 300,
    VECTOR_BYTES = 16,
    SHARED_BYTES = 229376,
    KEPT_WORDS = 64,
    CLUSTER_BLOCKS = 16
};

static bool is_long(const RowsCuda *facts) {
    return facts->plan->body.count > VECTOR_OPERATIONS;
}

/* Of the widest element that a vector holds. */
static uint32_t widest(const Plan *plan) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        uint32_t bytes = dtype_info(access->dtype)->bytes;
        if (!plan_is_reduced(plan, access) && bytes > most) most = bytes;
    }
    return most;
}

static uint32_t full_vector(const RowsCuda *facts) {
    return is_long(facts) ? 1 : VECTOR_BYTES / widest(facts->plan);
}

static uint32_t register_words(const Plan *plan, const Access *access) {
    ValueKind kind = value_kind(access->dtype);
    return kind == VALUE_I64 || (kind == VALUE_REAL && plan->compute == DT_F64) ? 2 : 1;
}

/* What is kept of an element: bytes in memory, words in registers; of a column. */
static void element_sizes(const Plan *plan, uint32_t *bytes, uint32_t *words, uint32_t *column) {
    *bytes = *words = *column = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        const Access *access = &plan->loads.data[i];
        RowsRole role = rows_role(plan, access);
        if (role == ROWS_KEPT) *bytes += dtype_info(access->dtype)->bytes;
        if (role == ROWS_KEPT) *words += register_words(plan, access);
        if (role == ROWS_COLUMN) *column += dtype_info(access->dtype)->bytes;
    }
    if (*bytes == 0) *bytes = *words = 1;
}

uint32_t rows_cuda_words(const RowsCuda *split) {
    uint32_t bytes, words, column;
    element_sizes(split->plan, &bytes, &words, &column);
    return words;
}

/* --- knobs */

static KnobText vec_knob(const RowsCuda *facts) {
    KnobText knob = {.label = "VEC"};
    for (uint32_t vec = full_vector(facts); vec >= 1; vec /= 2) knob.values[knob.count++] = vec;
    return knob;
}

bool rows_cuda_peels(const RowsCuda *facts) {
    return facts->dense && full_vector(facts) > 1;
}

bool rows_cuda_offers(const RowsCuda *split, const RowsCuda *online) {
    return split->keeps && online->rows->passes < split->rows->passes;
}

static bool has_online_sums(const RowsCuda *online) {
    bool sums = false;
    for (Value v = 1; v < online->plan->ir->nodes.count; v++) sums |= online->rows->largest[v] != 0;
    return sums;
}

uint32_t rows_cuda_knobs(const RowsCuda *facts, const RowsCuda *online,
                         KnobText knobs[ROWS_CUDA_KNOBS]) {
    uint32_t count = 0;
    knobs[count++] = (KnobText){"TPR", {32, 128, 256, 512, 1024, 64, 16, 8, 4, 2, 1}, 11};
    knobs[count++] = (KnobText){"RPB", {4, 1, 2, 8, 16, 32, 64, 128}, 8};
    knobs[count++] = vec_knob(facts);
    if (facts->keeps) knobs[count++] = (KnobText){"KEEP", {0, 1, 2}, 3};
    if (facts->keeps)
        knobs[count++] =
            (KnobText){"ITEMS", {8, 4, 2, 1, 3, 6, 10, 12, 14, 16}, is_long(facts) ? 4 : 10};
    else
        knobs[count++] = (KnobText){"ITEMS", {4, 2, 1, 8}, is_long(facts) ? 3 : 4};
    bool sums = has_online_sums(online);
    if (rows_cuda_offers(facts, online)) knobs[count++] = (KnobText){"ONLINE", {sums, !sums}, 2};
    knobs[count++] = (KnobText){"CLUSTER", {1, 2, 4, 8, 16}, 5};
    if (rows_cuda_peels(facts)) knobs[count++] = (KnobText){"PEEL", {0, 1}, 2};
    if (facts->columns && facts->keeps) knobs[count++] = (KnobText){"EARLY", {0, 1}, 2};
    if (facts->columns) knobs[count++] = (KnobText){"GRID", {0, 8, 16}, 3};
    knobs[count++] = (KnobText){"NEXT", {0, 1}, 2};
    return count;
}

/* --- what is legal */

/* What a row's vectors reach over. */
static const char *span_of(const RowsCuda *facts) {
    return rows_cuda_peels(facts) ? "kf_cols + (kf_cols % __VEC__ ? __VEC__ - 1 : 0)" : "kf_cols";
}

static void print_vectors_fit(Text *out, const RowsCuda *facts, Arena *scratch) {
    const Plan *plan = facts->plan;
    if (full_vector(facts) == 1) return;
    text_printf(out, "//! require  %skf_cols %% __VEC__ == 0",
                rows_cuda_peels(facts) ? "__PEEL__ || (" : "");
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        for (uint32_t axis = 0; access->class == ACCESS_ROWS && axis + 1 < plan->rank; axis++)
            if (plan_stride_given(plan, access, axis))
                text_printf(out, " && %s %% __VEC__ == 0", plan_stride_name(scratch, access, axis));
    }
    text_add(out, rows_cuda_peels(facts) ? ")\n" : "\n");
}

static const char *shared_of(const RowsCuda *facts, uint32_t bytes, Arena *scratch) {
    return arena_printf(scratch,
                        "ceildiv(%s, __VEC__ * __TPR__ * __CLUSTER__) * __TPR__ * __RPB__ *"
                        " __VEC__ * %u",
                        span_of(facts), bytes);
}

/* " * 2", what the values of a vector are multiplied by. */
static const char *times(uint32_t words, Arena *scratch) {
    return words == 1 ? "" : arena_printf(scratch, " * %u", words);
}

static void print_legal(Text *out, const RowsCuda *facts, uint32_t bytes, uint32_t words,
                        Arena *scratch) {
    text_add(out, "//! require  __TPR__ * __RPB__ >= 32 && __TPR__ * __RPB__ <= 1024 && kf_cols <= "
                  "1073741824\n");
    print_vectors_fit(out, facts, scratch);
    text_add(out, "//! require  __CLUSTER__ == 1 || (__RPB__ == 1 && __TPR__ >= 32)\n");
    if (facts->columns) text_add(out, "//! require  __GRID__ == 0 || __CLUSTER__ == 1\n");
    if (!facts->keeps) return;
    text_printf(out,
                "//! require  __KEEP__ != 0 || (kf_cols > 0 && __VEC__ * __ITEMS__%s <= %d &&"
                " __TPR__ * __CLUSTER__ * __ITEMS__ * __VEC__ >= %s)\n",
                times(words, scratch), 2 * KEPT_WORDS, span_of(facts));
    text_printf(out, "//! require  __KEEP__ != 1 || %s <= %d\n", shared_of(facts, bytes, scratch),
                SHARED_BYTES);
}

/* --- what is sensible */

static void print_vectors_sensible(Text *out, const RowsCuda *facts) {
    uint32_t full = full_vector(facts);
    if (rows_cuda_peels(facts))
        text_add(out, "//! prefer   __PEEL__ == (kf_cols % __VEC__ != 0)\n");
    if (full > 2)
        text_printf(out,
                    "//! prefer   __VEC__ == %u || (kf_cols %% %u != 0 && (__VEC__ == 1 ||"
                    " __VEC__ == %u))\n",
                    full, full, full / 2);
    if (full == 2) text_add(out, "//! prefer   __VEC__ == 2 || kf_cols % 2 != 0\n");
}

/* In shared memory: two rows or more a multiprocessor, so that one is on its way while another is summed
 * up, a turn of ITEMS vectors or more a thread. It beats reading again wherever a cluster has the room:
 * 215 us against 284 for softmax of 4096x50304 bf16 on an H200. */
static void print_kept_sensible(Text *out, const RowsCuda *facts, uint32_t bytes, uint32_t words,
                                Arena *scratch) {
    const char *span = span_of(facts);
    text_printf(
        out,
        "//! prefer   __KEEP__ == 0 ? __VEC__ * __ITEMS__%s <= %d : __ITEMS__ == 4 ? __KEEP__ == 2 "
        "|| __TPR__ <= 512 : __ITEMS__ == 2 && __KEEP__ == 1 && __TPR__ >= 512\n",
        times(words, scratch), KEPT_WORDS);
    text_printf(out,
                "//! prefer   __KEEP__ || __TPR__ * __CLUSTER__ * (__ITEMS__ - (__ITEMS__ > 4 ? 2 :"
                " 1)) * __VEC__ < %s\n",
                span);
    text_add(out, "//! prefer   __KEEP__ || __TPR__ * __CLUSTER__ // 2 * __ITEMS__ * __VEC__ < "
                  "kf_cols\n");
    text_printf(out, "//! prefer   __KEEP__ == 0 || (__TPR__ >= 128 && kf_cols * %u >= 8192)\n",
                bytes);
    if (full_vector(facts) > 1) text_add(out, "//! prefer   __KEEP__ == 0 || __VEC__ > 1\n");
    text_printf(out,
                "//! prefer   __KEEP__ != 1 || (kf_cols * %u <= %d * __CLUSTER__ // __RPB__ &&"
                " __TPR__ * __CLUSTER__ * __VEC__ * __ITEMS__ <= kf_cols)\n",
                bytes, SHARED_BYTES / 2);
    text_printf(out,
                "//! prefer   __KEEP__ != 2 || kf_cols * %u > %d ||"
                " (kf_cols * %u >= 65536 && __CLUSTER__ == 1 && __TPR__ >= 512)\n",
                bytes, SHARED_BYTES / 2 * CLUSTER_BLOCKS, bytes);
}

static void print_sensible(Text *out, const RowsCuda *facts, uint32_t bytes, uint32_t words,
                           uint32_t column, Arena *scratch) {
    print_vectors_sensible(out, facts);
    text_add(out, "//! prefer   __TPR__ * __RPB__ >= 64 && (__TPR__ * __RPB__ <= 512 || __RPB__ == "
                  "1)\n");
    if (facts->keeps)
        print_kept_sensible(out, facts, bytes, words, scratch);
    else
        text_add(out,
                 "//! prefer   __TPR__ == 1 || __TPR__ * __CLUSTER__ // 2 * __VEC__ < kf_cols\n"
                 "//! prefer   __TPR__ * __VEC__ * 16 >= kf_cols || __TPR__ >= 256\n");
    text_printf(out, "//! prefer   __CLUSTER__ == 1 || kf_cols * %u >= 16384 * __CLUSTER__\n",
                bytes);
    text_add(out, "//! prefer   __TPR__ * __CLUSTER__ * __VEC__ * 96 >= kf_cols || __TPR__ * "
                  "__CLUSTER__ == 8192\n");
    if (facts->columns && facts->keeps)
        text_printf(out,
                    "//! prefer   __EARLY__ ? __KEEP__ == 0 && __VEC__ * __ITEMS__ * %u <= 128 :"
                    " __GRID__ == 0\n",
                    column);
    text_printf(out, "//! prefer   __NEXT__ == (kf_rows * kf_cols < %d)\n", CUDA_SHORT_ELEMENTS);
    if (facts->columns)
        text_printf(out,
                    "//! prefer   __GRID__ == 0 || (%skf_rows >= 2 * sms * __GRID__ * __RPB__)\n",
                    rows_cuda_peels(facts) ? "__PEEL__ == 0 && " : "");
}

/* Where the row stays in registers there is one value, the default's: the same code is not there twice.
 * Summing up beside the max costs less than another pass; a variance beside the mean costs more, where
 * a pass reads shared memory. */
static void print_online(Text *out, const RowsCuda *facts, const RowsCuda *online) {
    bool sums = has_online_sums(online);
    if (!rows_cuda_offers(facts, online)) return;
    text_printf(out, "//! require  __ONLINE__ == %d || __KEEP__ != 0\n", sums);
    text_add(out, sums ? "//! prefer   __ONLINE__ == 1\n"
                       : "//! prefer   __ONLINE__ == 0 || __KEEP__ != 1\n");
}

static void print_launch(Text *out, const RowsCuda *facts, uint32_t bytes, Arena *scratch) {
    const char *rows = "ceildiv(kf_rows, __RPB__)";
    if (facts->columns)
        rows = "min(ceildiv(kf_rows, __RPB__), __GRID__ ? sms * __GRID__ : 2147483647)";
    text_printf(out, "//! launch   grid = %s * __CLUSTER__  block = __TPR__ * __RPB__", rows);
    text_add(out, "  cluster = __CLUSTER__  dependent = 1");
    if (facts->keeps)
        text_printf(out, "  shared = __KEEP__ == 1 ? min(%d, %s) : 0", SHARED_BYTES,
                    shared_of(facts, bytes, scratch));
}

void rows_cuda_rules(Text *out, const RowsCuda *facts, const RowsCuda *online) {
    Arena *scratch = arena_open();
    uint32_t bytes, words, column;
    element_sizes(facts->plan, &bytes, &words, &column);
    print_legal(out, facts, bytes, words, scratch);
    print_sensible(out, facts, bytes, words, column, scratch);
    print_online(out, facts, online);
    print_launch(out, facts, bytes, scratch);
    text_printf(out, "  twin = %s_any\n", facts->plan->name);
    arena_close(scratch);
}
