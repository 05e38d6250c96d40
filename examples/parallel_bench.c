/* What compiling on all CPUs saves: the same candidates of the matrix product, with one compile worker
 * and with as many as there are CPUs, each from an empty store. Times on the device are never taken
 * side by side, so the winner is the same, or as fast.
 *
 *     parallel_bench [DEVICE [small]] */
#define _XOPEN_SOURCE 700
#include "common.h"

typedef struct Search {
    double took, best;
    char winner[256];
} Search;

/* The line of the report that says what took how long. */
static void print_took(KfKernel *kernel) {
    const char *line = strstr(kf_kernel_report(kernel, KF_TEXT), "\ntook");
    if (line) printf("    %.*s\n", (int)strcspn(line + 1, "\n"), line + 1);
}

static Search search(Words words, int64_t n, uint32_t configs, int jobs) {
    char folder[] = "/tmp/parallel_bench-XXXXXX";
    KfSession *session = open_fresh(folder);
    KfProgram *program = open_product(session, words.device, n, n, n);
    KfTuneOptions options = {.jobs = jobs, .budget = words.small ? 4 : 600};
    KfKernel *kernel;
    double begin = seconds();
    require(session, kf_random(program, configs, 1, &options, &kernel));
    Search found = {.took = seconds() - begin};
    KfResult result = kf_kernel_result(kernel);
    found.best = result.time;
    snprintf(found.winner, sizeof found.winner, "%s", result.winner);
    printf("%3u configs, %2d at once: %7.2f s, best %.2f us, %s\n", result.candidates, jobs,
           found.took, 1e6 * found.best, found.winner);
    print_took(kernel);
    kf_kernel_close(kernel);
    kf_program_close(program);
    close_fresh(session, folder);
    return found;
}

int main(int count, char **arguments) {
    Words words = read_words(count, arguments);
    const uint32_t configs[] = {words.small ? 2 : 8, words.small ? 3 : 48};
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int64_t n = words.small ? 48 : 1024;
    printf("a @ b, %lld cubed, f32; %d CPUs\n", (long long)n, cpus);
    for (size_t i = 0; i < 2; i++) {
        Search one = search(words, n, configs[i], 1), all = search(words, n, configs[i], cpus);
        bool same = strcmp(one.winner, all.winner) == 0;
        printf("    %.2f times as fast; %s winner, %.3f of its time\n", one.took / all.took,
               same ? "the same" : "another", all.best / one.best);
    }
    return 0;
}
