/* Every device of the table: it says what is missing or what it is, and one that is there compiles,
 * loads, runs and reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/device.h"

static const char *source_of(const Device *device) {
    if (strcmp(device->language, "cuda") == 0)
        return "extern \"C\" __global__ void twice(float *x, long long n) {\n"
               "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
               "    if (i < n) x[i] *= 2;\n"
               "}\n";
    return "#include <stdint.h>\n"
           "void twice(void *const *args, int64_t part, int64_t parts) {\n"
           "    float *x = *(float **)args[0];\n"
           "    int64_t n = *(int64_t *)args[1];\n"
           "    for (int64_t i = n * part / parts; i < n * (part + 1) / parts; i++) x[i] *= 2;\n"
           "}\n";
}

enum { N = 1000 };

static Run run_of(Launch *launch, Arg *args) {
    args[0] = (Arg){.kind = ARG_BUFFER};
    args[1] = (Arg){.kind = ARG_I64, .value = {.whole = N}};
    *launch = (Launch){.entry = "twice",
                       .alignment = 1,
                       .args = args,
                       .arg_count = 2,
                       .grid = {(N + 255) / 256, 1, 1},
                       .block = {256, 1, 1},
                       .cluster = 1};
    return (Run){.launches = {launch, 1, 1}};
}

static void expect_ok(Outcome outcome, const Why *why) {
    if (outcome != OUTCOME_OK) fail_msg("%s: %s", outcome_name(outcome), why->text);
}

static void runs(const Device *device, DeviceState *state, const Text *binary) {
    Launch launch;
    Arg args[2];
    Run run = run_of(&launch, args);
    Why why;
    Address address;
    float x[N];
    double seconds;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    Module *module = device->load(state, binary->data, binary->length, &why);
    if (!module) fail_msg("%s", why.text);
    assert_true(device->allocate(state, sizeof x, &address, &why));
    assert_true(device->upload(state, address, x, sizeof x, &why));
    expect_ok(device->launch(state, &run, &module, &address, NULL, &why), &why);
    expect_ok(device->finish(state, &why), &why);
    assert_true(device->download(state, x, address, sizeof x, &why));
    for (int i = 0; i < N && !device->imaginary; i++) assert_true(x[i] == (float)(2 * i));
    const Address *const sets[] = {&address};
    expect_ok(device->time(state, &run, &module, sets, 1, 3, &seconds, &why), &why);
    assert_true(seconds > 0 && seconds < 1);
    launch.entry = "nothing";
    if (!device->imaginary)
        assert_int_equal(device->launch(state, &run, &module, &address, NULL, &why),
                         OUTCOME_LAUNCH);
    launch.entry = "twice";
    launch.grid[0] = 0; /* no element: nothing runs */
    expect_ok(device->launch(state, &run, &module, &address, NULL, &why), &why);
    device->release(state, address);
    device->unload(state, module);
}

static void refuses(const Device *device, DeviceState *state) {
    static const char damaged[] = "\x7f"
                                  "ELF is how it begins, and that is all";
    Why why = {""};
    Address address;
    assert_null(device->load(state, damaged, sizeof damaged, &why));
    assert_true(why.text[0] != 0);
    if (device->imaginary) return;
    why.text[0] = 0;
    assert_false(device->allocate(state, (size_t)1 << 60, &address, &why));
    assert_true(why.text[0] != 0);
}

static void compiles(const Device *device, const DeviceIdentity *identity, Text *binary) {
    CompileUnit unit = {source_of(device), "twice", false},
                broken = {"int broken(", "broken", false};
    Resources resources;
    uint64_t code = 0, again = 1;
    Why why = {""};
    Text ignored = {0};
    assert_true(device->warm(&why));
    expect_ok(device->compile(&unit, identity, binary, &why), &why);
    assert_true(device->resources(binary->data, binary->length, "twice", &resources, &code));
    assert_true(device->resources(binary->data, binary->length, "twice", &resources, &again));
    assert_true(code == again);
    if (device->imaginary) return;
    assert_int_equal(device->compile(&broken, identity, &ignored, &why), OUTCOME_COMPILE);
    assert_non_null(strstr(why.text, "error"));
    text_free(&ignored);
}

static void each_device(void **unused) {
    (void)unused;
    for (const Device *const *entry = device_table; *entry; entry++) {
        const Device *device = *entry;
        DeviceIdentity identity;
        Text binary = {0};
        char conditions[128] = "?";
        Why why = {""};
        if (device->count(&why) == 0) {
            assert_true(why.text[0] != 0); /* it says what is missing */
            continue;
        }
        if (!device->identify(0, true, &identity, &why)) fail_msg("%s: %s", device->name, why.text);
        assert_true(identity.title[0] && identity.key[0] && identity.compiler[0] &&
                    identity.sms > 0);
        assert_false(device->identify(1000, true, &identity, &why));
        assert_true(device->identify(0, true, &identity, &why));
        compiles(device, &identity, &binary);
        DeviceState *state = device->open(0, false, &why);
        if (!state) fail_msg("%s: %s", device->name, why.text);
        runs(device, state, &binary);
        refuses(device, state);
        device->conditions(state, conditions, sizeof conditions);
        assert_true(conditions[0] != '?');
        device->close(state);
        text_free(&binary);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
