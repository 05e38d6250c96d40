/* An Ir in, the CUDA text of its oracle out: the shared arithmetic as it is compiled into this
 * program, and one function for each output (and for each reduction or product) that evaluates an
 * element in the Ir's own order. One idea: the steps are those of the host's cones, so that both
 * oracles compute the same things. */
#include "compiler/oracle_cuda.h"

#include <math.h>
#include <string.h>

#include "compiler/base/embed.h"
#include "compiler/oracle_writer.h"

enum { SLOTS_MAX = 1024 }; /* values that one thread has room for at once */

static void write_signature(Writer *w, Value value) {
    text_printf(w->out, "KF_CALL %s value_%u(const void *const *in, int64_t i) {\n",
                writer_type(ir_dtype(w->machine.ir, value)), value);
}

/* An elementwise value that something reads through a transposition or product. */
static void write_elementwise(Writer *w, Value value) {
    const Cone *cone = cone_plan(&w->machine, value, &ir_node(w->machine.ir, value)->type);
    Text root = {0};
    writer_table(w, cone, "value", value);
    write_signature(w, value);
    text_add(w->out, "    int ambiguous = 0;\n");
    writer_cone(w, cone, "value", value, &root);
    text_printf(w->out, "    (void)ambiguous;\n    return %s;\n}\n\n", text_string(&root));
    text_free(&root);
}

/* --- reductions */

static void write_kept(Writer *w, const Cone *cone) {
    for (uint32_t i = 0; i < cone->steps.count; i++) {
        const ConeStep *step = &cone->steps.data[i];
        if (w->table || step->kind != CONE_VIEW || writer_is_stored(&w->machine, step->view.base))
            continue;
        text_printf(w->out, "    int64_t a%u = -1;\n    %s v%u;\n", i,
                    writer_type(step->apply.type), i);
    }
}

static void write_loop(Writer *w, const IrNode *node, Value value, const Cone *cone, int64_t length,
                       int64_t inner) {
    bool whole = is_whole(node->type.dtype);
    Text root = {0};
    text_printf(w->out, "        for (int64_t k = 0; k < %lldll; k++) {\n", (long long)length);
    text_printf(w->out, "            int64_t i = first + k * %lldll;\n", (long long)inner);
    w->pad = "            ";
    w->loop = true;
    writer_cone(w, cone, "value", value, &root);
    w->loop = false;
    w->pad = "    ";
    if (whole)
        text_printf(w->out, "            sum_add_whole(&sum, %d, %d, %s);\n", node->op,
                    (int)node->type.dtype, text_string(&root));
    else
        text_printf(
            w->out,
            "            sum_add_real(&sum, %d, %s, pass, before.v / (KfReal)before.count);\n",
            node->op, text_string(&root));
    text_add(w->out, "            sum.count++;\n        }\n");
    text_free(&root);
}

static void write_reduction(Writer *w, Value value) {
    const IrNode *node = ir_node(w->machine.ir, value);
    const Type *type = &ir_node(w->machine.ir, node->arg[0])->type;
    const Cone *cone = cone_plan(&w->machine, node->arg[0], type);
    int64_t length = node->axis == AXIS_ALL ? type_count(type) : type->dim[node->axis], inner = 1;
    for (uint32_t i = (uint32_t)node->axis + 1; node->axis != AXIS_ALL && i < type->rank; i++)
        inner *= type->dim[i];
    writer_table(w, cone, "value", value);
    write_signature(w, value);
    text_printf(w->out, "    int64_t first = i / %lldll * %lldll + i %% %lldll;\n",
                (long long)inner, (long long)(length * inner), (long long)inner);
    text_add(w->out, "    int ambiguous = 0;\n    Sum sum = sum_none(), before = sum;\n");
    write_kept(w, cone);
    text_printf(w->out,
                "    for (int pass = 0; pass < %d; pass++) {\n        before = sum;\n        sum = "
                "sum_none();\n",
                node->op == IR_VAR ? 2 : 1);
    write_loop(w, node, value, cone, length, inner);
    text_add(w->out, "    }\n    (void)ambiguous;\n");
    if (is_whole(node->type.dtype))
        text_printf(w->out, "    return sum_whole(&sum, %d, %d);\n}\n\n", node->op,
                    (int)node->type.dtype);
    else
        text_printf(w->out, "    return sum_real(&sum, &before, %d);\n}\n\n", node->op);
}

/* --- products */

static void write_batch(Writer *w, const Product *product) {
    for (uint32_t axis = product->batch_rank; axis-- > 0;) {
        long long dim = (long long)(product->batch[axis] > 0 ? product->batch[axis] : 1);
        text_printf(
            w->out,
            "    a += i %% %lldll * %lldll;\n    b += i %% %lldll * %lldll;\n    i /= %lldll;\n",
            dim, (long long)product->a_batch[axis], dim, (long long)product->b_batch[axis], dim);
    }
}

