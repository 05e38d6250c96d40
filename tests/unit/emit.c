/* What the emitters write, on every device present: compiled by the device, run at every kind of
 * shape, at aligned and misaligned addresses, and at many points; compared with an evaluation of
 * the Ir element by element, and bit for bit between points; where something gathers, with the
 * oracle's intervals, and bit for bit between numbers of threads. Guards around every array must
 * stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/eval.h"
#include "reference.h"
#include "tuner/problem.h"

/* --- the device under test */

typedef struct Target {
    const Device *device;
    DeviceIdentity identity;
    DeviceState *state;
} Target;

static Target targets[8];
static uint32_t target_count;

static int open_targets(void **state) {
    Why why = {""};
    (void)state;
    for (const Device *const *d = device_table; *d; d++) {
        Target *target = &targets[target_count];
        const char *only = getenv("KF_TEST_DEVICE"); /* tests/gpu/run.sh: not the cpu again */
        if (only && strcmp(only, (*d)->name) != 0) continue;
        if ((*d)->imaginary || (*d)->count(&why) == 0) continue;
        target->device = *d;
        if (!(*d)->identify(0, true, &target->identity, &why)) continue;
        target->state = (*d)->open(0, false, &why);
        if (target->state) printf("on %s\n", target->identity.title);
        target_count += target->state != NULL;
    }
    return target_count == 0;
}

static int close_targets(void **state) {
    (void)state;
    for (uint32_t i = 0; i < target_count; i++) targets[i].device->close(targets[i].state);
    return 0;
}

/* --- arrays */

enum { GUARD = 256, GUARD_BYTE = 0xA5 };

/* An array between guards, on the host and on the device. */
typedef struct Buffer {
    uint8_t *memory;   /* as it is before a run */
    size_t size, zero; /* bytes; offset of element 0 */
    Address address;
} Buffer;

static int64_t offset_of(const Type *type, const int64_t *strides, int64_t index) {
    int64_t offset = 0;
    for (uint32_t i = type->rank; i-- > 0; index /= type->dim[i])
        offset += index % type->dim[i] * strides[i];
    return offset;
}

