/* Generated reductions in one pass: CUDA on the host and C, every class of axes and arrays, several
 * types, points of the whole space, through the whole gate; and CUDA by NVRTC, which spills nothing
 * at default points. KF_CHECK_ALL=1 takes more of everything, KF_TEST_PROGRAM only programs with
 * that in their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reduced.h"
#include "share.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

static bool thorough(void) {
    return getenv("KF_CHECK_ALL") != NULL;
}

static bool is_wanted(uint32_t program) {
    const char *only = getenv("KF_TEST_PROGRAM");
    return !only || strstr(reduced_programs[program][0], only);
}

/* --- through the gate */

static void add_program(Arena *arena, Subjects *subjects, uint32_t index, DType dtype,
                        uint32_t points) {
    Program program = reduced_program(arena, index, dtype);
    const char *language = subjects->device ? subjects->device->language : "cuda";
    subject_add(arena, subjects,
                arena_printf(arena, "%s %s", reduced_programs[index][0], dtype_name(dtype)),
                program.ir, reduced_kernel(arena, language, &program), NULL,
                thorough() ? 1000 : points, index * 31 + dtype);
}

/* f32, and another type in turn. */
static void judge_programs(const Device *device, uint32_t points) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_F64};
    Arena *arena = arena_open();
    Subjects subjects = {.device = device};
    JudgeCounts counts = {0};
    Why why = {""};
    for (uint32_t p = 0; p < REDUCED_PROGRAMS; p++)
        for (uint32_t d = 0; d < 4; d++)
            if (is_wanted(p) && (thorough() || d == 0 || p % 3 + 1 == d) && share_takes())
                add_program(arena, &subjects, p, dtypes[d], points);
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    printf("%s: %u reductions, %u points, %u edges\n", device ? device->name : "shim",
           counts.programs, counts.points, counts.edges);
    arena_close(arena);
}

static void cuda_is_right(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) == 0) skip();
    judge_programs(NULL, 2);
}

static void c_is_right(void **state) {
    const Device *cpu = device_find("cpu");
    Why why;
    (void)state;
    if (cpu->count(&why) == 0) skip();
    judge_programs(cpu, 3);
}

/* --- by NVRTC */

static const char *const archs[] = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};

static void compile(const Device *cuda, const char *arch, const char *label,
                    const Template *template, const Point *point, bool spills) {
    DeviceIdentity identity = {0};
    Resources resources = {0};
    uint64_t code;
    Text source = {0}, binary = {0};
    Why why = {""};
    snprintf(identity.arch, sizeof identity.arch, "%s", arch);
    template_instantiate(&source, template, point, "");
    CompileUnit unit = {text_string(&source), template->name, false};
    if (cuda->compile(&unit, &identity, &binary, &why) != OUTCOME_OK)
        fail_msg("%s: %s", label, why.text);
    for (uint32_t i = 0; i < template->launches.count; i++) {
        const char *entry = template->launches.data[i].entry;
        assert_true(cuda->resources(binary.data, binary.length, entry, &resources, &code));
        if (resources.spill_bytes > 0 && !spills)
            fail_msg("%s: %s spills %d bytes on %s at its default point", label, entry,
                     resources.spill_bytes, arch);
    }
    text_free(&source);
    text_free(&binary);
}

/* The default point, and some of all. */
static void compile_program(const Device *cuda, Arena *arena, const char *text, const char *inputs,
                            uint32_t index) {
    Program program = program_make(arena, text, inputs);
    const Template *template = reduced_kernel(arena, "cuda", &program)->template;
    Point point = space_fallback(&template->space);
    for (uint32_t a = 0; a < 5; a++)
        if (thorough() || a == 2 || a == index % 5)
            compile(cuda, archs[a], text, template, &point, false);
    for (uint32_t k = 0; k < (thorough() ? 20u : 1u); k++) {
        point = space_point(&template->space,
                            (k * 7919 + index * 104729 + 5) % space_size(&template->space));
        compile(cuda, "sm_90", text, template, &point, true);
    }
}

static void cuda_compiles(void **state) {
    static const char *const large[][2] = {
        {"sum(x, axis=all)", "x=65536x65536:u8"},
        {"mean(x*b, axis=0)", "x=65536x65536:bf16 b=65536x1:bf16"},
        {"sum(x*b, axis=all)", "x=65536x65536:bf16 b=65536:bf16"},
        {"var(x, axis=all)", "16777216"},
        {"sum(x, axis=0)", "1048576x4"},
        {"sum(x, axis=0)", "4096x4096"},
    };
    static const DType dtypes[] = {DT_F32, DT_F16, DT_F64};
    const Device *cuda = device_find("cuda");
    Arena *arena = arena_open();
    Why why;
    (void)state;
    if (!cuda || !cuda->warm(&why)) skip();
    for (uint32_t i = 0; i < sizeof large / sizeof *large; i++)
        if (share_takes()) compile_program(cuda, arena, large[i][0], large[i][1], i);
    for (uint32_t p = 0; p < REDUCED_PROGRAMS; p++) {
        const char *const *program = reduced_programs[p];
        Program plain = program_make(arena, program[0], program[1]);
        if (is_wanted(p) && share_takes())
            compile_program(cuda, arena, program[0],
                            fused_inputs(arena, program[1], &plain, dtypes[p % 3]), p);
    }
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_is_right),
        cmocka_unit_test(cuda_compiles),
        cmocka_unit_test(cuda_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
