/* A plan in; out, the pieces of a thread's loops: which array is read when and by how much, what is computed
 * once, loads, calls for elements and stores. */
#include "compiler/cuda_walk.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* While a thread walks down its columns: FIXED is the same in every row, ROW one value a row. */
Reach walk_reach_in_rows(const Plan *plan, const Access *access) {
    switch (access->class) {
    case ACCESS_DENSE: return REACH_VECTOR;
    case ACCESS_ROWS: return access_walks_rows(plan, access) ? REACH_VECTOR : REACH_FIXED;
    case ACCESS_SPLAT: return REACH_ROW;
    case ACCESS_SCALAR: return REACH_SCALAR;
    case ACCESS_STRIDED: break;
    }
    return REACH_EACH;
}

Reach walk_reach_in_tile(const Plan *plan, const Access *access) {
    return plan_reads_down(plan, access) ? REACH_DOWN : walk_reach_in_rows(plan, access);
}

Reach walk_reach_in_line(const Plan *plan, const Access *access) {
    (void)plan;
    if (access->class == ACCESS_SCALAR) return REACH_SCALAR;
    return access->class == ACCESS_DENSE ? REACH_VECTOR : REACH_EACH;
}

static const char *reach_form(Reach reach) {
    static const char *const forms[] = {
        [REACH_VECTOR] = "[u].at[j]", [REACH_EACH] = "[u].at[j]", [REACH_DOWN] = "[j].at[u]",
        [REACH_FIXED] = ".at[j]",     [REACH_ROW] = "[u]",        [REACH_SCALAR] = ""};
    return forms[reach];
}

/* FIXED and SCALAR hold still. */
static Hoist find_hoist(const Emitter *e, ReachOf *reach_of) {
    bool *still = arena_array(e->scratch, bool, e->plan->loads.count);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        Reach reach = reach_of(e->plan, &e->plan->loads.data[i]);
        still[i] = reach == REACH_FIXED || reach == REACH_SCALAR;
    }
    return hoist(e->scratch, e->plan, still);
}

void walk_find(Emitter *e) {
    Hoist rows = find_hoist(e, walk_reach_in_rows), line = find_hoist(e, walk_reach_in_line);
    e->rows = (Walk){walk_reach_in_rows, rows, "rows", "[j]"};
    e->tile = (Walk){walk_reach_in_tile, rows, "rows", "[j]"};
    e->line = (Walk){walk_reach_in_line, line, "line", ""};
}

void walk_place(const Emitter *e, const Access *access, const char *row, const char *column) {
    text_printf(e->out, "%s[", access->name);
    emit_offset(e->out, e->plan, access, row, column);
    text_add(e->out, "]");
}

void walk_pack(const Emitter *e, const Access *access, const char *suffix, int indent) {
    text_printf(e->out, "%*sk_pack<%s, __VEC__> %s_v%s;\n", indent, "", cuda_storage(access),
                access->name, suffix);
}

/* The piece's loads, as they were read. Returns their number. */
static uint32_t print_read(const Emitter *e, const Walk *walk, const Piece *piece) {
    for (uint32_t i = 0; i < piece->loads.count; i++) {
        const Access *access = &e->plan->loads.data[piece->loads.data[i]];
        emit_next(e->out, i, "%s_v%s", access->name, reach_form(walk->reach_of(e->plan, access)));
    }
    return piece->loads.count;
}

/* What a thread computes once. */
static void print_hoisted(const Emitter *e, const Walk *walk, int indent) {
    const Hoist *h = &walk->hoist;
    bool columns = *walk->form;
    for (uint32_t i = 0; i < h->values.count; i++) {
        ValueKind kind = value_kind(ir_dtype(e->plan->ir, h->values.data[i]));
        text_printf(e->out, "%*s%s h%u%s;\n", indent, "", language_type(CUDA, e->plan, kind),
                    h->values.data[i], columns ? "[__VEC__]" : "");
    }
    if (h->values.count == 0) return;
    if (columns)
        text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n    ", indent,
                    "");
    text_printf(e->out, "%*sk_hoist_%s(", indent, "", walk->name);
    uint32_t at = print_read(e, walk, &h->before);
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(e->out, at++, "h%u%s", h->values.data[i], walk->form);
    cuda_scalars(e->out, &e->parameters);
}

/* What a thread reads once. */
void walk_once(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = walk->reach_of(e->plan, access);
        if (reach == REACH_SCALAR)
            text_printf(e->out, "%*sconst %s %s_v = %s[0];\n", indent, "", cuda_storage(access),
                        access->name, access->name);
        else if (reach == REACH_FIXED)
            text_printf(e->out,
                        "%*sconst k_pack<%s, __VEC__> %s_v = k_load<__VEC__>(%s + column);\n",
                        indent, "", cuda_storage(access), access->name, access->name);
    }
    print_hoisted(e, walk, indent);
}

/* What the vectors in flight read. */
void walk_flight(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = walk->reach_of(e->plan, access);
        if (reach == REACH_VECTOR || reach == REACH_EACH)
            walk_pack(e, access, "[__UNROLL__]", indent);
        else if (reach == REACH_DOWN)
            text_printf(e->out, "%*sk_pack<%s, __UNROLL__> %s_v[__VEC__];\n", indent, "",
                        cuda_storage(access), access->name);
        else if (reach == REACH_ROW)
            text_printf(e->out, "%*s%s %s_v[__UNROLL__];\n", indent, "", cuda_storage(access),
                        access->name);
    }
}

/* Where a vector begins; `row` is NULL where the place is the linear index. */
static void print_begin(const Emitter *e, const Access *access, const char *row,
                        const char *column) {
    text_printf(e->out, "%s + ", access->name);
    if (row)
        emit_offset(e->out, e->plan, access, row, column);
    else
        text_add(e->out, column);
}

void walk_vector_load(const Emitter *e, const Access *access, const char *row, const char *column,
                      int indent) {
    text_printf(e->out, "%*s%s_v[u] = k_load<__VEC__>(", indent, "", access->name);
    print_begin(e, access, row, column);
    text_add(e->out, ");\n");
}

/* The call for one element of the vectors of step u. */
static void print_element_call(const Emitter *e, const Walk *walk, int indent) {
    const Hoist *h = &walk->hoist;
    text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n%*s", indent, "",
                indent + 4, "");
    text_printf(e->out, h->values.count ? "k_rest_%s(" : "k_element(", walk->name);
    uint32_t at = print_read(e, walk, &h->after);
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(e->out, at++, "h%u%s", h->values.data[i], walk->form);
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        emit_next(e->out, at++, "%s_v%s", e->plan->stores.data[i].name, reach_form(REACH_FIXED));
    cuda_scalars(e->out, &e->parameters);
}

void walk_stores(const Emitter *e, const char *row, const char *column, int indent) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (access->class == ACCESS_STRIDED) {
            text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n%*s", indent,
                        "", indent + 4, "");
            walk_place(e, access, row, arena_printf(e->scratch, "(%s + j)", column));
            text_printf(e->out, " = %s_v.at[j];\n", access->name);
            continue;
        }
        text_printf(e->out, "%*sk_store<__VEC__>(", indent, "");
        print_begin(e, access, row, column);
        text_printf(e->out, ", %s_v);\n", access->name);
    }
}

void walk_compute(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        walk_pack(e, &e->plan->stores.data[i], "", indent);
    print_element_call(e, walk, indent);
}

void walk_function(const Emitter *e, const char *comment) {
    text_printf(e->out, "\n%s\nK_INLINE void KF_ENTRY(k_all)(", comment);
    print_parameters(e, "k_index");
    text_add(e->out, ") {\n");
}
