/* `kfuse tune-all FILE`. In: a list, devices. Out: its kernels in one store, and a summary.
 *
 * The one idea: a child process a device takes the next line from a counter in shared memory, and tunes it
 * as the command line would; what is in the store is answered from there, so that a run that was ended
 * goes on where it was. The parent only waits: of a child that dies its line is lost, and another child
 * takes the rest. */
#include "cli/tune_all.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- what is to be done */

static bool add_device(Fleet *fleet, const char *name, size_t length) {
    if (fleet->device_count == FLEET_DEVICES || length >= DEVICE_NAME) return false;
    snprintf(fleet->devices[fleet->device_count++], DEVICE_NAME, "%.*s", (int)length, name);
    return true;
}

/* Every GPU; the CPU where there is none. */
static void add_all_devices(Fleet *fleet) {
    char name[DEVICE_NAME], why[512];
    for (int i = 0; i < FLEET_DEVICES; i++) {
        snprintf(name, sizeof name, "cuda:%d", i);
        if (kf_device_find(name, why, sizeof why) != KF_OK) break;
        add_device(fleet, name, strlen(name));
    }
    if (fleet->device_count == 0) add_device(fleet, "cpu", 3);
}

/* "cuda:0,cuda:1", "all"; without, --device's or the default. One that is not there would take line after
 * line and do none. */
static KfStatus name_devices(Fleet *fleet) {
    const char *names = fleet->options->devices;
    char why[512];
    if (!names) {
        const char *one = fleet->options->device ? fleet->options->device : "";
        return add_device(fleet, one, strlen(one))
                   ? KF_OK
                   : job_complain(KF_USAGE, "this is no name of a device");
    }
    if (strcmp(names, "all") == 0) return add_all_devices(fleet), KF_OK;
    for (size_t length; *names; names += length + (names[length] == ',')) {
        length = strcspn(names, ",");
        if (!add_device(fleet, names, length))
            return job_complain(KF_USAGE, "--devices takes all, or cuda:0,cuda:1,… of at most 64");
        KfStatus status = kf_device_find(fleet->devices[fleet->device_count - 1], why, sizeof why);
        if (status != KF_OK) return job_complain(status, why);
    }
    return fleet->device_count ? KF_OK : job_complain(KF_USAGE, "--devices names none");
}

/* Each N-th line, from the I-th on: the same ones, whatever has been done. */
static void keep_shard(Fleet *fleet) {
    List *list = &fleet->list;
    unsigned shard = fleet->options->shard, shards = fleet->options->shards;
    size_t kept = 0;
    fleet->all_lines = list->count;
    for (size_t i = 0; i < list->count && shards; i++) {
        if (i % shards == shard - 1)
            list->lines[kept++] = list->lines[i];
        else
            free(list->lines[i].text);
    }
    if (shards) list->count = kept;
}

static KfStatus share_board(Fleet *fleet) {
    size_t size = sizeof(Board) + fleet->list.count * sizeof(LineResult);
    void *board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) return job_complain(KF_ENVIRONMENT, "out of memory");
    fleet->board = board; /* all zero: every line waits */
    return KF_OK;
}

static KfStatus prepare(Fleet *fleet) {
    const Options *o = fleet->options;
    if (o->word_count == 0)
        return job_complain(KF_USAGE, "tune-all which file? Its lines are like: 'relu(x+res)' "
                                      "--shape 4096x4096 --dtype bf16");
    if (o->word_count > 1) {
        fprintf(stderr, "kfuse: '%s' is one word too many\n", o->words[1]);
        return KF_USAGE;
    }
    KfStatus status = name_devices(fleet);
    if (status == KF_OK) status = list_read(o->words[0], &fleet->list);
    if (status != KF_OK) return status;
    keep_shard(fleet);
    return share_board(fleet);
}

/* --- a child */

/* What a line has to say is caught, so that it comes out in one piece, and its first line is the reason. */
typedef struct Caught {
    int file, before; /* standard error now, and as it was */
} Caught;

static bool catch_errors(Caught *caught) {
    caught->file = memfd_create("kfuse", MFD_CLOEXEC);
    caught->before = dup(STDERR_FILENO);
    return caught->file >= 0 && caught->before >= 0 && dup2(caught->file, STDERR_FILENO) >= 0;
}