/* `skew` elements off the alignment of allocations. */
static Buffer buffer_new(Arena *arena, const Target *target, const Type *type,
                         const int64_t *strides, int64_t skew) {
    int64_t low = 0, high = 0, bytes = dtype_info(type->dtype)->bytes;
    Why why = {""};
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t reach = strides[i] * (type->dim[i] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    size_t before = (size_t)(-low * bytes + 255) / 256 * 256 + GUARD;
    Buffer buffer = {.zero = before + (size_t)(skew * bytes)};
    buffer.size = (buffer.zero + (size_t)((high + 1) * bytes) + GUARD + 255) / 256 * 256;
    buffer.memory = arena_alloc(arena, buffer.size);
    memset(buffer.memory, GUARD_BYTE, buffer.size);
    if (!target->device->allocate(target->state, buffer.size, &buffer.address, &why))
        fail_msg("%s", why.text);
    return buffer;
}

static Scalar sample(DType type, uint64_t index) {
    static const double specials[] = {0.0,   -0.0,  NAN,   INFINITY, -INFINITY, 1e-40, -1e-44, 1.0,
                                      -1.0,  0.5,   -0.5,  1.5,      2.5,       88.0,  -100.0, 3e38,
                                      -3e38, 65504, 1e300, 127.5,    300,       -7,    1e10};
    uint64_t hash = (index + 1) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    hash *= 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 32;
    double real = ((double)(hash % 20011) - 10005) / 1250.0;
    if (hash >> 60 == 0) real = specials[hash % (sizeof specials / sizeof *specials)];
    if (dtype_is_float(type)) return (Scalar){.real = real};
    if (type == DT_BOOL) return (Scalar){.whole = hash & 1};
    if (hash >> 60 == 1) return (Scalar){.whole = hash & 1 ? INT64_MIN : INT64_MAX};
    return (Scalar){.whole = (int64_t)(hash % 41) - 20};
}

static void fill(const Type *type, const int64_t *strides, uint8_t *zero, uint64_t seed) {
    int64_t count = type_count(type), bytes = dtype_info(type->dtype)->bytes;
    for (int64_t i = 0; i < count; i++) {
        Scalar value = sample(type->dtype, seed * 1000003 + (uint64_t)i);
        if (!dtype_is_float(type->dtype)) value.whole = dtype_wrap(type->dtype, value.whole);
        dtype_store(type->dtype, zero + offset_of(type, strides, i) * bytes, value);
    }
}

/* --- one shape */

typedef struct Subject {
    Arena *arena;
    const Target *target;
    const char *text;
    const Ir *ir;
    const Plan *plan;
    Buffer *buffers; /* inputs, outputs */
    uint8_t **first; /* of each output: its array as the first point left it */
} Subject;

static const IrOutput *output_of(const Subject *s, uint32_t i) {
    return &s->ir->outputs.data[i];
}

/* The array that an output is written to: its own, or the input that it updates. */
static const Buffer *buffer_of(const Subject *s, uint32_t output) {
    int32_t updates = output_of(s, output)->updates;
    return &s->buffers[updates >= 0 ? (uint32_t)updates : s->ir->inputs.count + output];
}

static Subject subject_new(const Target *target, const char *text, const char *inputs,
                           const Plan *model, int64_t skew) {
    Subject s = {.arena = arena_open(), .target = target, .text = text};
    Program p = program_make(s.arena, text, inputs);
    s.ir = p.ir;
    s.plan = model ? plan_like(s.arena, model, p.ir) : program_plan(&p);
    if (!s.plan) fail_msg("%s: no plan like it at %s", text, inputs);
    s.buffers = arena_array(s.arena, Buffer, p.ir->inputs.count + p.ir->outputs.count);
    s.first = arena_array(s.arena, uint8_t *, p.ir->outputs.count);
    for (uint32_t i = 0; i < p.ir->inputs.count; i++) {
        const IrInput *input = &p.ir->inputs.data[i];
        s.buffers[i] = buffer_new(s.arena, target, &input->type, input->strides, skew);
        fill(&input->type, input->strides, s.buffers[i].memory + s.buffers[i].zero, i);
    }
    for (uint32_t i = 0; i < p.ir->outputs.count; i++)
        s.buffers[p.ir->inputs.count + i] =
            buffer_new(s.arena, target, &output_of(&s, i)->type, output_of(&s, i)->strides, skew);
    return s;
}

static void subject_close(Subject *s) {
    for (uint32_t i = 0; i < s->ir->inputs.count + s->ir->outputs.count; i++)
        s->target->device->release(s->target->state, s->buffers[i].address);
    arena_close(s->arena);
}

/* --- judging */

static void check_values(const Subject *s, uint32_t output, const uint8_t *array) {
    const IrOutput *out = output_of(s, output);
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    uint8_t **inputs = arena_array(s->arena, uint8_t *, s->ir->inputs.count + 1);
    for (uint32_t i = 0; i < s->ir->inputs.count; i++)
        inputs[i] = s->buffers[i].memory + s->buffers[i].zero;
    Reference r = {.ir = s->ir,
                   .inputs = inputs,
                   .rank = out->type.rank,
                   .value = arena_array(s->arena, Scalar, s->ir->nodes.count)};
    bool exact = reference_exact(s->ir);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = offset_of(&out->type, out->strides, i) * bytes;
        for (uint32_t axis = r.rank; axis-- > 0; rest /= out->type.dim[axis])
            r.coordinate[axis] = rest % out->type.dim[axis];
        Scalar want = reference_value(&r, out->value),
               got = dtype_load(out->type.dtype, array + at);
        if (dtype_is_float(out->type.dtype)) want.real = dtype_round(out->type.dtype, want.real);
        if (!reference_same(out->type.dtype, got, want, exact))
            fail_msg("%s: out[%lld] is %.9g (%lld), expected %.9g (%lld)", s->text, (long long)i,
                     got.real, (long long)got.whole, want.real, (long long)want.whole);
    }
}

