/* The definitions' values (tests/data/ops-values.txt) against kernels: every function of the table,
 * compiled at the analytic default, on every device present, in every floating type. The one idea:
 * functions of equally many arguments are the outputs of one kernel, whose inputs are the arguments
 * of all their lines. */
#include "ops_table.h"

#include "compiler/near.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"
#include "tuner/problem.h"

enum { FUNCTIONS_PER_KERNEL = 12, BUFFERS = 32, MANY = -1 };

typedef ARRAY(Line) Lines; /* by number of arguments, then by name */

/* A device, open, and what was held on it in one type. */
typedef struct Trial {
    Arena *arena;
    const Registry *registry;
    const Device *device;
    DeviceState *state;
    DeviceIdentity identity;
    DType type;
    uint32_t held, exact, wrong;
} Trial;

/* One kernel: the lines whose arguments it reads, its program, its results. */
typedef struct OpKernel {
    const Line *lines;
    uint32_t count, arity;
    const Ir *ir;
    uint32_t buffers; /* inputs, then outputs */
    Address address[BUFFERS];
    uint8_t *host[BUFFERS];
} OpKernel;

static int line_order(const void *a, const void *b) {
    const Line *x = a, *y = b;
    return x->count != y->count ? (int)x->count - (int)y->count : strcmp(x->name, y->name);
}

static Lines table_load(Arena *arena) {
    Lines table = {0};
    Line line;
    FILE *file = table_open();
    while (table_read(file, &line)) array_push(arena, &table, line);
    fclose(file);
    assert_true(table.count > 1000);
    qsort(table.data, table.count, sizeof line, line_order);
    return table;
}

static bool same_function(const Line *a, const Line *b) {
    return line_order(a, b) == 0;
}

/* Lines from `first` on that one kernel takes. */
static uint32_t kernel_lines(const Lines *table, uint32_t first) {
    const Line *lines = table->data;
    uint32_t functions = 0, i = first;
    for (; i < table->count && lines[i].count == lines[first].count; i++)
        if (i == first || !same_function(&lines[i], &lines[i - 1]))
            if (++functions > FUNCTIONS_PER_KERNEL) break;
    return i - first;
}

/* "r0 = fmax(a, b)", a line for each function. */
static const char *program_text(Arena *arena, const OpKernel *k) {
    Text text = {0};
    for (uint32_t i = 0; i < k->count; i++) {
        if (i > 0 && same_function(&k->lines[i], &k->lines[i - 1])) continue;
        text_printf(&text, "r%u = %s(", i, k->lines[i].name);
        for (uint32_t p = 0; p < k->arity; p++)
            text_printf(&text, "%s%c", p ? ", " : "", 'a' + (char)p);
        text_add(&text, ")\n");
    }
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const Ir *lowered(const Trial *t, const char *text, uint32_t count) {
    Diags diags = {.arena = t->arena};
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = t->type, .rank = 1, .dim = {count}}};
    const Ast *ast =
        parse_program(t->arena, source_new(t->arena, "<values>", text, strlen(text)), &diags);
    const Ir *ir = ast ? lower(t->arena, ast, t->registry, &options, &diags) : NULL;
    if (!ir) fail_msg("%s", text);
    ir = simplify(t->arena, ir, true);
    return strcmp(t->device->language, "cuda") == 0 ? near(t->arena, ir, NULL) : ir;
}

/* --- Running */

/* Inputs by name: 'a' has the first arguments. Outputs begin as 0xFF. */
static void fill(const Trial *t, OpKernel *k, uint32_t buffer, const Type *type) {
    size_t size = dtype_info(type->dtype)->bytes;
    k->host[buffer] = arena_alloc(t->arena, size * k->count);
    memset(k->host[buffer], 0xFF, size * k->count);
    if (buffer >= k->arity) return;
    uint32_t argument = (uint32_t)(*k->ir->inputs.data[buffer].name - 'a');
    for (uint32_t i = 0; i < k->count; i++)
        dtype_store(type->dtype, k->host[buffer] + i * size,
                    (Scalar){.real = k->lines[i].args[argument]});
}

static const Type *buffer_type(const OpKernel *k, uint32_t buffer) {
    return buffer < k->arity ? &k->ir->inputs.data[buffer].type
                             : &k->ir->outputs.data[buffer - k->arity].type;
}

