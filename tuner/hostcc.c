/* In: C text. Out: a shared object, or the compiler's first complaint. The one idea: files are
 * memfds with fixed numbers in the child, so that no name, no folder and no cleaning up is needed.
 */
#include "tuner/hostcc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/host.h"

extern char **environ;

/* The child's descriptors besides 0 (source), 1 (answers) and 2 (complaints). */
enum { FD_OBJECT = 3, FD_SHARED = 4, FD_FIRST_FREE = 5, WORDS_MAX = 48 };
#define PATH_OBJECT "/proc/self/fd/3"
#define PATH_SHARED "/proc/self/fd/4"

/* What makes code. Linking never sees -ffast-math: it would add a start-up file that switches
 * subnormals off in the whole process (facts.md, 8). */
static const char *const compile_options[] = {
    "-O2",
    "-std=gnu11",
    "-xc",
    "-fPIC",
    "-w",
    "-pipe",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ftree-vectorize",
    "-ffp-contract=off",
    "-fvisibility=default",
    NULL,
};
static const char *const link_options[] = {"-shared", "-Wl,--build-id=none", NULL};
/* gcc's linker plug-in would want a file in TMPDIR for its symbol resolution. */
static const char *const link_options_gcc[] = {"-fno-use-linker-plugin", NULL};
static const char *const libraries[] = {"-lmvec", "-lm", NULL};

typedef struct Words {
    const char *list[WORDS_MAX];
    int count;
} Words;

static void add(Words *words, const char *const *more) {
    for (; *more && words->count < WORDS_MAX - 1; more++) words->list[words->count++] = *more;
}

static bool add_one(Words *words, const char *word) {
    const char *const list[] = {word, NULL};
    add(words, list);
    return true;
}

static void add_options(Words *words, const HostCompiler *compiler) {
    add(words, compiler->options ? compiler->options : compile_options);
    if (!compiler->options) add_one(words, compiler->machine);
}

/* --- finding it */

static bool is_program(const char *path) {
    struct stat stat_buffer;
    return stat(path, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode) && access(path, X_OK) == 0;
}

