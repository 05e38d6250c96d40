/* For tests of emitters: what they write, on every device present: compiled by the device, run at
 * every kind of shape, at aligned and misaligned addresses, and at many points; compared with an
 * evaluation of the Ir element by element, and bit for bit between points; where something gathers,
 * with the oracle's intervals, and bit for bit between numbers of threads. Guards around every
 * array must stay. */
#ifndef TEST_EMITTED_H
#define TEST_EMITTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/eval.h"
#include "reference.h"
#include "share.h"
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

/* With `specials`, every sixteenth number is one. */
static Scalar sample(DType type, uint64_t index, bool special) {
    static const double specials[] = {0.0,   -0.0,  NAN,   INFINITY, -INFINITY, 1e-40, -1e-44, 1.0,
                                      -1.0,  0.5,   -0.5,  1.5,      2.5,       88.0,  -100.0, 3e38,
                                      -3e38, 65504, 1e300, 127.5,    300,       -7,    1e10};
    uint64_t hash = (index + 1) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    hash *= 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 32;
    double real = ((double)(hash % 20011) - 10005) / 1250.0;
    if (special && hash >> 60 == 0) real = specials[hash % (sizeof specials / sizeof *specials)];
    if (dtype_is_float(type)) return (Scalar){.real = real};
    if (type == DT_BOOL) return (Scalar){.whole = hash & 1};
    if (hash >> 60 == 1) return (Scalar){.whole = hash & 1 ? INT64_MIN : INT64_MAX};
    return (Scalar){.whole = (int64_t)(hash % 41) - 20};
}

static void fill(const Type *type, const int64_t *strides, uint8_t *zero, uint64_t seed,
                 bool special) {
    int64_t count = type_count(type), bytes = dtype_info(type->dtype)->bytes;
    for (int64_t i = 0; i < count; i++) {
        Scalar value = sample(type->dtype, seed * 1000003 + (uint64_t)i, special);
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
    bool special = skew || !model || !model->reduced; /* a sum shows nothing else */
    Program p = program_make(s.arena, text, inputs);
    s.ir = p.ir;
    s.plan = model ? plan_like(s.arena, model, p.ir) : program_plan(&p);
    if (!s.plan) fail_msg("%s: no plan like it at %s", text, inputs);
    s.buffers = arena_array(s.arena, Buffer, p.ir->inputs.count + p.ir->outputs.count);
    s.first = arena_array(s.arena, uint8_t *, p.ir->outputs.count);
    for (uint32_t i = 0; i < p.ir->inputs.count; i++) {
        const IrInput *input = &p.ir->inputs.data[i];
        s.buffers[i] = buffer_new(s.arena, target, &input->type, input->strides, skew);
        fill(&input->type, input->strides, s.buffers[i].memory + s.buffers[i].zero, i, special);
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

enum { POINTS = 7, POINTS_ALL = 60 }; /* of each kernel; of all in `make check-all` */

static void check_on(const Target *target, const char *text, uint32_t wanted,
                     const char *const *shapes) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, shapes[0]);
    const Plan *model = program_plan(&p);
    const Template *template = emit(arena, target->device->language, model);
    Point points[POINTS_ALL];
    if (wanted > 1 && getenv("KF_CHECK_ALL")) wanted = POINTS_ALL;
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
    for (uint32_t i = 0; i < target_count; i++)
        if (share_takes()) check_on(&targets[i], text, points, shapes);
}
#define CHECK(text, ...) check(text, POINTS, (const char *const[]){__VA_ARGS__, NULL})

#endif
