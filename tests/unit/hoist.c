/* Hoisting: what is computed before a walk, what stays, and that the emitted walks use it. That no
 * bit changes is tested where kernels run: shim_fused.c, points.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/emit.h"
#include "compiler/hoist.h"
#include "planned.h"

/* Loads that hold still as their names say: s… does, others do not. */
static Hoist hoisted(Arena *arena, const char *text, const char *inputs) {
    Program program = program_make(arena, text, inputs);
    const Plan *p = program_plan(&program);
    bool still[16];
    for (uint32_t i = 0; i < p->loads.count; i++) still[i] = p->loads.data[i].user[0] == 's';
    return hoist(arena, p, still);
}

typedef struct Case {
    const char *text;
    uint32_t values, before, after; /* kept; operations of the two pieces */
    uint32_t loads_before, loads_after;
} Case;

static void costly_values_are_kept(void **state) {
    (void)state;
    static const Case cases[] = {
        {"x * exp(s)", 1, 1, 1, 1, 1},
        {"x + s", 0, 0, 1, 0, 2},           /* costs nothing */
        {"x / s", 0, 0, 1, 0, 2},           /* reads x */
        {"x / sqrt(s + 1)", 1, 2, 1, 1, 1}, /* with what it needs */
        {"x * exp(s) + s", 1, 1, 2, 1, 2},  /* s is read by both */
        {"x * exp(s) + exp(s) * tanh(x)", 1, 1, 4, 1, 1},
        {"x * exp(s) + tanh(s1)", 2, 2, 2, 2, 1},
        {"exp(s) > 1 ? x : 0", 1, 1, 2, 1, 1}, /* a bool is compared each time */
        {"return x + 1, exp(s) + x * 0", 1, 1, 3, 1, 1},
        {"x + exp(s) * exp(s1) * exp(s2) * exp(s3) * x * exp(s4)", 2, 8, 3, 5, 1},
        {"x + exp(s) * (exp(s1) - x) * (exp(s2) - x) * (exp(s3) - x) * (exp(s4) - x)", 0, 0, 14, 0,
         6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_open();
        const Case *c = &cases[i];
        Hoist h = hoisted(arena, c->text, "4x4");
        if (h.values.count != c->values || h.before.body.count != c->before ||
            h.after.body.count != c->after || h.before.loads.count != c->loads_before ||
            h.after.loads.count != c->loads_after)
            fail_msg("%s: %u kept, %u and %u operations, %u and %u loads", c->text, h.values.count,
                     h.before.body.count, h.after.body.count, h.before.loads.count,
                     h.after.loads.count);
        arena_close(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(costly_values_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
