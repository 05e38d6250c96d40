/* A plan in, C for the host compiler out. One idea: every element takes the same way. A vector of
 * K_LANES elements is loaded from consecutive memory, computed and stored by one function; what is
 * not consecutive (a broadcast, a stride, the end of a row) is brought into a small buffer first,
 * so that neither a tail nor a knob ever changes a bit. */
#include <string.h>

#include "compiler/c_vector.h"
#include "compiler/emit_c.h"

const EmitLanguage emit_language_c = {
    .name = "c",
    .preludes = {"registry/templates/prelude_c.h", "registry/templates/prelude_c_memory.h",
                 "registry/templates/prelude_c_math.h", "registry/templates/prelude_c_rows.h"},
    .index = "int64_t",
    .vector = true,
    .type_f32 = {"k_real", "k_i32", "k_i64", "k_mask"},
    .type_f64 = {"k_real", "k_i32", "k_i64", "k_mask"},
};
static const EmitLanguage *const C = &emit_language_c;

/* Above this many operations the vector function is called, not copied to its three places. */
enum { INLINE_OPERATIONS = 200 };

typedef struct Emitter {
    const Plan *plan;
    Text *out;
    Arena *scratch;
    Parameters parameters;
    VectorWalk run, span;
} Emitter;

/* --- lists */

/* Which of the parameters a function gets besides the arrays. */
typedef enum Which { SCALARS, INNER, SPAN } Which;

/* The stride along the last axis as an expression, NULL where it is 0 or 1. */
static const char *inner_stride(const Emitter *e, const Access *access) {
    uint32_t inner = e->plan->rank - 1;
    if (!plan_stride_given(e->plan, access, inner)) return NULL;
    return plan_stride_name(e->scratch, access, inner);
}

static bool is_inner(const Emitter *e, const Parameter *parameter) {
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const char *name = inner_stride(e, access_at(e->plan, i));
        if (name && strcmp(name, parameter->name) == 0) return true;
    }
    return false;
}

static bool passes(const Emitter *e, const Parameter *parameter, Which which) {
    if (which == SPAN) return strcmp(parameter->name, "kf_rows") != 0;
    return parameter_is_scalar(parameter) || (which == INNER && is_inner(e, parameter));
}

/* "const float *restrict in_x, float *restrict out_y, float s_eps" */
static void print_parameters(const Emitter *e, Which which) {
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        emit_next(e->out, i, "%s%s *%s%s", access_is_store(e->plan, i) ? "" : "const ",
                  language_storage(C, access->dtype), access->alias ? "" : "restrict ",
                  access->name);
    }
    for (uint32_t i = 0; i < e->parameters.list.count; i++) {
        const Parameter *parameter = &e->parameters.list.data[i];
        if (passes(e, parameter, which))
            emit_next(e->out, 1, "%s %s", dtype_info(parameter->dtype)->c, parameter->name);
    }
}

static void print_arguments(const Emitter *e, Which which) {
    for (uint32_t i = 0; i < e->parameters.list.count; i++) {
        const Parameter *parameter = &e->parameters.list.data[i];
        if (passes(e, parameter, which)) emit_next(e->out, 1, "%s", parameter->name);
    }
}

bool emit_c_copies(const Plan *plan) {
    return plan->body.count <= INLINE_OPERATIONS;
}

static VectorCode vector_code(const Emitter *e) {
    return (VectorCode){e->out, e->plan, &e->parameters};
}

static void print_hoisted(const Emitter *e, const VectorWalk *walk) {
    const VectorCode code = vector_code(e);
    c_vector_hoisted(&code, walk);
}

static void print_call(const Emitter *e, const VectorWalk *walk, VectorForm *form,
                       const char *stream) {
    const VectorCode code = vector_code(e);
    c_vector_call(&code, walk, form, stream);
}

/* --- a run of elements along the last axis */

/* There are two ways to walk the index space. */
static bool has_linear(const Plan *plan) {
    return plan->rank >= 2 && language_linear(plan);
}

