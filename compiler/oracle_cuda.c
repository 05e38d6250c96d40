/* An Ir in, the CUDA text of its oracle out: the shared arithmetic as it is compiled into this
 * program, a kernel for each value that must exist in full (oracle_steps), and a function for each
 * output that evaluates an element in the Ir's own order. One idea: the steps are those of the
 * host's cones, so that both oracles compute the same things. */
#include "compiler/oracle_cuda.h"

#include <string.h>

#include "compiler/base/embed.h"
#include "compiler/oracle_writer.h"

/* --- values of their own */

static const char *element_type(const Writer *w, Value value) {
    return writer_type(ir_dtype(w->machine.ir, value));
}

/* Element `i` of a value, from the memory that it was computed into. */
static void write_reader(Writer *w, const OracleStep *step) {
    const char *type = element_type(w, step->value);
    text_printf(w->out, "KF_FN %s value_%u(const void *const *in, int64_t i) {\n", type,
                step->value);
    if (step->kind == ORACLE_PRODUCT && !step->needed)
        text_printf(w->out, "    if (!in[%u]) return product_%u(in, i);\n", step->slot,
                    step->value);
    text_printf(w->out, "    return ((const %s *)in[%u])[i];\n}\n\n", type, step->slot);
}

static void write_loop_head(Writer *w, int64_t count) {
    text_printf(w->out, "    for (int64_t t = first_index(); t < %lldll; t += index_step()) {\n",
                (long long)count);
}

/* An elementwise value that something reads through a transposition or product. */
static void write_elementwise(Writer *w, const OracleStep *step) {
    const Value value = step->value;
    const Cone *cone = cone_plan(&w->machine, value, &ir_node(w->machine.ir, value)->type);
    const char *pad = w->pad;
    Text root = {0};
    writer_table(w, cone, "value", value);
    text_printf(w->out, "extern \"C\" __global__ void kf_value_%u(const void *const *in) {\n",
                value);
    write_loop_head(w, step->count);
    text_add(w->out, "        int64_t i = t;\n        int ambiguous = 0;\n");
    w->pad = "        ";
    writer_cone(w, cone, "value", value, &root);
    w->pad = pad;
    text_printf(w->out, "        (void)ambiguous;\n        ((%s *)in[%u])[t] = %s;\n    }\n}\n\n",
                element_type(w, value), step->slot, text_string(&root));
    text_free(&root);
}

/* Adds element `i` of the reduction's operand. */
static void write_term(Writer *w, const OracleStep *step, const Cone *cone) {
    const char *pad = w->pad;
    Text root = {0};
    w->pad = "            ";
    writer_cone(w, cone, "value", step->value, &root);
    w->pad = pad;
    if (is_whole(step->type))
        text_printf(w->out, "            sum_add_whole(&sum, %d, %d, %s);\n", step->op,
                    (int)step->type, text_string(&root));
    else
        text_printf(w->out, "            sum_add_real(&sum, %d, %s, pass, mean);\n", step->op,
                    text_string(&root));
    text_add(w->out, "            sum.count++;\n");
    text_free(&root);
}

/* A thread's piece of a row. Neighbouring threads read neighbours: pieces of one row, or rows. */
static void write_reduction(Writer *w, const OracleStep *step) {
    const Value arg = ir_node(w->machine.ir, step->value)->arg[0];
    const Cone *cone = cone_plan(&w->machine, arg, &ir_node(w->machine.ir, arg)->type);
    long long rows = (long long)(step->rows > 0 ? step->rows : 1);
    long long inner = (long long)(step->inner > 0 ? step->inner : 1);
    writer_table(w, cone, "value", step->value);
    text_printf(w->out,
                "extern \"C\" __global__ void kf_value_%u(const void *const *in, Sum *sums, "
                "const Sum *before, int pass) {\n",
                step->value);
    write_loop_head(w, step->rows * step->pieces);
    if (inner == 1)
        text_printf(w->out, "        int64_t row = t / %lldll, piece = t %% %lldll;\n",
                    (long long)step->pieces, (long long)step->pieces);
    else
        text_printf(w->out, "        int64_t row = t %% %lldll, piece = t / %lldll;\n", rows, rows);
    text_printf(w->out,
                "        int64_t first = row / %lldll * %lldll + row %% %lldll;\n"
                "        const Sum *mine = &before[row * %lldll];\n"
                "        KfReal mean = pass > 0 ? mine->v / (KfReal)mine->count : 0;\n"
                "        int ambiguous = 0;\n"
                "        Sum sum = sum_none();\n"
                "        for (int64_t k = piece; k < %lldll; k += %lldll) {\n"
                "            int64_t i = first + k * %lldll;\n",
                inner, (long long)step->length * inner, inner, (long long)step->pieces,
                (long long)step->length, (long long)step->pieces, inner);
    write_term(w, step, cone);
    text_printf(w->out,
                "        }\n        (void)ambiguous, (void)mean;\n"
                "        sums[row * %lldll + piece] = sum;\n    }\n}\n\n",
                (long long)step->pieces);
}

/* --- the whole text */

static void write_value(Writer *w, const OracleStep *step) {
    if (step->kind == ORACLE_PRODUCT)
        writer_product(w, step);
    else if (step->kind == ORACLE_REDUCTION)
        write_reduction(w, step);
    else
        write_elementwise(w, step);
    write_reader(w, step);
}

static void write_values(Writer *w, const OracleSteps *steps) {
    Block *exists = arena_new(w->machine.arena, Block); /* stands for what has a reader */
    for (uint32_t i = 0; i < steps->list.count; i++) {
        write_value(w, &steps->list.data[i]);
        w->machine.tensors[steps->list.data[i].value] = exists;
    }
}

