/* Arrays in, the structs that read them for a thread's part of a row out. One idea: what a vector
 * reads of all arrays that have elements of their own is one thing, in registers, shared memory or
 * memory; arrays that are the same in every row stay apart, as they stay in caches. */
#include "compiler/rows_cuda_code.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- spelling */

const IrNode *rows_node(const RowsEmitter *e, Value value) {
    return ir_node(e->plan->ir, value);
}

const char *rows_type(const RowsEmitter *e, Value value) {
    return language_type(CUDA, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

const char *rows_real(const RowsEmitter *e) {
    return language_type(CUDA, e->plan, VALUE_REAL);
}

static const char *take(const RowsEmitter *e, Text *text) {
    const char *copy = arena_copy(e->scratch, text_string(text), text->length);
    text_free(text);
    return copy;
}

const char *rows_operand(const RowsEmitter *e, Value value) {
    Text text = {0};
    emit_operand(&text, e->plan, CUDA, value, false);
    return take(e, &text);
}

const Access *rows_load(const RowsEmitter *e, Value value) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->plan->loads.data[i].value == value) return &e->plan->loads.data[i];
    return NULL;
}

const Access *rows_next_load(const RowsEmitter *e, RowsRole role, uint32_t *i) {
    while (*i < e->plan->loads.count) {
        const Access *access = &e->plan->loads.data[(*i)++];
        if (rows_role(e->plan, access) == role) return access;
    }
    return NULL;
}

void rows_print_begin(const RowsEmitter *e, const Access *access) {
    bool walks = access_walks_rows(e->plan, access);
    text_printf(e->out, walks ? "%s + (" : "%s", access->name);
    if (walks) emit_offset(e->out, e->plan, access, "place", NULL);
    if (walks) text_add(e->out, ")");
}

const char *rows_single(const RowsEmitter *e, const Access *access) {
    Text text = {0};
    text_printf(&text, "%s[", access->name);
    emit_offset(&text, e->plan, access, "place", NULL);
    text_add(&text, "]");
    return take(e, &text);
}

const char *rows_step(const RowsEmitter *e, const Access *access) {
    return plan_stride_name(e->scratch, access, e->plan->rank - 1);
}

void rows_print_divisor(const RowsEmitter *e, Value value) {
    RowsQuotient how = rows_divisor(e->facts, value);
    if (how == ROWS_MULTIPLIED)
        text_printf(e->out, "    const %s r%u = 1 / t%u;\n", rows_real(e), value, value);
    if (how == ROWS_ROUNDED)
        text_printf(e->out, "    const k_divisor<%s> k%u(%s);\n", rows_real(e), value,
                    rows_operand(e, value));
}

/* --- what is kept */

/* What stands for elements outside the row. */
static const char *other(const RowsEmitter *e, const Access *access) {
    if (!e->facts->low || !dtype_is_float(access->dtype)) return "0";
    return access->dtype == DT_F16 ? "0xfc00" : access->dtype == DT_BF16 ? "0xff80" : "-K_INF";
}

static const char *vector(const RowsEmitter *e, const Access *access) {
    const char *name = access->name;
    const char *outside =
        arena_printf(e->scratch, "(%s)%s", cuda_storage(access), other(e, access));
    if (access->class == ACCESS_STRIDED)
        return arena_printf(e->scratch, "row.load_each(%s, %s_step, v, %s)", name, name, outside);
    return arena_printf(e->scratch, "row.load%s(%s, v, %s)",
                        access->class == ACCESS_DENSE ? "" : "_row", name, outside);
}

