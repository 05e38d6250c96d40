/* Every definition and C function that an expression may call, in every floating type, on every
 * device present, through the gate: special vectors, awkward shapes, a large array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/ops.h"

static void every_op_on_every_device(void **state) {
    (void)state;
    Arena *arena = arena_open();
    Registry *registry = registry_open(arena);
    uint32_t count, devices = 0;
    const OpName *ops = ops_all(registry, arena, &count);
    Store *store = store_open(NULL);
    for (const Device *const *d = device_table; *d; d++) {
        Text out = {0};
        OpsCheck result = {0};
        Why why = {""};
        const char *only = getenv("KF_TEST_DEVICE"); /* tests/gpu/run.sh: not the cpu again */
        if (only && strcmp(only, (*d)->name) != 0) continue;
        if ((*d)->imaginary || (*d)->count(&why) == 0) continue;
        bool passed = ops_check(&out, registry, ops, count, *d, 0, store, arena, &result, &why);
        printf("%s%s\n%u functions on %s: %u passed, %u failed\n", text_string(&out), why.text,
               count, (*d)->name, result.passed, result.failed);
        assert_true(passed);
        assert_int_equal(result.passed + result.uncovered, 4 * count);
        assert_true(result.uncovered <= 3); /* f64 of the rows' templates */
        text_free(&out);
        devices++;
    }
    store_close(store);
    arena_close(arena);
    assert_true(devices > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_on_every_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