static void write_terms(Writer *w, const Product *product, bool whole) {
    const Value a = product->a.base, b = product->b.base;
    const char *type = whole ? "Whole" : "Interval";
    text_printf(w->out, "    for (int64_t k = 0; k < %lldll; k++) {\n        %s x = ",
                (long long)product->depth, type);
    writer_load(w->out, &w->machine, a, "a");
    text_printf(w->out, ";\n        %s y = ", type);
    writer_load(w->out, &w->machine, b, "b");
    text_printf(w->out, ";\n        a += %lldll;\n        b += %lldll;\n",
                (long long)product->a_depth, (long long)product->b_depth);
    if (whole) {
        text_add(w->out, "        sum = add_wrapped(sum, mul_wrapped(x.v, y.v));\n"
                         "        unknown |= !whole_is_point(x) || !whole_is_point(y);\n    }\n");
        return;
    }
    text_add(w->out, "        KfReal term = x.v * y.v, r = product_radius(x, y);\n"
                     "        v += term;\n        radius += r;\n        size += fabs(term) + r;\n"
                     "        may_nan |= x.nan == NAN_MAY || y.nan == NAN_MAY;\n"
                     "        fractions |= floor(x.v) != x.v || floor(y.v) != y.v;\n    }\n");
}

static void write_product(Writer *w, Value value) {
    const IrNode *node = ir_node(w->machine.ir, value);
    product_find(&w->machine, value);
    const Product *product = w->machine.products[value];
    bool whole = is_whole(node->type.dtype);
    long long columns = (long long)(product->columns > 0 ? product->columns : 1);
    long long rows = (long long)(product->rows > 0 ? product->rows : 1);
    write_signature(w, value);
    text_printf(w->out, "    int64_t b = i %% %lldll * %lldll;\n    i /= %lldll;\n", columns,
                (long long)product->b_column, columns);
    text_printf(w->out, "    int64_t a = i %% %lldll * %lldll;\n    i /= %lldll;\n", rows,
                (long long)product->a_row, rows);
    write_batch(w, product);
    if (whole)
        text_add(w->out, "    int64_t sum = 0;\n    int unknown = 0;\n");
    else
        text_add(w->out,
                 "    KfReal v = 0, size = 0, radius = 0;\n    int fractions = 0, may_nan = 0;\n");
    write_terms(w, product, whole);
    if (whole)
        text_printf(w->out,
                    "    sum = storage_wrap(%d, sum);\n    return unknown ? whole_any(%d, sum) : "
                    "whole_point(sum);\n}\n\n",
                    (int)node->type.dtype, (int)node->type.dtype);
    else
        text_printf(w->out,
                    "    return product_real(v, size, radius, %lldll, fractions, may_nan);\n}\n\n",
                    (long long)product->depth);
}

/* --- the whole text */

static void write_values(Writer *w) {
    const Ir *ir = w->machine.ir;
    Block *exists = arena_new(w->machine.arena, Block); /* stands for what has a function */
    Arena *scratch = arena_open();
    bool *whole = tensors_find(&w->machine, scratch);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        bool product = node->op == IR_MATMUL;
        if (!whole[v] && !product) continue;
        if (product)
            write_product(w, v);
        else if (node->op >= IR_SUM && node->op <= IR_VAR)
            write_reduction(w, v);
        else
            write_elementwise(w, v);
        w->machine.tensors[v] = exists;
    }
    arena_close(scratch);
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

/* Text that no operation needs costs compile time. */
static bool is_used(const Ir *ir, const char *path) {
    bool functions = strcmp(path, "compiler/interval_function.h") == 0;
    bool sums = strcmp(path, "compiler/reduction.h") == 0, used = !functions && !sums;
    for (Value v = 1; v < ir->nodes.count && !used; v++) {
        const IrNode *node = ir_node(ir, v);
        if (functions && ir_is_primitive(node))
            used = primitive_info(ir_primitive(node))->class == CLASS_FUNCTION;
        if (sums) used = node->op >= IR_MATMUL && node->op <= IR_VAR;
    }
    return used;
}

static void write_head(Text *out, const Ir *ir) {
    text_add(out, "#pragma nv_diag_suppress 177,550\n#define KF_COMPUTE_BITS 32\nenum {");
#define DTYPE(id, ...) text_printf(out, " DT_%s = %d,", #id, (int)DT_##id);
#include "registry/dtypes.def"
#undef DTYPE
    text_printf(out,
                " };\nenum { IR_SUM = %d, IR_PROD = %d, IR_MAX = %d, IR_MIN = %d, IR_MEAN = %d, "
                "IR_VAR = %d };\n",
                IR_SUM, IR_PROD, IR_MAX, IR_MIN, IR_MEAN, IR_VAR);
    for (const Embed *file = compiler_texts; file->path != NULL; file++)
        if (is_used(ir, file->path)) text_add_bytes(out, file->text, file->length);
}

/* A thread has room for the values that live at once. */
static bool fits(Writer *w, uint32_t output) {
    return cone_plan(&w->machine, w->machine.ir->outputs.data[output].value,
                     &w->machine.ir->outputs.data[output].type)
               ->slots <= SLOTS_MAX;
}

void oracle_cuda(Text *out, const Ir *ir) {
    Arena *arena = arena_open();
    Writer w = {.out = out, .pad = "    ", .known = ir->compute == DT_F32};
    machine_open(&w.machine, ir, NULL, ACCURACY_CUDA, arena);
    write_head(out, ir);
    for (uint32_t i = 0; i < ir->outputs.count; i++) w.known = w.known && fits(&w, i);
    if (w.known) write_values(&w);
    for (uint32_t i = 0; i < ir->outputs.count && w.known; i++) write_output(&w, i);
    write_tables(&w);
    arena_close(arena);
}
