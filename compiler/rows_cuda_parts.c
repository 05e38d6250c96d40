/* A pass in, the struct of what it gathers out, and how two of it are joined. One idea: a part is a field
 * of that struct, a reduction's own or one of those its result is made of; sums of exponentials are
 * joined at the largest element that either has seen. */
#include "compiler/rows_cuda_parts.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- which */

Value parts_mean(const RowsEmitter *e, Value variance) {
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        if (rows_node(e, v)->op == IR_MEAN &&
            rows_node(e, v)->arg[0] == rows_node(e, variance)->arg[0] &&
            !e->facts->rows->largest[v])
            return v;
    }
    return 0;
}

static void add(const RowsEmitter *e, Parts *parts, Value value, PartKind kind) {
    array_push(e->scratch, &parts->list, ((Part){value, kind}));
    parts->online |= kind == PART_SCALED;
}

static void add_variance(const RowsEmitter *e, Parts *parts, Value v, uint32_t pass) {
    const Rows *rows = e->facts->rows;
    bool split = rows->form == ROWS_SPLIT;
    if (split && rows->pass[v] == pass + 1 && !parts_mean(e, v)) add(e, parts, v, PART_MEAN);
    if (rows->pass[v] != pass) return;
    if (!split) add(e, parts, v, PART_MOMENTS);
    if (split) add(e, parts, v, PART_REST);
    if (split) add(e, parts, v, PART_SQUARE);
}

Parts parts_find(const RowsEmitter *e, uint32_t pass) {
    Parts parts = {0};
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        const IrNode *node = rows_node(e, v);
        if (!ir_is_reduction(node)) continue;
        if (node->op == IR_VAR)
            add_variance(e, &parts, v, pass);
        else if (e->facts->rows->pass[v] == pass)
            add(e, &parts, v, e->facts->rows->largest[v] ? PART_SCALED : PART_OWN);
    }
    return parts;
}

/* --- how they are spelled */

const char *part_name(const RowsEmitter *e, const Part *part) {
    return arena_printf(e->scratch, "%c%u", "tmdqtv"[part->kind], part -> value);
}

ValueKind part_kind(const RowsEmitter *e, const Part *part) {
    ValueKind kind = value_kind(ir_dtype(e->plan->ir, part->value));
    return kind == VALUE_BOOL ? VALUE_I32 : kind;
}

uint16_t part_op(const RowsEmitter *e, const Part *part) {
    return part->kind == PART_OWN ? rows_node(e, part->value)->op : IR_SUM;
}

const char *part_rescale(const RowsEmitter *e, Value sum) {
    const IrNode *power = rows_node(e, e->facts->rows->power[sum]);
    bool two = ir_meaning(power) == P_EXP2, near = ir_primitive(power) != ir_meaning(power);
    if (near) return two ? "k_near_rescale2" : "k_near_rescale";
    return two ? "k_rescale2" : "k_rescale";
}

void part_join(const RowsEmitter *e, const Part *part, const char *a, const char *b) {
    static const char *const reals[] = {"%s + %s", "%s * %s", "k_max(%s, %s)", "k_min(%s, %s)",
                                        "%s + %s"};
    static const char *const wholes[] = {"k_add_%s(%s, %s)", "k_mul_%s(%s, %s)",
                                         "k_fmax_%s(%s, %s)", "k_fmin_%s(%s, %s)"};
    ValueKind kind = part_kind(e, part);
    uint32_t which = (uint32_t)part_op(e, part) - IR_SUM;
    if (part->kind == PART_MOMENTS)
        text_printf(e->out, "k_join(%s, %s)", a, b);
    else if (kind == VALUE_REAL)
        text_printf(e->out, reals[which], a, b);
    else
        text_printf(e->out, wholes[which], kind == VALUE_I64 ? "i64" : "i32", a, b);
}

