/* For bench.py, which thus need not know how kfuse.h lays out its structures. In: a program and its
 * inputs as "NAME=SHAPE:TYPE". Out: the kernel that the command line left in the store. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse.h"

enum { INPUTS = 8, NAME = 32, MESSAGE = 1024 };

typedef struct Opened {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
    char message[MESSAGE];
    char described[MESSAGE]; /* bench_output's answer */
} Opened;

Opened *bench_open(const char *text, const char *const *inputs, int count, const char *type,
                   const char *device);
void bench_close(Opened *opened);
const char *bench_message(const Opened *opened);
const char *bench_input(const Opened *opened, int index);
const char *bench_output(Opened *opened, int index);
int bench_updates(const Opened *opened, int index);
int bench_launch(Opened *opened, const void *const *inputs, void *const *outputs, void *stream);
int bench_evaluate(Opened *opened, const void *const *inputs, void *const *outputs);

static void note(Opened *opened, const char *message) {
    snprintf(opened->message, sizeof opened->message, "%s", message);
}

/* Copies what stands before `end`; false if there is none, or no room. */
static bool cut(const char *text, const char *end, char *out, size_t size) {
    if (!end || (size_t)(end - text) >= size) return false;
    memcpy(out, text, (size_t)(end - text));
    out[end - text] = '\0';
    return true;
}

/* "x=64x3:f32": false if it is something else. */
static bool read_input(const char *text, char name[NAME], KfTensor *tensor) {
    const char *equals = strchr(text, '='), *colon = strchr(text, ':'), *why;
    char shape[NAME * KF_RANK_MAX];
    if (!cut(text, equals, name, NAME) || !cut(equals + 1, colon, shape, sizeof shape) ||
        kf_parse_shape(shape, tensor, &why) != KF_OK)
        return false;
    tensor->name = name;
    return kf_parse_type(colon + 1, &tensor->type, &why) == KF_OK;
}

static KfStatus open_program(Opened *opened, const char *text, const char *const *described,
                             int count, KfType type, const char *device) {
    KfTensor inputs[INPUTS] = {0};
    char names[INPUTS][NAME];
    KfProblem problem = {
        .plain = {.type = type}, .inputs = inputs, .input_count = (size_t)count, .device = device};
    if (count > INPUTS) return KF_USAGE;
    for (int i = 0; i < count; i++)
        if (!read_input(described[i], names[i], &inputs[i])) return KF_USAGE;
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
Opened *bench_open(const char *text, const char *const *inputs, int count, const char *type,
                   const char *device) {
    Opened *opened = calloc(1, sizeof *opened);
    KfType plain;
    const char *why;
    if (!opened) return NULL;
    if (kf_session_open(&opened->session, NULL) != KF_OK ||
        kf_parse_type(type, &plain, &why) != KF_OK ||
        open_program(opened, text, inputs, count, plain, device) != KF_OK ||
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

/* "y=64x3:bf16", until the next call; NULL behind the last. */
const char *bench_output(Opened *opened, int index) {
    if ((size_t)index >= kf_program_output_count(opened->program)) return NULL;
    KfTensor output = kf_program_output(opened->program, (size_t)index);
    char *at = opened->described, *end = at + sizeof opened->described;
    at += snprintf(at, (size_t)(end - at), "%s=%s", output.name, output.rank ? "" : "scalar");
    for (int d = 0; d < output.rank; d++)
        at += snprintf(at, (size_t)(end - at), "%s%" PRId64, d ? "x" : "", output.dim[d]);
    snprintf(at, (size_t)(end - at), ":%s", kf_type_name(output.type));
    return opened->described;
}

/* The input that the output updates in place, or -1. */
int bench_updates(const Opened *opened, int index) {
    return kf_program_updates(opened->program, (size_t)index);
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