/* Without "kfuse: " or the line's number before it. */
static void keep_reason(LineResult *result, const char *text) {
    const char *end = strchr(text, '\n'), *colon = strstr(text, ": ");
    size_t length = end ? (size_t)(end - text) : strlen(text);
    if (colon && colon < text + length) {
        length -= (size_t)(colon + 2 - text);
        text = colon + 2;
    }
    snprintf(result->reason, sizeof result->reason, "%.*s", (int)length, text);
}

static void pass_on(const Caught *caught, LineResult *result) {
    off_t length = lseek(caught->file, 0, SEEK_END);
    char *text = length > 0 ? malloc((size_t)length + 1) : NULL;
    if (text && pread(caught->file, text, (size_t)length, 0) == length) {
        text[length] = '\0';
        if (result->status != KF_OK) keep_reason(result, text);
        if (write(caught->before, text, (size_t)length) < 0) result->reason[0] = '\0';
    }
    free(text);
    if (ftruncate(caught->file, 0) == 0) lseek(caught->file, 0, SEEK_SET);
}

static void note_kernel(void *context, const Job *line) {
    LineResult *result = context;
    KfResult found = kf_kernel_result(line->kernel);
    KfTensor output = kf_program_output(line->program, 0);
    result->time = found.time;
    result->speedup = found.speedup;
    result->cached = found.cached;
    snprintf(result->winner, sizeof result->winner, "%s", found.winner);
    snprintf(result->type, sizeof result->type, "%s", kf_type_name(output.type));
    size_t length = 0;
    for (int d = 0; d < output.rank; d++)
        length += (size_t)snprintf(result->shape + length, sizeof result->shape - length, "%s%lld",
                                   d ? "x" : "", (long long)output.dim[d]);
}

static void tell_progress(const Fleet *fleet, const LineResult *result, const ListLine *line,
                          int to) {
    size_t done = atomic_fetch_add(&fleet->board->finished, 1) + 1;
    const char *what = result->status != KF_OK ? "failed" : result->cached ? "was stored" : "tuned";
    const char *device = fleet->devices[result->device];
    if (!fleet->options->quiet)
        dprintf(to, "%zu/%zu  %s:%u  %s%s%s\n", done, fleet->list.count, fleet->list.path,
                line->number, what, *device ? " on " : "", device);
}

/* The child's session is open: lines, until there are no more. */
static KfStatus take_lines(Job *job) {
    const Fleet *fleet = job->fleet;
    Board *board = fleet->board;
    Caught caught;
    if (!catch_errors(&caught)) return job_complain(KF_ENVIRONMENT, "no file for messages");
    KfStatus status = KF_OK;
    while (status != KF_INTERRUPTED && !board->stop) {
        size_t index = atomic_fetch_add(&board->next, 1);
        if (index >= fleet->list.count) break;
        LineResult *result = &board->lines[index];
        result->device = job->device;
        result->state = LINE_TAKEN;
        ListLine line = fleet->list.lines[index];
        status = result->status =
            list_tune(&fleet->list, index, job, "not tuned", note_kernel, result);
        fflush(stderr);
        result->state = status == KF_INTERRUPTED ? LINE_WAITS : LINE_DONE;
        pass_on(&caught, result);
        if (status != KF_INTERRUPTED) tell_progress(fleet, result, &line, caught.before);
    }
    return status == KF_INTERRUPTED ? status : KF_OK;
}

/* CPUs are shared out evenly to the compile workers of all devices. */
static int share_jobs(const Fleet *fleet) {
    cpu_set_t allowed;
    int cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    int each = cpus / (int)fleet->device_count;
    return fleet->device_count == 1 ? 0 : each > 1 ? each : 1;
}

static KfStatus work(const Fleet *fleet, uint32_t device, WithSession *with_session) {
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    if (!options || !job) return job_complain(KF_ENVIRONMENT, "out of memory");
    *options = *fleet->options;
    options->device = *fleet->devices[device] ? fleet->devices[device] : NULL;
    options->quiet = true;
    if (options->tune.jobs == 0) options->tune.jobs = share_jobs(fleet);
    job->options = options;
    job->fleet = fleet;
    job->device = device;
    return with_session(job, take_lines);
}

/* --- the parent */

static bool start(Fleet *fleet, uint32_t device, const sigset_t *before,
                  WithSession *with_session) {
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, before, NULL);
        KfStatus status = getppid() == parent ? work(fleet, device, with_session) : KF_INTERRUPTED;
        fflush(NULL);
        _exit((int)status);
    }
    if (child > 0) fleet->children[device] = child;
    return child > 0;
}

