/* An Ir in, the CUDA text of its oracle out: the shared arithmetic as it is compiled into this program, and one
 * function for each output (and for each reduction or product) that evaluates an element in the Ir's own order.
 * One idea: the steps are those of the host's cones, so that both oracles compute the same things. A long program
 * becomes a table and a loop over it, with one case for each different operation, because compiling it as
 * statements takes minutes. */
#include "compiler/oracle_cuda.h"

#include <math.h>
#include <string.h>

#include "compiler/base/embed.h"
#include "compiler/eval_cone.h"

/* Steps. As statements NVRTC takes 0.3 s for 40 of them, 4 s for 300, 69 s for 1000. */
enum { LONG_CONE = 64, SLOTS_MAX = 1024 };

typedef struct Writer {
    Text *out;
    Machine machine;
    uint32_t *variable; /* by slot: the step that filled it */
    bool *whole;        /* by slot: what it holds is an integer */
    const char *pad;
    bool table; /* the cone is a table, and its values stand in arrays */
    bool loop;  /* inside a row's loop: values of rows are kept over it */
    bool known; /* else every element is unchecked */
} Writer;

static bool is_whole(DType type) {
    return !dtype_is_float(type);
}

static const char *type_name(DType type) {
    return is_whole(type) ? "Whole" : "Interval";
}

/* --- variables */

static void write_operand(const Writer *w, const BlockStep *step, uint32_t i) {
    uint32_t slot = step->arg[i];
    if (w->table) text_printf(w->out, "%s[s.arg[%u]]", w->whole[slot] ? "w" : "r", i);
    else text_printf(w->out, "v%u", w->variable[slot]);
}

static void write_result(const Writer *w, const BlockStep *step) {
    if (w->table) text_printf(w->out, "%s[s.out]", is_whole(step->type) ? "w" : "r");
    else text_printf(w->out, "v%u", w->variable[step->out]);
}

/* "Interval v3 = ": the step's value from here on. */
static void write_target(Writer *w, const ConeStep *step, uint32_t variable) {
    w->variable[step->apply.out] = variable;
    w->whole[step->apply.out] = is_whole(step->apply.type);
    text_add(w->out, w->pad);
    if (!w->table) text_printf(w->out, "%s ", type_name(step->apply.type));
    write_result(w, &step->apply);
    text_add(w->out, " = ");
}

/* --- leaves */

static uint32_t float_bits(double real) {
    float narrow = (float)real;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static void write_constant(Writer *w, const ConeStep *step) {
    bool whole = is_whole(step->apply.type);
    if (w->table) text_add(w->out, whole ? "whole_point(s.constant)" : "interval_point(float_of_bits((uint32_t)s.constant))");
    else if (whole) text_printf(w->out, "whole_point((int64_t)%lluull)", (unsigned long long)step->constant.whole);
    else
        text_printf(w->out, "interval_point(float_of_bits(0x%08xu)) /* %.9g */", float_bits(step->constant.real),
                    step->constant.real);
}

/* The offset of element `i` under the strides of a view, from the coordinates c0 … */
static void write_offset(Text *out, const int64_t *stride, uint32_t rank) {
    bool any = false;
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (stride[axis] == 0) continue;
        text_printf(out, "%sc%u", any ? " + " : "", axis);
        if (stride[axis] != 1) text_printf(out, " * %lldll", (long long)stride[axis]);
        any = true;
    }
    if (!any) text_add(out, "0");
}

static bool is_stored(const Machine *machine, Value base) {
    return machine->tensors[base] == NULL && ir_node(machine->ir, base)->op == IR_INPUT;
}

/* An input's element, or the function of a value of rows. */
static void write_load(Text *out, const Machine *machine, Value base, const char *offset) {
    const IrNode *node = ir_node(machine->ir, base);
    const char *kind = is_whole(node->type.dtype) ? "whole" : "real";
    const char *point = is_whole(node->type.dtype) ? "whole_point" : "interval_point";
    if (is_stored(machine, base))
        text_printf(out, "%s(storage_load_%s(%d, in[%u], %s))", point, kind, (int)node->type.dtype, node->index,
                    offset);
    else text_printf(out, "value_%u(in, %s)", base, offset);
}

