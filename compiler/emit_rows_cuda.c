/* A plan of reductions over rows in, CUDA C++ out. One idea: passes over a row stand one below the
 * other, each a loop over what its threads keep of it; what a pass gathers is joined once, in one
 * struct, and what is one value a row is computed between passes by every thread. */
#include <math.h>
#include <string.h>

#include "compiler/cuda_code.h"
#include "compiler/emit.h"
#include "compiler/rows_cuda.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

typedef struct Emitter {
    const Plan *plan;
    const Rows *rows;
    Text *out;
    Arena *scratch;
    Parameters parameters;
    RowsCuda facts;
} Emitter;

static const char *real_type(const Emitter *e) {
    return language_type(CUDA, e->plan, VALUE_REAL);
}

static const char *type_of(const Emitter *e, Value value) {
    return language_type(CUDA, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

static const char *operand_text(const Emitter *e, Value value) {
    Text text = {0};
    emit_operand(&text, e->plan, CUDA, value, false);
    const char *copy = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const Access *load_of(const Emitter *e, Value value) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->plan->loads.data[i].value == value) return &e->plan->loads.data[i];
    return NULL;
}

/* Loads of a role, one after the other from *i on. */
static const Access *next_load(const Emitter *e, RowsRole role, uint32_t *i) {
    while (*i < e->plan->loads.count) {
        const Access *access = &e->plan->loads.data[(*i)++];
        if (rows_role(e->plan, access) == role) return access;
    }
    return NULL;
}

/* "in_x + (i0 * kf_in_x_s0)": where the array has the row. */
static void print_row_begin(const Emitter *e, const Access *access) {
    bool walks = access_walks_rows(e->plan, access);
    text_printf(e->out, walks ? "%s + (" : "%s", access->name);
    if (walks) emit_offset(e->out, e->plan, access, "place", NULL);
    if (walks) text_add(e->out, ")");
}

/* "kf_in_x_s1": the distance of its elements. */
static const char *step_of(const Emitter *e, const Access *access) {
    return plan_stride_name(e->scratch, access, e->plan->rank - 1);
}

/* --- what a vector reads */

static void print_kept(const Emitter *e, const char *format_of_each) {
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        text_printf(e->out, format_of_each, cuda_storage(access), access->name);
    }
}

static void print_other(const Emitter *e, const Access *access) {
    bool low = e->facts.low && dtype_is_float(access->dtype);
    const char *word = access->dtype == DT_F16    ? "0xfc00"
                       : access->dtype == DT_BF16 ? "0xff80"
                                                  : "-K_INF";
    text_printf(e->out, "(%s)%s", cuda_storage(access), low ? word : "0");
}

static void print_vector(const Emitter *e, const Access *access, const char *once) {
    const char *name = access->name;
    if (access->class == ACCESS_DENSE)
        text_printf(e->out, "row.template load<%s>(%s, v, ", once, name);
    else if (access->class == ACCESS_ROWS)
        text_printf(e->out, "row.template load_row<%s>(%s, v, ", once, name);
    else
        text_printf(e->out, "row.load_each(%s, %s_step, v, ", name, name);
    print_other(e, access);
    text_add(e->out, ")");
}

static void print_load(const Emitter *e) {
    text_add(e->out,
             "    template <bool ONCE, typename I> __device__ __forceinline__ raw load(const "
             "ROW &row, I v) const {\n        return {");
    for (uint32_t i = 0, n = 0; true; n++) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        if (n > 0) text_add(e->out, ",\n                ");
        print_vector(e, access, rows_reads(e->plan, e->rows, access) == 1 ? "true" : "ONCE");
    }
    text_add(e->out, "};\n    }\n");
}

static void print_copy(const Emitter *e) {
    text_add(e->out,
             "    template <int N> __device__ __forceinline__ void copy(slots<N> &to, const ROW "
             "&row, int v) const {\n");
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        if (access->class == ACCESS_DENSE) {
            text_printf(e->out, "        row.copy(&to.%s[threadIdx.x], %s, v, ", access->name,
                        access->name);
            print_other(e, access);
            text_add(e->out, ");\n");
            continue;
        }
        text_printf(e->out, "        to.%s[threadIdx.x] = ", access->name);
        print_vector(e, access, "true");
        text_add(e->out, ";\n");
    }
    text_add(e->out,
             "    }\n    template <int N> static __device__ __forceinline__ raw fetch(const "
             "slots<N> &from) {\n        return {");
    for (uint32_t i = 0, n = 0; true; n++) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        emit_next(e->out, n, "from.%s[threadIdx.x]", access->name);
    }
    text_add(e->out, "};\n    }\n");
}

