/* `kfuse warm FILE`. In: a list. Out: its kernels in the store, one after another, a line each. A line that
 * fails is told and passed over. */
#include <stdio.h>

#include "cli/list.h"

static void tell(void *context, const Job *line) {
    (void)context;
    if (line->options->json) {
        fputs(kf_kernel_report(line->kernel, KF_JSON), stdout);
        return;
    }
    KfResult result = kf_kernel_result(line->kernel);
    KfTensor output = kf_program_output(line->program, 0);
    printf("%s ", line->text);
    for (int d = 0; d < output.rank; d++) printf("%s%lld", d ? "x" : "", (long long)output.dim[d]);
    printf(" %s   %.4g us   %s   %s\n", kf_type_name(output.type), result.time * 1e6, result.winner,
           result.cached ? "was stored" : "tuned");
}

KfStatus job_warm(Job *job) {
    List list = {0};
    if (job->options->word_count == 0)
        return job_complain(KF_USAGE, "warm which file? Its lines are like: 'relu(x+res)' --shape "
                                      "4096x4096 --dtype bf16");
    KfStatus all = job_end_of_words(job, 1);
    if (all == KF_OK) all = list_read(job->options->words[0], &list);
    bool readable = all == KF_OK;
    for (size_t i = 0; i < list.count && readable && all != KF_INTERRUPTED; i++) {
        KfStatus status = list_tune(&list, i, job, "not warmed", tell, NULL);
        fflush(stdout);
        if (all == KF_OK || status == KF_INTERRUPTED) all = status;
    }
    list_free(&list);
    return all;
}
