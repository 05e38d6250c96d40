/* Kernels: tuned once, launched again and again. */
#include <math.h>
#include <stdlib.h>

#include "kfuse_objects.h"

static bool open_launchers(KfKernel *kernel) {
    Launcher **slots[] = {&kernel->own, &kernel->current};
    for (int current = 0; current < 2 && !kernel->device->imaginary; current++) {
        *slots[current] = launcher_open(kernel->device, kernel->index, current, kernel->program->ir,
                                        kernel->run, kernel->binaries, kernel->binary_count);
        if (!*slots[current]) return false;
    }
    return true;
}

KfStatus kf_tune(KfProgram *program, const KfTuneOptions *options, KfKernel **out) {
    static const KfTuneOptions none = {0};
    KfKernel *kernel = calloc(1, sizeof *kernel);
    text_clear(&program->session->message);
    program->session->interrupt = 0;
    *out = NULL;
    if (!kernel) return session_say(program->session, KF_ENVIRONMENT, "out of memory");
    kernel->program = program;
    kernel->arena = arena_open();
    kernel->report = report_none();
    KfStatus status = pipeline_tune(kernel, options ? options : &none);
    bool has_run = status == KF_OK || (status == KF_INTERRUPTED && kernel->run);
    if (has_run && !open_launchers(kernel))
        status = session_say(program->session, KF_ENVIRONMENT, "out of memory");
    else if (has_run)
        *out = kernel;
    if (!*out) kf_kernel_close(kernel);
    return status;
}

void kf_kernel_close(KfKernel *kernel) {
    if (!kernel) return;
    workers_close(&kernel->workers);
    launcher_close(kernel->current);
    launcher_close(kernel->own);
    arena_close(kernel->arena);
    text_free(&kernel->text);
    text_free(&kernel->json);
    text_free(&kernel->times);
    free(kernel);
}

/* Several threads may fail at once. */
static KfStatus fail(KfKernel *kernel, KfStatus status, const char *why) {
    KfSession *session = kernel->program->session;
    pthread_mutex_lock(&session->failing);
    text_clear(&session->message);
    session_say(session, status, "%s", why);
    pthread_mutex_unlock(&session->failing);
    return status;
}

typedef bool Go(Launcher *launcher, const void *const *inputs, void *const *outputs, void *stream,
                bool *refused, Why *why);

static KfStatus go(KfKernel *kernel, Launcher *launcher, Go *call, const void *const *inputs,
                   void *const *outputs, void *stream) {
    Why why;
    bool refused;
    const Ir *ir = kernel->program->ir;
    if (!launcher) return fail(kernel, KF_ENVIRONMENT, "this device runs nothing");
    if ((!inputs && ir->inputs.count > 0) || (!outputs && ir->outputs.count > 0))
        return fail(kernel, KF_USAGE, "the list of inputs or that of outputs is NULL");
    if (call(launcher, inputs, outputs, stream, &refused, &why)) return KF_OK;
    return fail(kernel, refused ? KF_INPUT : KF_ENVIRONMENT, why.text);
}

KfStatus kf_launch(KfKernel *kernel, const void *const *inputs, void *const *outputs,
                   void *stream) {
    return go(kernel, kernel->current, launcher_launch, inputs, outputs, stream);
}

static bool run(Launcher *launcher, const void *const *inputs, void *const *outputs, void *stream,
                bool *refused, Why *why) {
    (void)stream;
    return launcher_run(launcher, inputs, outputs, refused, why);
}

KfStatus kf_run(KfKernel *kernel, const void *const *inputs, void *const *outputs) {
    return go(kernel, kernel->own, run, inputs, outputs, NULL);
}

const char *kf_kernel_report(KfKernel *kernel, KfFormat format) {
    Text *text = format == KF_JSON     ? &kernel->json
                 : format == KF_PHASES ? &kernel->times
                                       : &kernel->text;
    text_clear(text);
    switch (format) {
    case KF_JSON: report_json(text, &kernel->report); break;
    case KF_PHASES: phases_text(text, &kernel->report.phases); break;
    case KF_TEXT: report_text(text, &kernel->report); break;
    }
    return text_string(text);
}

static double or_zero(double value) {
    return isnan(value) ? 0 : value;
}

static uint64_t workspace(const Run *run) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->temporaries.count; i++)
        bytes += (uint64_t)run->temporaries.data[i];
    return bytes;
}

KfResult kf_kernel_result(const KfKernel *kernel) {
    const Report *r = &kernel->report;
    return (KfResult){r->winner,
                      or_zero(r->time),
                      or_zero(r->eager_time),
                      or_zero((double)r->bytes / r->time / r->roof),
                      or_zero(r->eager_time / r->time),
                      or_zero(r->max_ulp),
                      r->cached ? 0 : (uint32_t)r->candidates,
                      (uint32_t)r->compiled,
                      r->cached != 0,
                      workspace(kernel->run)};
}