static void write_view(Writer *w, const Cone *cone, const ConeStep *step, uint32_t variable) {
    Text offset = {0};
    Value base = step->view.base;
    write_offset(&offset, step->view.stride, cone->rank);
    if (w->loop && !w->table && !is_stored(&w->machine, base)) {
        w->variable[step->apply.out] = variable;
        text_printf(w->out, "%sif (a%u != %s) v%u = value_%u(in, a%u = %s)", w->pad, variable,
                    text_string(&offset), variable, base, variable, text_string(&offset));
    } else {
        write_target(w, step, variable);
        write_load(w->out, &w->machine, base, text_string(&offset));
    }
    text_add(w->out, ";\n");
    text_free(&offset);
}

/* --- operations */

static bool is_comparison(Primitive primitive) {
    return primitive >= P_LT && primitive <= P_NE;
}

/* GT and GE are LT and LE of swapped operands, NE is not EQ. */
static void write_comparison(Writer *w, const BlockStep *step, Primitive primitive, bool whole) {
    bool less = primitive == P_LT || primitive == P_GT, swapped = primitive == P_GT || primitive == P_GE;
    bool equal = primitive == P_EQ || primitive == P_NE;
    text_printf(w->out, "%s%s_%s(", primitive == P_NE ? "whole_not(" : "", whole ? "whole" : "interval",
                equal ? "eq" : less ? "lt" : "le");
    write_operand(w, step, swapped);
    text_add(w->out, ", ");
    write_operand(w, step, !swapped);
    text_printf(w->out, ", %d)%s", step->same, primitive == P_NE ? ")" : "");
}

static const char *whole_name(Primitive primitive) {
    return primitive == P_FABS ? "abs" : primitive_info(primitive)->name;
}

/* Whether the whole operation wraps in its type and so takes it first. */
static bool takes_type(Primitive primitive) {
    return primitive != P_NOT && primitive != P_AND && primitive != P_OR && primitive != P_FMAX &&
           primitive != P_FMIN;
}

static void write_operands(Writer *w, const BlockStep *step, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        text_add(w->out, i > 0 ? ", " : "");
        write_operand(w, step, i);
    }
}

static void write_primitive(Writer *w, const BlockStep *step, Primitive primitive, bool whole) {
    const PrimitiveInfo *info = primitive_info(primitive);
    bool square = primitive == P_MUL && step->same && !whole;
    if (square) text_add(w->out, "interval_square(");
    else if (whole && takes_type(primitive))
        text_printf(w->out, "whole_%s(%d, ", whole_name(primitive), (int)step->type);
    else text_printf(w->out, "%s_%s(", whole ? "whole" : "interval", whole ? whole_name(primitive) : info->name);
    write_operands(w, step, square ? 1 : step->count);
    if (info->class == CLASS_FUNCTION) text_printf(w->out, ", %g", step->ulp);
    text_add(w->out, ")");
}

static void write_cast(Writer *w, const BlockStep *step, bool from_whole) {
    bool to_whole = is_whole(step->type), plain = from_whole && step->op == IR_CONVERT;
    if (to_whole) text_printf(w->out, from_whole ? "whole_cast(%d, " : "whole_of_interval(%d, ", (int)step->type);
    else if (!plain) text_printf(w->out, "interval_cast(%d, ", (int)step->type);
    if (!to_whole && from_whole) text_add(w->out, "interval_of_whole(");
    write_operand(w, step, 0);
    text_add(w->out, to_whole || plain || !from_whole ? ")" : "))");
}

