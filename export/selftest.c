/* In: an Export. Out: the part of NAME.c that is compiled with KF_SELFTEST: a main that runs the kernels
 * on data which it makes, and compares with intervals that the oracle gives here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/gate.h"
#include "export/export.h"
#include "export/texts/sample.h"
#include "tuner/launcher.h"

enum { SAMPLES = 64 };

/* An input's memory: all of it, and element 0. */
typedef struct Data {
    void *memory, *zero;
} Data;

static void fill(const IrInput *input, uint32_t slot, void *zero) {
    int64_t count = type_count(&input->type);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, offset = 0;
        for (uint32_t d = input->type.rank; d-- > 0; rest /= input->type.dim[d])
            offset += rest % input->type.dim[d] * input->strides[d];
        sample_put((int32_t)input->type.dtype, zero, offset, sample((int)slot, i));
    }
}

static bool make(const IrInput *input, uint32_t slot, Data *data) {
    int64_t before, bytes = launcher_extent(&input->type, input->strides, &before);
    data->memory = calloc(1, (size_t)bytes + 1);
    if (!data->memory) return false;
    data->zero = (char *)data->memory + before;
    fill(input, slot, data->zero);
    return true;
}

/* First, last, and evenly between. */
static int64_t places(int64_t count, int64_t at[SAMPLES]) {
    int64_t n = count < SAMPLES ? count : SAMPLES;
    for (int64_t i = 0; i < n; i++)
        at[i] = n == 1 ? 0 : (int64_t)((double)i * (double)(count - 1) / (double)(n - 1));
    return n;
}

static void print_double(Text *out, double value) {
    if (isnan(value))
        text_add(out, "NAN");
    else if (isinf(value))
        text_add(out, value < 0 ? "-INFINITY" : "INFINITY");
    else
        text_printf(out, "%.17g", value);
}

static double bound_at(const Expected *expected, const void *array, int64_t i) {
    Scalar value =
        dtype_load(expected->dtype, (const char *)array + i * dtype_info(expected->dtype)->bytes);
    return dtype_is_float(expected->dtype) ? value.real : (double)value.whole;
}

static uint32_t print_output(Text *out, Eval *eval, const Ir *ir, uint32_t output) {
    int64_t at[SAMPLES], count = places(type_count(&ir->outputs.data[output].type), at);
    if (count == 0) return 0;
    const Expected *expected = eval_gather(eval, 0, output, at, count);
    for (int64_t i = 0; i < count; i++) {
        text_printf(out, "    {%u, %lld, ", output, (long long)at[i]);
        print_double(out, bound_at(expected, expected->lo, i));
        text_add(out, ", ");
        print_double(out, bound_at(expected, expected->hi, i));
        text_printf(out, ", %d},\n", expected->may_nan[i] != 0);
    }
    return (uint32_t)count;
}

/* The values of one case as an array; how many. False where they do not fit in memory. */
static bool print_case(Text *out, const Export *e, uint32_t index, uint32_t *count, Why *why) {
    const Ir *ir = e->cases.data[index].ir;
    Data *data = calloc(ir->inputs.count + 1, sizeof *data);
    const void **inputs = calloc(ir->inputs.count + 1, sizeof *inputs);
    bool good = data && inputs;
    for (uint32_t i = 0; good && i < ir->inputs.count; i++) {
        good = make(&ir->inputs.data[i], i, &data[i]);
        inputs[i] = data[i].zero;
    }
    Eval *eval = good ? eval_open(ir, inputs, e->accuracy, NULL) : NULL;
    *count = 0;
    text_printf(out, "static const Right right_%u[] = {\n", index);
    for (uint32_t o = 0; eval && o < ir->outputs.count; o++)
        *count += print_output(out, eval, ir, o);
    text_add(out, "};\n");
    eval_close(eval);
    for (uint32_t i = 0; data && i < ir->inputs.count; i++) free(data[i].memory);
    free(data);
    free(inputs);
    return eval ? true : why_set(why, "the self-test's values do not fit in memory");
}

static void print_axes(Text *out, const Export *e, uint32_t index) {
    text_printf(out, "static const int64_t axes_%u[] = {", index);
    for (uint32_t i = 0; i < e->axes.count; i++)
        text_printf(out, "%s%lld", i ? ", " : "", (long long)e->cases.data[index].axes[i]);
    text_add(out, e->axes.count ? "};\n" : "0};\n");
}

bool export_selftest(Text *out, const Export *e, Why *why) {
    uint32_t *counts = calloc(e->cases.count + 1, sizeof *counts);
    bool good = counts != NULL;
    text_add(out, "\n#ifdef KF_SELFTEST\n\n");
    text_add(out, "/* Output, element in row-major order, the interval that it lies in, whether it "
                  "may be NaN instead. */\n"
                  "typedef struct Right {\n    int output;\n    int64_t at;\n    double lo, hi;\n  "
                  "  bool may_nan;\n} Right;\n");
    for (uint32_t i = 0; good && i < e->cases.count; i++) {
        good = print_case(out, e, i, &counts[i], why);
        print_axes(out, e, i);
    }
    text_add(out, "\ntypedef struct Case {\n    const int64_t *axes;\n    const Right *right;\n    "
                  "int right_count;\n} Case;\n"
                  "static const Case cases[] = {\n");
    for (uint32_t i = 0; good && i < e->cases.count; i++)
        text_printf(out, "    {axes_%u, right_%u, %u},\n", i, i, counts[i]);
    text_add(out, "};\n\n");
    free(counts);
    export_piece(out, e, "sample.h");
    text_add(out, "\n");
    export_piece(out, e, export_is_cuda(e) ? "selftest_cuda.c" : "selftest_c.c");
    text_add(out, "\n");
    export_piece(out, e, "selftest.c");
    text_add(out, "\n#endif\n");
    return good;
}