static bool is_spread(const Access *access) {
    return access->class == ACCESS_SPLAT || access->class == ACCESS_SCALAR;
}

/* A buffer for each array, filled where it holds one value all along. */
static void print_buffers(const Emitter *e, bool scalars_only) {
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        text_printf(e->out, "    %s %s_v[K_LANES]%s;\n", language_storage(C, access->dtype),
                    access->name, access_is_store(e->plan, i) ? "" : " = {0}");
        if (access->class == ACCESS_SCALAR || (access->class == ACCESS_SPLAT && !scalars_only))
            text_printf(e->out, "    k_spread(%s_v, %s, sizeof *%s);\n", access->name, access->name,
                        access->name);
    }
}

/* A call's arrays seldom start where a vector may be streamed to (a NumPy array lies 16 bytes behind a
 * page): the first `lead` elements from `from` on go through buffers, so that what follows does. */
static void print_streaming(const Emitter *e, const char *from, const char *count) {
    const Access *first = &e->plan->stores.data[0];
    text_printf(e->out,
                "    const int64_t lead = __STREAM__ ? k_least(k_before(%s%s), %s) : 0;\n"
                "    const int stream = __STREAM__",
                first->name, from, count);
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        text_printf(e->out, " && k_fits(%s%s + lead)", e->plan->stores.data[i].name, from);
    text_add(e->out, ";\n");
}

static bool any_strided(const Plan *plan) {
    for (uint32_t i = 0; i < access_count(plan); i++)
        if (access_at(plan, i)->class == ACCESS_STRIDED) return true;
    return false;
}

static const char *form_direct(const Access *access) {
    return is_spread(access) ? "_v" : " + u";
}

static const char *form_buffered(const Access *access) {
    (void)access;
    return "_v";
}

static const char *form_dense(const Access *access) {
    return access->class == ACCESS_DENSE ? " + i" : "_v";
}

/* Full vectors straight from and to memory. */
static void print_direct(const Emitter *e) {
    text_add(e->out,
             "        for (; i + __UNROLL__ * K_LANES <= count; i += __UNROLL__ * K_LANES)\n"
             "#pragma GCC unroll 16\n"
             "            for (int64_t u = i; u < i + __UNROLL__ * K_LANES; u += K_LANES)\n"
             "                ");
    print_call(e, &e->run, form_direct, "stream");
}

static void print_fetch(const Emitter *e, const Access *access, int indent) {
    const char *step = inner_stride(e, access);
    if (step)
        text_printf(e->out, "%*sfor (int l = 0; l < n; l++) %s_v[l] = %s[(i + l) * %s];\n", indent,
                    "", access->name, access->name, step);
    else if (!is_spread(access))
        text_printf(e->out, "%*sk_part(%s_v, %s + i, n * sizeof *%s_v);\n", indent, "",
                    access->name, access->name, access->name);
}

static void print_return(const Emitter *e, const Access *access, int indent) {
    const char *step = inner_stride(e, access);
    if (step)
        text_printf(e->out, "%*sfor (int l = 0; l < n; l++) %s[(i + l) * %s] = %s_v[l];\n", indent,
                    "", access->name, step, access->name);
    else
        text_printf(e->out, "%*sk_part(%s + i, %s_v, n * sizeof *%s_v);\n", indent, "",
                    access->name, access->name, access->name);
}

