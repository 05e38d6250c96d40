/* A pass in, its text out: a struct of what it gathers and how two of it are joined; a loop over the
 * thread's vectors; one joint reduction; results as values. An online pass goes over some vectors
 * twice: what it sums up is scaled to the largest element so far. */
#include <string.h>

#include "compiler/rows_cuda_code.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- what a pass gathers */

/* A field: a reduction's own, or one of what its result is made of. */
typedef enum PartKind {
    PART_OWN,     /* t5 */
    PART_MEAN,    /* m5, the sum for a variance's mean */
    PART_REST,    /* d5, the sum of distances from it */
    PART_SQUARE,  /* q5, that of their squares */
    PART_SCALED,  /* t5, a sum of exp(a - largest so far) */
    PART_MOMENTS, /* v5, a variance in one pass */
} PartKind;

typedef struct Part {
    Value value;
    PartKind kind;
} Part;

typedef struct Parts {
    ARRAY(Part) list;
    bool online; /* there are PART_SCALED ones */
} Parts;

static const IrNode *node_of(const RowsEmitter *e, Value value) {
    return ir_node(e->plan->ir, value);
}

/* The mean of the operand of `variance`, if it is computed anyway; else 0. */
static Value mean_beside(const RowsEmitter *e, Value variance) {
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        if (node_of(e, v)->op == IR_MEAN && node_of(e, v)->arg[0] == node_of(e, variance)->arg[0] &&
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
    if (split && rows->pass[v] == pass + 1 && !mean_beside(e, v)) add(e, parts, v, PART_MEAN);
    if (rows->pass[v] != pass) return;
    if (!split) add(e, parts, v, PART_MOMENTS);
    if (split) add(e, parts, v, PART_REST);
    if (split) add(e, parts, v, PART_SQUARE);
}

static Parts parts_of(const RowsEmitter *e, uint32_t pass) {
    Parts parts = {0};
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        const IrNode *node = node_of(e, v);
        if (!ir_is_reduction(node)) continue;
        if (node->op == IR_VAR)
            add_variance(e, &parts, v, pass);
        else if (e->facts->rows->pass[v] == pass)
            add(e, &parts, v, e->facts->rows->largest[v] ? PART_SCALED : PART_OWN);
    }
    return parts;
}

static const char *part_name(const RowsEmitter *e, const Part *part) {
    return arena_printf(e->scratch, "%c%u", "tmdqtv"[part->kind], part -> value);
}

static ValueKind part_kind(const RowsEmitter *e, const Part *part) {
    ValueKind kind = value_kind(ir_dtype(e->plan->ir, part->value));
    return kind == VALUE_BOOL ? VALUE_I32 : kind;
}

static uint16_t part_op(const RowsEmitter *e, const Part *part) {
    return part->kind == PART_OWN ? node_of(e, part->value)->op : IR_SUM;
}

static const char *rescale_of(const RowsEmitter *e, Value sum) {
    const IrNode *power = node_of(e, e->facts->rows->power[sum]);
    bool two = ir_meaning(power) == P_EXP2, near = ir_primitive(power) != ir_meaning(power);
    if (near) return two ? "k_near_rescale2" : "k_near_rescale";
    return two ? "k_rescale2" : "k_rescale";
}

/* "a + b", "k_max(a, b)", "k_fmax_i64(a, b)" */
static void print_join(const RowsEmitter *e, const Part *part, const char *a, const char *b) {
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

/* What no element at all gives. */
static void print_nothing(const RowsEmitter *e, const Part *part) {
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

static void print_field(const RowsEmitter *e, const Part *part) {
    const char *type = language_type(CUDA, e->plan, part_kind(e, part));
    if (part->kind == PART_MOMENTS) type = arena_printf(e->scratch, "k_moments<%s>", type);
    text_printf(e->out, "    %s %s; // %s", type, part_name(e, part),
                ir_op_name(node_of(e, part->value)));
    text_printf(e->out, " of %s\n", rows_operand(e, node_of(e, part->value)->arg[0]));
}

static void print_joined(const RowsEmitter *e, const Part *part) {
    const char *name = part_name(e, part);
    const char *a = arena_printf(e->scratch, "a.%s", name);
    const char *b = arena_printf(e->scratch, "b.%s", name);
    if (part->kind == PART_SCALED) {
        Value largest = e->facts->rows->largest[part->value];
        const char *form = "%s(%s, %c.t%u, c.t%u)", *scale = rescale_of(e, part->value);
        a = arena_printf(e->scratch, form, scale, a, 'a', largest, largest);
        b = arena_printf(e->scratch, form, scale, b, 'b', largest, largest);
    }
    text_printf(e->out, "    c.%s = ", name);
    print_join(e, part, a, b);
    text_add(e->out, ";\n");
}

static bool is_first(const RowsEmitter *e, const Parts *parts, uint32_t at) {
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
        if (is_first(e, parts, i))
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
                        rescale_of(e, part->value), part_name(e, part), largest, largest);
    }
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (is_first(e, parts, i)) text_printf(e->out, "    a.t%u = b%u;\n", largest, largest);
    }
    text_add(e->out, "}\n");
}

