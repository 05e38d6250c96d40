/* The matrix product on the CPU against OpenBLAS: bench_cpu_matmul THREADS SIZE…
 *
 * Both have the first THREADS processors that this process may use. The kernel is tuned for the size first; then the
 * two take turns, and each one's fastest of ROUNDS counts. */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kfuse.h"

enum { ROUNDS = 12, ROW_MAJOR = 101, NO_TRANSPOSE = 111 }; /* cblas.h */
typedef void Sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct Square {
    int size;
    float *a, *b, *ours, *theirs;
} Square;

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* --- the machine */

static bool keep_cpus(int count) {
    cpu_set_t all, kept;
    CPU_ZERO(&kept);
    if (sched_getaffinity(0, sizeof all, &all)) return false;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&kept) < count; cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &kept);
    return CPU_COUNT(&kept) == count && !sched_setaffinity(0, sizeof kept, &kept);
}

/* NULL after a message. It reads its number of threads when it is loaded. */
static Sgemm *open_blas(const char *threads) {
    const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    setenv("OPENBLAS_NUM_THREADS", threads, 1);
    for (int i = 0; i < 2 && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    Sgemm *sgemm = library ? (Sgemm *)(uintptr_t)dlsym(library, "cblas_sgemm") : NULL;
    if (!sgemm) fputs("no OpenBLAS to compare with: apt-get install libopenblas0\n", stderr);
    return sgemm;
}

/* --- a size */

static float *make(size_t count) {
    float *array = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!array) abort();
    for (size_t i = 0; i < count; i++) array[i] = (float)(i * 2654435761u % 2001) * 1e-3f - 1;
    return array;
}

static Square square_open(int size) {
    size_t count = (size_t)size * (size_t)size;
    return (Square){size, make(count), make(count), make(count), make(count)};
}

static void square_close(Square *s) {
    free(s->a), free(s->b), free(s->ours), free(s->theirs);
}

/* NaN where one has it. */
static double worst_difference(const Square *s) {
    double worst = 0;
    for (size_t i = 0; i < (size_t)s->size * (size_t)s->size; i++) {
        double difference = fabs((double)s->ours[i] - (double)s->theirs[i]);
        if (!(difference <= worst)) worst = difference;
    }
    return worst;
}

static double time_blas(Sgemm *sgemm, const Square *s) {
    int n = s->size;
    double begin = seconds();
    sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, s->a, n, s->b, n, 0, s->theirs, n);
    return seconds() - begin;
}

/* Below 0 where the launch failed. */
static double time_kernel(KfKernel *kernel, const Square *s) {
    const void *inputs[] = {s->a, s->b};
    void *outputs[] = {s->ours};
    double begin = seconds();
    return kf_launch(kernel, inputs, outputs, NULL) == KF_OK ? seconds() - begin : -1;
}

static bool compare(KfKernel *kernel, Sgemm *sgemm, const char *threads, const Square *s) {
    double ours = INFINITY, theirs = INFINITY, flops = 2 * pow(s->size, 3);
    for (int round = 0; round < ROUNDS; round++) {
        ours = fmin(ours, time_kernel(kernel, s));
        theirs = fmin(theirs, time_blas(sgemm, s));
    }
    if (ours < 0) return false;
    printf("%4d^3, threads %s: kfuse %8.3f ms %6.1f GFLOP/s, OpenBLAS %8.3f ms %6.1f GFLOP/s, "
           "ratio %.2f; "
           "largest difference %.1e; %s\n",
           s->size, threads, ours * 1e3, flops / ours * 1e-9, theirs * 1e3, flops / theirs * 1e-9,
           theirs / ours, worst_difference(s), kf_kernel_result(kernel).winner);
    return worst_difference(s) <= 1e-5 * s->size;
}

static bool measure(KfSession *session, Sgemm *sgemm, const char *threads, int size) {
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 2, .dim = {size, size}},
                         .device = "cpu"};
    KfTuneOptions options = {.retune = true};
    KfProgram *program;
    KfKernel *kernel;
    if (kf_program_open(session, "a @ b", SIZE_MAX, &problem, &program) != KF_OK) return false;
    bool good = kf_tune(program, &options, &kernel) == KF_OK;
    if (good) {
        Square square = square_open(size);
        good = compare(kernel, sgemm, threads, &square);
        square_close(&square);
        kf_kernel_close(kernel);
    }
    kf_program_close(program);
    return good;
}

int main(int argc, char **argv) {
    int threads = argc > 2 ? atoi(argv[1]) : 0;
    if (threads < 1) return fputs("usage: bench_cpu_matmul THREADS SIZE...\n", stderr), 2;
    if (!keep_cpus(threads)) return fprintf(stderr, "no %d processors here\n", threads), 1;
    Sgemm *sgemm = open_blas(argv[1]);
    if (!sgemm) return 1;
    KfSession *session;
    bool good = kf_session_open(&session, NULL) == KF_OK;
    for (int i = 2; i < argc && good; i++) good = measure(session, sgemm, argv[1], atoi(argv[i]));
    fputs(kf_session_message(session), stderr);
    kf_session_close(session);
    return good ? 0 : 1;
}
