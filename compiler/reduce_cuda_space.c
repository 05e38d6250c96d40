/* A reduction in, the header lines of its CUDA kernel's space out. One idea: a device is busy with
 * some thousand bytes on their way to each multiprocessor, so what is asked of a point is that
 * results, blocks that share one, threads and vectors in flight multiply to about that. */
#include "compiler/reduce_cuda.h"

#include <string.h>

#include "compiler/cuda_space.h"

/* Above this many operations only one element at a time is compiled, once. */
enum { VECTOR_OPERATIONS = 150, VECTOR_BYTES = 16, FLIGHT_BYTES = 256 };
/* Blocks that fill a large device several times over. */
enum { BLOCKS = 1024, THREADS = 256 };

static bool is_long(const Reduce *reduce) {
    return reduce->elements.count > VECTOR_OPERATIONS;
}

static int64_t extent(const Plan *plan, Section section) {
    int64_t extent = 1;
    for (uint32_t axis = section.first; axis < section.end; axis++) extent *= plan->extent[axis];
    return extent;
}

/* Bytes that one element brings into registers; of the widest type. */
static uint32_t flight_bytes(const Reduce *reduce, uint32_t *widest) {
    uint32_t sum = 0;
    *widest = 1;
    for (uint32_t i = 0; i < reduce->plan->loads.count; i++) {
        uint32_t bytes = dtype_info(reduce->plan->loads.data[i].dtype)->bytes;
        if (!reduce->read[i]) continue;
        sum += bytes;
        if (bytes > *widest) *widest = bytes;
    }
    return sum ? sum : 1;
}

static int64_t power_below(int64_t limit) {
    int64_t power = 1;
    while (power * 2 <= limit) power *= 2;
    return power;
}