static void write_operation(Writer *w, const BlockStep *step) {
    bool whole = w->whole[step->arg[0]];
    Primitive primitive = (Primitive)(step->op - IR_PRIMITIVE);
    if (step->op == IR_CAST || step->op == IR_CONVERT) {
        write_cast(w, step, whole);
    } else if (primitive == P_SELECT) {
        text_add(w->out, is_whole(step->type) ? "whole_select(" : "interval_select(");
        write_operands(w, step, 3);
        text_add(w->out, ")");
    } else if (is_comparison(primitive)) {
        write_comparison(w, step, primitive, whole);
    } else {
        write_primitive(w, step, primitive, whole);
    }
}

static void write_ambiguity(Writer *w, const BlockStep *step) {
    bool cast = step->op == IR_CAST || step->op == IR_CONVERT;
    if (cast || !is_comparison((Primitive)(step->op - IR_PRIMITIVE))) return;
    text_printf(w->out, "%sambiguous |= ", w->pad);
    write_result(w, step);
    text_add(w->out, ".lo != ");
    write_result(w, step);
    text_add(w->out, ".hi;\n");
}

/* --- cones */

static void write_coordinates(Writer *w, const Cone *cone) {
    text_printf(w->out, "%sint64_t c%u = i;\n", w->pad, cone->rank - 1);
    for (uint32_t axis = cone->rank - 1; axis > 0; axis--)
        text_printf(w->out, "%sint64_t c%u = c%u / %lldll;\n%sc%u %%= %lldll;\n", w->pad, axis - 1, axis,
                    (long long)(cone->dim[axis] > 0 ? cone->dim[axis] : 1), w->pad, axis,
                    (long long)(cone->dim[axis] > 0 ? cone->dim[axis] : 1));
}

static void write_step(Writer *w, const Cone *cone, uint32_t i) {
    const ConeStep *step = &cone->steps.data[i];
    if (step->kind == CONE_VIEW) {
        write_view(w, cone, step, i);
        return;
    }
    Text *out = w->out, right = {0};
    w->out = &right; /* operands are named before the target takes a slot of theirs */
    if (step->kind == CONE_APPLY) write_operation(w, &step->apply);
    else write_constant(w, step);
    w->out = out;
    write_target(w, step, i);
    text_printf(out, "%s;\n", text_string(&right));
    text_free(&right);
    if (step->kind == CONE_APPLY) write_ambiguity(w, &step->apply);
}

static void start_cone(Writer *w, const Cone *cone) {
    w->variable = arena_array(w->machine.arena, uint32_t, cone->slots);
    w->whole = arena_array(w->machine.arena, bool, cone->slots);
    w->table = cone->steps.count > LONG_CONE;
}

typedef ARRAY(const char *) Cases;

/* The number of the case that does what step `i` does, with operands and results by the table's row. */
static uint32_t find_case(Writer *w, const Cone *cone, uint32_t i, Cases *cases) {
    Text *out = w->out, text = {0};
    uint32_t k = 0;
    w->out = &text;
    write_step(w, cone, i);
    w->out = out;
    while (k < cases->count && strcmp(cases->data[k], text_string(&text)) != 0) k++;
    if (k == cases->count) array_push(w->machine.arena, cases, arena_copy(w->machine.arena, text.data, text.length));
    text_free(&text);
    return k;
}

static void write_row(Writer *w, const ConeStep *step, uint32_t number) {
    const uint32_t *arg = step->apply.arg;
    int64_t constant = 0;
    if (step->kind == CONE_CONSTANT)
        constant = is_whole(step->apply.type) ? step->constant.whole : (int64_t)float_bits(step->constant.real);
    text_printf(w->out, "    {%u, %u, {%u, %u, %u}, (int64_t)%lluull},\n", number, step->apply.out, arg[0], arg[1],
                arg[2], (unsigned long long)constant);
}