/* Sums may be taken in any order. */
static void check_gathered(const Subject *s, uint32_t output, const uint8_t *array) {
    const IrOutput *out = output_of(s, output);
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    const void **inputs = arena_array(s->arena, const void *, s->ir->inputs.count + 1);
    uint8_t *dense = arena_alloc(s->arena, (size_t)(count * bytes));
    Check check = check_none();
    for (uint32_t i = 0; i < s->ir->inputs.count; i++)
        inputs[i] = s->buffers[i].memory + s->buffers[i].zero;
    for (int64_t i = 0; i < count; i++)
        memcpy(dense + i * bytes, array + offset_of(&out->type, out->strides, i) * bytes,
               (size_t)bytes);
    Eval *eval = eval_open(s->ir, inputs, s->target->device->accuracy, NULL);
    for (int64_t i = 0; i < count; i += EVAL_BLOCK) {
        int64_t some = count - i < EVAL_BLOCK ? count - i : EVAL_BLOCK;
        check_block(eval_range(eval, 0, output, i, some), dense + i * bytes, i, &check);
    }
    eval_close(eval);
    if (check.wrong == 0) return;
    Scalar got = dtype_load(out->type.dtype, dense + check.first_wrong * bytes);
    fail_msg("%s: %s[%lld] is %.9g (%lld)", s->text, out->name, (long long)check.first_wrong,
             got.real, (long long)got.whole);
}

/* Bytes that the output does not own stay as they were. */
static void check_around(const Subject *s, uint32_t output, uint8_t *memory) {
    const IrOutput *out = output_of(s, output);
    const Buffer *buffer = buffer_of(s, output);
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)buffer->zero + offset_of(&out->type, out->strides, i) * bytes;
        memcpy(memory + at, buffer->memory + at, (size_t)bytes);
    }
    for (size_t i = 0; i < buffer->size; i++)
        if (memory[i] != buffer->memory[i])
            fail_msg("%s: byte %zu of %zu was touched", s->text, i, buffer->size);
}

/* NaN payloads may differ; nothing else may. */
static void check_same_bits(const Subject *s, uint32_t output, const uint8_t *a, const uint8_t *b) {
    const IrOutput *out = output_of(s, output);
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = offset_of(&out->type, out->strides, i) * bytes;
        if (memcmp(a + at, b + at, (size_t)bytes) == 0) continue;
        Scalar x = dtype_load(out->type.dtype, a + at), y = dtype_load(out->type.dtype, b + at);
        if (!dtype_is_float(out->type.dtype) || !isnan(x.real) || !isnan(y.real))
            fail_msg("%s: bits differ at %lld", s->text, (long long)i);
    }
}

static void check_output(Subject *s, uint32_t output) {
    const Buffer *buffer = buffer_of(s, output);
    uint8_t *memory = arena_alloc(s->arena, buffer->size);
    Why why = {""};
    if (!s->target->device->download(s->target->state, memory, buffer->address, buffer->size, &why))
        fail_msg("%s", why.text);
    if (s->first[output]) {
        check_same_bits(s, output, memory + buffer->zero, s->first[output] + buffer->zero);
        return;
    }
    s->first[output] = arena_alloc(s->arena, buffer->size);
    memcpy(s->first[output], memory, buffer->size);
    if (s->plan->reduced)
        check_gathered(s, output, memory + buffer->zero);
    else
        check_values(s, output, memory + buffer->zero);
    check_around(s, output, memory);
}

/* --- running */

/* The next launch may give other bits. */
static void forget(Subject *s) {
    for (uint32_t i = 0; i < s->ir->outputs.count; i++) s->first[i] = NULL;
}

