/* Every hand-written CUDA template, products with an epilogue and kernels over rows, compiled by NVRTC (no GPU is
 * needed): at the default point for five architectures, at a sample of points for one; with
 * KF_CHECK_ALL=1 many more. The default point spills nothing. Fused programs: emit_cuda.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "compiler/base/parallel.h"
#include "row_programs.h"
#include "spliced.h"
#include "templates.h"
#include "tuner/tune.h"

enum { POINTS = 3, POINTS_ALL = 40 };

static const char *const archs[] = {"sm_80", "sm_86", "sm_90", "sm_100", "sm_120"};
static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
static const char sampled[] = "sm_90";

/* One compilation. */
typedef struct Job {
    const char *label, *arch, *source;
    const Template *template;
    const char *suffix;
    bool first;           /* the default point */
    Why why;              /* "": it compiled */
    Resources *resources; /* of each launch */
} Job;

typedef struct Jobs {
    Arena *arena;
    const Library *library;
    ARRAY(Job) list;
} Jobs;

static const Device *cuda;

static void add_job(Jobs *jobs, const char *name, const Template *template, const Point *point,
                    DType dtype, const char *arch, bool first) {
    Text source = {0};
    Job job = {.arch = arch, .template = template, .first = first};
    job.suffix = tune_suffix(jobs->arena, &template->space, point);
    job.label = arena_printf(jobs->arena, "%s%s %s %s", name, job.suffix, dtype_name(dtype), arch);
    job.resources = arena_array(jobs->arena, Resources, template->launches.count);
    template_instantiate(&source, template, point, job.suffix);
    job.source = arena_copy(jobs->arena, text_string(&source), source.length);
    array_push(jobs->arena, &jobs->list, job);
    text_free(&source);
}

/* Legal points at the first shape, one from each of as many parts of the space. */
static void add_sample(Jobs *jobs, const char *name, const Kernel *kernel, const Ir *ir,
                       uint32_t limit, DType dtype) {
    const DeviceIdentity identity = {.sms = 132};
    const Template *template = kernel->template;
    Bindings bindings =
        tune_bindings(jobs->arena, kernel_bound(jobs->arena, kernel, ir), &identity);
    uint64_t *indices;
    uint32_t count = space_allowed(&template->space, bindings, false, jobs->arena,
                                   getenv("KF_CHECK_ALL") ? POINTS_ALL : limit, dtype, &indices);
    for (uint32_t i = 0; i < count; i++) {
        Point point = space_point(&template->space, indices[i]);
        add_job(jobs, name, template, &point, dtype, sampled, false);
    }
}

/* At the default point, which in f64 is the shape's. The sampled architecture always, the others in
 * turn for the types. */
static void add_kernel(Jobs *jobs, const char *name, const Kernel *kernel, const Ir *ir, int d) {
    enum { ARCHS = sizeof archs / sizeof *archs, DTYPES = sizeof dtypes / sizeof *dtypes };
    const DeviceIdentity identity = {.sms = 132};
    const Space *space = &kernel->template->space;
    Point point = space_fallback(space);
    Bindings bindings =
        tune_bindings(jobs->arena, kernel_bound(jobs->arena, kernel, ir), &identity);
    if (ir->compute == DT_F64) space_default(space, bindings, &point);
    for (int a = 0; a < ARCHS; a++)
        if (getenv("KF_CHECK_ALL") || strcmp(archs[a], sampled) == 0 || a % DTYPES == d)
            add_job(jobs, name, kernel->template, &point, dtypes[d], archs[a], true);
    add_sample(jobs, name, kernel, ir, POINTS, dtypes[d]);
}

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void add_template(Jobs *jobs, const Template *template) {
    for (int d = 0; d < DTYPES; d++) {
        const Ir *ir = template_program(jobs->arena, jobs->library->registry, template,
                                        template_sizes[0], dtypes[d]);
        Kernels kernels = kernels_find(jobs->arena, jobs->library, ir);
        add_kernel(jobs, template->name, template_kernel(&kernels, template->name), ir, d);
    }
}

static void add_product(Jobs *jobs, const char *const program[2], int d) {
    Program p =
        program_make(jobs->arena, program[0], fused_typed(jobs->arena, program[1], dtypes[d]));
    Kernels kernels = kernels_find(jobs->arena, jobs->library, p.ir);
    const char *name = arena_printf(jobs->arena, "%s %s ", program[0], program[1]);
    add_kernel(jobs, name, template_kernel(&kernels, "matmul"), p.ir, d);
}