/* Elements up to `end` through buffers. */
static void print_buffered(const Emitter *e) {
    text_add(e->out, "        for (int n; i < end; i += n) {\n"
                     "            n = k_least(end - i, K_LANES);\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) print_fetch(e, &e->plan->loads.data[i], 12);
    text_add(e->out, "            ");
    print_call(e, &e->run, form_buffered, "0");
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        print_return(e, &e->plan->stores.data[i], 12);
    text_add(e->out, "        }\n");
}

/* Code for one of the two ways to walk the index space, where there are two. */
static void print_scheme(const Emitter *e, const char *line) {
    if (has_linear(e->plan)) text_add(e->out, line);
}

static void print_run(const Emitter *e) {
    print_scheme(e, "\n#if __INDEX__ == 1");
    text_add(e->out, "\n/* `count` elements along the last axis; the first `lead` and the last of "
                     "them through buffers. */\n"
                     "static void KF_ENTRY(k_run)(");
    print_parameters(e, INNER);
    text_add(e->out, ", int64_t count) {\n");
    print_buffers(e, false);
    print_hoisted(e, &e->run);
    print_streaming(e, "", "count");
    text_add(e->out, "    for (int64_t i = 0, end = lead;; end = count) {\n");
    print_buffered(e);
    text_add(e->out, "        if (end == count) break;\n");
    if (!any_strided(e->plan)) print_direct(e);
    text_add(e->out, "    }\n}\n");
    print_scheme(e, "#endif\n");
}

/* --- a span of the linear index, over the ends of rows */

static void print_start(const Emitter *e) {
    uint32_t inner = e->plan->rank - 1;
    text_printf(e->out, "    int64_t i%u = begin %% kf_cols, row = begin / kf_cols;\n", inner);
    for (uint32_t axis = inner - 1; axis > 0; axis--)
        text_printf(e->out, "    int64_t i%u = row %% kf_e%u;\n    row /= kf_e%u;\n", axis, axis,
                    axis);
    text_add(e->out, "    int64_t i0 = row;\n");
}

/* Fetches what is not dense, lane by lane, and moves the coordinates on. */
static void print_walk(const Emitter *e) {
    uint32_t inner = e->plan->rank - 1;
    const char *column = arena_printf(e->scratch, "i%u", inner);
    text_add(e->out, "        for (int l = 0; l < n; l++) {\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (access->class == ACCESS_DENSE || access->class == ACCESS_SCALAR) continue;
        text_printf(e->out, "            %s_v[l] = %s[", access->name, access->name);
        emit_offset(e->out, e->plan, access, "", column);
        text_add(e->out, "];\n");
    }
    text_printf(e->out, "            if (++i%u < kf_cols) continue;\n            i%u = 0;\n", inner,
                inner);
    for (uint32_t axis = inner - 1; axis > 0; axis--)
        text_printf(e->out, "            if (++i%u < kf_e%u) continue;\n            i%u = 0;\n",
                    axis, axis, axis);
    text_add(e->out, "            i0++;\n        }\n");
}

static void print_dense_call(const Emitter *e) {
    text_add(e->out, "        if (n == K_LANES) {\n            ");
    print_call(e, &e->span, form_dense, "stream");
    text_add(e->out, "            continue;\n        }\n");
}

static void print_span(const Emitter *e) {
    text_add(e->out, "\n#if __INDEX__ == 0\n"
                     "/* Elements [begin, end) of the linear index, over the ends of rows. */\n"
                     "static void KF_ENTRY(k_span)(");
    print_parameters(e, SPAN);
    text_add(e->out, ", int64_t begin, int64_t end) {\n");
    print_buffers(e, true);
    print_hoisted(e, &e->span);
    print_streaming(e, " + begin", "end - begin");
    print_start(e);
    text_add(e->out, "    int64_t i = begin;\n"
                     "    for (int n = lead; i < end; i += n, n = 0) {\n"
                     "        if (n == 0) n = k_least(end - i, K_LANES);\n");
    print_walk(e);
    print_dense_call(e);
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->plan->loads.data[i].class == ACCESS_DENSE)
            print_fetch(e, &e->plan->loads.data[i], 8);
    text_add(e->out, "        ");
    print_call(e, &e->span, form_buffered, "0");
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        print_return(e, &e->plan->stores.data[i], 8);
    text_add(e->out, "    }\n}\n#endif\n");
}

/* --- the entry */