void rows_print_struct(const RowsEmitter *e, uint32_t pass) {
    Parts parts = parts_of(e, pass);
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

/* --- one element */

static void print_quotient(const RowsEmitter *e, Value v) {
    const IrNode *node = node_of(e, v);
    const char *a = rows_operand(e, node->arg[0]);
    text_printf(e->out, "            const %s t%u = ", rows_type(e, v), v);
    if (rows_quotient(e->facts, v) == ROWS_MULTIPLIED)
        text_printf(e->out, "%s * r%u;\n", a, node->arg[1]);
    else
        text_printf(e->out, "q%u[j];\n", v);
}

/* Passes over a row that is kept need it again. */
static bool is_near_exp(const RowsEmitter *e, Value v) {
    const IrNode *node = node_of(e, v);
    return ir_is_primitive(node) && ir_primitive(node) == (Primitive)P_NEAR_EXP;
}

/* A value as a statement: of an element, of a column, computed; a square that is only summed up is
 * multiplied there. */
static void print_statement(const RowsEmitter *e, Value v) {
    const Access *access = rows_load(e, v);
    if (e->facts->folded[v]) return;
    if (rows_quotient(e->facts, v) != ROWS_DIVIDED)
        print_quotient(e, v);
    else if (is_near_exp(e, v))
        text_printf(e->out, "            const %s t%u = k_near_exp_shared(%s);\n", rows_type(e, v),
                    v, rows_operand(e, node_of(e, v)->arg[0]));
    else if (!access)
        emit_statement(e->out, e->plan, CUDA, v, 12);
    else if (rows_role(e->plan, access) == ROWS_KEPT)
        text_printf(e->out, "            const %s t%u = x.t%u[j];\n", rows_type(e, v), v, v);
    else if (rows_sees_words(e, access))
        text_printf(e->out, "            const float t%u = %s_x[j];\n", v, access->name);
    else
        cuda_get(e->out, e->plan, access, arena_printf(e->scratch, "%s_v.at[j]", access->name), 12);
}

static void print_statements(const RowsEmitter *e, Values values) {
    for (uint32_t i = 0; i < values.count; i++) print_statement(e, values.at[i]);
}

/* --- what it adds */

static const char *field(const RowsEmitter *e, uint32_t pass, const Part *part) {
    return arena_printf(e->scratch, "%s%u.%s", e->stem, pass, part_name(e, part));
}

static bool is_harmless(const RowsEmitter *e, const Part *part) {
    return e->facts->harmless[part->value];
}

/* The mean that distances are from: elements outside the row that are seen as 0 have none. */
static void print_centres(const RowsEmitter *e, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        Value mean = mean_beside(e, part->value);
        if (part->kind == PART_REST && is_harmless(e, part))
            text_printf(e->out, "        const %s c%u = row.has(v) ? %c%u : 0;\n", rows_real(e),
                        part->value, mean ? 't' : 'm', mean ? mean : part->value);
    }
}

static void print_distance(const RowsEmitter *e, const Part *part) {
    Value mean = mean_beside(e, part->value);
    const char *centre =
        arena_printf(e->scratch, "%c%u", mean ? 't' : 'm', mean ? mean : part->value);
    bool harmless = is_harmless(e, part);
    if (harmless) centre = arena_printf(e->scratch, "c%u", part->value);
    text_printf(e->out, "            const %s d%u = %srow.holds(v, j) ? %s - %s : 0;\n",
                rows_real(e), part->value, harmless ? "ROW::WHOLE || " : "",
                rows_operand(e, node_of(e, part->value)->arg[0]), centre);
}