static void upload(const Trial *t, OpKernel *k) {
    Why why;
    assert_int_equal(k->ir->inputs.count, k->arity);
    k->buffers = k->arity + k->ir->outputs.count;
    assert_true(k->buffers <= BUFFERS);
    for (uint32_t i = 0; i < k->buffers; i++) {
        size_t bytes = (size_t)type_bytes(buffer_type(k, i));
        fill(t, k, i, buffer_type(k, i));
        assert_true(t->device->allocate(t->state, bytes, &k->address[i], &why));
        assert_true(t->device->upload(t->state, k->address[i], k->host[i], bytes, &why));
    }
}

static void download(const Trial *t, OpKernel *k) {
    Why why;
    for (uint32_t i = 0; i < k->buffers; i++) {
        size_t bytes = (size_t)type_bytes(buffer_type(k, i));
        assert_true(t->device->download(t->state, k->host[i], k->address[i], bytes, &why));
        t->device->release(t->state, k->address[i]);
    }
}

static void launch(const Trial *t, const OpKernel *k) {
    Text source = {0}, binary = {0};
    Why why = {""};
    Run run = {0};
    const char *reason = "";
    Group group = group_find(k->ir);
    const Plan *p = plan(t->arena, k->ir, &group);
    const Template *template = emit(t->arena, t->device->language, p);
    Point point = space_fallback(&template->space);
    template_instantiate(&source, template, &point,
                         tune_suffix(t->arena, &template->space, &point));
    CompileUnit unit = {text_string(&source), "values", false};
    if (t->device->compile(&unit, &t->identity, &binary, &why) != OUTCOME_OK)
        fail_msg("%s", why.text);
    Module *module = t->device->load(t->state, binary.data, binary.length, &why);
    assert_non_null(module);
    assert_true(
        tune_run(t->arena, template, plan_bound(t->arena, p), &point, &t->identity, &run, &reason));
    Outcome outcome = t->device->launch(t->state, &run, &module, k->address, NULL, &why);
    if (outcome == OUTCOME_OK) outcome = t->device->finish(t->state, &why);
    if (outcome != OUTCOME_OK) fail_msg("%s", why.text);
    t->device->unload(t->state, module);
    text_free(&source);
    text_free(&binary);
}

/* --- Judging */

static double primitive_ulp(const Trial *t, const Ir *ir, const PrimitiveInfo *info) {
    bool narrow = ir->compute == DT_F32;
    if (t->device->accuracy == ACCURACY_CUDA)
        return narrow ? info->ulp_cuda_f32 : info->ulp_cuda_f64;
    return narrow ? info->ulp_c_f32 : info->ulp_c_f64;
}

static bool rounds(Primitive primitive) {
    static const bool exact[PRIMITIVE_COUNT] = {
        [P_NEG] = true,  [P_NOT] = true,    [P_LT] = true,    [P_LE] = true,   [P_GT] = true,
        [P_GE] = true,   [P_EQ] = true,     [P_NE] = true,    [P_AND] = true,  [P_OR] = true,
        [P_FABS] = true, [P_SELECT] = true, [P_FLOOR] = true, [P_CEIL] = true, [P_TRUNC] = true,
        [P_FMAX] = true, [P_ROUND] = true,  [P_FMIN] = true,  [P_FMOD] = true, [P_COPYSIGN] = true};
    return !exact[primitive];
}

/* A constant that f16 does not hold may have been rounded already. */
static bool long_constant(const IrNode *node) {
    return node->op == IR_CONST && dtype_is_float(node->type.dtype) &&
           dtype_round(DT_F16, node->real) != node->real;
}

/* What a value may be off by, in ulp, where one operation at most rounds in all of its formula;
 * else MANY. */
static double formula_ulp(const Trial *t, const Ir *ir, Value value) {
    bool *needed = arena_array(t->arena, bool, ir->nodes.count);
    uint32_t operations = 0, constants = 0;
    double ulp = 0;
    needed[value] = true;
    for (Value v = value; v > 0; v--) {
        const IrNode *node = ir_node(ir, v);
        if (!needed[v]) continue;
        for (int i = 0; i < node->count; i++) needed[node->arg[i]] = true;
        constants += long_constant(node);
        if (!ir_is_primitive(node) || !rounds(ir_meaning(node))) continue;
        operations++;
        ulp = primitive_ulp(t, ir, primitive_info(ir_primitive(node)));
    }
    return operations == 0 ? 0 : operations + constants > 1 ? MANY : ulp;
}

