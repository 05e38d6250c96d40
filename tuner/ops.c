/* In: a registry, devices. Out: text. The one idea: an op is tested as any program is; `r0 =
 * relu(a); r1 = …` puts many into one kernel. */
#include "tuner/ops.h"

#include <math.h>
#include <string.h>

#include "compiler/near.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"
#include "tuner/problem.h"

enum { OPS_PER_KERNEL = 12, OPS_ELEMENTS = 65537, PROBES = 13 };

static const float probes[PROBES] = {-INFINITY, -1000, -5, -1,   -0.5f,    -0.0f, 0,
                                     0.5f,      1,     5,  1000, INFINITY, NAN};

/* What takes whole arrays and is neither a definition nor a C function. */
static const struct ArrayOp {
    const char *name, *head, *description;
} array_ops[] = {
    {"sum", "sum(x, axis=-1)", "sum along an axis, kept with size 1; axis=all: of everything"},
    {"prod", "prod(x, axis=-1)", "product along an axis"},
    {"max", "max(x, axis=-1)", "the largest along an axis, NaN if one is NaN"},
    {"min", "min(x, axis=-1)", "the smallest along an axis, NaN if one is NaN"},
    {"mean", "mean(x, axis=-1)", "mean along an axis"},
    {"var", "var(x, axis=-1)", "variance of the population along an axis"},
    {"count", "count(x, axis=-1)", "how many elements a reduction along the axis takes together"},
    {"sum_to", "sum_to(e, x)", "e summed over the axes along which x broadcasts to it: x's shape"},
    {"broadcast_to", "broadcast_to(e, x)", "e in x's shape"},
};
enum { ARRAY_OPS = sizeof array_ops / sizeof *array_ops };

static void signature(Text *out, const Function *f) {
    text_printf(out, "%s(", f->name);
    for (uint32_t i = 0; i < f->def->parameter_count; i++) {
        const AstParameter *parameter = &f->ast->parameters.data[f->def->parameter_first + i];
        text_printf(out, "%s%s", i ? ", " : "", parameter->name);
        if (!parameter->value) continue;
        text_add(out, "=");
        ast_print_expression(out, f->ast, parameter->value);
    }
    text_add(out, ")");
}

static void aligned(Text *out, Text *head, const char *description) {
    text_printf(out, "%-34s %s\n", text_string(head), description ? description : "");
    text_clear(head);
}

void ops_list(Text *out, const Registry *registry, Arena *arena) {
    uint32_t count;
    const Function *const *list = registry_list(registry, arena, &count);
    Text head = {0};
    for (uint32_t i = 0; i < count; i++) {
        signature(&head, list[i]);
        aligned(out, &head, list[i]->description);
    }
    for (int p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info((Primitive)p);
        if (info->class == CLASS_OPERATOR) continue;
        text_printf(&head, "%s(%s)", info->name,
                    info->arity == 1   ? "x"
                    : info->arity == 2 ? "a, b"
                                       : "a, b, c");
        aligned(out, &head,
                info->class == CLASS_EXACT ? "C function, correctly rounded" : "C function");
    }
    for (int i = 0; i < ARRAY_OPS; i++) {
        text_add(&head, array_ops[i].head);
        aligned(out, &head, array_ops[i].description);
    }
    text_free(&head);
}

const OpName *ops_all(const Registry *registry, Arena *arena, uint32_t *count) {
    uint32_t functions;
    const Function *const *list = registry_list(registry, arena, &functions);
    OpName *ops = arena_array(arena, OpName, functions + PRIMITIVE_COUNT);
    *count = 0;
    for (uint32_t i = 0; i < functions; i++)
        ops[(*count)++] = (OpName){list[i]->name, list[i]->required};
    for (int p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info((Primitive)p);
        if (info->class != CLASS_OPERATOR) ops[(*count)++] = (OpName){info->name, info->arity};
    }
    return ops;
}

/* --- a program of calls */

