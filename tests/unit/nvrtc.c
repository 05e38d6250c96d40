/* Every hand-written CUDA template, and generated kernels over rows, compiled by NVRTC (no GPU is
 * needed): at the default point for five architectures, at a sample of points for one; with
 * KF_CHECK_ALL=1 many more. The default point spills nothing. Fused programs: emit_cuda.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "compiler/base/parallel.h"
#include "fused.h"
#include "row_programs.h"
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
    bool fallback;        /* the default point */
    Why why;              /* "": it compiled */
    Resources *resources; /* of each launch */
} Job;

typedef struct Jobs {
    Arena *arena;
    const Library *library;
    ARRAY(Job) list;
} Jobs;

static const Device *cuda;

static void add_job(Jobs *jobs, const Template *template, const Point *point,
                    const Point *fallback, DType dtype, const char *arch) {
    Text source = {0};
    Job job = {.arch = arch, .template = template};
    job.suffix = tune_suffix(jobs->arena, &template->space, point);
    job.label = arena_printf(jobs->arena, "%s%s %s %s", template->name, job.suffix,
                             dtype_name(dtype), arch);
    job.fallback = space_index(&template->space, point) == space_index(&template->space, fallback);
    job.resources = arena_array(jobs->arena, Resources, template->launches.count);
    template_instantiate(&source, template, point, job.suffix);
    job.source = arena_copy(jobs->arena, text_string(&source), source.length);
    array_push(jobs->arena, &jobs->list, job);
    text_free(&source);
}

/* Legal points at the first shape, one from each of as many parts of the space. */
static void add_sample(Jobs *jobs, const Kernel *kernel, const Bindings *bindings,
                       const Point *fallback, uint32_t limit, DType dtype) {
    const Template *template = kernel->template;
    uint64_t *indices;
    uint32_t count = space_allowed(&template->space, *bindings, false, jobs->arena,
                                   getenv("KF_CHECK_ALL") ? POINTS_ALL : limit, dtype, &indices);
    for (uint32_t i = 0; i < count; i++) {
        Point point = space_point(&template->space, indices[i]);
        add_job(jobs, template, &point, fallback, dtype, sampled);
    }
}

static Bindings bindings_of(Jobs *jobs, const Kernel *kernel, const Ir *ir) {
    const DeviceIdentity identity = {.sms = 132};
    return tune_bindings(jobs->arena, kernel_bound(jobs->arena, kernel, ir), &identity);
}

/* All types for the sampled architecture, in turn for the others. */
static void add_template(Jobs *jobs, const Template *template) {
    enum { ARCHS = sizeof archs / sizeof *archs, DTYPES = sizeof dtypes / sizeof *dtypes };
    for (int d = 0; d < DTYPES; d++) {
        const Ir *ir = template_program(jobs->arena, jobs->library->registry, template,
                                        template_sizes[0], dtypes[d]);
        Kernels kernels = kernels_find(jobs->arena, jobs->library, ir);
        const Kernel *kernel = template_kernel(&kernels, template->name);
        Point fallback = space_fallback(&kernel->template->space);
        for (int a = 0; a < ARCHS; a++)
            if (getenv("KF_CHECK_ALL") || strcmp(archs[a], sampled) == 0 || a % DTYPES == d)
                add_job(jobs, kernel->template, &fallback, &fallback, dtypes[d], archs[a]);
        Bindings bindings = bindings_of(jobs, kernel, ir);
        add_sample(jobs, kernel, &bindings, &fallback, POINTS, dtypes[d]);
    }
}

/* The default of its shape, for one architecture and another in turn; types in turn as well. */
static void add_rows(Jobs *jobs, uint32_t index) {
    enum { ARCHS = sizeof archs / sizeof *archs, DTYPES = sizeof dtypes / sizeof *dtypes };
    const char *const *program = row_programs[index];
    DType dtype = dtypes[index % DTYPES];
    Program plain = program_make(jobs->arena, program[0], program[1]);
    Program p = program_make(jobs->arena, program[0],
                             fused_inputs(jobs->arena, program[1], &plain, dtype));
    Kernels kernels = kernels_find(jobs->arena, jobs->library, p.ir);
    const Kernel *kernel = template_kernel(&kernels, "rows");
    Bindings bindings = bindings_of(jobs, kernel, p.ir);
    Point point;
    assert_true(space_default(&kernel->template->space, bindings, &point));
    for (uint32_t a = 0; a < ARCHS; a++)
        if (getenv("KF_CHECK_ALL") || strcmp(archs[a], sampled) == 0 || a == index % ARCHS)
            add_job(jobs, kernel->template, &point, &point, dtype, archs[a]);
    add_sample(jobs, kernel, &bindings, &point, 1, dtype);
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
    if (!job->fallback) return;
    for (uint32_t i = 0; i < job->template->launches.count; i++) {
        const Resources *r = &job->resources[i];
        if (strcmp(job->arch, sampled) == 0)
            printf("%s, %s: %d registers, %d bytes of static shared memory\n", job->label,
                   job->template->launches.data[i].entry, r->registers, r->shared_bytes);
        if (r->spill_bytes > 0)
            fail_msg("%s spills %d bytes at its default point", job->label, r->spill_bytes);
    }
}

static void templates_compile(void **state) {
    Jobs jobs = {.arena = arena_open()};
    Why why = {""};
    (void)state;
    cuda = device_find("cuda");
    if (!cuda || !cuda->warm(&why)) {
        printf("no NVRTC here: %s\n", why.text);
        arena_close(jobs.arena);
        skip();
    }
    jobs.library = library_open(jobs.arena, "cuda", registry_open(jobs.arena));
    for (uint32_t i = 0; i < jobs.library->templates.count; i++)
        add_template(&jobs, jobs.library->templates.data[i]);
    for (uint32_t i = 0; i < sizeof row_programs / sizeof *row_programs; i++) add_rows(&jobs, i);
    Team *team = team_open(parallel_cpus());
    team_run(team, jobs.list.count, compile_job, &jobs);
    team_close(team);
    for (uint32_t i = 0; i < jobs.list.count; i++) check_job(&jobs.list.data[i]);
    printf("NVRTC: %u templates and their like, %u compilations for %zu architectures\n",
           jobs.library->templates.count, jobs.list.count, sizeof archs / sizeof *archs);
    arena_close(jobs.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(templates_compile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