void emit_c_unpack(Text *out, const Plan *plan, const Parameters *parameters) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        const char *constant = access_is_store(plan, i) ? "" : "const ";
        const char *type = language_storage(C, access->dtype);
        text_printf(out, "    %s%s *const %s = *(%s%s *const *)args[%u];\n", constant, type,
                    access->name, constant, type, at++);
    }
    for (uint32_t i = 0; i < parameters->list.count; i++) {
        Parameter parameter = parameters->list.data[i];
        const char *type = dtype_info(parameter.dtype)->c;
        text_printf(out, "    const %s %s = *(const %s *)args[%u];\n", type, parameter.name, type,
                    at++);
    }
}

/* k_run from element (row, column) on. */
static void print_run_call(const Emitter *e, const char *row, const char *column,
                           const char *count) {
    text_add(e->out, "KF_ENTRY(k_run)(");
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        emit_next(e->out, i, "%s", access->name);
        if (access->class == ACCESS_SCALAR) continue;
        text_add(e->out, " + ");
        emit_offset(e->out, e->plan, access, row, column);
    }
    print_arguments(e, INNER);
    text_printf(e->out, ", %s);\n", count);
}

static void print_line_tiles(const Emitter *e) {
    text_add(
        e->out,
        "    for (int64_t begin = part * __BLOCK__; begin < kf_n; begin += parts * __BLOCK__) {\n"
        "        const int64_t count = kf_n - begin < __BLOCK__ ? kf_n - begin : __BLOCK__;\n"
        "        ");
    print_run_call(e, "", "begin", "count");
    text_add(e->out, "    }\n");
}

static void print_linear_tiles(const Emitter *e) {
    text_add(
        e->out,
        "    const int64_t total = kf_rows * kf_cols;\n"
        "    for (int64_t begin = part * __BLOCK__; begin < total; begin += parts * __BLOCK__) {\n"
        "        const int64_t end = total - begin < __BLOCK__ ? total : begin + __BLOCK__;\n"
        "        KF_ENTRY(k_span)(");
    for (uint32_t i = 0; i < access_count(e->plan); i++)
        emit_next(e->out, i, "%s", access_at(e->plan, i)->name);
    print_arguments(e, SPAN);
    text_add(e->out, ", begin, end);\n    }\n");
}

/* A tile is some whole rows, or a piece of a long one. */
static void print_row_tiles(const Emitter *e) {
    text_add(e->out,
             "    const int64_t height = kf_cols < __BLOCK__ ? __BLOCK__ / (kf_cols + (kf_cols == "
             "0)) : 1;\n"
             "    const int64_t width = kf_cols < __BLOCK__ ? kf_cols : __BLOCK__;\n"
             "    for (int64_t top = 0, tile = 0; top < kf_rows; top += height)\n"
             "        for (int64_t left = 0; left < kf_cols; left += width, tile++) {\n"
             "            if (tile % parts != part) continue;\n"
             "            const int64_t count = kf_cols - left < width ? kf_cols - left : width;\n"
             "            for (int64_t row = top; row < kf_rows && row < top + height; row++) {\n");
    emit_coordinates(e->out, C, e->plan, "row", 16);
    text_add(e->out, "                ");
    print_run_call(e, "row", "left", "count");
    text_add(e->out, "            }\n        }\n");
}

static void print_entry(const Emitter *e) {
    text_printf(e->out, "\nvoid KF_ENTRY(%s)(void *const *args, int64_t part, int64_t parts) {\n",
                e->plan->name);
    emit_c_unpack(e->out, e->plan, &e->parameters);
    if (e->plan->rank == 1) print_line_tiles(e);
    print_scheme(e, "#if __INDEX__ == 0\n");
    if (has_linear(e->plan)) print_linear_tiles(e);
    print_scheme(e, "#else\n");
    if (e->plan->rank >= 2) print_row_tiles(e);
    print_scheme(e, "#endif\n");
    text_add(e->out, "    if (__STREAM__) k_fence();\n}\n");
}

/* --- the file */

/* Beyond this, data written is not found in a cache again: 4.4 ms against 5.8 for 200 MB, 2
 * threads. */