static void print_fma(const RowsEmitter *e, const char *to, const char *x) {
    text_printf(e->out, "            %s = %s(%s, %s, %s);\n", to,
                e->plan->compute == DT_F64 ? "fma" : "fmaf", x, x, to);
}

/* What a part is given of an element: nothing of one outside the row, where that would show. */
static const char *given(const RowsEmitter *e, const Part *part, const char *operand) {
    Text nothing = {0};
    if (is_harmless(e, part)) return operand;
    RowsEmitter other = *e;
    other.out = &nothing;
    print_nothing(&other, part);
    operand = arena_printf(e->scratch, "row.holds(v, j) ? %s : %s", operand, text_string(&nothing));
    text_free(&nothing);
    return operand;
}

/* "pass0.t5 = k_max(pass0.t5, t4);" */
static void print_own(const RowsEmitter *e, const Part *part, const char *to, const char *operand) {
    uint16_t op = part_op(e, part);
    bool infix =
        part_kind(e, part) == VALUE_REAL && (op == IR_SUM || op == IR_MEAN || op == IR_PROD);
    if (infix) {
        text_printf(e->out, "            %s %s= %s;\n", to, op == IR_PROD ? "*" : "+",
                    given(e, part, operand));
        return;
    }
    text_printf(e->out, "            %s = ", to);
    print_join(e, part, to, given(e, part, operand));
    text_add(e->out, ";\n");
}

static void print_take(const RowsEmitter *e, uint32_t pass, const Part *part) {
    const char *to = field(e, pass, part);
    Value value = node_of(e, part->value)->arg[0];
    bool folded = e->facts->folded[value];
    if (part->kind == PART_REST) print_distance(e, part);
    if (part->kind == PART_MOMENTS)
        text_printf(e->out, "            e%u[j] = %s;\n", part->value, rows_operand(e, value));
    else if (part->kind == PART_REST)
        text_printf(e->out, "            %s += d%u;\n", to, part->value);
    else if (part->kind == PART_SQUARE)
        print_fma(e, to, arena_printf(e->scratch, "d%u", part->value));
    else if (folded)
        print_fma(e, to, rows_operand(e, node_of(e, value)->arg[0]));
    else
        print_own(e, part, to, rows_operand(e, value));
}

/* The load of 16-bit elements whose largest or smallest a part is, which an online pass takes of a vector
 * two at a time, before they are converted; or NULL. */
static const Access *taken_raw(const RowsEmitter *e, const Parts *parts, const Part *part) {
    uint16_t op = part_op(e, part);
    if (!parts->online || part->kind != PART_OWN || (op != IR_MAX && op != IR_MIN) ||
        !is_harmless(e, part) || e->plan->compute != DT_F32)
        return NULL;
    const Access *access = rows_load(e, node_of(e, part->value)->arg[0]);
    bool half = access && (access->dtype == DT_F16 || access->dtype == DT_BF16);
    return half && rows_role(e->plan, access) == ROWS_KEPT ? access : NULL;
}

/* "online0.t2 = k_max(online0.t2, k_max_bf16(raw.in_x));" */
static void print_raw_takes(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        const Access *access = taken_raw(e, parts, part);
        if (!access) continue;
        const char *name = part_op(e, part) == IR_MAX ? "max" : "min", *to = field(e, pass, part);
        text_printf(e->out, "        %s = k_%s(%s, k_%s_%s(raw.%s));\n", to, name, to, name,
                    dtype_name(access->dtype), access->name);
    }
}

/* `scaled`: those parts, or all others. */
static void print_takes(const RowsEmitter *e, uint32_t pass, const Parts *parts, bool scaled) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if ((part->kind == PART_SCALED) == scaled && !taken_raw(e, parts, part))
            print_take(e, pass, part);
    }
}

/* --- stores */

static bool is_stored(const RowsEmitter *e, uint32_t store, uint32_t pass) {
    return e->facts->rows->stored[store] == pass;
}

static void print_packs(const RowsEmitter *e, uint32_t pass) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (is_stored(e, i, pass))
            text_printf(e->out, "        k_pack<%s, ROW::VEC> %s_v;\n", cuda_storage(access),
                        access->name);
    }
}