static void print_members(const RowsEmitter *e) {
    const Access *access;
    text_add(e->out, "    struct raw {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "        k_pack<%s, ROW::VEC> %s;\n", cuda_storage(access),
                    access->name);
    text_add(e->out, "    };\n    struct seen {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "        %s t%u[ROW::VEC]; // %s\n", rows_type(e, access->value),
                    access->value, access->name);
    text_add(e->out, "    };\n    template <int THREADS> struct slots {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "        k_pack<%s, ROW::VEC> %s[THREADS];\n", cuda_storage(access),
                    access->name);
    text_add(e->out, "    };\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "    const %s *%s;\n", cuda_storage(access), access->name);
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        if (access->class == ACCESS_STRIDED)
            text_printf(e->out, "    k_index %s_step;\n", access->name);
}

static void print_load(const RowsEmitter *e) {
    const Access *access;
    text_add(e->out, "\n    template <typename I>\n    __device__ __forceinline__ raw "
                     "load(const ROW &row, I v) const {\n        raw pack;\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "        pack.%s = %s;\n", access->name, vector(e, access));
    text_add(e->out, "        return pack;\n    }\n");
}

static void print_copies(const RowsEmitter *e) {
    const Access *access;
    text_add(
        e->out,
        "    template <int N, typename V>\n    __device__ __forceinline__ void copy(slots<N> &to, "
        "const ROW &row, V v) const {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));) {
        const char *name = access->name;
        bool dense = access->class == ACCESS_DENSE;
        if (access->class == ACCESS_STRIDED)
            text_printf(e->out, "        to.%s[threadIdx.x] = %s;\n", name, vector(e, access));
        else
            text_printf(e->out, "        row.%s(&to.%s[threadIdx.x], %s, v, (%s)%s);\n",
                        dense ? "copy" : "copy_row", name, name, cuda_storage(access),
                        other(e, access));
    }
    text_add(e->out, "    }\n");
}

static void print_fetch(const RowsEmitter *e) {
    const Access *access;
    text_add(e->out, "    template <int N> static __device__ __forceinline__ raw "
                     "fetch(const slots<N> &from) {\n        raw pack;\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        text_printf(e->out, "        pack.%s = from.%s[threadIdx.x];\n", access->name,
                    access->name);
    text_add(e->out, "        return pack;\n    }\n");
}

bool rows_sees_words(const RowsEmitter *e, const Access *access) {
    return access->dtype == DT_BF16 && e->plan->compute == DT_F32;
}

static void print_see(const RowsEmitter *e) {
    const Access *access;
    text_add(e->out,
             "    static __device__ __forceinline__ void see(seen &x, const raw &pack) {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        if (rows_sees_words(e, access))
            text_printf(e->out, "        k_see_bf16(x.t%u, pack.%s);\n", access->value,
                        access->name);
    text_add(e->out, "#pragma unroll\n        for (int j = 0; j < ROW::VEC; j++) {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        if (!rows_sees_words(e, access))
            cuda_set(e->out, access, arena_printf(e->scratch, "x.t%u[j]", access->value),
                     arena_printf(e->scratch, "pack.%s.at[j]", access->name), 12);
    text_add(e->out, "        }\n    }\n};\n");
}

void rows_print_source(const RowsEmitter *e) {
    text_add(e->out, "// What is read of a vector, and seen of it by the passes.\n"
                     "template <typename ROW> struct k_source {\n");
    print_members(e);
    print_load(e);
    print_copies(e);
    print_fetch(e);
    print_see(e);
}

void rows_print_find_source(const RowsEmitter *e) {
    const Access *access;
    uint32_t count = 0;
    text_add(e->out, "\n// What is read of row `at`, if there is one.\n"
                     "template <typename ROW>\n"
                     "K_INLINE k_source<ROW> KF_ENTRY(k_find_source)(const k_index at,\n        ");
    cuda_parameters(e->out, e->plan, &e->parameters, "k_index");
    text_add(e->out,
             ") {\n    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;\n");
    emit_coordinates(e->out, CUDA, e->plan, "place", 4);
    text_add(e->out, "    return {");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));) {
        if (count++ > 0) text_add(e->out, ", ");
        if (access->class == ACCESS_DENSE)
            text_add(e->out, access->name);
        else
            rows_print_begin(e, access);
    }
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_KEPT, &i));)
        if (access->class == ACCESS_STRIDED) text_printf(e->out, ", %s", rows_step(e, access));
    text_add(e->out, "};\n}\n");
}

/* --- columns */

void rows_print_ahead(const RowsEmitter *e) {
    const Access *access;
    if (!e->facts->columns) return;
    text_add(e->out, "\n// Arrays that are one row, read ahead if EARLY.\n"
                     "template <bool EARLY, int ITEMS, typename ROW> struct k_ahead {\n");
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_COLUMN, &i));)
        if (access->class == ACCESS_ROWS)
            text_printf(e->out, "    const k_columns<EARLY, ITEMS, %s, ROW> %s;\n",
                        cuda_storage(access), access->name);
    text_add(e->out, "};\n");
}

void rows_print_make_ahead(const RowsEmitter *e, const char *type, const char *row, int indent) {
    const Access *access;
    uint32_t count = 0;
    if (!e->facts->columns) return;
    text_printf(e->out, "%*sconst %s ahead = {", indent, "", type);
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_COLUMN, &i));) {
        if (access->class != ACCESS_ROWS) continue;
        emit_next(e->out, count++, "{%s, %s}", access->name, row);
    }
    text_add(e->out, "};\n");
}