static bool on_path(const char *name) {
    if (strchr(name, '/')) return is_program(name);
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        char full[PATH_MAX];
        int length = (int)strcspn(at, ":");
        snprintf(full, sizeof full, "%.*s/%s", length, at, name);
        if (length > 0 && is_program(full)) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* Splits compiler->text at spaces. False if there is nothing, or too much. */
static bool split(HostCompiler *compiler) {
    size_t count = 0, room = sizeof compiler->words / sizeof *compiler->words;
    char *rest = NULL;
    for (char *word = strtok_r(compiler->text, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        if (count + 1 >= room) return false;
        compiler->words[count++] = word;
    }
    compiler->words[count] = NULL;
    return count > 0;
}

static bool take(HostCompiler *compiler, const char *command) {
    *compiler = (HostCompiler){0};
    if (strlen(command) >= sizeof compiler->text) return false;
    strcpy(compiler->text, command);
    return split(compiler) && on_path(compiler->words[0]);
}

static bool find_program(HostCompiler *compiler, Why *why) {
    const char *const names[] = {"cc", "gcc", "clang"};
    const char *wanted = getenv("CC");
    if (wanted && *wanted) {
        if (take(compiler, wanted)) return true;
        return why_set(why, "CC='%.200s' is not a program on PATH", wanted);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (take(compiler, names[i])) return true;
    return why_set(why, "no C compiler: install gcc or clang (apt-get install gcc), or set CC");
}

bool hostcc_find(HostCompiler *compiler, Why *why) {
    const char *isa;
    if (!host_isa(&isa, why) || !find_program(compiler, why)) return false;
    snprintf(compiler->machine, sizeof compiler->machine, "-march=%s", isa ? isa : "native");
    return true;
}

/* --- running it */

/* A file in memory whose number is above those that the child uses. -1: none. */
static int memory_file(void) {
    int fd = memfd_create("kfuse", MFD_CLOEXEC);
    if (fd < 0 || fd >= FD_FIRST_FREE) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST_FREE);
    close(fd);
    return higher;
}

static bool write_all(int fd, const char *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t written = pwrite(fd, bytes + done, length - done, (off_t)done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        done += (size_t)written;
    }
    return true;
}

static bool read_all(int fd, Text *out) {
    char part[16384];
    for (off_t at = 0;;) {
        ssize_t got = pread(fd, part, sizeof part, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return true;
        text_add_bytes(out, part, (size_t)got);
        at += got;
    }
}

/* Complaints in English, whatever the user's language: they stand in reports and tests. */
static char **english(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **list = calloc(count + 2, sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0) list[kept++] = environ[i];
    list[kept] = (char *)"LC_ALL=C";
    return list;
}

/* files[n] becomes the child's descriptor n; -1: /dev/null. */
static int set_files(posix_spawn_file_actions_t *actions, const int files[FD_FIRST_FREE]) {
    int error = 0;
    for (int n = 0; n < FD_FIRST_FREE && !error; n++)
        error = files[n] < 0 ? posix_spawn_file_actions_addopen(actions, n, "/dev/null", O_RDWR, 0)
                             : posix_spawn_file_actions_adddup2(actions, files[n], n);
    return error;
}

static bool wait_for(const char *program, pid_t pid, Why *why) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return why_set(why, "%s is gone: %s", program, strerror(errno));
    if (WIFSIGNALED(status))
        return why_set(why, "%s was killed by signal %d (%s)", program, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status) == 0 ||
           why_set(why, "%s ended with status %d", program, WEXITSTATUS(status));
}

/* True if it ended with status 0. */
static bool run(const Words *words, const int files[FD_FIRST_FREE], Why *why) {
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    char **environment = english();
    if (!environment) return why_set(why, "out of memory");
    posix_spawn_file_actions_init(&actions);
    int error = set_files(&actions, files);
    if (!error)
        error = posix_spawnp(&pid, words->list[0], &actions, NULL, (char *const *)words->list,
                             environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    if (error) return why_set(why, "cannot run %s: %s", words->list[0], strerror(error));
    return wait_for(words->list[0], pid, why);
}

/* --- what it is */

/* The first word of the first line that starts with a digit outside parentheses: "cc
 * (Debian 12.2.0-14) 12.2.0", "Debian clang version 14.0.6". */
static void find_version(const char *text, char *version, size_t size) {
    int depth = 0;
    bool at_word = true;
    snprintf(version, size, "?");
    for (; *text && *text != '\n'; text++) {
        if (*text == '(') depth++;
        if (*text == ')') depth--;
        if (at_word && depth == 0 && *text >= '0' && *text <= '9') {
            snprintf(version, size, "%.*s", (int)strcspn(text, " \n-+("), text);
            return;
        }
        at_word = *text == ' ';
    }
}

static bool name_it(HostCompiler *compiler, const char *answer, Why *why) {
    char version[32];
    compiler->clang = strstr(answer, "clang") != NULL;
    if (!compiler->clang && !strstr(answer, "Free Software Foundation"))
        return why_set(why, "%.100s is neither gcc nor clang: set CC to one of them",
                       compiler->words[0]);
    find_version(answer, version, sizeof version);
    snprintf(compiler->version, sizeof compiler->version, "%s %s",
             compiler->clang ? "clang" : "gcc", version);
    return true;
}

bool hostcc_version(HostCompiler *compiler, Why *why) {
    Words words = {0};
    Text answer = {0};
    int out = memory_file();
    const int files[FD_FIRST_FREE] = {-1, out, -1, -1, -1};
    add(&words, compiler->words);
    add_one(&words, "--version");
    bool good = out >= 0 && run(&words, files, why) && read_all(out, &answer) &&
                name_it(compiler, text_string(&answer), why);
    if (out >= 0) close(out);
    text_free(&answer);
    return good;
}

void hostcc_options(const HostCompiler *compiler, Text *out) {
    Words words = {0};
    add(&words, compiler->words);
    add_options(&words, compiler);
    add(&words, link_options);
    add(&words, libraries);
    for (int i = 0; i < words.count; i++) text_printf(out, "%s ", words.list[i]);
}

/* --- compiling */

typedef struct Files {
    int source, complaints, object, shared;
} Files;

static bool compile_step(const HostCompiler *compiler, const Files *files, Why *why) {
    const char *const input[] = {"-c", "-", "-o", PATH_OBJECT, NULL};
    const int numbers[FD_FIRST_FREE] = {files->source, -1, files->complaints, files->object, -1};
    Words words = {0};
    add(&words, compiler->words);
    add_options(&words, compiler);
    add(&words, input);
    return run(&words, numbers, why);
}

static bool link_step(const HostCompiler *compiler, const Files *files, Why *why) {
    const char *const input[] = {"-o", PATH_SHARED, PATH_OBJECT, NULL};
    const int numbers[FD_FIRST_FREE] = {-1, -1, files->complaints, files->object, files->shared};
    Words words = {0};
    add(&words, compiler->words);
    add(&words, link_options);
    if (!compiler->clang) add(&words, link_options_gcc);
    add(&words, input);
    add(&words, libraries);
    return run(&words, numbers, why);
}

/* The first line that says "error:", else the first line; `why` keeps its text if there is none. */
static void first_complaint(int fd, Why *why) {
    Text text = {0};
    if (!read_all(fd, &text)) return;
    const char *start = text_string(&text), *error = strstr(start, "error:");
    while (error && error > start && error[-1] != '\n') error--;
    if (error) start = error;
    int length = (int)strcspn(start, "\n");
    if (length > 0) why_set(why, "%.*s", length < WHY_MAX ? length : WHY_MAX - 1, start);
    text_free(&text);
}

static Outcome compile(const HostCompiler *compiler, const Files *files, Text *object, Why *why) {
    if (!compile_step(compiler, files, why) || !link_step(compiler, files, why)) {
        first_complaint(files->complaints, why);
        return OUTCOME_COMPILE;
    }
    if (read_all(files->shared, object) && object->length > 0) return OUTCOME_OK;
    why_set(why, "%s gave no object", compiler->words[0]);
    return OUTCOME_COMPILE;
}

Outcome hostcc_compile(const HostCompiler *compiler, const char *source, Text *object, Why *why) {
    Outcome outcome = OUTCOME_COMPILE;
    Files files = {memory_file(), memory_file(), memory_file(), memory_file()};
    if (files.source < 0 || files.complaints < 0 || files.object < 0 || files.shared < 0 ||
        !write_all(files.source, source, strlen(source)))
        why_set(why, "no memory for a compiler's files: %s", strerror(errno));
    else
        outcome = compile(compiler, &files, object, why);
    if (files.source >= 0) close(files.source);
    if (files.complaints >= 0) close(files.complaints);
    if (files.object >= 0) close(files.object);
    if (files.shared >= 0) close(files.shared);
    return outcome;
}