static void write_output(Writer *w, uint32_t index) {
    const IrOutput *output = &w->machine.ir->outputs.data[index];
    const Cone *cone = cone_plan(&w->machine, machine_output(&w->machine, index), &output->type);
    Text root = {0};
    writer_table(w, cone, "output", index);
    text_printf(
        w->out,
        "KF_CALL Expect output_%u(const void *const *in, int64_t i) {\n    int ambiguous = 0;\n",
        index);
    writer_cone(w, cone, "output", index, &root);
    text_printf(w->out, "    return expect_%s(%d, %s, ambiguous);\n}\n\n",
                is_whole(output->type.dtype) ? "whole" : "real", (int)output->type.dtype,
                text_string(&root));
    text_free(&root);
}

/* Where element `i` of an output is stored. */
static void write_place(Writer *w, const IrOutput *output) {
    Text sum = {0};
    int64_t below = 1;
    for (uint32_t axis = output->type.rank; axis-- > 0; below *= output->type.dim[axis]) {
        int64_t dim = output->type.dim[axis];
        if (dim > 1)
            text_printf(&sum, "%si / %lldll %% %lldll * %lldll", sum.length > 0 ? " + " : "",
                        (long long)below, (long long)dim, (long long)output->strides[axis]);
        if (dim == 0) break;
    }
    text_add(w->out, sum.length > 0 ? text_string(&sum) : "0");
    text_free(&sum);
}

static bool is_row_major(const IrOutput *output) {
    int64_t strides[RANK_MAX];
    type_strides(&output->type, strides);
    for (uint32_t i = 0; i < output->type.rank; i++)
        if (output->type.dim[i] != 1 && strides[i] != output->strides[i]) return false;
    return true;
}

static void write_tables(Writer *w) {
    const Ir *ir = w->machine.ir;
    text_add(w->out,
             "static __device__ int oracle_type(uint32_t output) {\n    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        text_printf(w->out, "    case %u: return %d;\n", i, (int)ir->outputs.data[i].type.dtype);
    text_add(w->out, "    }\n    return 0;\n}\n\nstatic __device__ int64_t oracle_offset(uint32_t "
                     "output, int64_t i) {\n"
                     "    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        if (is_row_major(&ir->outputs.data[i])) continue;
        text_printf(w->out, "    case %u: return ", i);
        write_place(w, &ir->outputs.data[i]);
        text_add(w->out, ";\n");
    }
    text_add(w->out, "    }\n    return i;\n}\n\n"
                     "static __device__ Expect oracle_element(const void *const *in, uint32_t "
                     "output, int64_t i) {\n"
                     "    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count && w->known; i++)
        text_printf(w->out, "    case %u: return output_%u(in, i);\n", i, i);
    text_add(w->out, "    }\n    return expect_real(DT_F32, interval_make(-KF_HUGE, 0, KF_HUGE, "
                     "NAN_MAY), 0);\n}\n");
}

static bool has_functions(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (ir_is_primitive(node) && primitive_errs(ir_primitive(node))) return true;
    }
    return false;
}

static bool has_sums(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++)
        if (ir_node(ir, v)->op >= IR_MATMUL && ir_node(ir, v)->op <= IR_VAR) return true;
    return false;
}

/* Text that nothing needs costs compile time. Without a program: that of the kernels that know none. */
static bool is_used(const Ir *ir, const char *path) {
    static const char *const data[] = {"compiler/storage.h", "compiler/sample.h",
                                       "compiler/oracle_grid.h", "compiler/oracle_data.h"};
    bool of_data = false;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) of_data |= strcmp(path, data[i]) == 0;
    if (!ir) return of_data;
    if (strcmp(path, "compiler/sample.h") == 0 || strcmp(path, "compiler/oracle_data.h") == 0)
        return false;
    if (strcmp(path, "compiler/interval_function.h") == 0) return has_functions(ir);
    if (strcmp(path, "compiler/reduction.h") == 0) return has_sums(ir);
    return strcmp(path, "compiler/oracle_values.h") != 0 || has_sums(ir);
}

static void write_head(Text *out, const Ir *ir) {
    text_add(out,
             "#ifndef KF_ORACLE_HEAD\n#define KF_ORACLE_HEAD\n#pragma nv_diag_suppress 177,550\n"
             "#define KF_COMPUTE_BITS 32\nenum {");
#define DTYPE(id, ...) text_printf(out, " DT_%s = %d,", #id, (int)DT_##id);
#include "registry/dtypes.def"
#undef DTYPE
    text_printf(out,
                " };\nenum { IR_SUM = %d, IR_PROD = %d, IR_MAX = %d, IR_MIN = %d, IR_MEAN = %d, "
                "IR_VAR = %d };\n#endif\n",
                IR_SUM, IR_PROD, IR_MAX, IR_MIN, IR_MEAN, IR_VAR);
    for (const Embed *file = compiler_texts; file->path != NULL; file++)
        if (is_used(ir, file->path)) text_add_bytes(out, file->text, file->length);
}

void oracle_cuda(Text *out, const Ir *ir) {
    if (!ir) {
        write_head(out, NULL);
        return;
    }
    Arena *arena = arena_open();
    Writer w = {.out = out, .pad = "    "};
    OracleSteps steps = oracle_steps(arena, ir);
    machine_open(&w.machine, ir, NULL, ACCURACY_CUDA, arena);
    w.known = steps.known;
    write_head(out, ir);
    write_values(&w, &steps);
    for (uint32_t i = 0; i < ir->outputs.count && w.known; i++) write_output(&w, i);
    write_tables(&w);
    arena_close(arena);
}
