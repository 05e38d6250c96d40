/* A plan's body in, functions of one vector in C out. One idea: what is loaded is a pointer to
 * K_LANES elements, what is hoisted points at a vector that was computed before. */
#include "compiler/c_vector.h"

#include "compiler/emit.h"
#include "compiler/emit_c.h"

static const EmitLanguage *const C = &emit_language_c;

static const char *value_type(const VectorCode *c, Value value) {
    return language_type(C, c->plan, value_kind(ir_dtype(c->plan->ir, value)));
}

static const Access *load_at(const VectorCode *c, const Piece *piece, uint32_t i) {
    return &c->plan->loads.data[piece->loads.data[i]];
}

static const char *function(const VectorCode *c) {
    return emit_c_copies(c->plan) ? "K_INLINE" : "static __attribute__((noinline))";
}

static void print_name(const VectorCode *c, const VectorWalk *walk) {
    text_printf(c->out, walk->hoist.values.count ? "k_rest_%s(" : "k_vector(", walk->name);
}

/* --- parameters */

static void print_pointer(const VectorCode *c, uint32_t at, const char *constant,
                          const Access *access) {
    emit_next(c->out, at, "%s%s *%s%s", constant, language_storage(C, access->dtype),
              access->alias ? "" : "restrict ", access->name);
}

/* "const float *restrict in_x, const k_real *h3"; returns how many. */
static uint32_t print_inputs(const VectorCode *c, const VectorWalk *walk, const Piece *piece,
                             const char *constant) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < piece->loads.count; i++)
        print_pointer(c, at++, "const ", load_at(c, piece, i));
    for (uint32_t i = 0; i < walk->hoist.values.count; i++) {
        Value value = walk->hoist.values.data[i];
        emit_next(c->out, at++, "%s%s *h%u", constant, value_type(c, value), value);
    }
    return at;
}

static void print_scalars(const VectorCode *c, bool types) {
    for (uint32_t i = 0; i < c->parameters->list.count; i++) {
        const Parameter *parameter = &c->parameters->list.data[i];
        if (parameter_is_scalar(parameter))
            emit_next(c->out, 1, "%s%s%s", types ? dtype_info(parameter->dtype)->c : "",
                      types ? " " : "", parameter->name);
    }
}

/* --- functions */

static void print_piece(const VectorCode *c, const Piece *piece) {
    for (uint32_t i = 0; i < piece->loads.count; i++) {
        const Access *access = load_at(c, piece, i);
        const char *type = language_type(C, c->plan, value_kind(access->dtype));
        text_printf(c->out, "    const %s t%u = k_get_%s(%s);\n", type, access->value,
                    dtype_name(access->dtype), access->name);
    }
    emit_values(c->out, c->plan, C, piece->body.data, piece->body.count, 4);
}

static void print_store(const VectorCode *c, const Access *access) {
    text_printf(c->out, "    k_put_%s(%s, ", dtype_name(access->dtype), access->name);
    emit_operand(c->out, c->plan, C, access->value, true);
    text_add(c->out, ", stream);\n");
}

static void print_hoist(const VectorCode *c, const VectorWalk *walk) {
    const Hoist *h = &walk->hoist;
    text_printf(c->out, "/* What is one for all vectors of a %s. */\n%s void k_hoist_%s(",
                walk->name, function(c), walk->name);
    print_inputs(c, walk, &h->before, "");
    print_scalars(c, true);
    text_add(c->out, ") {\n");
    print_piece(c, &h->before);
    for (uint32_t i = 0; i < h->values.count; i++)
        text_printf(c->out, "    *h%u = t%u;\n", h->values.data[i], h->values.data[i]);
    text_add(c->out, "}\n\n");
}

static void print_vector(const VectorCode *c, const VectorWalk *walk) {
    const Hoist *h = &walk->hoist;
    text_printf(c->out, "/* K_LANES elements that lie next to each other. */\n%s void ",
                function(c));
    print_name(c, walk);
    uint32_t at = print_inputs(c, walk, &h->after, "const ");
    for (uint32_t i = 0; i < c->plan->stores.count; i++)
        print_pointer(c, at++, "", &c->plan->stores.data[i]);
    print_scalars(c, true);
    text_add(c->out, ", int stream) {\n");
    for (uint32_t i = 0; i < h->values.count; i++)
        text_printf(c->out, "    const %s t%u = *h%u;\n", value_type(c, h->values.data[i]),
                    h->values.data[i], h->values.data[i]);
    print_piece(c, &h->after);
    for (uint32_t i = 0; i < c->plan->stores.count; i++) print_store(c, &c->plan->stores.data[i]);
    text_add(c->out, "}\n");
}

void c_vector_functions(const VectorCode *code, const VectorWalk *walk) {
    if (walk->hoist.values.count > 0) print_hoist(code, walk);
    print_vector(code, walk);
}

/* --- calls */

void c_vector_hoisted(const VectorCode *code, const VectorWalk *walk) {
    const Hoist *h = &walk->hoist;
    uint32_t at = 0;
    if (h->values.count == 0) return;
    for (uint32_t i = 0; i < h->values.count; i++)
        text_printf(code->out, "    %s h%u;\n", value_type(code, h->values.data[i]),
                    h->values.data[i]);
    text_printf(code->out, "    k_hoist_%s(", walk->name);
    for (uint32_t i = 0; i < h->before.loads.count; i++)
        emit_next(code->out, at++, "%s_v", load_at(code, &h->before, i)->name);
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(code->out, at++, "&h%u", h->values.data[i]);
    print_scalars(code, false);
    text_add(code->out, ");\n");
}

void c_vector_call(const VectorCode *code, const VectorWalk *walk, VectorForm *form,
                   const char *stream) {
    const Hoist *h = &walk->hoist;
    uint32_t at = 0;
    print_name(code, walk);
    for (uint32_t i = 0; i < h->after.loads.count; i++) {
        const Access *access = load_at(code, &h->after, i);
        emit_next(code->out, at++, "%s%s", access->name, form(access));
    }
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(code->out, at++, "&h%u", h->values.data[i]);
    for (uint32_t i = 0; i < code->plan->stores.count; i++) {
        const Access *access = &code->plan->stores.data[i];
        emit_next(code->out, at++, "%s%s", access->name, form(access));
    }
    print_scalars(code, false);
    text_printf(code->out, ", %s);\n", stream);
}