enum { STREAM_BYTES = 16 << 20 };

static uint32_t choose_knobs(const Plan *plan, KnobText knobs[5]) {
    uint32_t count = 0;
    bool big = plan->body.count > INLINE_OPERATIONS;
    bool streams = plan->bytes_read + plan->bytes_written > STREAM_BYTES;
    knobs[count++] = (KnobText){"BLOCK", {65536, 4096, 16384, 262144}, 4};
    knobs[count++] = (KnobText){"UNROLL", {1, 2, 4}, big ? 1 : 3};
    knobs[count++] = (KnobText){"STREAM", {streams, !streams}, 2};
    if (any_strided(plan)) knobs[count - 1] = (KnobText){"STREAM", {0}, 1};
    knobs[count++] = (KnobText){"THREADS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 10};
    if (has_linear(plan)) knobs[count++] = (KnobText){"INDEX", {1, 0}, 2};
    return count;
}

/* THREADS 0: all CPUs, fewer where there is little to do. */
static void print_rules(const Emitter *e) {
    const char *size = language_total(e->plan);
    text_printf(
        e->out,
        "//! require  __THREADS__ <= cpus\n"
        "//! prefer   __THREADS__ != cpus && (__THREADS__ == 0 || __THREADS__ * 4 >= cpus || %s < "
        "262144)\n"
        "//! prefer   __BLOCK__ * 2 <= %s || __BLOCK__ == 4096 || __BLOCK__ == 65536\n"
        "//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(%s, 16384)))\n",
        size, size, size);
}

int emit_c_bytes(const Plan *plan) {
    bool wide = plan->compute == DT_F64;
    for (uint32_t i = 0; i < plan->loads.count; i++) wide |= plan->loads.data[i].dtype == DT_I64;
    for (uint32_t i = 0; i < plan->stores.count; i++) wide |= plan->stores.data[i].dtype == DT_I64;
    for (uint32_t i = 0; i < plan->body.count; i++)
        wide |= ir_dtype(plan->ir, plan->body.data[i]) == DT_I64;
    return wide ? 8 : 4;
}

/* What is one for all elements holds still, in a run also what is one a row. */
static VectorWalk find_walk(const Emitter *e, const char *name, AccessClass also) {
    bool *still = arena_array(e->scratch, bool, e->plan->loads.count);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        AccessClass class = e->plan->loads.data[i].class;
        still[i] = class == ACCESS_SCALAR || class == also;
    }
    return (VectorWalk){name, hoist(e->scratch, e->plan, still)};
}

static void print_functions(const Emitter *e) {
    const VectorCode code = vector_code(e);
    bool whole = e->run.hoist.values.count == 0; /* then it is so in a span */
    c_vector_functions(&code, &e->run);
    if (!has_linear(e->plan) || whole) return;
    text_add(e->out, "\n");
    c_vector_functions(&code, &e->span);
}

void emit_c_types(Text *out, const Plan *plan) {
    text_printf(out, SHARED_BEGIN "#define K_BYTES %d\n#define K_F64 %d\n", emit_c_bytes(plan),
                plan->compute == DT_F64);
}

const Template *emit_c(Arena *arena, const Plan *plan) {
    KnobText knobs[5];
    Text text = {0}, code = {0};
    uint32_t count = choose_knobs(plan, knobs);
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.parameters = language_parameters(C, plan, e.scratch);
    e.run = find_walk(&e, "run", ACCESS_SPLAT);
    e.span = find_walk(&e, "span", ACCESS_SCALAR);
    print_functions(&e);
    text_add(&code, SHARED_END);
    print_run(&e);
    if (has_linear(plan)) print_span(&e);
    print_entry(&e);
    e.out = &text;
    emit_head(&text, C, plan, knobs, count);
    print_rules(&e);
    emit_defaults(&text, plan, knobs, count);
    emit_c_types(&text, plan);
    const Template *template = emit_file(arena, C, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