static uint32_t running(const Fleet *fleet) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < fleet->device_count; i++) count += fleet->children[i] > 0;
    return count;
}

static void kill_all(const Fleet *fleet, int signal_number) {
    for (uint32_t i = 0; i < fleet->device_count; i++)
        if (fleet->children[i] > 0) kill(fleet->children[i], signal_number);
}

/* The line that a child had when it died. */
static void lose_line(const Fleet *fleet, uint32_t device, int signal_number) {
    for (size_t i = 0; i < fleet->list.count; i++) {
        LineResult *result = &fleet->board->lines[i];
        if (result->state != LINE_TAKEN || result->device != device) continue;
        result->state = fleet->board->stop ? LINE_WAITS : LINE_DONE;
        result->status = KF_ENVIRONMENT;
        snprintf(result->reason, sizeof result->reason, "its process was ended by signal %d",
                 signal_number);
    }
}

static bool is_left(const Fleet *fleet) {
    return !fleet->board->stop && fleet->board->next < fleet->list.count;
}

/* Children that ended. One that a signal ended while it had a line is replaced; what went wrong before any
 * line would go wrong again. */
static KfStatus collect(Fleet *fleet, const sigset_t *before, WithSession *with_session) {
    KfStatus worst = KF_OK;
    int ended;
    for (pid_t pid; (pid = waitpid(-1, &ended, WNOHANG)) > 0;) {
        for (uint32_t i = 0; i < fleet->device_count; i++) {
            if (fleet->children[i] != pid) continue;
            fleet->children[i] = 0;
            if (WIFEXITED(ended) && WEXITSTATUS(ended) != 0) worst = (KfStatus)WEXITSTATUS(ended);
            if (!WIFSIGNALED(ended)) continue;
            lose_line(fleet, i, WTERMSIG(ended));
            if (is_left(fleet) && !start(fleet, i, before, with_session)) worst = KF_ENVIRONMENT;
        }
    }
    return worst;
}

/* Children get the other signal than ours: a terminal's reached them already, and of one kind they take one
 * quietly. */
static void interrupt(Fleet *fleet, int signal_number) {
    bool again = atomic_exchange(&fleet->board->stop, true);
    kill_all(fleet, again ? SIGKILL : signal_number == SIGINT ? SIGTERM : SIGINT);
}

static KfStatus run(Fleet *fleet, WithSession *with_session) {
    sigset_t awaited, before;
    KfStatus status = KF_OK;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, &before); /* taken one by one below: no handler, no race */
    fflush(NULL);
    for (uint32_t i = 0; i < fleet->device_count && i < fleet->list.count; i++)
        if (!start(fleet, i, &before, with_session))
            status = job_complain(KF_ENVIRONMENT, strerror(errno));
    while (running(fleet) > 0) {
        int signal_number = sigwaitinfo(&awaited, NULL);
        if (signal_number == SIGINT || signal_number == SIGTERM) interrupt(fleet, signal_number);
        KfStatus ended = collect(fleet, &before, with_session);
        if (status == KF_OK) status = ended;
    }
    if (fleet->board->stop) status = KF_INTERRUPTED;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* The first line's that failed. */
static KfStatus first_failure(const Fleet *fleet) {
    for (size_t i = 0; i < fleet->list.count; i++) {
        const LineResult *result = &fleet->board->lines[i];
        if (result->state == LINE_DONE && result->status != KF_OK) return result->status;
    }
    return KF_OK;
}

/* One that came when every line was done has interrupted nothing. */
static KfStatus tell_left(size_t left) {
    if (left == 0) return KF_OK;
    fflush(stdout);
    fprintf(stderr,
            "kfuse: interrupted: %zu line%s left, which the same command does when run again; what "
            "was done is in the store\n",
            left, left == 1 ? " is" : "s are");
    return KF_INTERRUPTED;
}

KfStatus job_tune_all(Job *job, WithSession *with_session) {
    Fleet *fleet = calloc(1, sizeof *fleet);
    if (!fleet) return job_complain(KF_ENVIRONMENT, "out of memory");
    fleet->options = job->options;
    KfStatus status = prepare(fleet);
    if (status == KF_OK) {
        status = run(fleet, with_session);
        size_t left = tune_all_report(fleet);
        if (status == KF_INTERRUPTED) status = tell_left(left);
        if (status == KF_OK) status = first_failure(fleet);
        munmap(fleet->board, sizeof(Board) + fleet->list.count * sizeof(LineResult));
    }
    list_free(&fleet->list);
    free(fleet);
    return status;
}
