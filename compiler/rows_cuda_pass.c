/* A pass in, its text out: a loop over the thread's vectors; one joint reduction of what they give;
 * results as values. An online pass goes over some vectors twice: what it sums up is scaled to the
 * largest element so far. */
#include "compiler/rows_cuda_parts.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- one element */

static void print_quotient(const RowsEmitter *e, Value v) {
    const IrNode *node = rows_node(e, v);
    const char *a = rows_operand(e, node->arg[0]);
    text_printf(e->out, "            const %s t%u = ", rows_type(e, v), v);
    if (rows_quotient(e->facts, v) == ROWS_MULTIPLIED)
        text_printf(e->out, "%s * r%u;\n", a, node->arg[1]);
    else
        text_printf(e->out, "q%u[j];\n", v);
}

/* Passes over a row that is kept compute it again: k_near_exp_shared. */
static bool is_near_exp(const RowsEmitter *e, Value v) {
    const IrNode *node = rows_node(e, v);
    return ir_is_primitive(node) && ir_primitive(node) == (Primitive)P_NEAR_EXP;
}

/* A value as a statement: of an element, of a column, computed; a square that is only summed up is
 * multiplied there. */
static void print_statement(const RowsEmitter *e, Value v) {
    const Access *access = rows_load(e, v);
    if (!e->facts->read[v] || e->facts->folded[v]) return;
    if (rows_quotient(e->facts, v) != ROWS_DIVIDED)
        print_quotient(e, v);
    else if (is_near_exp(e, v))
        text_printf(e->out, "            const %s t%u = k_near_exp_shared(%s);\n", rows_type(e, v),
                    v, rows_operand(e, rows_node(e, v)->arg[0]));
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

/* Of a vector whose elements outside the row are seen as 0, sums of distances and of squares count if it is in
 * the row: so a distance is the difference from the mean that later passes take, too, and computed once. */
static bool sums_vectors(const RowsEmitter *e, const Part *part) {
    return (part->kind == PART_REST || part->kind == PART_SQUARE) && is_harmless(e, part);
}

static void print_vector_sums(const RowsEmitter *e, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if (sums_vectors(e, part))
            text_printf(e->out, "        %s %c%u_v = 0;\n", rows_real(e),
                        part->kind == PART_REST ? 'd' : 'q', part->value);
    }
}

static void print_vector_takes(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if (sums_vectors(e, part))
            text_printf(e->out, "        if (row.has(v)) %s += %c%u_v;\n", field(e, pass, part),
                        part->kind == PART_REST ? 'd' : 'q', part->value);
    }
}

static void print_distance(const RowsEmitter *e, const Part *part) {
    Value mean = parts_mean(e, part->value);
    text_printf(e->out, "            const %s d%u = %srow.holds(v, j) ? %s - %c%u : 0;\n",
                rows_real(e), part->value, is_harmless(e, part) ? "ROW::WHOLE || " : "",
                rows_operand(e, rows_node(e, part->value)->arg[0]), mean ? 't' : 'm',
                mean ? mean : part->value);
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
    part_nothing(&other, part);
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
    part_join(e, part, to, given(e, part, operand));
    text_add(e->out, ";\n");
}

static void print_take(const RowsEmitter *e, uint32_t pass, const Part *part) {
    const char *to = field(e, pass, part);
    if (sums_vectors(e, part))
        to = arena_printf(e->scratch, "%c%u_v", part->kind == PART_REST ? 'd' : 'q', part->value);
    Value value = rows_node(e, part->value)->arg[0];
    bool folded = e->facts->folded[value];
    if (part->kind == PART_REST) print_distance(e, part);
    if (part->kind == PART_MOMENTS)
        text_printf(e->out, "            e%u[j] = %s;\n", part->value, rows_operand(e, value));
    else if (part->kind == PART_REST)
        text_printf(e->out, "            %s += d%u;\n", to, part->value);
    else if (part->kind == PART_SQUARE)
        print_fma(e, to, arena_printf(e->scratch, "d%u", part->value));
    else if (folded)
        print_fma(e, to, rows_operand(e, rows_node(e, value)->arg[0]));
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
    const Access *access = rows_load(e, rows_node(e, part->value)->arg[0]);
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
        const IrNode *node = rows_node(e, v);
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
            roots[rows_node(e, part->value)->arg[0]] = true;
    }
    for (uint32_t i = 0; i < e->plan->stores.count && !scaled; i++)
        if (rows->stored[i] == pass) roots[e->plan->stores.data[i].value] = true;
    return rows_made_of(e->scratch, rows, e->plan, roots);
}

/* What the largest so far of each scaled sum was, once. */
static void print_before(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (parts_first(e, parts, i))
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
                    part_rescale(e, part->value), field(e, pass, part), largest, e->stem, pass,
                    largest);
    }
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (parts_first(e, parts, i))
            text_printf(e->out, "        b%u = %s%u.t%u;\n", largest, e->stem, pass, largest);
    }
}

static void print_scaled(const RowsEmitter *e, uint32_t pass, const Parts *parts) {
    Values values = half_of(e, pass, parts, true);
    print_columns(e, pass);
    for (uint32_t i = 0; i < parts->list.count; i++) {
        Value largest = e->facts->rows->largest[parts->list.data[i].value];
        if (parts_first(e, parts, i))
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
    print_vector_sums(e, parts);
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
    print_vector_takes(e, pass, parts);
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
    const IrNode *node = rows_node(e, part->value);
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
    Parts parts = parts_find(e, pass);
    text_printf(e->out, "\n    // pass %u\n", pass);
    if (parts.list.count > 0)
        text_printf(e->out, "    k_%s%u %s%u = {", e->stem, pass, e->stem, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) {
        if (i > 0) text_add(e->out, ", ");
        part_nothing(e, &parts.list.data[i]);
    }
    if (parts.list.count > 0) text_add(e->out, "};\n");
    print_loop(e, pass, &parts);
    if (parts.list.count > 0)
        text_printf(e->out, "    %s%u = row.reduce(%s%u);\n", e->stem, pass, e->stem, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) print_result(e, pass, &parts.list.data[i]);
}
