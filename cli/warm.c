/* `kfuse warm FILE`. In: a file of lines, each what a command line says behind `kfuse`. Out: their
 * kernels in the store, a line each. A line that fails is told and passed over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"

enum { LINE = 1024, WORDS = 64 };

typedef struct Warm {
    Job *job; /* of the command itself: its options hold for every line */
    const char *path;
    unsigned line;
} Warm;

static void complain(const Warm *warm, const char *message) {
    fprintf(stderr, "%s:%u: %s\n", warm->path, warm->line, message);
}

/* --- words of a line, in place: blanks part them, quotes of either kind hold them together */

static bool next_word(char **rest, char **word) {
    char *from = *rest + strspn(*rest, " \t\r\n"), *to = from, quote = '\0';
    *word = from;
    if (*from == '\0' || *from == '#') return false;
    for (; *from && (quote || !strchr(" \t\r\n", *from)); from++) {
        if (*from == quote)
            quote = '\0';
        else if (!quote && (*from == '\'' || *from == '"'))
            quote = *from;
        else
            *to++ = *from;
    }
    *rest = *from ? from + 1 : from;
    *to = '\0';
    return true;
}

static int split(char *text, char **words) {
    int count = 1;
    char *word;
    words[0] = text;
    while (count < WORDS && next_word(&text, &word)) words[count++] = word;
    return count;
}

/* --- one line */

static void tell(const Job *job, const KfKernel *kernel) {
    KfResult result = kf_kernel_result(kernel);
    KfTensor output = kf_program_output(job->program, 0);
    printf("%s ", job->text);
    for (int d = 0; d < output.rank; d++) printf("%s%lld", d ? "x" : "", (long long)output.dim[d]);
    printf(" %s   %.4g us   %s   %s\n", kf_type_name(output.type), result.time * 1e6, result.winner,
           result.cached ? "was stored" : "tuned");
}

static KfStatus tune_line(Job *job) {
    size_t rest;
    KfStatus status = job_text(job, &rest);
    if (status == KF_OK) status = job_end_of_words(job, rest);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = job_open(job);
    if (status == KF_OK)
        status = job_told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (job->kernel && job->options->json)
        fputs(kf_kernel_report(job->kernel, KF_JSON), stdout);
    else if (job->kernel)
        tell(job, job->kernel);
    return status;
}

static KfStatus warm_line(const Warm *warm, char *text) {
    char *words[WORDS], why[LINE];
    int count = split(text, words);
    if (count == 1) return KF_OK;
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    KfStatus status = KF_ENVIRONMENT;
    if (options && job) {
        *options = *warm->job->options;
        options->command = COMMAND_TUNE;
        options->word_count = 0;
        job->options = options;
        job->session = warm->job->session;
        status = options_add(count, words, options, why, sizeof why);
        if (status == KF_OK && options->command != COMMAND_TUNE)
            status = KF_USAGE,
            snprintf(why, sizeof why, "a line is an expression with its options");
        if (status != KF_OK)
            complain(warm, why);
        else if ((status = tune_line(job)) != KF_OK)
            complain(warm, "not warmed");
        kf_kernel_close(job->kernel);
        kf_program_close(job->program);
        free(job->text_owned);
    }
    free(job);
    free(options);
    return status;
}

static KfStatus unreadable(const Warm *warm) {
    fprintf(stderr, "kfuse: cannot read '%s': %s\n", warm->path, strerror(errno));
    return KF_INPUT;
}

/* Some editors begin a file with a byte order mark. */
static char *behind_mark(char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) ? text : text + 3;
}

KfStatus job_warm(Job *job) {
    if (job->options->word_count == 0)
        return job_complain(KF_USAGE, "warm which file? Its lines are like: 'relu(x+res)' --shape "
                                      "4096x4096 --dtype bf16");
    KfStatus all = job_end_of_words(job, 1);
    if (all != KF_OK) return all;
    Warm warm = {job, job->options->words[0], 0};
    FILE *file = strcmp(warm.path, "-") == 0 ? stdin : fopen(warm.path, "rb");
    if (!file) return unreadable(&warm);
    char *text = NULL;
    size_t room = 0;
    while (all != KF_INTERRUPTED && getline(&text, &room, file) >= 0) {
        KfStatus status = warm_line(&warm, warm.line++ ? text : behind_mark(text));
        fflush(stdout);
        if (all == KF_OK || status == KF_INTERRUPTED) all = status;
    }
    if (ferror(file) && all != KF_INTERRUPTED) all = unreadable(&warm);
    free(text);
    if (file != stdin) fclose(file);
    return all;
}