void part_nothing(const RowsEmitter *e, const Part *part) {
    ValueKind kind = part_kind(e, part);
    uint16_t op = part_op(e, part);
    const DTypeInfo *info = dtype_info(ir_dtype(e->plan->ir, part->value));
    int64_t whole = op == IR_MAX ? info->low : op == IR_MIN ? info->high : op == IR_PROD;
    if (part->kind == PART_MOMENTS)
        text_add(e->out, "{0, 0, 0, 0}");
    else if (kind == VALUE_REAL && (op == IR_MAX || op == IR_MIN))
        text_add(e->out, op == IR_MAX ? "-K_INF" : "K_INF");
    else
        emit_whole(e->out, kind, whole);
}

/* --- the struct */

static void print_field(const RowsEmitter *e, const Part *part) {
    const char *type = language_type(CUDA, e->plan, part_kind(e, part));
    if (part->kind == PART_MOMENTS) type = arena_printf(e->scratch, "k_moments<%s>", type);
    text_printf(e->out, "    %s %s; // %s", type, part_name(e, part),
                ir_op_name(rows_node(e, part->value)));
    text_printf(e->out, " of %s\n", rows_operand(e, rows_node(e, part->value)->arg[0]));
}

static void print_joined(const RowsEmitter *e, const Part *part) {
    const char *name = part_name(e, part);
    const char *a = arena_printf(e->scratch, "a.%s", name);
    const char *b = arena_printf(e->scratch, "b.%s", name);
    if (part->kind == PART_SCALED) {
        Value largest = e->facts->rows->largest[part->value];
        const char *form = "%s(%s, %c.t%u, c.t%u)", *scale = part_rescale(e, part->value);
        a = arena_printf(e->scratch, form, scale, a, 'a', largest, largest);
        b = arena_printf(e->scratch, form, scale, b, 'b', largest, largest);
    }
    text_printf(e->out, "    c.%s = ", name);
    part_join(e, part, a, b);
    text_add(e->out, ";\n");
}

bool parts_first(const RowsEmitter *e, const Parts *parts, uint32_t at) {
    Value largest = e->facts->rows->largest[parts->list.data[at].value];
    for (uint32_t i = 0; i < at; i++)
        if (e->facts->rows->largest[parts->list.data[i].value] == largest) return false;
    return largest != 0;
}

/* One exponential for the lanes of a warp, not one for each time that two of them are joined. */
static void print_level(const RowsEmitter *e, const Parts *parts, const char *name) {
    text_printf(e->out, "template <int LANES> K_INLINE void k_level(%s &a) {\n", name);
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (parts_first(e, parts, i))
            text_printf(
                e->out,
                "    %s b%u = a.t%u;\n#pragma unroll\n    for (int step = LANES / 2; step > 0;"
                " step /= 2) b%u = k_max(b%u, k_shuffle(b%u, step));\n",
                rows_real(e), largest, largest, largest, largest, largest);
    }
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        Value largest = e->facts->rows->largest[part->value];
        if (part->kind == PART_SCALED)
            text_printf(e->out, "    a.%s = %s(a.%s, a.t%u, b%u);\n", part_name(e, part),
                        part_rescale(e, part->value), part_name(e, part), largest, largest);
    }
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (parts_first(e, parts, i)) text_printf(e->out, "    a.t%u = b%u;\n", largest, largest);
    }
    text_add(e->out, "}\n");
}

void rows_print_struct(const RowsEmitter *e, uint32_t pass) {
    Parts parts = parts_find(e, pass);
    const char *name = arena_printf(e->scratch, "k_%s%u", e->stem, pass);
    if (parts.list.count == 0) return;
    text_printf(e->out,
                "\n// What a pass gathers, on its way through the threads of a row.\n"
                "struct %s {\n",
                name);
    for (uint32_t i = 0; i < parts.list.count; i++) print_field(e, &parts.list.data[i]);
    text_printf(e->out, "};\nK_INLINE %s k_join(const %s &a, const %s &b) {\n    %s c;\n", name,
                name, name, name);
    for (uint32_t i = 0; i < parts.list.count; i++) print_joined(e, &parts.list.data[i]);
    text_add(e->out, "    return c;\n}\n");
    if (parts.online) print_level(e, &parts, name);
}