static void print_see(const Emitter *e) {
    text_add(e->out, "    static __device__ __forceinline__ void see(seen &x, const raw &from) {\n"
                     "#pragma unroll\n        for (int j = 0; j < ROW::VEC; j++) {\n");
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        cuda_get(e->out, e->plan, access, arena_printf(e->scratch, "from.%s.at[j]", access->name),
                 12);
        text_printf(e->out, "            x.t%u[j] = t%u;\n", access->value, access->value);
    }
    text_add(e->out, "        }\n    }\n};\n");
}

/* Arrays that have an element of their own for each of the iteration, as k_kept wants them. */
static void print_source(const Emitter *e) {
    text_add(e->out, "// What is read of a vector, and seen of it by the passes.\n"
                     "template <typename ROW> struct k_source {\n    struct raw {\n");
    print_kept(e, "        k_pack<%s, ROW::VEC> %s;\n");
    text_add(e->out, "    };\n    struct seen {\n");
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        const char *type = type_of(e, access->value);
        text_printf(e->out, "        %s t%u[ROW::VEC]; // %s\n", type, access->value, access->name);
    }
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        if (e->facts.held[v])
            text_printf(e->out, "        %s t%u[ROW::VEC]; // with HOLD\n", type_of(e, v), v);
    }
    text_add(e->out, "    };\n    template <int THREADS> struct slots {\n");
    print_kept(e, "        __align__(16) k_pack<%s, ROW::VEC> %s[THREADS];\n");
    text_add(e->out, "    };\n");
    print_kept(e, "    const %s *const %s;\n");
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        if (access->class == ACCESS_STRIDED)
            text_printf(e->out, "    const k_index %s_step;\n", access->name);
    }
    text_add(e->out, "\n");
    print_load(e);
    print_copy(e);
    print_see(e);
}

/* --- what a pass gathers */

/* A field of a pass' struct: a reduction's own, or one of those that a variance is made of. */
typedef enum PartKind { PART_OWN, PART_MEAN, PART_REST, PART_SQUARE } PartKind;

typedef struct Part {
    Value value;
    PartKind kind;
} Part;

typedef struct Parts {
    ARRAY(Part) list;
} Parts;

/* The mean of the operand of `variance`, if it is computed anyway, in the same pass. */
static Value mean_beside(const Emitter *e, Value variance) {
    const Ir *ir = e->plan->ir;
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        if (ir_node(ir, v)->op == IR_MEAN &&
            ir_node(ir, v)->arg[0] == ir_node(ir, variance)->arg[0])
            return v;
    }
    return 0;
}

static void add_part(const Emitter *e, Parts *parts, Value value, PartKind kind) {
    array_push(e->scratch, &parts->list, ((Part){value, kind}));
}

static Parts parts_of(const Emitter *e, uint32_t pass) {
    Parts parts = {0};
    for (uint32_t i = 0; i < e->plan->body.count; i++) {
        Value v = e->plan->body.data[i];
        const IrNode *node = ir_node(e->plan->ir, v);
        if (!ir_is_reduction(node)) continue;
        bool variance = node->op == IR_VAR, now = e->rows->pass[v] == pass;
        if (!variance && now) add_part(e, &parts, v, PART_OWN);
        if (variance && e->rows->pass[v] == pass + 1 && !mean_beside(e, v))
            add_part(e, &parts, v, PART_MEAN);
        if (variance && now) add_part(e, &parts, v, PART_REST);
        if (variance && now) add_part(e, &parts, v, PART_SQUARE);
    }
    return parts;
}

static const char *part_name(const Emitter *e, const Part *part) {
    return arena_printf(e->scratch, "%c%u", "tmdq"[part->kind], part -> value);
}

static ValueKind part_kind(const Emitter *e, const Part *part) {
    ValueKind kind = value_kind(ir_dtype(e->plan->ir, part->value));
    return kind == VALUE_BOOL ? VALUE_I32 : kind;
}