static void print_puts(const RowsEmitter *e, uint32_t pass) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (is_stored(e, i, pass))
            cuda_put(e->out, e->plan, access, arena_printf(e->scratch, "%s_v.at[j]", access->name),
                     12);
    }
}

static void print_stores(const RowsEmitter *e, uint32_t pass) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!is_stored(e, i, pass)) continue;
        bool dense = access->class == ACCESS_DENSE, strided = access->class == ACCESS_STRIDED;
        text_printf(e->out, "        row.store%s(", dense ? "" : strided ? "_each" : "_row");
        if (dense)
            text_add(e->out, access->name);
        else
            rows_print_begin(e, access);
        if (strided) text_printf(e->out, ", %s", rows_step(e, access));
        text_printf(e->out, ", v, %s_v);\n", access->name);
    }
}

/* --- the loop */

static void print_over_vector(const RowsEmitter *e) {
    text_add(e->out, "#pragma unroll\n        for (int j = 0; j < ROW::VEC; j++) {\n");
}

/* Quotients that are rounded as divisions are, a vector at a time. */
static void print_quotients(const RowsEmitter *e, Values values) {
    for (uint32_t i = 0; i < values.count; i++) {
        Value v = values.at[i];
        const IrNode *node = node_of(e, v);
        if (rows_quotient(e->facts, v) != ROWS_ROUNDED) continue;
        bool *roots = arena_array(e->scratch, bool, e->plan->ir->nodes.count);
        roots[node->arg[0]] = true;
        text_printf(e->out, "        %s q%u[ROW::VEC];\n", rows_real(e), v);
        print_over_vector(e);
        print_statements(e, rows_made_of(e->scratch, e->facts->rows, e->plan, roots));
        text_printf(e->out, "            q%u[j] = %s;\n        }\n        k_quotients(q%u, k%u);\n",
                    v, rows_operand(e, node->arg[0]), v, node->arg[1]);
    }
}

static void print_columns(const RowsEmitter *e, uint32_t pass) {
    Values values = rows_elements(e->scratch, e->facts->rows, e->plan, pass);
    for (uint32_t i = 0; i < values.count; i++) {
        const Access *access = rows_load(e, values.at[i]);
        if (!access || rows_role(e->plan, access) != ROWS_COLUMN) continue;
        const char *name = access->name;
        if (access->class == ACCESS_ROWS)
            text_printf(e->out, "        const auto %s_v = ahead.%s.get(row, v, i);\n", name, name);
        else
            text_printf(e->out, "        const auto %s_v = row.load_each(%s, %s, v);\n", name, name,
                        rows_step(e, access));
        if (rows_sees_words(e, access))
            text_printf(e->out, "        float %s_x[ROW::VEC];\n        k_see_bf16(%s_x, %s_v);\n",
                        name, name, name);
    }
}

static void print_moment_arrays(const RowsEmitter *e, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++)
        if (parts->list.data[i].kind == PART_MOMENTS)
            text_printf(e->out, "        %s e%u[ROW::VEC];\n", rows_real(e),
                        parts->list.data[i].value);
}

static void print_moments(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if (part->kind == PART_MOMENTS)
            text_printf(e->out, "        k_take(%s, e%u, row, v);\n", field(e, pass, part),
                        part->value);
    }
}

/* The values that scaled sums are made of, or everything else in the pass. */
static Values half_of(const RowsEmitter *e, uint32_t pass, const Parts *parts, bool scaled) {
    const Rows *rows = e->facts->rows;
    bool *roots = arena_array(e->scratch, bool, e->plan->ir->nodes.count);
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if ((part->kind == PART_SCALED) == scaled && !taken_raw(e, parts, part))
            roots[node_of(e, part->value)->arg[0]] = true;
    }
    for (uint32_t i = 0; i < e->plan->stores.count && !scaled; i++)
        if (rows->stored[i] == pass) roots[e->plan->stores.data[i].value] = true;
    return rows_made_of(e->scratch, rows, e->plan, roots);
}

/* What the largest so far of each scaled sum was, once. */
static void print_before(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (is_first(e, parts, i))
            text_printf(e->out, "    %s b%u = %s%u.t%u;\n", rows_real(e), largest, e->stem, pass,
                        largest);
    }
}

