/* Derivatives that a file states, put to the test. In: its statements. Out: a line for each that differences
 * contradict. The idea: with a cotangent c, sum(f(x) * c) changes by what the backward program of f gives, for
 * functions of elements and of rows alike; both programs are evaluated by the oracle in f64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"

enum { ROWS = 3, COLS = 5, POINTS = ROWS * COLS, ARGS = 16, SETS = 2 };
static const char COTANGENT[] = "dresult";
static const double STEP = 1e-5, TOLERANCE = 1e-5;

/* Arguments are inputs of [3, 5], called a0, a1 …: a parameter may have any name, the result's too. */
typedef struct Probe {
    KfProgram *forward, *backward;
    uint32_t arguments;
    const char *parameters[ARGS];
    char names[ARGS][8];
    double values[ARGS][POINTS], cotangent[POINTS], gradient[POINTS];
} Probe;

static int64_t count_of(const KfTensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) count *= tensor->dim[d];
    return count;
}

/* Its inputs by name, what is no argument being the cotangent. */
static bool evaluate(const Probe *probe, KfProgram *program, double result[POINTS]) {
    const void *inputs[ARGS + 1];
    void *outputs[] = {result};
    for (size_t i = 0; i < kf_program_input_count(program); i++) {
        const char *name = kf_program_input(program, i).name;
        inputs[i] = probe->cotangent;
        for (uint32_t a = 0; a < probe->arguments; a++)
            if (strcmp(name, probe->names[a]) == 0) inputs[i] = probe->values[a];
    }
    return kf_program_evaluate(program, inputs, outputs) == KF_OK;
}

static double loss(const Probe *probe, int64_t count) {
    double result[POINTS], sum = 0;
    if (!evaluate(probe, probe->forward, result)) return (double)NAN;
    for (int64_t i = 0; i < count; i++) sum += result[i] * probe->cotangent[i];
    return sum;
}

/* Around zero, then positive: some functions have no others. Multiples of the golden ratio lie evenly. */
static void fill(Probe *probe, uint32_t set) {
    for (uint32_t a = 0; a <= probe->arguments; a++)
        for (uint32_t i = 0; i < POINTS; i++) {
            double unit = fmod((set + 1) * 0.1 + (a * POINTS + i) * 0.6180339887498949, 1);
            if (a == probe->arguments)
                probe->cotangent[i] = 0.5 + unit;
            else
                probe->values[a][i] = set == 0 ? 4 * unit - 2 : 0.25 + 2 * unit;
        }
}

/* How many elements were compared; a wrong one ends it, in *wrong, with what differences say. */
static uint32_t compare(Probe *probe, uint32_t parameter, int64_t count, int *wrong,
                        double *right) {
    uint32_t compared = 0;
    *wrong = -1;
    if (!evaluate(probe, probe->backward, probe->gradient)) return 0;
    for (int i = 0; i < POINTS && *wrong < 0; i++) {
        double *value = &probe->values[parameter][i], kept = *value;
        *value = kept + STEP;
        double above = loss(probe, count);
        *value = kept - STEP;
        double below = loss(probe, count);
        *value = kept;
        double difference = (above - below) / (2 * STEP), stated = probe->gradient[i];
        if (!isfinite(difference) || !isfinite(stated)) continue;
        compared++;
        *right = difference;
        if (fabs(difference - stated) > TOLERANCE * (1 + fabs(difference))) *wrong = i;
    }
    return compared;
}

/* --- programs */

static KfStatus open_backward(KfSession *session, Probe *probe, const char *text, const char *by,
                              const KfProblem *problem) {
    char *backward = NULL;
    KfTensor cotangent = kf_program_output(probe->forward, 0);
    cotangent.name = COTANGENT;
    KfProblem with = *problem;
    with.inputs = &cotangent;
    with.input_count = 1;
    KfStatus status = kf_program_grad(session, text, SIZE_MAX, problem, &by, 1, KF_TEXT, &backward);
    if (status == KF_OK) /* a derivative that is 0 everywhere does not read it */
        status = kf_program_open(session, backward, SIZE_MAX,
                                 strstr(backward, COTANGENT) ? &with : problem, &probe->backward);
    kf_free(backward);
    return status;
}

static KfStatus open_programs(KfSession *session, Probe *probe, const Derivative *derivative) {
    Text text = {0};
    text_printf(&text, "result = %s(", derivative->rule.name);
    for (uint32_t a = 0; a < probe->arguments; a++)
        text_printf(&text, "%s%s", a ? ", " : "", probe->names[a]);
    text_add(&text, ")");
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F64, .rank = 2, .dim = {ROWS, COLS}},
                         .device = "cpu"};
    KfStatus status =
        kf_program_open(session, text_string(&text), SIZE_MAX, &problem, &probe->forward);
    if (status == KF_OK)
        status = open_backward(session, probe, text_string(&text),
                               probe->names[derivative->parameter], &problem);
    text_free(&text);
    return status;
}

static void tell_wrong(Text *out, const Probe *probe, const Derivative *derivative, int at,
                       double right) {
    text_printf(out, "derivative %s wrt %s: ", derivative->rule.name,
                probe->parameters[derivative->parameter]);
    for (uint32_t a = 0; a < probe->arguments; a++)
        text_printf(out, "%s%s = %.6g", a ? ", " : "at ", probe->parameters[a],
                    probe->values[a][at]);
    text_printf(out, " it gives %.6g, differences say %.6g\n",
                probe->gradient[at] / probe->cotangent[at], right / probe->cotangent[at]);
}

static bool is_right(Probe *probe, const Derivative *derivative, Text *out) {
    KfTensor output = kf_program_output(probe->forward, 0);
    uint32_t compared = 0;
    for (uint32_t set = 0; set < SETS && count_of(&output) <= POINTS; set++) {
        int wrong;
        double right;
        fill(probe, set);
        compared += compare(probe, derivative->parameter, count_of(&output), &wrong, &right);
        if (wrong >= 0) return tell_wrong(out, probe, derivative, wrong, right), false;
    }
    if (compared == 0)
        text_printf(out, "derivative %s wrt %s: not checked: no element of it can be compared\n",
                    derivative->rule.name, probe->parameters[derivative->parameter]);
    return true;
}

KfStatus derivative_check(KfSession *session, const Derivative *derivative, bool *right,
                          Text *out) {
    const AstParameter *parameters =
        derivative->rule.ast->parameters.data + derivative->rule.def->parameter_first;
    Probe probe = {.arguments = derivative->rule.def->parameter_count - derivative->product};
    *right = true;
    if (probe.arguments > ARGS) return KF_OK;
    for (uint32_t a = 0; a < probe.arguments; a++) {
        probe.parameters[a] = parameters[a].name;
        snprintf(probe.names[a], sizeof probe.names[a], "a%u", a);
    }
    KfStatus status = open_programs(session, &probe, derivative);
    *right = status == KF_OK && is_right(&probe, derivative, out);
    kf_program_close(probe.forward);
    kf_program_close(probe.backward);
    return status;
}