/* With `parts` threads instead of the point's, where that is not 0. */
static void launch(Subject *s, const Template *template, const Point *point, Module *module,
                   int64_t parts) {
    const Device *device = s->target->device;
    uint32_t count = s->ir->inputs.count + s->ir->outputs.count;
    Address *addresses = arena_array(s->arena, Address, count);
    const char *reason = "";
    Why why = {""};
    Run run = {0};
    if (!tune_run(s->arena, template, plan_bound(s->arena, s->plan), point, &s->target->identity,
                  &run, &reason))
        fail_msg("%s: %s", s->text, reason);
    if (parts) run.launches.data[0].block[0] = parts;
    for (uint32_t i = 0; i < count; i++) {
        const Buffer *buffer = &s->buffers[i];
        if (!device->upload(s->target->state, buffer->address, buffer->memory, buffer->size, &why))
            fail_msg("%s", why.text);
        addresses[i] = buffer->address + buffer->zero;
    }
    for (uint32_t i = 0; i < s->ir->outputs.count; i++)
        addresses[s->ir->inputs.count + i] = buffer_of(s, i)->address + buffer_of(s, i)->zero;
    Outcome outcome = device->launch(s->target->state, &run, &module, addresses, NULL, &why);
    if (outcome == OUTCOME_OK) outcome = device->finish(s->target->state, &why);
    if (outcome != OUTCOME_OK) fail_msg("%s: %s", s->text, why.text);
    for (uint32_t i = 0; i < s->ir->outputs.count; i++) check_output(s, i);
}

static Module *compile(const Target *target, Arena *arena, const Template *template,
                       const Point *points, uint32_t count) {
    Text source = {0}, binary = {0};
    Why why = {""};
    for (uint32_t i = 0; i < count; i++)
        template_instantiate(&source, template, &points[i],
                             tune_suffix(arena, &template->space, &points[i]));
    CompileUnit unit = {text_string(&source), template->name, false};
    if (target->device->compile(&unit, &target->identity, &binary, &why) != OUTCOME_OK)
        fail_msg("%s: %s", template->name, why.text);
    Module *module = target->device->load(target->state, binary.data, binary.length, &why);
    if (!module) fail_msg("%s: %s", template->name, why.text);
    text_free(&source);
    text_free(&binary);
    return module;
}

/* The default and others spread over the space, all legal on the device. */
static uint32_t choose_points(const Target *target, Arena *arena, const Template *template,
                              const Plan *model, Point *points, uint32_t wanted) {
    uint64_t *allowed, fallback;
    Bindings bindings = tune_bindings(arena, plan_bound(arena, model), &target->identity);
    uint32_t total = space_allowed(&template->space, bindings, false, arena, 4096, 0, &allowed),
             count = 0;
    points[count++] = space_fallback(&template->space);
    fallback = space_index(&template->space, &points[0]);
    for (uint32_t k = 1; k < wanted && total > wanted; k++) {
        uint64_t index = allowed[(uint64_t)k * total / wanted];
        if (index != fallback) points[count++] = space_point(&template->space, index);
    }
    return count;
}

/* Also where there is nothing to reduce, but results of that. */
static bool is_launched(const Subject *s) {
    int64_t results = s->plan->reduced ? 0 : s->plan->count;
    for (uint32_t i = 0; i < s->ir->outputs.count; i++)
        results += type_count(&output_of(s, i)->type);
    return results > 0;
}

/* What gathers has other bits at another point, but not with other threads. */
static void launch_all(Subject *s, const Template *template, const Point *points, uint32_t count,
                       Module *module) {
    bool threads = strcmp(s->target->device->language, "c") == 0;
    for (uint32_t k = 0; is_launched(s) && k < count; k++) {
        if (s->plan->reduced) forget(s);
        launch(s, template, &points[k], module, 0);
        if (s->plan->reduced && threads) launch(s, template, &points[k], module, 5);
    }
}

enum { POINTS = 7 };

static void check_on(const Target *target, const char *text, uint32_t wanted,
                     const char *const *shapes) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, shapes[0]);
    const Plan *model = program_plan(&p);
    const Template *template = emit(arena, target->device->language, model);
    Point points[POINTS];
    uint32_t count = choose_points(target, arena, template, model, points, wanted);
    Module *module = compile(target, arena, template, points, count);
    for (uint32_t i = 0; shapes[i]; i++)
        for (int64_t skew = 0; skew < 2; skew++) {
            Subject s = subject_new(target, text, shapes[i], model, skew);
            launch_all(&s, template, points, count, module);
            subject_close(&s);
        }
    target->device->unload(target->state, module);
    arena_close(arena);
}

