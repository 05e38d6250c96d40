/* In: a file of lines, each an expression with its options. Out: the lines; and one of them tuned, as the
 * command line would. */
#include "cli/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, WORDS = 64 };

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

/* --- the file */

static KfStatus unreadable(const List *list) {
    fprintf(stderr, "kfuse: cannot read '%s': %s\n", list->path, strerror(errno));
    return KF_INPUT;
}

static bool is_blank(const char *text) {
    text += strspn(text, " \t\r\n");
    return *text == '\0' || *text == '#';
}

/* Some editors begin a file with a byte order mark. */
static const char *behind_mark(const char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) ? text : text + 3;
}

static bool add_line(List *list, const char *text, unsigned number) {
    if (list->count % 64 == 0) {
        ListLine *larger = realloc(list->lines, (list->count + 64) * sizeof *larger);
        if (!larger) return false;
        list->lines = larger;
    }
    ListLine *line = &list->lines[list->count];
    *line = (ListLine){strdup(text), number};
    if (!line->text) return false;
    line->text[strcspn(line->text, "\r\n")] = '\0';
    list->count++;
    return true;
}

KfStatus list_read(const char *path, List *list) {
    *list = (List){.path = path};
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) return unreadable(list);
    char *text = NULL;
    size_t room = 0;
    bool ok = true;
    for (unsigned number = 1; ok && getline(&text, &room, file) >= 0; number++) {
        const char *line = number == 1 ? behind_mark(text) : text;
        ok = is_blank(line) || add_line(list, line, number);
    }
    KfStatus status = !ok            ? job_complain(KF_ENVIRONMENT, "out of memory")
                      : ferror(file) ? unreadable(list)
                                     : KF_OK;
    free(text);
    if (file != stdin) fclose(file);
    return status;
}

void list_free(List *list) {
    for (size_t i = 0; i < list->count; i++) free(list->lines[i].text);
    free(list->lines);
}

/* --- one line */

static KfStatus tune_line(Job *job, ListTell *tell, void *context) {
    KfStatus status = job_program(job);
    if (status == KF_OK)
        status = job_told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (job->kernel) tell(context, job);
    return status;
}

/* The command's options, with the line's own on top. */
static KfStatus line_options(const Job *command, char *text, Options *options, char *why,
                             size_t size) {
    char *words[WORDS];
    int count = split(text, words);
    *options = *command->options;
    options->command = COMMAND_TUNE;
    options->word_count = 0;
    KfStatus status = options_add(count, words, options, why, size);
    if (status != KF_OK || options->command == COMMAND_TUNE) return status;
    snprintf(why, size, "a line is an expression with its options");
    return KF_USAGE;
}

KfStatus list_tune(const List *list, size_t index, const Job *command, const char *not_done,
                   ListTell *tell, void *context) {
    const ListLine *line = &list->lines[index];
    char why[LINE];
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    KfStatus status = KF_ENVIRONMENT;
    snprintf(why, sizeof why, "out of memory");
    if (options && job) {
        job->options = options;
        job->session = command->session;
        status = line_options(command, line->text, options, why, sizeof why);
        if (status == KF_OK) {
            status = tune_line(job, tell, context);
            snprintf(why, sizeof why, "%s", not_done);
        }
        kf_kernel_close(job->kernel);
        kf_program_close(job->program);
        free(job->text_owned);
    }
    if (status != KF_OK) fprintf(stderr, "%s:%u: %s\n", list->path, line->number, why);
    free(job);
    free(options);
    return status;
}