static uint16_t part_op(const Emitter *e, const Part *part) {
    return part->kind == PART_OWN ? ir_node(e->plan->ir, part->value)->op : IR_SUM;
}

/* "a + b", "k_max(a, b)", "k_fmax_i64(a, b)" */
static void print_join(const Emitter *e, const Part *part, const char *a, const char *b) {
    static const char *const reals[] = {"%s + %s", "%s * %s", "k_max(%s, %s)", "k_min(%s, %s)",
                                        "%s + %s"};
    static const char *const wholes[] = {"k_add_%s(%s, %s)", "k_mul_%s(%s, %s)",
                                         "k_fmax_%s(%s, %s)", "k_fmin_%s(%s, %s)"};
    ValueKind kind = part_kind(e, part);
    uint32_t which = part_op(e, part) - IR_SUM;
    if (kind == VALUE_REAL)
        text_printf(e->out, reals[which], a, b);
    else
        text_printf(e->out, wholes[which], kind == VALUE_I64 ? "i64" : "i32", a, b);
}

/* What no element at all gives. */
static void print_nothing(const Emitter *e, const Part *part) {
    ValueKind kind = part_kind(e, part);
    uint16_t op = part_op(e, part);
    const DTypeInfo *info = dtype_info(ir_dtype(e->plan->ir, part->value));
    int64_t whole = op == IR_MAX ? info->low : op == IR_MIN ? info->high : op == IR_PROD;
    if (kind == VALUE_REAL && (op == IR_MAX || op == IR_MIN))
        text_add(e->out, op == IR_MAX ? "-K_INF" : "K_INF");
    else
        emit_whole(e->out, kind, whole);
}

static void print_struct(const Emitter *e, uint32_t pass) {
    Parts parts = parts_of(e, pass);
    if (parts.list.count == 0) return;
    text_printf(
        e->out,
        "\n// What pass %u gathers, on its way through the threads of a row.\nstruct k_pass%u {\n",
        pass, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) {
        const Part *part = &parts.list.data[i];
        text_printf(e->out, "    %s %s;\n", language_type(CUDA, e->plan, part_kind(e, part)),
                    part_name(e, part));
    }
    text_printf(
        e->out,
        "};\nK_INLINE k_pass%u k_join(const k_pass%u &a, const k_pass%u &b) {\n    return {", pass,
        pass, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) {
        const Part *part = &parts.list.data[i];
        const char *name = part_name(e, part);
        if (i > 0) text_add(e->out, ",\n            ");
        print_join(e, part, arena_printf(e->scratch, "a.%s", name),
                   arena_printf(e->scratch, "b.%s", name));
    }
    text_add(e->out, "};\n}\n");
}

/* --- one element in a pass */

static bool contains(Values values, Value value) {
    for (uint32_t i = 0; i < values.count; i++)
        if (values.at[i] == value) return true;
    return false;
}

/* A value as a statement: of an element, of a column, computed. */
static void print_statement(const Emitter *e, Value v, int indent) {
    const Access *access = load_of(e, v);
    if (rows_cuda_multiplies(&e->facts, v))
        text_printf(e->out, "%*sconst %s t%u = %s * r%u;\n", indent, "", type_of(e, v), v,
                    operand_text(e, ir_node(e->plan->ir, v)->arg[0]),
                    ir_node(e->plan->ir, v)->arg[1]);
    else if (!access)
        emit_statement(e->out, e->plan, CUDA, v, indent);
    else if (rows_role(e->plan, access) == ROWS_KEPT)
        text_printf(e->out, "%*sconst %s t%u = x.t%u[j];\n", indent, "", type_of(e, access->value),
                    v, v);
    else
        cuda_get(e->out, e->plan, access, arena_printf(e->scratch, "%s_v.at[j]", access->name),
                 indent);
}

static void print_element(const Emitter *e, Value v, uint32_t pass) {
    print_statement(e, v, 12);
    if (e->facts.held[v] && e->facts.first[v] == pass)
        text_printf(e->out, "            if (HELD) x.t%u[j] = t%u;\n", v, v);
}