/* `shapes`: the inputs at other extents, NULL-terminated. The first decides the kernel. */
static void check(const char *text, uint32_t points, const char *const *shapes) {
    for (uint32_t i = 0; i < target_count; i++) check_on(&targets[i], text, points, shapes);
}
#define CHECK(text, ...) check(text, POINTS, (const char *const[]){__VA_ARGS__, NULL})

static void dense(void **state) {
    (void)state;
    CHECK("relu(x+res)", "4096", "0", "1", "2", "3", "5", "7", "127", "1023", "1025", "70001");
}

static void rows(void **state) {
    (void)state;
    CHECK("relu(x*s + b) + c", "x=64x32 s=64x1 b=32 c=scalar", "x=3x5 s=3x1 b=5 c=scalar",
          "x=1x7 s=1x1 b=7 c=scalar", "x=5x1 s=5x1 b=1 c=scalar", "x=0x7 s=0x1 b=7 c=scalar",
          "x=7x0 s=7x1 b=0 c=scalar", "x=33x127 s=33x1 b=127 c=scalar",
          "x=2x70001 s=2x1 b=70001 c=scalar", "x=9000x3 s=9000x1 b=3 c=scalar");
}

static void deep(void **state) {
    (void)state;
    CHECK("x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1", "x=2x1x3x7 y=2x1x7 z=2x2x3x1",
          "x=3x1x5x17 y=2x1x17 z=3x2x5x1");
}

static void strided(void **state) {
    (void)state;
    CHECK("x * 2", "x=10x10@128,1", "x=3x33@128,1");
    CHECK("x + y.T", "x=10x12 y=12x10", "x=33x5 y=5x33");
    CHECK("x - y", "x=300@2 y=300", "x=5@-3 y=5");
    CHECK("x - y", "x=30x20@-20,-1 y=30x20", "x=5x7@-7,-1 y=5x7");
}

/* More rows than a grid's y has, an operand without memory of its own, many inputs: field reports
 * 10, 13, 20. */
static void awkward(void **state) {
    Text sum = {0};
    (void)state;
    CHECK("x * s", "x=70000x8 s=70000x1", "x=65536x1 s=65536x1");
    if (getenv("KF_CHECK_ALL")) CHECK("x * s", "x=70000x128 s=70000x1");
    CHECK("x * g", "x=64x2 g=64x2@0,0", "x=3x5 g=3x5@0,0");
    for (int i = 0; i < 200; i++) text_printf(&sum, "%sx%d", i ? " + " : "", i);
    CHECK(text_string(&sum), "300", "3");
    text_free(&sum);
}

static void strided_outputs(void **state) {
    (void)state;
    CHECK("relu(x + b)", "x=10x12 b=12 @128,1", "x=33x4 b=4 @64,1", "x=5x7 b=7 @9,1");
    CHECK("relu(x + b)", "x=12x16 b=16 @1,12", "x=9x5 b=5 @1,9");
    CHECK("x * 2", "x=300 @2", "x=5 @3", "x=70001 @2");
    CHECK("x - y", "x=6x4x8 y=4x8 @-64,8,1", "x=3x5x4 y=5x4 @-32,4,1");
}

static void types(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shapes[2][64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++)
        for (uint32_t k = 0; k < 9; k++) {
            if (k > 1 && k != i && k != 6 && k != 8) continue; /* a sample of the pairs */
            snprintf(shapes[0], sizeof shapes[0], "x=257:%s y=257:%s", names[i], names[k]);
            snprintf(shapes[1], sizeof shapes[1], "x=3:%s y=3:%s", names[i], names[k]);
            CHECK("a = x + y; b = x > y ? x : y; c = x // y; d = x % y; e = x * y - x", shapes[0],
                  shapes[1]);
        }
}

static void casts(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shape[32];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(shape, sizeof shape, "x=513:%s", names[i]);
        CHECK("a = f32(x); b = f16(x); c = bf16(x); d = bool(x); e = u8(x); f = i8(x); g = i32(x); "
              "h = i64(x);"
              "i = f32(bf16(x)) + 1; j = f32(i32(x)) * 0.5; k = i8(i64(x)) + 1",
              shape);
    }
}

