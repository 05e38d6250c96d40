/* kfuse inside a program: compile an expression, tune it, launch it, read what it won.
 *
 *     cc embed.c $(pkg-config --cflags --libs kfuse) -lm -o embed && ./embed */
#include <kfuse.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 300, COLS = 1000 };

static float x[ROWS][COLS], b[COLS], gate[ROWS][COLS], out[ROWS][COLS];

static void fill(void) {
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i / COLS][i % COLS] = (float)sin(i);
        gate[i / COLS][i % COLS] = (float)cos(i * 0.5);
    }
    for (int i = 0; i < COLS; i++) b[i] = (float)i / COLS;
}

/* The worst difference from silu(x + b) * gate in double. */
static double worst_error(void) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            double h = (double)(x[r][c] + b[c]);
            double error = fabs((double)out[r][c] - h / (1 + exp(-h)) * (double)gate[r][c]);
            if (error > worst) worst = error;
        }
    return worst;
}

/* x and gate have the plain shape; b is a row that broadcasts. */
static KfStatus compile(KfSession *session, KfProgram **program) {
    KfTensor bias = {.name = "b", .rank = 1, .dim = {COLS}};
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 2, .dim = {ROWS, COLS}},
                         .inputs = &bias,
                         .input_count = 1,
                         .device = "cpu"};
    return kf_program_open(session, "silu(x + b) * gate", SIZE_MAX, &problem, program);
}

int main(void) {
    KfSession *session;
    KfProgram *program = NULL;
    KfKernel *kernel = NULL;
    KfTuneOptions options = {.effort = KF_QUICK, .budget = 5};
    const void *inputs[] = {x, b, gate}; /* in order of first appearance */
    void *outputs[] = {out};
    fill();

    KfStatus status = kf_session_open(&session, NULL);
    if (!session) return status;
    if (status == KF_OK) status = compile(session, &program);
    if (status == KF_OK) status = kf_tune(program, &options, &kernel);
    if (status == KF_OK) status = kf_launch(kernel, inputs, outputs, NULL);
    if (status == KF_OK) {
        KfResult result = kf_kernel_result(kernel);
        printf("winner %s, %.2fx over one kernel per op, worst error %.1e\n", result.winner,
               result.speedup, worst_error());
        if (worst_error() > 1e-5) status = KF_NO_KERNEL;
    } else
        fputs(kf_session_message(session), stderr);

    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_session_close(session);
    return status;
}
