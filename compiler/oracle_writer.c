/* A cone in, CUDA text out that computes its root: one statement a step. One idea: a long cone
 * becomes a table and a loop over it, with one case for each different operation, because compiling
 * it as statements takes minutes. */
#include "compiler/oracle_writer.h"

#include <string.h>

/* Steps. As statements NVRTC takes 0.3 s for 40 of them, 4 s for 300, 69 s for 1000. */
enum { LONG_CONE = 64 };

const char *writer_type(DType type) {
    return is_whole(type) ? "Whole" : "Interval";
}

/* --- variables */

static void write_operand(const Writer *w, const BlockStep *step, uint32_t i) {
    uint32_t slot = step->arg[i];
    if (w->table)
        text_printf(w->out, "%s[s.arg[%u]]", w->whole[slot] ? "w" : "r", i);
    else
        text_printf(w->out, "v%u", w->variable[slot]);
}

static void write_result(const Writer *w, const BlockStep *step) {
    if (w->table)
        text_printf(w->out, "%s[s.out]", is_whole(step->type) ? "w" : "r");
    else
        text_printf(w->out, "v%u", w->variable[step->out]);
}

/* "Interval v3 = ": the step's value from here on. */
static void write_target(Writer *w, const ConeStep *step, uint32_t variable) {
    w->variable[step->apply.out] = variable;
    w->whole[step->apply.out] = is_whole(step->apply.type);
    text_add(w->out, w->pad);
    if (!w->table) text_printf(w->out, "%s ", writer_type(step->apply.type));
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
    if (w->table)
        text_add(w->out, whole ? "whole_point(s.constant)"
                               : "interval_point(float_of_bits((uint32_t)s.constant))");
    else if (whole)
        text_printf(w->out, "whole_point((int64_t)%lluull)",
                    (unsigned long long)step->constant.whole);
    else
        text_printf(w->out, "interval_point(float_of_bits(0x%08xu)) /* %.9g */",
                    float_bits(step->constant.real), step->constant.real);
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

bool writer_is_stored(const Machine *machine, Value base) {
    return machine->tensors[base] == NULL && ir_node(machine->ir, base)->op == IR_INPUT;
}

void writer_load(Text *out, const Machine *machine, Value base, const char *offset) {
    const IrNode *node = ir_node(machine->ir, base);
    const char *kind = is_whole(node->type.dtype) ? "whole" : "real";
    const char *point = is_whole(node->type.dtype) ? "whole_point" : "interval_point";
    if (writer_is_stored(machine, base))
        text_printf(out, "%s(storage_load_%s(%d, in[%u], %s))", point, kind, (int)node->type.dtype,
                    node->index, offset);
    else
        text_printf(out, "value_%u(in, %s)", base, offset);
}

static void write_view(Writer *w, const Cone *cone, const ConeStep *step, uint32_t variable) {
    Text offset = {0};
    Value base = step->view.base;
    write_offset(&offset, step->view.stride, cone->rank);
    write_target(w, step, variable);
    writer_load(w->out, &w->machine, base, text_string(&offset));
    text_add(w->out, ";\n");
    text_free(&offset);
}

/* --- operations */

static bool is_comparison(Primitive primitive) {
    return primitive >= P_LT && primitive <= P_NE;
}

/* GT and GE are LT and LE of swapped operands, NE is not EQ. */
static void write_comparison(Writer *w, const BlockStep *step, Primitive primitive, bool whole) {
    bool less = primitive == P_LT || primitive == P_GT,
         swapped = primitive == P_GT || primitive == P_GE;
    bool equal = primitive == P_EQ || primitive == P_NE;
    text_printf(w->out, "%s%s_%s(", primitive == P_NE ? "whole_not(" : "",
                whole ? "whole" : "interval",
                equal  ? "eq"
                : less ? "lt"
                       : "le");
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
    bool near = step->ulp > 0 && info->class != CLASS_FUNCTION;
    if (near) text_add(w->out, "interval_near(");
    if (square)
        text_add(w->out, "interval_square(");
    else if (whole && takes_type(primitive))
        text_printf(w->out, "whole_%s(%d, ", whole_name(primitive), (int)step->type);
    else
        text_printf(w->out, "%s_%s(", whole ? "whole" : "interval",
                    whole ? whole_name(primitive) : info->name);
    write_operands(w, step, square ? 1 : step->count);
    if (near) text_add(w->out, ")");
    if (near || info->class == CLASS_FUNCTION) text_printf(w->out, ", %g", step->ulp);
    text_add(w->out, ")");
}

static void write_cast(Writer *w, const BlockStep *step, bool from_whole) {
    bool to_whole = is_whole(step->type), plain = from_whole && step->op == IR_CONVERT;
    if (to_whole)
        text_printf(w->out, from_whole ? "whole_cast(%d, " : "whole_of_interval(%d, ",
                    (int)step->type);
    else if (!plain)
        text_printf(w->out, "interval_cast(%d, ", (int)step->type);
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
        text_printf(w->out, "%sint64_t c%u = c%u / %lldll;\n%sc%u %%= %lldll;\n", w->pad, axis - 1,
                    axis, (long long)(cone->dim[axis] > 0 ? cone->dim[axis] : 1), w->pad, axis,
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
    if (step->kind == CONE_APPLY)
        write_operation(w, &step->apply);
    else
        write_constant(w, step);
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

/* The number of the case that does what step `i` does, with operands and results by the table's
 * row. */
static uint32_t find_case(Writer *w, const Cone *cone, uint32_t i, Cases *cases) {
    Text *out = w->out, text = {0};
    uint32_t k = 0;
    w->out = &text;
    write_step(w, cone, i);
    w->out = out;
    while (k < cases->count && strcmp(cases->data[k], text_string(&text)) != 0) k++;
    if (k == cases->count)
        array_push(w->machine.arena, cases, arena_copy(w->machine.arena, text.data, text.length));
    text_free(&text);
    return k;
}

static void write_row(Writer *w, const ConeStep *step, uint32_t number) {
    const uint32_t *arg = step->apply.arg;
    int64_t constant = 0;
    if (step->kind == CONE_CONSTANT)
        constant = is_whole(step->apply.type) ? step->constant.whole
                                              : (int64_t)float_bits(step->constant.real);
    text_printf(w->out, "    {%u, %u, {%u, %u, %u}, (int64_t)%lluull},\n", number, step->apply.out,
                arg[0], arg[1], arg[2], (unsigned long long)constant);
}

/* The rows, and the function that runs them. */
void writer_table(Writer *w, const Cone *cone, const char *kind, uint32_t number) {
    Cases cases = {0};
    const char *pad = w->pad;
    start_cone(w, cone);
    if (!w->table) return;
    w->pad = "            ";
    text_printf(w->out, "static __device__ const Step %s_%u_steps[] = {\n", kind, number);
    for (uint32_t i = 0; i < cone->steps.count; i++)
        write_row(w, &cone->steps.data[i], find_case(w, cone, i, &cases));
    text_printf(w->out,
                "};\n\nKF_CALL void %s_%u_run(const void *const *in, int64_t i, Interval *r, Whole "
                "*w, int *doubt) {\n"
                "    int ambiguous = 0;\n",
                kind, number);
    w->pad = "    ";
    write_coordinates(w, cone);
    text_printf(w->out,
                "    for (int at = 0; at < %u; at++) {\n        Step s = %s_%u_steps[at];\n        "
                "switch (s.what) {\n",
                cone->steps.count, kind, number);
    for (uint32_t k = 0; k < cases.count; k++)
        text_printf(w->out, "        case %u:\n%s            break;\n", k, cases.data[k]);
    text_add(w->out, "        }\n    }\n    *doubt |= ambiguous;\n}\n\n");
    w->pad = pad;
}

void writer_cone(Writer *w, const Cone *cone, const char *kind, uint32_t number, Text *root) {
    if (w->table) {
        text_printf(w->out,
                    "%sInterval r[%u];\n%sWhole w[%u];\n%s%s_%u_run(in, i, r, w, &ambiguous);\n",
                    w->pad, cone->slots, w->pad, cone->slots, w->pad, kind, number);
        text_printf(root, "%s[%u]", w->whole[cone->root] ? "w" : "r", cone->root);
        return;
    }
    write_coordinates(w, cone);
    for (uint32_t i = 0; i < cone->steps.count; i++) write_step(w, cone, i);
    text_printf(root, "v%u", w->variable[cone->root]);
}