/* A long cone's table, and the function that runs it. */
static void write_table(Writer *w, const Cone *cone, const char *kind, uint32_t number) {
    Cases cases = {0};
    const char *pad = w->pad;
    start_cone(w, cone);
    if (!w->table) return;
    w->pad = "            ";
    text_printf(w->out, "static __device__ const Step %s_%u_steps[] = {\n", kind, number);
    for (uint32_t i = 0; i < cone->steps.count; i++)
        write_row(w, &cone->steps.data[i], find_case(w, cone, i, &cases));
    text_printf(w->out, "};\n\nKF_CALL void %s_%u_run(const void *const *in, int64_t i, Interval *r, Whole *w, int *doubt) {\n"
                        "    int ambiguous = 0;\n", kind, number);
    w->pad = "    ";
    write_coordinates(w, cone);
    text_printf(w->out, "    for (int at = 0; at < %u; at++) {\n        Step s = %s_%u_steps[at];\n        switch (s.what) {\n",
                cone->steps.count, kind, number);
    for (uint32_t k = 0; k < cases.count; k++)
        text_printf(w->out, "        case %u:\n%s            break;\n", k, cases.data[k]);
    text_add(w->out, "        }\n    }\n    *doubt |= ambiguous;\n}\n\n");
    w->pad = pad;
}

/* Statements that leave the root in a variable, whose name goes to `root`. They read `in`, `i`, `ambiguous`. */
static void write_cone(Writer *w, const Cone *cone, const char *kind, uint32_t number, Text *root) {
    if (w->table) {
        text_printf(w->out, "%sInterval r[%u];\n%sWhole w[%u];\n%s%s_%u_run(in, i, r, w, &ambiguous);\n", w->pad,
                    cone->slots, w->pad, cone->slots, w->pad, kind, number);
        text_printf(root, "%s[%u]", w->whole[cone->root] ? "w" : "r", cone->root);
        return;
    }
    write_coordinates(w, cone);
    for (uint32_t i = 0; i < cone->steps.count; i++) write_step(w, cone, i);
    text_printf(root, "v%u", w->variable[cone->root]);
}

static void write_signature(Writer *w, Value value) {
    text_printf(w->out, "KF_CALL %s value_%u(const void *const *in, int64_t i) {\n",
                type_name(ir_dtype(w->machine.ir, value)), value);
}

/* An elementwise value that something reads through a transposition or product. */
static void write_elementwise(Writer *w, Value value) {
    const Cone *cone = cone_plan(&w->machine, value, &ir_node(w->machine.ir, value)->type);
    Text root = {0};
    write_table(w, cone, "value", value);
    write_signature(w, value);
    text_add(w->out, "    int ambiguous = 0;\n");
    write_cone(w, cone, "value", value, &root);
    text_printf(w->out, "    (void)ambiguous;\n    return %s;\n}\n\n", text_string(&root));
    text_free(&root);
}

/* --- reductions */

static void write_kept(Writer *w, const Cone *cone) {
    for (uint32_t i = 0; i < cone->steps.count; i++) {
        const ConeStep *step = &cone->steps.data[i];
        if (w->table || step->kind != CONE_VIEW || is_stored(&w->machine, step->view.base)) continue;
        text_printf(w->out, "    int64_t a%u = -1;\n    %s v%u;\n", i, type_name(step->apply.type), i);
    }
}

static void write_loop(Writer *w, const IrNode *node, Value value, const Cone *cone, int64_t length, int64_t inner) {
    bool whole = is_whole(node->type.dtype);
    Text root = {0};
    text_printf(w->out, "        for (int64_t k = 0; k < %lldll; k++) {\n", (long long)length);
    text_printf(w->out, "            int64_t i = first + k * %lldll;\n", (long long)inner);
    w->pad = "            ";
    w->loop = true;
    write_cone(w, cone, "value", value, &root);
    w->loop = false;
    w->pad = "    ";
    if (whole)
        text_printf(w->out, "            sum_add_whole(&sum, %d, %d, %s);\n", node->op, (int)node->type.dtype,
                    text_string(&root));
    else
        text_printf(w->out, "            sum_add_real(&sum, %d, %s, pass, before.v / (KfReal)before.count);\n",
                    node->op, text_string(&root));
    text_add(w->out, "            sum.count++;\n        }\n");
    text_free(&root);
}