/* Held values, or what they are made of once more. */
static void print_again(const Emitter *e, Values again, Values made) {
    for (uint32_t i = 0; i < again.count; i++)
        text_printf(e->out, "            %s t%u;\n", type_of(e, again.at[i]), again.at[i]);
    text_add(e->out, "            if (HELD) {\n");
    for (uint32_t i = 0; i < again.count; i++)
        text_printf(e->out, "                t%u = x.t%u[j];\n", again.at[i], again.at[i]);
    text_add(e->out, "            } else {\n");
    for (uint32_t i = 0; i < made.count; i++) {
        if (!contains(again, made.at[i])) {
            print_statement(e, made.at[i], 16);
            continue;
        }
        text_printf(e->out, "                t%u = ", made.at[i]);
        emit_expression(e->out, e->plan, CUDA, made.at[i]);
        text_add(e->out, ";\n");
    }
    text_add(e->out, "            }\n");
}

static void print_elements(const Emitter *e, uint32_t pass) {
    RowsPass values = rows_cuda_pass(e->scratch, &e->facts, pass);
    for (uint32_t i = 0; i < values.before.count; i++) print_element(e, values.before.at[i], pass);
    if (values.again.count > 0) print_again(e, values.again, values.made);
    for (uint32_t i = 0; i < values.behind.count; i++) print_element(e, values.behind.at[i], pass);
}

static const char *mean_name(const Emitter *e, Value variance) {
    Value mean = mean_beside(e, variance);
    return arena_printf(e->scratch, "%c%u", mean ? 't' : 'm', mean ? mean : variance);
}

/* "pass0.t5 = k_max(pass0.t5, t4);" */
static void print_take(const Emitter *e, uint32_t pass, const Part *part, int indent) {
    const IrNode *node = ir_node(e->plan->ir, part->value);
    const char *fma = e->plan->compute == DT_F64 ? "fma" : "fmaf", *name = part_name(e, part);
    const char *to = arena_printf(e->scratch, "pass%u.%s", pass, name);
    const char *operand = operand_text(e, node->arg[0]);
    if (part->kind == PART_REST)
        text_printf(e->out, "%*sconst %s d%u = %s - %s;\n", indent, "", real_type(e), part->value,
                    operand, mean_name(e, part->value));
    if (part->kind == PART_REST) operand = name;
    text_printf(e->out, "%*s", indent, "");
    if (part->kind == PART_SQUARE) {
        text_printf(e->out, "%s = %s(d%u, d%u, %s);\n", to, fma, part->value, part->value, to);
    } else if (part_kind(e, part) == VALUE_REAL && part_op(e, part) != IR_MAX &&
               part_op(e, part) != IR_MIN) {
        text_printf(e->out, "%s %s= %s;\n", to, part_op(e, part) == IR_PROD ? "*" : "+", operand);
    } else {
        text_printf(e->out, "%s = ", to);
        print_join(e, part, to, operand);
        text_add(e->out, ";\n");
    }
}

static bool is_harmless(const Emitter *e, const Part *part) {
    return e->facts.harmless[part->value] && part->kind != PART_REST && part->kind != PART_SQUARE;
}

/* Elements outside the row are left out, but where they change nothing. */
static void print_takes(const Emitter *e, uint32_t pass, const Parts *parts) {
    bool masked = false;
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        bool harmless = is_harmless(e, part);
        if (harmless) print_take(e, pass, part, 12);
        masked |= !harmless;
    }
    if (!masked) return;
    text_add(e->out, "            if (row.holds(v, j)) {\n");
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        if (!is_harmless(e, part)) print_take(e, pass, part, 16);
    }
    text_add(e->out, "            }\n");
}

/* --- stores */

static void print_puts(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!plan_is_reduced(e->plan, access))
            cuda_put(e->out, e->plan, access, arena_printf(e->scratch, "%s_v.at[j]", access->name),
                     12);
    }
}

static void print_packs(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!plan_is_reduced(e->plan, access))
            text_printf(e->out, "        k_pack<%s, ROW::VEC> %s_v;\n", cuda_storage(access),
                        access->name);
    }
}