/* What gathers is written by hand. */
static bool is_elementwise(const char *text) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, "5");
    bool result = p.group.kind == GROUP_ELEMENTWISE;
    arena_close(arena);
    return result;
}

static void functions(void **state) {
    uint32_t count;
    Arena *arena = arena_open();
    const Function *const *list = registry_list(registry_open(arena), arena, &count);
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        char call[256];
        int length = snprintf(call, sizeof call, "%s(", list[i]->name);
        for (uint32_t k = 0; k < list[i]->required; k++)
            length += snprintf(call + length, sizeof call - (size_t)length, "%s%c", k ? ", " : "",
                               'a' + (int)k);
        snprintf(call + length, sizeof call - (size_t)length, ")");
        if (is_elementwise(call)) check(call, 1, (const char *const[]){"1025", "5", NULL});
    }
    arena_close(arena);
}

static void in_place(void **state) {
    (void)state;
    CHECK("x = x * 2 + y", "x=1000 y=1000", "x=3 y=3");
    CHECK("s = x + res; out = relu(s); return s, out", "x=33x5 res=33x5", "x=3x1 res=3x1");
}

static void scalars(void **state) {
    (void)state;
    CHECK("param eps = 1e-5; param k = 3; out = x * eps + eps / 2 > 0 ? x : y // k",
          "x=100 y=100:i32", "x=3 y=3:i32");
    CHECK("1.5", "4", "1");
    CHECK("x", "x=100:bf16", "x=3:bf16");
    CHECK("n + i", "100", "3");
    CHECK("float + threadIdx * kf_n", "100", "3");
}

/* --- rows */

/* As CHECK, where the kernel is written for rows. */
static void check_rows(const char *text, const char *const *shapes) {
    for (uint32_t i = 0; i < target_count; i++)
        if (strcmp(targets[i].device->language, "c") == 0)
            check_on(&targets[i], text, POINTS, shapes);
}
#define ROWS(text, ...) check_rows(text, (const char *const[]){__VA_ARGS__, NULL})
/* Short and odd rows, none, empty ones, rows longer than a piece, more than fit a cache. */
#define SHAPES                                                                            \
    "33x127", "0x7", "7x0", "1x1", "5x1", "1x2", "3x15", "3x16", "3x17", "9x64", "70x65", \
        "3x1000", "2x16385", "1x70001"

static void row_values(void **state) {
    (void)state;
    ROWS("softmax(x)", SHAPES);
    ROWS("x - max(x) - log(sum(exp(x - max(x))))", SHAPES);
    ROWS("log(sum(exp(x - max(x)))) + max(x)", SHAPES);
    ROWS("x / sqrt(sum(x * x) + 1e-12)", SHAPES);
    ROWS("(x - mean(x)) / sqrt(var(x) + 1e-5)", SHAPES);
    ROWS("param eps = 1e-5; x * rsqrt(mean(x * x) + eps)", SHAPES);
    ROWS("tanh(x) - mean(tanh(x)) + var(tanh(x))", SHAPES);
    ROWS("var(x - max(x)) * var(x)", SHAPES);
    ROWS("a = softmax(x); b = softmax(a * 2); b", SHAPES);
}

static void row_results(void **state) {
    (void)state;
    ROWS("a = max(x); b = min(x); c = sum(x); d = prod(x); e = mean(x); f = var(x);"
         "return a, b, c, d, e, f",
         SHAPES);
    ROWS("s = max(abs(x)) / 127; q = i8(x / s); return q, s", SHAPES);
    ROWS("m = mean(x); v = var(x); y = (x - m) * rsqrt(v + 1e-5); return y, m, v", SHAPES);
    ROWS("m = max(x); l = log(sum(exp(x - m))); return l, m, x - m - l", SHAPES);
}