/* Scaled sums follow their largest, which some vectors may have moved. */
static void print_rescaled(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        Value largest = e->facts->rows->largest[part->value];
        if (part->kind != PART_SCALED) continue;
        text_printf(e->out, "        %s = %s(%s, b%u, %s%u.t%u);\n", field(e, pass, part),
                    rescale_of(e, part->value), field(e, pass, part), largest, e->stem, pass,
                    largest);
    }
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (is_first(e, parts, i))
            text_printf(e->out, "        b%u = %s%u.t%u;\n", largest, e->stem, pass, largest);
    }
}

static void print_scaled(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    Values values = half_of(e, pass, parts, true);
    print_columns(e, pass);
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (is_first(e, parts, i))
            text_printf(e->out, "        const %s t%u = b%u == -K_INF ? 0 : b%u;\n", rows_real(e),
                        largest, largest, largest);
    }
    print_quotients(e, values);
    print_over_vector(e);
    print_statements(e, values);
    print_takes(e, pass, parts, true);
    text_add(e->out, "        }\n");
}

static void print_rest(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    Values values = half_of(e, pass, parts, false);
    print_columns(e, pass);
    print_packs(e, pass);
    print_moment_arrays(e, parts);
    print_centres(e, parts);
    print_raw_takes(e, pass, parts);
    print_quotients(e, values);
    Text element = {0};
    RowsEmitter inner = *e;
    inner.out = &element;
    print_statements(&inner, values);
    print_takes(&inner, pass, parts, false);
    print_puts(&inner, pass);
    if (element.length > 0) {
        print_over_vector(e);
        text_printf(e->out, "%s        }\n", text_string(&element));
    }
    text_free(&element);
    print_moments(e, pass, parts);
    print_stores(e, pass);
}

static void print_loop(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    if (!parts->online) {
        text_add(e->out, "    kept.each([&](auto v, auto &x, int i) {\n");
        print_rest(e, pass, parts);
        text_add(e->out, "    });\n");
        return;
    }
    print_before(e, pass, parts);
    text_add(e->out, "    kept.each([&](auto v, auto &x, int i, auto &raw) {\n");
    print_rest(e, pass, parts);
    text_add(e->out, "    }, [&] {\n");
    print_rescaled(e, pass, parts);
    text_add(e->out, "    }, [&](auto v, auto &x, int i) {\n");
    print_scaled(e, pass, parts);
    text_add(e->out, "    });\n");
}

/* --- results */

/* What a pass gathered, as a value. A row of -inf has a sum of NaN. */
static void print_result(const RowsEmitter *e, uint32_t pass, const Part *part) {
    const IrNode *node = node_of(e, part->value);
    const char *from = field(e, pass, part);
    bool mean = part->kind == PART_MEAN || node->op == IR_MEAN;
    if (part->kind == PART_REST) return;
    text_printf(e->out, "    const %s %c%u = ", rows_type(e, part->value),
                part->kind == PART_MEAN ? 'm' : 't', part->value);
    if (part->kind == PART_MOMENTS)
        text_printf(e->out, "k_variance(%s);\n", from);
    else if (part->kind == PART_SQUARE)
        text_printf(e->out, "k_variance(%s, %s, share);\n",
                    field(e, pass, &(Part){part->value, PART_REST}), from);
    else if (part->kind == PART_SCALED)
        text_printf(e->out, "t%u == -K_INF && kf_cols > 0 ? K_NAN : %s%s;\n",
                    e->facts->rows->largest[part->value], from, mean ? " * share" : "");
    else
        text_printf(e->out, "%s%s;\n", from,
                    mean                          ? " * share"
                    : node->type.dtype == DT_BOOL ? " != 0"
                                                  : "");
    rows_print_divisor(e, part->value);
}

void rows_print_pass(const RowsEmitter *e, uint32_t pass) {
    Parts parts = parts_of(e, pass);
    text_printf(e->out, "\n    // pass %u\n", pass);
    if (parts.list.count > 0)
        text_printf(e->out, "    k_%s%u %s%u = {", e->stem, pass, e->stem, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) {
        if (i > 0) text_add(e->out, ", ");
        print_nothing(e, &parts.list.data[i]);
    }
    if (parts.list.count > 0) text_add(e->out, "};\n");
    print_loop(e, pass, &parts);
    if (parts.list.count > 0)
        text_printf(e->out, "    %s%u = row.reduce(%s%u);\n", e->stem, pass, e->stem, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) print_result(e, pass, &parts.list.data[i]);
}