static void print_vector_stores(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (plan_is_reduced(e->plan, access)) continue;
        bool dense = access->class == ACCESS_DENSE, strided = access->class == ACCESS_STRIDED;
        text_printf(e->out, "        row.store%s(", dense ? "" : strided ? "_each" : "_row");
        if (dense)
            text_add(e->out, access->name);
        else
            print_row_begin(e, access);
        if (strided) text_printf(e->out, ", %s", step_of(e, access));
        text_printf(e->out, ", v, %s_v);\n", access->name);
    }
}

static void print_row_stores(const Emitter *e) {
    bool any = false;
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        any |= plan_is_reduced(e->plan, &e->plan->stores.data[i]);
    if (!any) return;
    text_add(e->out, "    if (row.lane == 0 && at < kf_rows) {\n");
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!plan_is_reduced(e->plan, access)) continue;
        Text to = {0};
        text_printf(&to, "%s[", access->name);
        emit_offset(&to, e->plan, access, "place", NULL);
        text_add(&to, "]");
        cuda_put(e->out, e->plan, access, text_string(&to), 8);
        text_free(&to);
    }
    text_add(e->out, "    }\n");
}

/* --- passes */

static void print_columns_of(const Emitter *e, uint32_t pass) {
    Values values = rows_elements(e->scratch, e->rows, e->plan, pass);
    for (uint32_t i = 0; i < values.count; i++) {
        const Access *access = load_of(e, values.at[i]);
        if (!access || rows_role(e->plan, access) != ROWS_COLUMN) continue;
        if (access->class == ACCESS_ROWS)
            text_printf(e->out, "        const auto %s_v = ahead.%s.get(row, v, i);\n",
                        access->name, access->name);
        else
            text_printf(e->out, "        const auto %s_v = row.load_each(%s, %s, v);\n",
                        access->name, access->name, step_of(e, access));
    }
}

static void print_walk(const Emitter *e, uint32_t pass, const Parts *parts) {
    bool stores = e->rows->stores && pass + 1 == e->rows->passes;
    text_add(e->out, "    kept.each([&](auto v, auto &x, int i) {\n");
    print_columns_of(e, pass);
    if (stores) print_packs(e);
    text_add(e->out, "#pragma unroll\n        for (int j = 0; j < ROW::VEC; j++) {\n");
    print_elements(e, pass);
    print_takes(e, pass, parts);
    if (stores) print_puts(e);
    text_add(e->out, "        }\n");
    if (stores) print_vector_stores(e);
    text_add(e->out, "    });\n");
}

/* What a pass gathered, as values. */
static void print_results(const Emitter *e, uint32_t pass, const Parts *parts) {
    text_printf(e->out, "    pass%u = row.reduce(pass%u);\n", pass, pass);
    for (uint32_t i = 0; i < parts->list.count; i++) {
        const Part *part = &parts->list.data[i];
        uint16_t op = ir_node(e->plan->ir, part->value)->op;
        ValueKind kind = value_kind(ir_dtype(e->plan->ir, part->value));
        if (part->kind == PART_REST) continue;
        text_printf(e->out, "    const %s %c%u = ", language_type(CUDA, e->plan, kind),
                    part->kind == PART_MEAN ? 'm' : 't', part->value);
        if (part->kind == PART_SQUARE)
            text_printf(e->out, "k_variance(pass%u.d%u, pass%u.q%u, share);\n", pass, part->value,
                        pass, part->value);
        else
            text_printf(e->out, "pass%u.%s%s;\n", pass, part_name(e, part),
                        part->kind == PART_MEAN || op == IR_MEAN ? " * share"
                        : kind == VALUE_BOOL                     ? " != 0"
                                                                 : "");
        if (rows_cuda_is_divisor(&e->facts, part->value))
            text_printf(e->out, "    const %s r%u = 1 / t%u;\n", real_type(e), part->value,
                        part->value);
    }
}

static void print_pass(const Emitter *e, uint32_t pass) {
    Parts parts = parts_of(e, pass);
    text_printf(e->out, "\n    // pass %u\n", pass);
    if (parts.list.count > 0) text_printf(e->out, "    k_pass%u pass%u = {", pass, pass);
    for (uint32_t i = 0; i < parts.list.count; i++) {
        if (i > 0) text_add(e->out, ", ");
        print_nothing(e, &parts.list.data[i]);
    }
    if (parts.list.count > 0) text_add(e->out, "};\n");
    print_walk(e, pass, &parts);
    if (parts.list.count > 0) print_results(e, pass, &parts);
}