static int64_t bounded(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* All of `low`, 2 `low` … `high`, the default first. */
static KnobText powers(const char *label, int64_t first, int64_t low, int64_t high) {
    KnobText knob = {.label = label};
    knob.values[knob.count++] = first = bounded(first, low, high);
    for (int64_t value = low; value <= high; value *= 2)
        if (value != first) knob.values[knob.count++] = value;
    return knob;
}

static KnobText vec_knob(const Reduce *reduce, int64_t along) {
    uint32_t widest, bytes = flight_bytes(reduce, &widest);
    int64_t most = is_long(reduce) || !reduce_cuda_has_vectors(reduce) ? 1 : VECTOR_BYTES / widest;
    while (most > 1 && most * bytes > FLIGHT_BYTES) most /= 2;
    int64_t first = most;
    while (first > 1 && (reduce_has_inner(reduce) ? along % first != 0 : along < 4 * first))
        first /= 2;
    return powers("VEC", first, 1, most);
}

static uint32_t row_knobs(const Reduce *reduce, KnobText *knobs) {
    int64_t outer = extent(reduce->plan, reduce->outer),
            depth = extent(reduce->plan, reduce->depth);
    KnobText vec = vec_knob(reduce, depth);
    int64_t threads = bounded(power_below(depth / vec.values[0] / 2), 1, THREADS);
    int64_t unroll = is_long(reduce) ? 1 : depth >= 16384 ? 4 : 2;
    int64_t most = depth / (threads * vec.values[0] * unroll);
    int64_t split = bounded(power_below(BLOCKS / (outer ? outer : 1)), 1, power_below(most));
    uint32_t count = 0;
    knobs[count++] = vec;
    knobs[count++] = powers("TPR", threads, 1, 1024);
    knobs[count++] = powers("RPB", threads < 128 ? 128 / threads : 1, 1, 128);
    knobs[count++] = powers("UNROLL", unroll, 1, is_long(reduce) ? 1 : 8);
    knobs[count++] = powers("SPLIT", threads < 128 ? 1 : split, 1, 2048);
    return count;
}

static uint32_t column_knobs(const Reduce *reduce, KnobText *knobs) {
    int64_t outer = extent(reduce->plan, reduce->outer),
            depth = extent(reduce->plan, reduce->depth);
    int64_t inner = extent(reduce->plan, reduce->inner);
    KnobText vec = vec_knob(reduce, inner);
    int64_t vectors = (inner + vec.values[0] - 1) / vec.values[0];
    int64_t across = bounded(2 * power_below(vectors > 1 ? vectors - 1 : 0), 1, 32);
    if (vectors == 1) across = 1;
    int64_t down = THREADS / across, tiles = (vectors + across - 1) / across * outer;
    int64_t unroll = is_long(reduce) ? 1 : 4;
    int64_t split =
        bounded(power_below(BLOCKS / (tiles ? tiles : 1)), 1, power_below(depth / (down * unroll)));
    uint32_t count = 0;
    knobs[count++] = vec;
    knobs[count++] = powers("ACROSS", across, 1, 256);
    knobs[count++] = powers("BLOCK", THREADS, 64, 1024);
    knobs[count++] = powers("UNROLL", unroll, 1, is_long(reduce) ? 1 : 8);
    knobs[count++] = powers("SPLIT", split, 1, 1024);
    return count;
}

uint32_t reduce_cuda_knobs(const Reduce *reduce, KnobText knobs[REDUCE_CUDA_KNOBS]) {
    uint32_t count =
        reduce_has_inner(reduce) ? column_knobs(reduce, knobs) : row_knobs(reduce, knobs);
    knobs[count++] = (KnobText){"NEXT", {0, 1}, 2};
    return count;
}

/* --- rules */

static void print_row_rules(Text *out, const Reduce *reduce, uint32_t part) {
    const char *name = reduce->plan->name;
    text_add(
        out,
        "//! require  __TPR__ * __RPB__ >= 32 && __TPR__ * __RPB__ <= 1024\n"
        "//! require  __SPLIT__ == 1 || __RPB__ == 1\n"
        "//! prefer   __TPR__ * __RPB__ >= 64 && (__TPR__ * __RPB__ <= 512 || __RPB__ == 1)\n"
        "//! prefer   __TPR__ * __SPLIT__ * __VEC__ <= max(kf_depth, 32 * __VEC__)\n"
        "//! prefer   __TPR__ * __SPLIT__ * __VEC__ * __UNROLL__ <= max(kf_depth, 32 * __VEC__)\n"
        "//! prefer   __SPLIT__ == 1 || __SPLIT__ * kf_outer * __TPR__ <= 4096 * sms\n"
        "//! prefer   __SPLIT__ * kf_outer * __TPR__ >= 512 * sms ||"
        " 4 * __TPR__ * __SPLIT__ * __VEC__ * __UNROLL__ > kf_depth\n");
    text_printf(out,
                "//! launch   grid = min(ceildiv(kf_outer, __RPB__), 2147483647 // __SPLIT__) * "
                "__SPLIT__  block = __TPR__ * __RPB__  dependent = 1  twin = %s\n"
                "//! launch   %s_join  grid = __SPLIT__ == 1 ? 0 : min(2147483647, "
                "ceildiv(kf_outer, 4))  block = 128  dependent = 1  twin = %s_join\n"
                "//! workspace __SPLIT__ == 1 ? 0 : __SPLIT__ * kf_outer * %u\n",
                name, name, name, part);
}

static void print_column_rules(Text *out, const Reduce *reduce, uint32_t part) {
    const char *name = reduce->plan->name;
    const char *tiles = "ceildiv(kf_inner, __ACROSS__ * __VEC__) * kf_outer * __SPLIT__";
    text_printf(out,
                "//! require  __ACROSS__ <= __BLOCK__ && __BLOCK__ * %u <= 49152\n"
                "//! prefer   __VEC__ == 1 || kf_inner %% __VEC__ == 0\n"
                "//! prefer   __ACROSS__ >= min(32, ceildiv(kf_inner, __VEC__)) && (__ACROSS__ == 1"
                " || __ACROSS__ * __VEC__ < 2 * kf_inner)\n"
                "//! prefer   __BLOCK__ // __ACROSS__ * __SPLIT__ * __UNROLL__ <= max(kf_depth, "
                "__UNROLL__)\n"
                "//! prefer   __SPLIT__ == 1 || %s * __BLOCK__ <= 4096 * sms\n"
                "//! prefer   %s * __BLOCK__ >= 512 * sms ||"
                " 4 * (__BLOCK__ // __ACROSS__) * __SPLIT__ * __UNROLL__ > kf_depth\n",
                part, tiles, tiles);
    text_printf(
        out,
        "//! launch   grid = min(2147483647, %s)  block = __BLOCK__  shared = __ACROSS__ == "
        "__BLOCK__ ? 0 : __BLOCK__ // 2 * %u  dependent = 1  twin = %s\n"
        "//! launch   %s_join  grid = __SPLIT__ == 1 ? 0 : min(2147483647, "
        "ceildiv(kf_outer * kf_inner, 32))  block = 256  shared = 128 * %u  dependent = 1  twin = "
        "%s_join\n"
        "//! workspace __SPLIT__ == 1 ? 0 : __SPLIT__ * kf_outer * kf_inner * %u\n",
        tiles, part, name, name, part, name, part);
}

void reduce_cuda_rules(Text *out, const Reduce *reduce, uint32_t part) {
    uint32_t widest, bytes = flight_bytes(reduce, &widest);
    text_printf(out, "//! prefer   __VEC__ * __UNROLL__ * %u <= %d\n", bytes, FLIGHT_BYTES);
    text_printf(out, "//! prefer   __VEC__ * __UNROLL__ * %u >= 16 || %s < 4096\n", bytes,
                reduce_has_inner(reduce) ? "kf_depth * kf_inner" : "kf_depth");
    text_printf(out, "//! prefer   __NEXT__ == (kf_outer * kf_depth%s < %d)\n",
                reduce_has_inner(reduce) ? " * kf_inner" : "", CUDA_SHORT_ELEMENTS);
    if (reduce_has_inner(reduce))
        print_column_rules(out, reduce, part);
    else
        print_row_rules(out, reduce, part);
}
