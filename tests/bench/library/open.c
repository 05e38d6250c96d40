/* For bench.py, which thus need not know how kfuse.h lays out its structures. In: a program and its
 * shapes, as the command line takes them. Out: the kernel that the command line left in the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse.h"

enum { INPUTS = 8, MESSAGE = 1024 };

typedef struct Opened {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
    char message[MESSAGE];
} Opened;

Opened *bench_open(const char *text, const char *const *shapes, int count, const char *type,
                   const char *device);
void bench_close(Opened *opened);
const char *bench_message(const Opened *opened);
const char *bench_input(const Opened *opened, int index);
int bench_launch(Opened *opened, const void *const *inputs, void *const *outputs, void *stream);
int bench_evaluate(Opened *opened, const void *const *inputs, void *const *outputs);

static void note(Opened *opened, const char *message) {
    snprintf(opened->message, sizeof opened->message, "%s", message);
}

/* "x=64x3": false if it is something else. */
static bool read_input(const char *text, char *name, size_t size, KfTensor *tensor) {
    const char *equals = strchr(text, '='), *why;
    if (!equals || (size_t)(equals - text) >= size) return false;
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    if (kf_parse_shape(equals + 1, tensor, &why) != KF_OK) return false;
    tensor->name = name;
    return true;
}

static KfStatus open_program(Opened *opened, const char *text, const char *const *shapes, int count,
                             KfType type, const char *device) {
    KfTensor inputs[INPUTS] = {0};
    char names[INPUTS][32];
    KfProblem problem = {
        .plain = {.type = type}, .inputs = inputs, .input_count = (size_t)count, .device = device};
    if (count > INPUTS) return KF_USAGE;
    for (int i = 0; i < count; i++)
        if (!read_input(shapes[i], names[i], sizeof names[i], &inputs[i])) return KF_USAGE;
    return kf_program_open(opened->session, text, SIZE_MAX, &problem, &opened->program);
}

/* Nothing is searched: what is timed is what the command line tuned. */
static KfStatus answer(Opened *opened) {
    const KfTuneOptions stored = {.exact = true, .no_tune = true};
    KfStatus status = kf_tune(opened->program, &stored, &opened->kernel);
    if (status != KF_OK || kf_kernel_result(opened->kernel).cached) return status;
    note(opened, "the store has no answer");
    return KF_NO_KERNEL;
}

/* NULL only when out of memory; bench_message is "" where there is a kernel. */
Opened *bench_open(const char *text, const char *const *shapes, int count, const char *type,
                   const char *device) {
    Opened *opened = calloc(1, sizeof *opened);
    KfType plain;
    const char *why;
    if (!opened) return NULL;
    if (kf_session_open(&opened->session, NULL) != KF_OK ||
        kf_parse_type(type, &plain, &why) != KF_OK ||
        open_program(opened, text, shapes, count, plain, device) != KF_OK ||
        answer(opened) != KF_OK) {
        if (!*opened->message) note(opened, kf_session_message(opened->session));
        if (!*opened->message) note(opened, "a shape or type is wrong");
    }
    return opened;
}

void bench_close(Opened *opened) {
    if (!opened) return;
    kf_kernel_close(opened->kernel);
    kf_program_close(opened->program);
    kf_session_close(opened->session);
    free(opened);
}

const char *bench_message(const Opened *opened) {
    return opened->message;
}

/* Inputs are launched in this order. */
const char *bench_input(const Opened *opened, int index) {
    return kf_program_input(opened->program, (size_t)index).name;
}

static int told(Opened *opened, KfStatus status) {
    if (status != KF_OK) note(opened, kf_session_message(opened->session));
    return (int)status;
}

int bench_launch(Opened *opened, const void *const *inputs, void *const *outputs, void *stream) {
    return told(opened, kf_launch(opened->kernel, inputs, outputs, stream));
}

int bench_evaluate(Opened *opened, const void *const *inputs, void *const *outputs) {
    return told(opened, kf_program_evaluate(opened->program, inputs, outputs));
}
