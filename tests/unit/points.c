/* Scheduling never changes a bit: every legal point of three expressions, in f32 and bf16, on every
 * device present, gives the bits of the analytic default, at an odd shape and from misaligned
 * pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/gate.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"
#include "share.h"
#include "tuner/problem.h"

enum { ROWS = 37, COLS = 1003, UNIT = 6, SKEWS = 2 };

/* Buffers of one alignment, and the output's bits there. */
typedef struct Set {
    Address buffers[8], bases[8];
    void *first, *now; /* by the default, by this point */
} Set;

typedef struct Subject {
    Arena *arena;
    const Device *device;
    DeviceIdentity identity;
    DeviceState *state;
    const Ir *ir;
    const Plan *plan;
    const Template *template;
    size_t bytes; /* of the output */
    Set sets[SKEWS];
    uint32_t points;
} Subject;

static const Ir *lowered(Arena *arena, const char *text, DType dtype) {
    Diags diags = {.arena = arena};
    InputSpec row = {.name = "b", .has_shape = true, .type = {.rank = 1, .dim = {COLS}}};
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = dtype, .rank = 2, .dim = {ROWS, COLS}},
                            .inputs = &row,
                            .input_count = strstr(text, "b)") ? 1 : 0};
    const Ast *ast =
        parse_program(arena, source_new(arena, "<points>", text, strlen(text)), &diags);
    const Ir *ir = ast ? lower(arena, ast, registry_open(arena), &options, &diags) : NULL;
    assert_non_null(ir);
    return simplify(arena, ir, true);
}

/* Inputs from the gate's generator; `skew` elements off the alignment of allocations. */
static void open_set(Subject *s, Set *set, int64_t skew) {
    Why why;
    uint32_t slots = s->ir->inputs.count;
    for (uint32_t i = 0; i <= slots; i++) {
        const Type *type = i < slots ? &s->ir->inputs.data[i].type : &s->ir->outputs.data[0].type;
        size_t bytes = (size_t)type_bytes(type), size = dtype_info(type->dtype)->bytes;
        void *host = calloc(1, bytes);
        assert_true(s->device->allocate(s->state, bytes + 64, &set->bases[i], &why));
        set->buffers[i] = set->bases[i] + (Address)skew * size;
        if (i < slots) gate_fill(host, type->dtype, 7, i, 0, type_count(type), 0);
        assert_true(s->device->upload(s->state, set->buffers[i], host, bytes, &why));
        free(host);
        s->bytes = bytes;
    }
    set->first = malloc(s->bytes);
    set->now = malloc(s->bytes);
}

static void close_set(Subject *s, Set *set) {
    for (uint32_t i = 0; i <= s->ir->inputs.count; i++) s->device->release(s->state, set->bases[i]);
    free(set->first);
    free(set->now);
}

static void run_on(Subject *s, Set *set, const Run *run, Module *module, const Point *point) {
    Why why = {""};
    Address output = set->buffers[s->ir->inputs.count];
    memset(set->now, 0xFF, s->bytes);
    assert_true(s->device->upload(s->state, output, set->now, s->bytes, &why));
    Outcome outcome = s->device->launch(s->state, run, &module, set->buffers, NULL, &why);
    if (outcome == OUTCOME_OK) outcome = s->device->finish(s->state, &why);
    if (outcome != OUTCOME_OK) fail_msg("%s", why.text);
    assert_true(s->device->download(s->state, set->now, output, s->bytes, &why));
    if (s->points == 0) memcpy(set->first, set->now, s->bytes);
    if (memcmp(set->first, set->now, s->bytes) != 0) {
        Text text = {0};
        point_print(&text, &s->template->space, point, ",");
        fail_msg("%s gives other bits", text_string(&text));
    }
}

static void run_point(Subject *s, Module *module, const Point *point) {
    Run run = {0};
    const char *reason = "";
    assert_true(tune_run(s->arena, s->template, plan_bound(s->arena, s->plan), point, &s->identity,
                         &run, &reason));
    for (int skew = 0; skew < SKEWS; skew++) run_on(s, &s->sets[skew], &run, module, point);
    s->points++;
}

static void run_unit(Subject *s, const Point *points, uint32_t count) {
    Text source = {0}, binary = {0};
    Why why = {""};
    for (uint32_t i = 0; i < count; i++)
        template_instantiate(&source, s->template, &points[i],
                             tune_suffix(s->arena, &s->template->space, &points[i]));
    CompileUnit unit = {text_string(&source), "points", false};
    if (s->device->compile(&unit, &s->identity, &binary, &why) != OUTCOME_OK)
        fail_msg("%s", why.text);
    Module *module = s->device->load(s->state, binary.data, binary.length, &why);
    assert_non_null(module);
    for (uint32_t i = 0; i < count; i++) run_point(s, module, &points[i]);
    s->device->unload(s->state, module);
    text_free(&source);
    text_free(&binary);
}

/* The default first; then, in shares, all points in `make check-all`, else every third one. */
static void run_all(Subject *s) {
    uint64_t *indices;
    uint32_t step = getenv("KF_CHECK_ALL") ? 1 : 3, n = 0;
    uint32_t count = space_allowed(
        &s->template->space, tune_bindings(s->arena, plan_bound(s->arena, s->plan), &s->identity),
        false, s->arena, 4096, 0, &indices);
    Point unit[UNIT] = {space_fallback(&s->template->space)};
    uint64_t fallback = space_index(&s->template->space, &unit[0]);
    run_unit(s, unit, 1);
    for (uint32_t i = 0; i < count; i += step) {
        if (indices[i] != fallback) unit[n++] = space_point(&s->template->space, indices[i]);
        if (n < UNIT && i + step < count) continue;
        if (n > 0 && share_takes()) run_unit(s, unit, n);
        n = 0;
    }
}

static void check_program(const Device *device, DeviceState *state, const DeviceIdentity *identity,
                          const char *text, DType dtype) {
    Subject s = {.arena = arena_open(), .device = device, .state = state, .identity = *identity};
    s.ir = lowered(s.arena, text, dtype);
    Group group = group_find(s.ir);
    s.plan = plan(s.arena, s.ir, &group);
    s.template = emit(s.arena, device->language, s.plan);
    for (int skew = 0; skew < SKEWS; skew++) open_set(&s, &s.sets[skew], skew);
    run_all(&s);
    printf("%s %s %s: %u points, one result, also misaligned\n", device->name, text,
           dtype_name(dtype), s.points);
    for (int skew = 0; skew < SKEWS; skew++) close_set(&s, &s.sets[skew]);
    arena_close(s.arena);
}

static void points_agree(void **unused) {
    (void)unused;
    static const char *const programs[] = {"relu(x+res)", "gelu(x+b)+res",
                                           "tanh(x*res+b)*sigmoid(x)+0.5*res"};
    for (const Device *const *d = device_table; *d; d++) {
        DeviceIdentity identity;
        Why why = {""};
        const char *only = getenv("KF_TEST_DEVICE"); /* tests/gpu/run.sh: not the cpu again */
        if (only && strcmp(only, (*d)->name) != 0) continue;
        if ((*d)->imaginary || (*d)->count(&why) == 0) continue;
        assert_true((*d)->identify(0, true, &identity, &why));
        DeviceState *state = (*d)->open(0, false, &why);
        if (!state) fail_msg("%s", why.text);
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            check_program(*d, state, &identity, programs[p], DT_F32);
            check_program(*d, state, &identity, programs[p], DT_BF16);
        }
        (*d)->close(state);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
