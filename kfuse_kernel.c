/* Kernels: tuned once, launched again and again. */
#include <math.h>
#include <stdlib.h>

#include "kfuse_objects.h"

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
    if (status == KF_OK || (status == KF_INTERRUPTED && kernel->run))
        *out = kernel;
    else
        kf_kernel_close(kernel);
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

/* What succeeds leaves the session alone, so that other kernels of it may be at work. */
static KfStatus launched(KfKernel *kernel, bool ok, bool refused, const Why *why) {
    KfSession *session = kernel->program->session;
    if (ok) return KF_OK;
    text_clear(&session->message);
    return session_say(session, refused ? KF_INPUT : KF_ENVIRONMENT, "%s", why->text);
}

static Launcher *launcher(KfKernel *kernel, Launcher **slot, bool current, Why *why) {
    if (kernel->device->imaginary) return why_set(why, "this device runs nothing"), NULL;
    if (!*slot)
        *slot = launcher_open(kernel->device, kernel->index, current, kernel->program->ir,
                              kernel->run, kernel->binaries, kernel->binary_count);
    return *slot;
}

KfStatus kf_launch(KfKernel *kernel, const void *const *inputs, void *const *outputs,
                   void *stream) {
    Why why = {"out of memory"};
    bool refused = false;
    Launcher *l = launcher(kernel, &kernel->current, true, &why);
    bool ok = l && launcher_launch(l, inputs, outputs, stream, &refused, &why);
    return launched(kernel, ok, refused, &why);
}

KfStatus kf_run(KfKernel *kernel, const void *const *inputs, void *const *outputs) {
    Why why = {"out of memory"};
    bool refused = false;
    Launcher *l = launcher(kernel, &kernel->own, false, &why);
    bool ok = l && launcher_run(l, inputs, outputs, &refused, &why);
    return launched(kernel, ok, refused, &why);
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