/* "r0 = relu(a); r1 = lerp(a, b, c); …" */
static void calls(Text *out, const OpName *ops, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        text_printf(out, "r%u = %s(", i, ops[i].name);
        for (int p = 0; p < ops[i].arity; p++) text_printf(out, "%s%c", p ? ", " : "", 'a' + p);
        text_add(out, ")\n");
    }
}

static const Ir *lowered(Arena *arena, const Registry *registry, const char *text, DType dtype,
                         int64_t elements, Text *complaints) {
    Diags diags = {.arena = arena};
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = dtype, .rank = 1, .dim = {elements}}};
    const Ast *ast = parse_program(arena, source_new(arena, "<ops>", text, strlen(text)), &diags);
    const Ir *ir = ast ? lower(arena, ast, registry, &options, &diags) : NULL;
    if (!ir) diags_print(complaints, &diags);
    return ir ? simplify(arena, ir, true) : NULL;
}

/* --- ops NAME */

static bool is_elementwise(const Ir *ir) {
    return group_find(ir).kind == GROUP_ELEMENTWISE;
}

/* The probes; of what takes them together as a row, the ordinary ones alone: one infinity more, and
 * nothing but NaN comes out. */
static int choose_probes(bool row, float chosen[PROBES]) {
    int count = 0;
    for (int k = 0; k < PROBES; k++)
        if (!row || fabsf(probes[k]) <= 5) chosen[count++] = probes[k];
    return count;
}

/* Every input gets the probes, each rotated by its number, so that arguments differ. */
static const void **probe_inputs(Arena *arena, const Ir *ir, const float *chosen, int count) {
    const void **inputs = arena_array(arena, const void *, ir->inputs.count + 1);
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        float *values = arena_array(arena, float, (size_t)count);
        for (int k = 0; k < count; k++) values[k] = chosen[(k + 3 * (int)i) % count];
        inputs[i] = values;
    }
    return inputs;
}

/* A program at its probes; NULL where it does not lower. */
static const void *const *probed(Arena *arena, const Registry *registry, const char *program,
                                 const Ir **ir, int *count, Text *complaints) {
    float chosen[PROBES];
    *ir = lowered(arena, registry, program, DT_F32, PROBES, complaints);
    if (!*ir) return NULL;
    *count = choose_probes(!is_elementwise(*ir), chosen);
    *ir = lowered(arena, registry, program, DT_F32, *count, complaints);
    return probe_inputs(arena, *ir, chosen, *count);
}

/* Largest half-width of the gate's interval over |value|, in ulp of f32, at finite probes. */
static double bound_ulp(const Ir *ir, const void *const *inputs, int count, Accuracy accuracy) {
    double worst = 0;
    Eval *eval = eval_open(ir, inputs, accuracy, NULL);
    const Expected *e = eval ? eval_range(eval, 0, 0, 0, count) : NULL;
    for (int64_t i = 0; e && e->dtype == DT_F32 && i < e->count; i++) {
        float low = ((const float *)e->lo)[i], high = ((const float *)e->hi)[i];
        if (!isfinite(low) || !isfinite(high) || !(fabsf(high) > 1e-37f)) continue;
        double ulp = (double)(nextafterf(fabsf(high), INFINITY) - fabsf(high));
        worst = fmax(worst, ((double)high - (double)low) / 2 / ulp);
    }
    eval_close(eval);
    return worst;
}

static void show_values(Text *out, const Ir *ir, const void *const *inputs, int count) {
    float values[PROBES];
    Eval *eval = eval_open(ir, inputs, ACCURACY_C, NULL);
    bool shown = eval && ir->outputs.data[0].type.dtype == DT_F32;
    if (shown) eval_values(eval, 0, values);
    eval_close(eval);
    if (!shown) return;
    text_add(out, "values   ");
    for (int k = 0; k < count; k++) {
        text_add(out, k ? ", (" : "(");
        for (uint32_t i = 0; i < ir->inputs.count; i++)
            text_printf(out, "%s%g", i ? ", " : "", (double)((const float *)inputs[i])[k]);
        text_printf(out, ") %.7g", (double)values[k]);
    }
    text_add(out, "\n");
}