/* The default of its shape, for one architecture and another in turn; types in turn as well. */
static void add_rows(Jobs *jobs, uint32_t index) {
    enum { ARCHS = sizeof archs / sizeof *archs };
    const char *const *program = row_programs[index];
    const DeviceIdentity identity = {.sms = 132};
    DType dtype = dtypes[index % DTYPES];
    Program plain = program_make(jobs->arena, program[0], program[1]);
    Program p =
        program_make(jobs->arena, program[0], fused_inputs(jobs->arena, program[1], &plain, dtype));
    Kernels kernels = kernels_find(jobs->arena, jobs->library, p.ir);
    const Kernel *kernel = template_kernel(&kernels, "rows");
    Bindings bindings =
        tune_bindings(jobs->arena, kernel_bound(jobs->arena, kernel, p.ir), &identity);
    Point point;
    assert_true(space_default(&kernel->template->space, bindings, &point));
    for (uint32_t a = 0; a < ARCHS; a++)
        if (getenv("KF_CHECK_ALL") || strcmp(archs[a], sampled) == 0 || a == index % ARCHS)
            add_job(jobs, program[0], kernel->template, &point, dtype, archs[a], true);
    add_sample(jobs, program[0], kernel, p.ir, 1, dtype);
}

/* Every entry and twin is in the binary. */
static bool read_resources(Job *job, const Text *binary) {
    for (uint32_t i = 0; i < job->template->launches.count; i++) {
        const TemplateLaunch *launch = &job->template->launches.data[i];
        const char *const entries[] = {launch->twin, launch->entry};
        char name[512];
        uint64_t code;
        for (int e = 0; e < 2; e++) {
            snprintf(name, sizeof name, "%s%s", entries[e] ? entries[e] : launch->entry,
                     job->suffix);
            if (!cuda->resources(binary->data, binary->length, name, &job->resources[i], &code))
                return why_set(&job->why, "no entry %s", name);
        }
    }
    return true;
}

static void compile_job(void *context, int64_t part) {
    Job *job = &((Jobs *)context)->list.data[part];
    const CompileUnit unit = {job->source, job->template->name, false};
    DeviceIdentity identity = {0};
    Text binary = {0};
    snprintf(identity.arch, sizeof identity.arch, "%s", job->arch);
    if (cuda->compile(&unit, &identity, &binary, &job->why) == OUTCOME_OK)
        read_resources(job, &binary);
    text_free(&binary);
}

static void check_job(const Job *job) {
    if (job->why.text[0]) fail_msg("%s: %s", job->label, job->why.text);
    if (!job->first) return;
    for (uint32_t i = 0; i < job->template->launches.count; i++) {
        const Resources *r = &job->resources[i];
        if (strcmp(job->arch, sampled) == 0)
            printf("%s, %s: %d registers, %d bytes of static shared memory\n", job->label,
                   job->template->launches.data[i].entry, r->registers, r->shared_bytes);
        if (r->spill_bytes > 0)
            fail_msg("%s spills %d bytes at its default point", job->label, r->spill_bytes);
    }
}

static Jobs open_jobs(void) {
    Jobs jobs = {.arena = arena_open()};
    Why why = {""};
    cuda = device_find("cuda");
    if (!cuda || !cuda->warm(&why)) {
        printf("no NVRTC here: %s\n", why.text);
        arena_close(jobs.arena);
        skip();
    }
    jobs.library = library_open(jobs.arena, "cuda", registry_open(jobs.arena));
    return jobs;
}

static void compile_jobs(Jobs *jobs) {
    Team *team = team_open(parallel_cpus());
    team_run(team, jobs->list.count, compile_job, jobs);
    team_close(team);
    for (uint32_t i = 0; i < jobs->list.count; i++) check_job(&jobs->list.data[i]);
    printf("NVRTC: %u compilations for %zu architectures\n", jobs->list.count,
           sizeof archs / sizeof *archs);
    arena_close(jobs->arena);
}

static void templates_compile(void **state) {
    Jobs jobs = open_jobs();
    (void)state;
    for (uint32_t i = 0; i < jobs.library->templates.count; i++)
        add_template(&jobs, jobs.library->templates.data[i]);
    compile_jobs(&jobs);
}

static void rows_compile(void **state) {
    Jobs jobs = open_jobs();
    (void)state;
    for (uint32_t i = 0; i < sizeof row_programs / sizeof *row_programs; i++) add_rows(&jobs, i);
    compile_jobs(&jobs);
}

/* The plain product in all types, the others in turn. KF_TEST_PROGRAM=N: that one in all types. */
static void products_compile(void **state) {
    const char *only = getenv("KF_TEST_PROGRAM");
    Jobs jobs = open_jobs();
    (void)state;
    for (int p = 0; p < (int)(sizeof spliced_programs / sizeof *spliced_programs); p++)
        for (int d = 0; d < DTYPES; d++)
            if (only ? atoi(only) == p : p == 0 || p % DTYPES == d || getenv("KF_CHECK_ALL"))
                add_product(&jobs, spliced_programs[p], d);
    compile_jobs(&jobs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(templates_compile),
                                       cmocka_unit_test(rows_compile),
                                       cmocka_unit_test(products_compile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