static void row_layouts(void **state) {
    (void)state;
    ROWS("layernorm(x, g, b)", "x=33x127 g=127 b=127", "x=3x1000 g=1000 b=1000", "x=5x1 g=1 b=1");
    ROWS("h = x + res; y = layernorm(h, g, b); return y, h", "x=33x64 res=33x64 g=64 b=64",
         "x=2x9000 res=2x9000 g=9000 b=9000");
    ROWS("softmax(x * s + mask)", "x=3x4x33 s=3x1x1 mask=4x33", "x=2x3x100 s=2x1x1 mask=3x100");
    ROWS("softmax(x.T)", "x=33x20", "x=1000x3", "x=1x7");
    ROWS("sum(x + y.T)", "x=10x12 y=12x10", "x=33x5 y=5x33");
    ROWS("a = x - mean(x); b = sum(y); return a, b", "x=10x10@128,1 y=10x10",
         "x=3x33@128,1 y=3x33");
    ROWS("max(x - y)", "x=30x20@-20,-1 y=30x20", "x=5x7@-7,-1 y=5x7");
    ROWS("sum(x * g)", "x=64x2 g=64x2@0,0", "x=3x5 g=3x5@0,0");
    ROWS("y = x * 2; s = sum(x); return y, s", "x=5x1 @2,0", "x=3x1 @3,0");
    ROWS("y = x * 2; s = sum(x); return y, s", "x=5x1@1,0 @1,0", "x=3x1@1,0 @1,0");
    ROWS("y = x * 2; s = sum(x); return y, s", "x=5x1@1,0", "x=3x1@1,0");
    ROWS("s = sum(x); y = x * 2; return s, y", "x=5x1 @3,0", "x=3x1 @3,0");
    ROWS("s = sum(x); y = x * 2; return s, y", "x=5x7 @3,0", "x=3x1 @3,0");
    ROWS("sum(x)", "x=8", "x=0", "x=1", "x=70001");
    ROWS("softmax(x)", "x=6x30 @64,1", "x=3x5 @9,1");
    ROWS("softmax(x)", "x=6x30 @1,6", "x=3x5 @1,3");
    ROWS("m = mean(y); x = x - m * softmax(y); return x, m", "x=33x127 y=33x127", "x=3x16 y=3x16",
         "x=2x17000 y=2x17000");
    ROWS("s = s + sum(x); y = x - max(x); return y, s", "x=33x127 s=33x1", "x=3x16 s=3x1");
}

static void row_types(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shapes[3][64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(shapes[0], sizeof shapes[0], "x=17x257:%s", names[i]);
        snprintf(shapes[1], sizeof shapes[1], "x=3x0:%s", names[i]);
        snprintf(shapes[2], sizeof shapes[2], "x=2x20000:%s", names[i]);
        ROWS("a = max(x); b = min(x); c = sum(x); d = mean(x); e = var(x); return a, b, c, d, e",
             shapes[0], shapes[1], shapes[2]);
        ROWS("prod(x)", shapes[0], shapes[1], shapes[2]);
        ROWS("y = softmax(f32(x) * 0.25); z = x - max(x); return y, z", shapes[0], shapes[2]);
    }
    ROWS("softmax(x)", "x=17x257:f64", "x=3x0:f64", "x=2x17001:f64");
    ROWS("(x - mean(x)) / sqrt(var(x) + 1e-5)", "x=17x257:f64", "x=2x17001:f64");
    ROWS("softmax(x)", "x=17x257:bf16", "x=2x70001:bf16");
    ROWS("layernorm(x, g, b)", "x=17x257:f16 g=257:f16 b=257:f16",
         "x=2x17001:f16 g=17001:f16 b=17001:f16");
    ROWS("sum(x * f32(y)) + f32(k)", "x=17x257:bf16 y=17x257:i64 k=17x1:u8");
    ROWS("x > mean(x) ? x : max(x)", "x=17x257", "x=1x3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(rows),
        cmocka_unit_test(deep),
        cmocka_unit_test(strided),
        cmocka_unit_test(strided_outputs),
        cmocka_unit_test(awkward),
        cmocka_unit_test(types),
        cmocka_unit_test(casts),
        cmocka_unit_test(functions),
        cmocka_unit_test(in_place),
        cmocka_unit_test(scalars),
        cmocka_unit_test(row_values),
        cmocka_unit_test(row_results),
        cmocka_unit_test(row_layouts),
        cmocka_unit_test(row_types),
    };
    return cmocka_run_group_tests(tests, open_targets, close_targets);
}