static void write_reduction(Writer *w, Value value) {
    const IrNode *node = ir_node(w->machine.ir, value);
    const Type *type = &ir_node(w->machine.ir, node->arg[0])->type;
    const Cone *cone = cone_plan(&w->machine, node->arg[0], type);
    int64_t length = node->axis == AXIS_ALL ? type_count(type) : type->dim[node->axis], inner = 1;
    for (uint32_t i = (uint32_t)node->axis + 1; node->axis != AXIS_ALL && i < type->rank; i++) inner *= type->dim[i];
    write_table(w, cone, "value", value);
    write_signature(w, value);
    text_printf(w->out, "    int64_t first = i / %lldll * %lldll + i %% %lldll;\n", (long long)inner,
                (long long)(length * inner), (long long)inner);
    text_add(w->out, "    int ambiguous = 0;\n    Sum sum = sum_none(), before = sum;\n");
    write_kept(w, cone);
    text_printf(w->out, "    for (int pass = 0; pass < %d; pass++) {\n        before = sum;\n        sum = sum_none();\n",
                node->op == IR_VAR ? 2 : 1);
    write_loop(w, node, value, cone, length, inner);
    text_add(w->out, "    }\n    (void)ambiguous;\n");
    if (is_whole(node->type.dtype)) text_printf(w->out, "    return sum_whole(&sum, %d, %d);\n}\n\n", node->op, (int)node->type.dtype);
    else text_printf(w->out, "    return sum_real(&sum, &before, %d);\n}\n\n", node->op);
}

/* --- products */

static void write_batch(Writer *w, const Product *product) {
    for (uint32_t axis = product->batch_rank; axis-- > 0;) {
        long long dim = (long long)(product->batch[axis] > 0 ? product->batch[axis] : 1);
        text_printf(w->out, "    a += i %% %lldll * %lldll;\n    b += i %% %lldll * %lldll;\n    i /= %lldll;\n", dim,
                    (long long)product->a_batch[axis], dim, (long long)product->b_batch[axis], dim);
    }
}

static void write_terms(Writer *w, const Product *product, bool whole) {
    const Value a = product->a.base, b = product->b.base;
    const char *type = whole ? "Whole" : "Interval";
    text_printf(w->out, "    for (int64_t k = 0; k < %lldll; k++) {\n        %s x = ", (long long)product->depth, type);
    write_load(w->out, &w->machine, a, "a");
    text_printf(w->out, ";\n        %s y = ", type);
    write_load(w->out, &w->machine, b, "b");
    text_printf(w->out, ";\n        a += %lldll;\n        b += %lldll;\n", (long long)product->a_depth,
                (long long)product->b_depth);
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
    text_printf(w->out, "    int64_t a = i %% %lldll * %lldll;\n    i /= %lldll;\n", rows, (long long)product->a_row,
                rows);
    write_batch(w, product);
    if (whole) text_add(w->out, "    int64_t sum = 0;\n    int unknown = 0;\n");
    else text_add(w->out, "    KfReal v = 0, size = 0, radius = 0;\n    int fractions = 0, may_nan = 0;\n");
    write_terms(w, product, whole);
    if (whole)
        text_printf(w->out, "    sum = storage_wrap(%d, sum);\n    return unknown ? whole_any(%d, sum) : whole_point(sum);\n}\n\n",
                    (int)node->type.dtype, (int)node->type.dtype);
    else
        text_printf(w->out, "    return product_real(v, size, radius, %lldll, fractions, may_nan);\n}\n\n",
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
        if (product) write_product(w, v);
        else if (node->op >= IR_SUM && node->op <= IR_VAR) write_reduction(w, v);
        else write_elementwise(w, v);
        w->machine.tensors[v] = exists;
    }
    arena_close(scratch);
}