static void show_body(Text *out, const Ir *ir, Arena *arena) {
    Group group = group_find(ir);
    const Plan *p = plan(arena, ir, &group);
    text_add(out, "CUDA\n");
    emit_body(out, p, &emit_language_cuda, 4);
    text_add(out, "C\n");
    emit_body(out, p, &emit_language_c, 4);
}

static void show_program(Text *out, const Registry *registry, const char *program, Arena *arena) {
    int count;
    const Ir *ir;
    const void *const *inputs = probed(arena, registry, program, &ir, &count, out);
    if (!inputs) return;
    if (is_elementwise(ir)) show_body(out, ir, arena); /* else a kernel's affair */
    text_printf(
        out, "error    at most %.3g ulp of f32 on CUDA, %.3g on the CPU, at the values below\n",
        bound_ulp(ir, inputs, count, ACCURACY_CUDA), bound_ulp(ir, inputs, count, ACCURACY_C));
    show_values(out, ir, inputs, count);
}

/* What files state, a line each. */
static void show_derivatives(Text *out, const Registry *registry, const Function *function,
                             Primitive primitive, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const Derivative *derivative = registry_derivative(registry, function, primitive, i);
        if (!derivative) continue;
        ast_print_statement(out, derivative->rule.ast, derivative->rule.def);
        text_add(out, "\n");
    }
}

static bool show_array_op(Text *out, const char *name) {
    for (int i = 0; i < ARRAY_OPS; i++)
        if (!strcmp(array_ops[i].name, name)) {
            text_printf(out, "%s\n%s\n", array_ops[i].head, array_ops[i].description);
            return true;
        }
    return false;
}

bool ops_show(Text *out, const Registry *registry, const char *name, Arena *arena) {
    const Function *f = registry_find(registry, name);
    Primitive primitive;
    Text program = {0};
    if (f) {
        calls(&program, &(OpName){f->name, f->required}, 1);
        ast_print_statement(out, f->ast, f->def);
        text_printf(out, "\n%s%s", f->description ? f->description : "",
                    f->description ? "\n" : "");
        show_derivatives(out, registry, f, P_NEG, f->def->parameter_count);
    } else if (primitive_find(name, &primitive)) {
        const PrimitiveInfo *info = primitive_info(primitive);
        text_printf(out, "%s: a C function of %d argument%s\n", info->name, info->arity,
                    info->arity == 1 ? "" : "s");
        show_derivatives(out, registry, NULL, primitive, (uint32_t)info->arity);
        calls(&program, &(OpName){info->name, info->arity}, 1);
    } else if (show_array_op(out, name)) {
        return true;
    } else {
        const char *nearest = registry_nearest(registry, name);
        text_printf(out, "no function '%s'", name);
        if (nearest) text_printf(out, "; did you mean '%s'?", nearest);
        return false;
    }
    show_program(out, registry, text_string(&program), arena);
    text_free(&program);
    return true;
}

/* --- ops --check */

typedef struct Checking {
    const Registry *registry;
    const Library *library;
    const Device *device;
    int index;
    DeviceIdentity identity;
    Store *store;
    Workers workers;
    Arena *arena;
    Text *out;
    OpsCheck *result;
} Checking;

static bool check_kernel(Checking *c, const OpName *ops, uint32_t count, DType dtype, Why *why);

static bool check_each(Checking *c, const OpName *ops, uint32_t count, DType dtype, Why *why) {
    for (uint32_t i = 0; i < count; i++)
        if (!check_kernel(c, &ops[i], 1, dtype, why)) return false;
    return true;
}

/* One kernel of several functions; on failure they are tried alone, so that the guilty one is
 * named. */
