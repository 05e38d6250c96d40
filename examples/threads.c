/* kfuse in a program of several threads, on the CPU: two that tune, each by a session of its own, and two that launch
 * one kernel at the same time.
 *
 *     cc threads.c $(pkg-config --cflags --libs kfuse) -lm -pthread -o threads && ./threads */
#include <kfuse.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { COUNT = 20000, LAUNCHES = 100 };

typedef struct Kernel {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
} Kernel;

static bool open_kernel(Kernel *k, const char *text) {
    KfProblem problem = {
        .has_plain_shape = true, .plain = {.rank = 1, .dim = {COUNT}}, .device = "cpu"};
    KfTuneOptions options = {.effort = KF_QUICK, .trials = 4, .budget = 5};
    *k = (Kernel){0};
    return kf_session_open(&k->session, NULL) == KF_OK &&
           kf_program_open(k->session, text, SIZE_MAX, &problem, &k->program) == KF_OK &&
           kf_tune(k->program, &options, &k->kernel) == KF_OK;
}

static void close_kernel(Kernel *k) {
    kf_kernel_close(k->kernel);
    kf_program_close(k->program);
    if (k->session) fputs(kf_session_message(k->session), stderr);
    kf_session_close(k->session);
}

/* --- a session for each thread */

typedef struct Tuner {
    const char *text;
    char winner[128];
} Tuner;

static void *tune(void *argument) {
    Tuner *tuner = argument;
    Kernel k;
    if (open_kernel(&k, tuner->text))
        snprintf(tuner->winner, sizeof tuner->winner, "%s", kf_kernel_result(k.kernel).winner);
    close_kernel(&k);
    return NULL;
}

/* --- a kernel for both */

typedef struct Caller {
    KfKernel *kernel;
    float phase, x[COUNT], out[COUNT];
    double worst;
} Caller;

static void *call(void *argument) {
    Caller *c = argument;
    const void *inputs[] = {c->x};
    void *outputs[] = {c->out};
    for (int i = 0; i < COUNT; i++) c->x[i] = c->phase + (float)i / COUNT;
    for (int i = 0; i < LAUNCHES; i++)
        if (kf_launch(c->kernel, inputs, outputs, NULL) != KF_OK) c->worst = INFINITY;
    for (int i = 0; i < COUNT; i++)
        c->worst = fmax(c->worst, fabs((double)c->out[i] - tanh((double)c->x[i])));
    return NULL;
}

static bool at_once(void *(*work)(void *argument), void *a, void *b) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, a)) return false;
    work(b);
    return pthread_join(thread, NULL) == 0;
}

int main(void) {
    static Tuner tuners[] = {{.text = "exp(x) * x"}, {.text = "sqrt(abs(x)) + 1"}};
    static Caller callers[] = {{.phase = -1}, {.phase = 0.5F}};
    Kernel k;
    bool good = at_once(tune, &tuners[0], &tuners[1]);
    for (int i = 0; i < 2; i++) {
        printf("%s: winner %s\n", tuners[i].text, tuners[i].winner);
        good = good && tuners[i].winner[0];
    }
    good = open_kernel(&k, "tanh(x)") && good;
    callers[0].kernel = callers[1].kernel = k.kernel;
    good = good && at_once(call, &callers[0], &callers[1]);
    printf("tanh(x), %d launches from each of two threads: worst error %.1e and %.1e\n", LAUNCHES,
           callers[0].worst, callers[1].worst);
    close_kernel(&k);
    return good && callers[0].worst < 1e-6 && callers[1].worst < 1e-6 ? 0 : 1;
}
