/* An epilogue in, C out: a function that takes a vector of each product's elements to all that the
 * outputs get of them. What is no whole vector in memory is brought into one first. */
#include "compiler/c_vector.h"
#include "compiler/emit.h"
#include "compiler/splice_text.h"

static const EmitLanguage *const C = &emit_language_c;

/* --- lists */

static void print_declaration(Text *out, uint32_t *at, const char *type, const char *name) {
    text_printf(out, "const %s %s = *(const %s *)(args)[(at) + %u];\n", type, name, type, (*at)++);
}

static void print_array(Text *out, uint32_t *at, const char *type, const char *name) {
    text_printf(out, "%s *const %s = *(%s *const *)(args)[(at) + %u];\n", type, name, type,
                (*at)++);
}

static const char *array_type(const SpliceText *s, uint32_t i) {
    return arena_printf(s->arena, "%s%s", access_is_store(s->epilogue, i) ? "" : "const ",
                        language_storage(C, access_at(s->epilogue, i)->dtype));
}

static void print_parameters(Text *out, const SpliceText *s) {
    Text text = {0};
    uint32_t at = 0;
    if (s->core->count > 1)
        print_array(&text, &at, arena_printf(s->arena, "const T_%s", s->b),
                    arena_printf(s->arena, "%s1", s->b));
    for (uint32_t i = 0; i < s->batch.list.count; i++)
        print_declaration(&text, &at, "int64_t", s->batch.list.data[i].name);
    for (uint32_t i = 0; i < access_count(s->epilogue); i++)
        if (splice_product(s, i) < 0)
            print_array(&text, &at, array_type(s, i), access_at(s->epilogue, i)->name);
    for (uint32_t i = 0; i < s->parameters.list.count; i++) {
        const Parameter *parameter = &s->parameters.list.data[i];
        print_declaration(&text, &at, dtype_info(parameter->dtype)->c, parameter->name);
    }
    splice_define(out, "KF_PARAMS(args, at)", text_string(&text));
    text_free(&text);
}

/* What the chain gets besides the products. */
static void print_arguments(Text *out, const SpliceText *s, bool typed) {
    for (uint32_t i = 0; i < access_count(s->epilogue); i++) {
        const Access *access = access_at(s->epilogue, i);
        if (splice_product(s, i) >= 0) continue;
        if (typed)
            emit_next(out, 1, "%s *%s%s", array_type(s, i), access->alias ? "" : "restrict ",
                      access->name);
        else
            emit_next(out, 1, "%s", access->name);
    }
    for (uint32_t i = 0; i < s->parameters.list.count; i++) {
        const Parameter *parameter = &s->parameters.list.data[i];
        emit_next(out, 1, "%s%s%s", typed ? dtype_info(parameter->dtype)->c : "", typed ? " " : "",
                  parameter->name);
    }
}

/* --- the chain */

static bool is_spread(const Access *access) {
    return access->class == ACCESS_SPLAT || access->class == ACCESS_SCALAR;
}

/* in_x_at: K_LANES elements of which n count. */
static void print_load(Text *out, const SpliceText *s, const Access *access) {
    const char *type = language_storage(C, access->dtype), *name = access->name;
    text_printf(out, "    %s %s_v[K_LANES] = {0};\n    const %s *%s_at = ", type, name, type, name);
    if (access->class == ACCESS_STRIDED || is_spread(access)) {
        text_printf(out, "%s_v;\n", name);
        if (is_spread(access))
            text_printf(out, "    k_spread(%s_v, %s, sizeof *%s);\n", name, splice_place(s, access),
                        name);
        if (is_spread(access)) return;
        text_printf(out, "    for (int l = 0; l < n; l++) %s_v[l] = %s[", name, name);
        emit_offset(out, s->epilogue, access, "row", "(column + l)");
        text_add(out, "];\n");
        return;
    }
    text_printf(
        out, "%s;\n    if (n < K_LANES) %s_at = __builtin_memcpy(%s_v, %s_at, n * sizeof *%s);\n",
        splice_place(s, access), name, name, name, name);
}

static void print_store(Text *out, const SpliceText *s, const Access *access) {
    const char *type = language_storage(C, access->dtype), *name = access->name;
    text_printf(out, "    %s %s_v[K_LANES], *%s_to = %s, *%s_at = n < K_LANES ? %s_v : %s_to;\n",
                type, name, name, splice_place(s, access), name, name, name);
}

static const char *form_at(const Access *access) {
    (void)access;
    return "_at";
}

static void print_call(Text *out, const SpliceText *s) {
    const VectorCode code = {out, s->epilogue, &s->parameters};
    const VectorWalk walk = {"", s->whole};
    text_add(out, "    ");
    c_vector_call(&code, &walk, form_at, "stream && n == K_LANES");
}

static void print_epilogue(Text *out, const SpliceText *s) {
    const Plan *plan = s->epilogue;
    text_add(out, "\n/* `width` elements of a row, at most K_LANES. */\n"
                  "static void k_epilogue(int64_t i, int64_t row, int64_t column, int64_t width, "
                  "const k_real *product,\n        int stream");
    print_arguments(out, s, true);
    text_add(out, ") {\n    const int n = (int)k_least(width, K_LANES);\n");
    emit_coordinates(out, C, plan, "row", 4);
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (splice_product(s, i) < 0)
            print_load(out, s, &plan->loads.data[i]);
        else
            text_printf(out, "    const k_number *%s_at = (const k_number *)(product + %d);\n",
                        plan->loads.data[i].name, splice_product(s, i));
    for (uint32_t i = 0; i < plan->stores.count; i++) print_store(out, s, &plan->stores.data[i]);
    print_call(out, s);
    for (uint32_t i = 0; i < plan->stores.count; i++) {
        const char *name = plan->stores.data[i].name;
        text_printf(out, "    if (n < K_LANES) __builtin_memcpy(%s_to, %s_v, n * sizeof *%s);\n",
                    name, name, name);
    }
    text_add(out, "}\n");
}

void splice_c(Text *out, const SpliceText *s) {
    print_parameters(out, s);
    splice_print_factors(out, s);
    text_printf(out, "#define KF_ALIGNED_%s(n) (1", s->y);
    for (uint32_t i = 0; i < s->epilogue->stores.count; i++) {
        const char *name = s->epilogue->stores.data[i].name;
        text_printf(out, " && k_aligned(%s) && (n) * sizeof *%s %% K_WIDTH == 0", name, name);
    }
    text_add(out, ")\n");
    const VectorCode code = {out, s->epilogue, &s->parameters};
    const VectorWalk walk = {"", s->whole};
    c_vector_functions(&code, &walk);
    print_epilogue(out, s);
    Text call = {0};
    text_add(&call, "k_epilogue(i, row, column, width, sums, stream");
    print_arguments(&call, s, false);
    text_add(&call, ")");
    splice_define(out,
                  arena_printf(s->arena, "KF_STORE_%s(i, row, column, width, sums, stream)", s->y),
                  text_string(&call));
    text_free(&call);
}