static bool check_kernel(Checking *c, const OpName *ops, uint32_t count, DType dtype, Why *why) {
    Text program = {0};
    TuneProblem problem;
    Tuned tuned;
    ProblemOptions options = {.math = "default", .hot = true, .exact = true};
    TuneProblem where = {
        .device = c->device, .index = c->index, .identity = &c->identity, .store = c->store};
    calls(&program, ops, count);
    const Ir *ir =
        lowered(c->arena, c->registry, text_string(&program), dtype, OPS_ELEMENTS, c->out);
    text_free(&program);
    if (!ir) return why_set(why, "%s", "an op does not compile");
    if (strcmp(c->device->language, "cuda") == 0) ir = near(c->arena, ir, NULL);
    Kernels kernels = kernels_find(c->arena, c->library, ir);
    if (kernels.list.count == 0 && count == 1) return c->result->uncovered++, true;
    if (kernels.list.count == 0) return check_each(c, ops, count, dtype, why);
    problem_build(c->arena, &where, ir, NULL, &kernels, &options, &problem);
    Bindings bindings = tune_bindings(c->arena, problem.kernels[0].bounds[0], &c->identity);
    Point only = space_fallback(tune_space(&problem, 0));
    space_default(tune_space(&problem, 0), bindings, &only);
    TuneOptions tuning = {.budget = 20, .only = &only, .retune = true, .hot = true};
    if (!tune(c->arena, &problem, &tuning, &c->workers, &tuned, why)) return false;
    if (tuned.winner >= 0) {
        c->result->passed += count;
        return true;
    }
    if (count > 1) return check_each(c, ops, count, dtype, why);
    const Result *result = &tuned.candidates.data[0].result;
    text_printf(c->out, "%-6s %-5s %s: %s: %s\n", c->device->name, dtype_name(dtype), ops[0].name,
                outcome_phrase(result->outcome), result->message);
    c->result->failed++;
    return true;
}

static bool check_all(Checking *c, const OpName *ops, uint32_t count, Why *why) {
    static const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_F64};
    OpsCheck *result = c->result;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        OpsCheck before = *result;
        for (uint32_t i = 0; i < count; i += OPS_PER_KERNEL)
            if (!check_kernel(c, ops + i, count - i < OPS_PER_KERNEL ? count - i : OPS_PER_KERNEL,
                              types[t], why))
                return false;
        text_printf(c->out, "%-6s %-5s %u passed, %u failed\n", c->device->name,
                    dtype_name(types[t]), result->passed - before.passed,
                    result->failed - before.failed);
    }
    return result->failed == 0;
}

bool ops_check(Text *out, const Registry *registry, const OpName *ops, uint32_t count,
               const Device *device, int index, Store *store, Arena *arena, OpsCheck *result,
               Why *why) {
    Checking c = {.registry = registry,
                  .library = library_open(arena, device->language, registry),
                  .device = device,
                  .index = index,
                  .store = store,
                  .arena = arena,
                  .out = out,
                  .result = result};
    why->text[0] = '\0';
    if (!workers_open(&c.workers, device, index, 0, NULL, why)) return false;
    bool good = bench_identify(c.workers.bench, &c.identity, why);
    workers_identify(&c.workers, &c.identity);
    good = good && check_all(&c, ops, count, why);
    workers_close(&c.workers);
    return good;
}

void ops_warn_bounds(Text *out, const Registry *registry, const OpName *ops, uint32_t count,
                     Arena *arena) {
    for (uint32_t i = 0; i < count; i++) {
        Text program = {0};
        calls(&program, &ops[i], 1);
        const Ir *ir;
        int probes_used;
        const void *const *inputs =
            probed(arena, registry, text_string(&program), &ir, &probes_used, out);
        text_free(&program);
        if (!inputs) continue;
        double bound = bound_ulp(ir, inputs, probes_used, ACCURACY_CUDA);
        if (bound > 64)
            text_printf(out,
                        "warning: %s: rounding may cost %.3g ulp of f32 at ordinary arguments\n",
                        ops[i].name, bound);
    }
}
