/* The front door: one call that searches when it must and answers from the store when it can. A near
 * shape is answered by its bucket's winner; a kernel that was edited is another kernel.
 *
 *     tune_demo [DEVICE [small]] */
#define _XOPEN_SOURCE 700
#include "common.h"

static const char cuda_text[] =
    "//! kernel   scale\n"
    "//! computes y = x * 2\n"
    "//! input    x[n] : f32\n"
    "//! output   y[n] : like x\n"
    "//! args     x y n\n"
    "//! knob     __BLOCK__ 256 128 512\n"
    "//! launch   grid = ceildiv(n, __BLOCK__)  block = __BLOCK__\n"
    "extern \"C\" __global__ void scale(const float *x, float *y, long long n) {\n"
    "    long long i = (long long)blockIdx.x * __BLOCK__ + threadIdx.x;\n"
    "    if (i < n) y[i] = %s;\n"
    "}\n";

static const char c_text[] =
    "//! kernel   scale\n"
    "//! computes y = x * 2\n"
    "//! input    x[n] : f32\n"
    "//! output   y[n] : like x\n"
    "//! args     x y n\n"
    "//! knob     __BLOCK__ 4096 1024 16384\n"
    "//! launch   block = cpus\n"
    "#include <stdint.h>\n"
    "void KF_ENTRY(scale)(void *const *args, int64_t part, int64_t parts) {\n"
    "    const float *x = *(float *const *)args[0];\n"
    "    float *y = *(float *const *)args[1];\n"
    "    int64_t n = *(const int64_t *)args[2];\n"
    "    for (int64_t at = part * __BLOCK__; at < n; at += parts * __BLOCK__)\n"
    "        for (int64_t i = at; i < n && i < at + __BLOCK__; i++) y[i] = %s;\n"
    "}\n";

/* Tunes and prints a line. Nothing compiled: the store had the answer. */
static KfStatus tune(const char *what, KfProgram *program, Words words) {
    KfTuneOptions options = {.trials = words.small ? 2 : 0};
    KfKernel *kernel;
    double begin = seconds();
    KfStatus status = kf_tune(program, &options, &kernel);
    if (status != KF_OK) return status;
    double took = seconds() - begin;
    KfResult result = kf_kernel_result(kernel);
    printf("%-26s %-6s %8u %8.3f %10.2f  %s\n", what, result.compiled > 0 ? "search" : "hit",
           result.compiled, took, 1e6 * result.time, result.winner);
    kf_kernel_close(kernel);
    return KF_OK;
}

static void tune_product(KfSession *session, int64_t n, Words words) {
    char what[64];
    snprintf(what, sizeof what, "a @ b, %lld cubed", (long long)n);
    KfProgram *program = open_product(session, words.device, n, n, n);
    require(session, tune(what, program, words));
    kf_program_close(program);
}

/* Writes the kernel file, whose body is `body`, and tunes it. */
static KfStatus tune_file(KfSession *session, const char *what, const char *path, const char *text,
                          const char *body, Words words) {
    KfTensor x = {.name = "x", .rank = 1, .dim = {words.small ? 5000 : 1 << 24}};
    KfProblem problem = {.inputs = &x, .input_count = 1, .device = words.device};
    KfTemplate *template;
    KfProgram *program;
    FILE *file = fopen(path, "w");
    if (!file) return KF_ENVIRONMENT;
    fprintf(file, text, body);
    fclose(file);
    require(session, kf_template_open(session, path, NULL, &template));
    require(session, kf_template_program(template, &problem, &program));
    KfStatus status = tune(what, program, words);
    kf_program_close(program);
    kf_template_close(template);
    return status;
}

/* In the device's language; where no device is named, in CUDA if that runs here. */
static void tune_files(KfSession *session, const char *folder, Words words) {
    bool c = words.device && strncmp(words.device, "cpu", 3) == 0;
    char path[64];
    snprintf(path, sizeof path, "%s/scale.%s", folder, c ? "c" : "cu");
    KfStatus status = tune_file(session, "scale", path, c ? c_text : cuda_text, "x[i] * 2", words);
    if (status == KF_ENVIRONMENT && !words.device) {
        unlink(path);
        words.device = "cpu";
        tune_files(session, folder, words);
        return;
    }
    require(session, status);
    require(session,
            tune_file(session, "scale again", path, c ? c_text : cuda_text, "x[i] * 2", words));
    require(session, tune_file(session, "scale, edited", path, c ? c_text : cuda_text,
                               "x[i] + x[i]", words));
    unlink(path);
}

int main(int count, char **arguments) {
    Words words = read_words(count, arguments);
    char folder[] = "/tmp/tune_demo-XXXXXX";
    KfSession *session = open_fresh(folder);
    printf("%-26s %-6s %8s %8s %10s  %s\n", "", "", "compiled", "s", "us", "winner");
    tune_product(session, words.small ? 64 : 1024, words);
    tune_product(session, words.small ? 64 : 1024, words);
    tune_product(session, words.small ? 60 : 1000, words);
    tune_files(session, folder, words);
    close_fresh(session, folder);
    return 0;
}