/* Of `x` as `type` has it. */
static double ulp_at(DType type, double x) {
    const DTypeInfo *info = dtype_info(type);
    int exponent = ilogb(dtype_round(type, x));
    if (exponent < info->exponent_min) exponent = info->exponent_min;
    return ldexp(1, exponent - info->precision + 1);
}

/* f16 and bf16 round once more. One correctly rounded operation on them gives the same bits in one
 * step or two. */
static double slack(const Trial *t, const Line *line, double ulp) {
    double wanted = strtod(line->value, NULL);
    DType compute = t->type == DT_F64 ? DT_F64 : DT_F32;
    if (ulp == 0) return 0;
    return (ulp == MANY ? line_slack(compute, line) : ulp * ulp_at(compute, wanted)) +
           (t->type == compute ? 0 : ulp_at(t->type, wanted));
}

static bool in_type(DType type, const Line *line) {
    for (uint32_t i = 0; i < line->count; i++)
        if (!isnan(line->args[i]) && dtype_round(type, line->args[i]) != line->args[i])
            return false;
    return true;
}

static double result(const OpKernel *k, uint32_t output, uint32_t i) {
    DType type = k->ir->outputs.data[output].type.dtype;
    Scalar value = dtype_load(type, k->host[k->arity + output] + i * dtype_info(type)->bytes);
    return dtype_is_float(type) ? value.real : (double)value.whole;
}

static void judge(Trial *t, const OpKernel *k) {
    uint32_t output = 0;
    double ulp = MANY;
    for (uint32_t i = 0; i < k->count; i++) {
        const Line *line = &k->lines[i];
        if (i > 0 && !same_function(line, line - 1)) output++;
        if (i == 0 || !same_function(line, line - 1))
            ulp = formula_ulp(t, k->ir, k->ir->outputs.data[output].value);
        if (!in_type(t->type, line)) continue;
        double got = result(k, output, i), off = slack(t, line, ulp);
        t->held++;
        t->exact += off == 0;
        if (line_fits(t->type, line, got, off)) continue;
        line_print(line, got);
        t->wrong++;
    }
}

static void check_type(const Lines *table, Trial *t, DType type) {
    t->arena = arena_open();
    t->registry = registry_open(t->arena);
    t->type = type;
    t->held = t->exact = t->wrong = 0;
    for (uint32_t first = 0; first < table->count;) {
        OpKernel k = {.lines = table->data + first, .count = kernel_lines(table, first)};
        k.arity = k.lines->count;
        k.ir = lowered(t, program_text(t->arena, &k), k.count);
        upload(t, &k);
        launch(t, &k);
        download(t, &k);
        judge(t, &k);
        first += k.count;
    }
    printf("%s %s: %u lines held, %u of them to the bit, %u wrong\n", t->device->name,
           dtype_name(type), t->held, t->exact, t->wrong);
    arena_close(t->arena);
}

static void check_device(const Lines *table, const Device *device) {
    static const DType types[] = {DT_F32, DT_F64, DT_BF16, DT_F16};
    Trial trial = {.device = device};
    uint32_t wrong = 0;
    Why why = {""};
    assert_true(device->identify(0, true, &trial.identity, &why));
    trial.state = device->open(0, false, &why);
    if (!trial.state) fail_msg("%s", why.text);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        check_type(table, &trial, types[t]);
        wrong += trial.wrong;
    }
    device->close(trial.state);
    assert_int_equal(wrong, 0);
}

static void kernels_have_the_values(void **unused) {
    (void)unused;
    Arena *arena = arena_open();
    Lines table = table_load(arena);
    uint32_t devices = 0;
    for (const Device *const *d = device_table; *d; d++) {
        Why why = {""};
        const char *only = getenv("KF_TEST_DEVICE"); /* tests/gpu/run.sh: not the cpu again */
        if (only && strcmp(only, (*d)->name) != 0) continue;
        if ((*d)->imaginary || (*d)->count(&why) == 0) continue;
        check_device(&table, *d);
        devices++;
    }
    arena_close(arena);
    assert_true(devices > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_have_the_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
