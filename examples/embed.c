/* kfuse inside a program: compile an expression, tune it, launch it, read what it won.
 *
 *     cc embed.c $(pkg-config --cflags --libs kfuse) -lm -o embed && ./embed */
#include <kfuse.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, COLS = 1000 };

static int give_up(KfSession *session) {
    fputs(kf_session_message(session), stderr);
    kf_session_close(session);
    return 1;
}

/* The worst difference from silu(x + b) * gate in double. */
static double worst_error(const float *x, const float *b, const float *gate, const float *out) {
    double worst = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        double h = (double)(x[i] + b[i % COLS]);
        double error = fabs((double)out[i] - h / (1 + exp(-h)) * (double)gate[i]);
        if (error > worst) worst = error;
    }
    return worst;
}

int main(void) {
    KfSession *session;
    if (kf_session_open(&session, NULL) != KF_OK) return give_up(session);

    /* x and gate have the plain shape; b is a row that broadcasts. */
    KfTensor bias = {.name = "b", .rank = 1, .dim = {COLS}};
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 2, .dim = {ROWS, COLS}},
                         .inputs = &bias,
                         .input_count = 1,
                         .device = "cpu"};
    KfProgram *program;
    if (kf_program_open(session, "silu(x + b) * gate", SIZE_MAX, &problem, &program) != KF_OK)
        return give_up(session);

    KfTuneOptions options = {.effort = KF_QUICK, .budget = 5};
    KfKernel *kernel;
    if (kf_tune(program, &options, &kernel) != KF_OK) return give_up(session);

    float *x = malloc(sizeof(float[ROWS * COLS])), *gate = malloc(sizeof(float[ROWS * COLS]));
    float *out = malloc(sizeof(float[ROWS * COLS])), b[COLS];
    if (!x || !gate || !out) return 1;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        x[i] = (float)sin((double)i);
        gate[i] = (float)cos((double)i * 0.5);
    }
    for (size_t i = 0; i < COLS; i++) b[i] = (float)i / COLS;

    const void *inputs[] = {x, b, gate}; /* in order of first appearance */
    void *outputs[] = {out};
    if (kf_launch(kernel, inputs, outputs, NULL) != KF_OK) return give_up(session);

    KfResult result = kf_kernel_result(kernel);
    printf("winner %s, %.2fx over one kernel per op, worst error %.1e\n", result.winner,
           result.speedup, worst_error(x, b, gate, out));
    int status = worst_error(x, b, gate, out) < 1e-5 ? 0 : 1;
    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_session_close(session);
    free(x), free(gate), free(out);
    return status;
}