static void write_output(Writer *w, uint32_t index) {
    const IrOutput *output = &w->machine.ir->outputs.data[index];
    const Cone *cone = cone_plan(&w->machine, machine_output(&w->machine, index), &output->type);
    Text root = {0};
    write_table(w, cone, "output", index);
    text_printf(w->out, "KF_CALL Expect output_%u(const void *const *in, int64_t i) {\n    int ambiguous = 0;\n", index);
    write_cone(w, cone, "output", index, &root);
    text_printf(w->out, "    return expect_%s(%d, %s, ambiguous);\n}\n\n", is_whole(output->type.dtype) ? "whole" : "real",
                (int)output->type.dtype, text_string(&root));
    text_free(&root);
}

/* Where element `i` of an output is stored. */
static void write_place(Writer *w, const IrOutput *output) {
    Text sum = {0};
    int64_t below = 1;
    for (uint32_t axis = output->type.rank; axis-- > 0; below *= output->type.dim[axis]) {
        int64_t dim = output->type.dim[axis];
        if (dim > 1)
            text_printf(&sum, "%si / %lldll %% %lldll * %lldll", sum.length > 0 ? " + " : "", (long long)below,
                        (long long)dim, (long long)output->strides[axis]);
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
    text_add(w->out, "static __device__ int oracle_type(uint32_t output) {\n    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        text_printf(w->out, "    case %u: return %d;\n", i, (int)ir->outputs.data[i].type.dtype);
    text_add(w->out, "    }\n    return 0;\n}\n\nstatic __device__ int64_t oracle_offset(uint32_t output, int64_t i) {\n"
                     "    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        if (is_row_major(&ir->outputs.data[i])) continue;
        text_printf(w->out, "    case %u: return ", i);
        write_place(w, &ir->outputs.data[i]);
        text_add(w->out, ";\n");
    }
    text_add(w->out, "    }\n    return i;\n}\n\n"
                     "static __device__ Expect oracle_element(const void *const *in, uint32_t output, int64_t i) {\n"
                     "    switch (output) {\n");
    for (uint32_t i = 0; i < ir->outputs.count && w->known; i++)
        text_printf(w->out, "    case %u: return output_%u(in, i);\n", i, i);
    text_add(w->out, "    }\n    return expect_real(DT_F32, interval_make(-KF_HUGE, 0, KF_HUGE, NAN_MAY), 0);\n}\n");
}

/* Text that no operation needs costs compile time. */
static bool is_used(const Ir *ir, const char *path) {
    bool functions = strcmp(path, "compiler/interval_function.h") == 0;
    bool sums = strcmp(path, "compiler/reduction.h") == 0, used = !functions && !sums;
    for (Value v = 1; v < ir->nodes.count && !used; v++) {
        const IrNode *node = ir_node(ir, v);
        if (functions && ir_is_primitive(node)) used = primitive_info(ir_primitive(node))->class == CLASS_FUNCTION;
        if (sums) used = node->op >= IR_MATMUL && node->op <= IR_VAR;
    }
    return used;
}

static void write_head(Text *out, const Ir *ir) {
    text_add(out, "#pragma nv_diag_suppress 177,550\n#define KF_COMPUTE_BITS 32\nenum {");
#define DTYPE(id, ...) text_printf(out, " DT_%s = %d,", #id, (int)DT_##id);
#include "registry/dtypes.def"
#undef DTYPE
    text_printf(out, " };\nenum { IR_SUM = %d, IR_PROD = %d, IR_MAX = %d, IR_MIN = %d, IR_MEAN = %d, IR_VAR = %d };\n",
                IR_SUM, IR_PROD, IR_MAX, IR_MIN, IR_MEAN, IR_VAR);
    for (const Embed *file = compiler_texts; file->path != NULL; file++)
        if (is_used(ir, file->path)) text_add_bytes(out, file->text, file->length);
}

/* A thread has room for the values that live at once. */
static bool fits(Writer *w, uint32_t output) {
    return cone_plan(&w->machine, w->machine.ir->outputs.data[output].value, &w->machine.ir->outputs.data[output].type)
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