static void print_uniform(const Emitter *e, uint32_t pass) {
    Values values = rows_uniform(e->scratch, e->rows, e->plan, pass);
    for (uint32_t i = 0; i < values.count; i++)
        emit_statement(e->out, e->plan, CUDA, values.at[i], 4);
}

/* --- one row */

static void print_uniform_loads(const Emitter *e) {
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_UNIFORM, &i);
        if (!access) break;
        Text from = {0};
        text_printf(&from, "%s[", access->name);
        emit_offset(&from, e->plan, access, "place", NULL);
        text_add(&from, "]");
        cuda_get(e->out, e->plan, access, text_string(&from), 4);
        text_free(&from);
    }
}

static void print_make_source(const Emitter *e) {
    uint32_t n = 0;
    text_add(e->out, "    const k_source<ROW> source = {");
    for (uint32_t i = 0; true; n++) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        if (n > 0) text_add(e->out, ", ");
        if (access->class == ACCESS_DENSE)
            text_add(e->out, access->name);
        else
            print_row_begin(e, access);
    }
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_KEPT, &i);
        if (!access) break;
        if (access->class == ACCESS_STRIDED) text_printf(e->out, ", %s", step_of(e, access));
    }
    text_add(e->out, "};\n    k_kept<KEEP, __ITEMS__, k_source<ROW>, ROW> kept(row, source);\n");
}

static void print_row(const Emitter *e) {
    text_printf(e->out,
                "\n// Row `at`, if there is one: every thread of the block is here.\n"
                "template <int KEEP, typename ROW%s>\nK_INLINE void KF_ENTRY(k_one_row)(const ROW "
                "&row, const k_index at%s,\n        ",
                e->facts.columns ? ", typename AHEAD" : "",
                e->facts.columns ? ", const AHEAD &ahead" : "");
    cuda_parameters(e->out, e->plan, &e->parameters, "k_index");
    text_add(e->out, ") {\n    const k_index place = at < kf_rows ? at : kf_rows - 1;\n");
    emit_coordinates(e->out, CUDA, e->plan, "place", 4);
    print_make_source(e);
    if (e->facts.holds) text_add(e->out, "    enum { HELD = KEEP == 0 && __HOLD__ };\n");
    if (e->facts.means)
        text_printf(e->out, "    const %s share = 1 / (%s)kf_cols;\n", real_type(e), real_type(e));
    print_uniform_loads(e);
    text_add(e->out, "    if (ROW::BLOCKS > 1) k_cluster_wait();\n");
    for (uint32_t pass = 0; pass < e->rows->passes; pass++) {
        print_uniform(e, pass);
        print_pass(e, pass);
    }
    print_uniform(e, e->rows->passes);
    print_row_stores(e);
    text_add(e->out, "}\n");
}

/* --- columns read ahead */

static void print_ahead(const Emitter *e) {
    if (!e->facts.columns) return;
    text_add(e->out, "\n// Arrays that are one row, read ahead if EARLY.\n"
                     "template <bool EARLY, int ITEMS, typename ROW> struct k_ahead {\n");
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_COLUMN, &i);
        if (!access) break;
        if (access->class == ACCESS_ROWS)
            text_printf(e->out, "    const k_columns<EARLY, ITEMS, %s, ROW> %s;\n",
                        cuda_storage(access), access->name);
    }
    text_add(e->out, "};\n");
}

static void print_make_ahead(const Emitter *e, const char *type, const char *row, int indent) {
    uint32_t n = 0;
    if (!e->facts.columns) return;
    text_printf(e->out, "%*sconst %s ahead = {", indent, "", type);
    for (uint32_t i = 0; true;) {
        const Access *access = next_load(e, ROWS_COLUMN, &i);
        if (!access) break;
        if (access->class == ACCESS_ROWS) emit_next(e->out, n++, "{%s, %s}", access->name, row);
    }
    text_add(e->out, "};\n");
}

/* --- entries */

static void print_call(const Emitter *e, const char *keep, int indent) {
    text_printf(e->out, "%*sKF_ENTRY(k_one_row)<%s>(row, at%s, ", indent, "", keep,
                e->facts.columns ? ", ahead" : "");
    cuda_arguments(e->out, e->plan, &e->parameters);
    text_add(e->out, ");\n");
}

