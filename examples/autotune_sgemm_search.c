/* How many random points of the matrix product's space does a good one take? The bare parts of the
 * library: the space, a random search of it by size, and the front door beside them.
 *
 *     autotune_sgemm_search [DEVICE [small]] */
#define _XOPEN_SOURCE 700
#include "common.h"

static void print_space(KfSession *session, KfProgram *program) {
    KfSpace *legal, *sensible;
    require(session, kf_program_space(program, "matmul", false, &legal));
    require(session, kf_program_space(program, "matmul", true, &sensible));
    size_t count = kf_space_count(sensible);
    printf("%zu legal points, %zu of them sensible here: %s", kf_space_count(legal), count,
           kf_space_point(sensible, 0));
    printf(" to %s\n\n", kf_space_point(sensible, count - 1));
    kf_space_close(sensible);
    kf_space_close(legal);
}

static void print_row(const char *search, const KfKernel *kernel, double operations, double took) {
    KfResult result = kf_kernel_result(kernel);
    printf("%-12s %10.2f %8.3f %7u %7.1f  %s\n", search, 1e6 * result.time,
           1e-12 * operations / result.time, result.candidates, took, result.winner);
}

int main(int count, char **arguments) {
    Words words = read_words(count, arguments);
    int64_t n = words.small ? 48 : 1024;
    const uint32_t trials[] = {1, 4, 16, 64};
    size_t searches = words.small ? 1 : sizeof trials / sizeof *trials;
    KfTuneOptions options = {.trials = words.small ? 2 : 0, .budget = words.small ? 1 : 120};
    KfSession *session;
    KfKernel *kernel;
    require(session, kf_session_open(&session, NULL));
    KfProgram *program = open_product(session, words.device, n, n, n);
    double operations = 2.0 * (double)(n * n * n), begin;
    printf("a @ b, %lld cubed, f32\n", (long long)n);
    print_space(session, program);

    printf("%-12s %10s %8s %7s %7s  %s\n", "search", "us", "TFLOP/s", "tried", "s", "winner");
    for (size_t i = 0; i < searches; i++) {
        char name[32];
        snprintf(name, sizeof name, "random %u", trials[i]);
        begin = seconds();
        require(session, kf_random(program, trials[i], 1, &options, &kernel));
        print_row(name, kernel, operations, seconds() - begin);
        kf_kernel_close(kernel);
    }
    options.retune = true;
    begin = seconds();
    require(session, kf_tune(program, &options, &kernel));
    print_row("front door", kernel, operations, seconds() - begin);
    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_session_close(session);
    return 0;
}