static void print_head_of(const Emitter *e, const char *suffix) {
    text_printf(
        e->out,
        "extern \"C\" __global__ void __launch_bounds__(__TPR__ * __RPB__)\nKF_ENTRY(%s%s)(",
        e->plan->name, suffix);
    cuda_parameters(e->out, e->plan, &e->parameters, "long long");
    text_add(e->out, ") {\n");
}

static void print_entry(const Emitter *e) {
    bool columns = e->facts.columns;
    text_add(e->out, "\n");
    print_head_of(e, "");
    text_printf(e->out, "    typedef k_row<__VEC__, %s, __TPR__, __RPB__, __CLUSTER__, int> Row;\n",
                rows_cuda_peels(&e->facts) ? "!__PEEL__" : "true");
    text_add(
        e->out,
        "    k_index at = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__ + threadIdx.x / __TPR__;\n"
        "    if (__CLUSTER__ > 1) k_cluster_arrive();\n");
    const char *early = e->facts.keeps ? "__KEEP__ == 0 && __EARLY__" : "false";
    const char *apart =
        e->facts.keeps && rows_cuda_peels(&e->facts) ? " && !(__PEEL__ && __GRID__)" : "";
    print_make_ahead(e, arena_printf(e->scratch, "k_ahead<%s%s, __ITEMS__, Row>", early, apart),
                     "Row(at, kf_rows, kf_cols)", 4);
    if (columns) text_add(e->out, "    for (;;) {\n");
    int indent = columns ? 8 : 4;
    text_printf(e->out, "%*sconst Row row(at, kf_rows, kf_cols);\n", indent, "");
    print_call(e, e->facts.keeps ? "__KEEP__" : "2", indent);
    if (columns)
        text_add(e->out,
                 "        at += (k_index)gridDim.x * __RPB__;\n"
                 "        if (__GRID__ == 0 || at - threadIdx.x / __TPR__ >= kf_rows) break;\n"
                 "        if (__TPR__ > 32) __syncthreads();\n    }\n");
    text_add(e->out, "}\n");
}

static void print_twin(const Emitter *e) {
    text_add(e->out, "\n// The same for any row, and arrays aligned to no more than an element.\n");
    print_head_of(e, "_any");
    text_add(e->out, "    typedef k_row<1, true, __TPR__, __RPB__, 1, long long> Row;\n"
                     "    for (long long top = (long long)blockIdx.x * __RPB__; top < kf_rows; top "
                     "+= (long long)gridDim.x * __RPB__) {\n"
                     "        const k_index at = top + threadIdx.x / __TPR__;\n"
                     "        const Row row(at, kf_rows, kf_cols);\n");
    print_make_ahead(e, "k_ahead<false, 1, Row>", "row", 8);
    print_call(e, "2", 8);
    text_add(e->out, "        __syncthreads();\n    }\n}\n");
}

/* --- the file */

static void print_code(const Emitter *e) {
    print_source(e);
    for (uint32_t pass = 0; pass < e->rows->passes; pass++) print_struct(e, pass);
    print_ahead(e);
    text_add(e->out, SHARED_END);
    print_row(e);
    print_entry(e);
    print_twin(e);
}

const Template *emit_rows_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[ROWS_CUDA_KNOBS];
    Text text = {0}, code = {0};
    Arena *scratch = arena_open();
    Emitter e = {.plan = plan, .out = &code, .scratch = scratch, .rows = rows_split(scratch, plan)};
    e.facts = rows_cuda_find(scratch, plan, e.rows);
    e.parameters = language_parameters(CUDA, plan, scratch);
    uint32_t count = rows_cuda_knobs(&e.facts, knobs);
    print_code(&e);
    emit_head(&text, CUDA, plan, knobs, count);
    rows_cuda_rules(&text, &e.facts);
    emit_defaults(&text, plan, knobs, count);
    cuda_types(&text, plan);
    emit_prelude(&text, CUDA, text_string(&code));
    text_add(&text, text_string(&code));
    const Template *template = emit_finish(arena, plan->name, CUDA->name, &text);
    text_free(&text);
    text_free(&code);
    arena_close(scratch);
    return template;
}
