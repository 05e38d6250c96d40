/* In: a file of lines, each an expression with its options. Out: the lines; and one of them tuned, as the
 * command line would. */
#include "cli/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, LONGEST = 1 << 20 /* bytes of a line */ };

/* --- words of a line, in place: blanks part them, quotes of either kind hold them together */

static bool next_word(char **rest, char **word, bool *closed) {
    char *from = *rest + strspn(*rest, " \t\r"), *to = from, quote = '\0';
    *word = from;
    if (*from == '\0' || *from == '#') return false;
    for (; *from && (quote || !strchr(" \t\r", *from)); from++) {
        if (*from == quote)
            quote = '\0';
        else if (!quote && (*from == '\'' || *from == '"'))
            quote = *from;
        else
            *to++ = *from;
    }
    *closed = !quote;
    *rest = *from ? from + 1 : from;
    *to = '\0';
    return true;
}

/* As argc and argv; a word is a byte of the line at least, and a blank. False: a quote is open at the end. */
static bool split(char *text, char **words, int *count) {
    bool closed = true;
    words[0] = text;
    for (*count = 1; next_word(&text, &words[*count], &closed); ++*count) continue;
    return closed;
}

/* --- the file */

static KfStatus unreadable(const List *list) {
    fprintf(stderr, "kfuse: cannot read '%s': %s\n", list->path, strerror(errno));
    return KF_INPUT;
}

static bool is_blank(const char *text) {
    text += strspn(text, " \t\r");
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
    size_t length = strlen(line->text);
    if (length > 0 && line->text[length - 1] == '\r') line->text[length - 1] = '\0';
    list->count++;
    return true;
}

/* The next line without its end; false at the end of the file, or with *why where this is no line. */
static bool next_line(FILE *file, char *line, const char **why) {
    size_t length = 0;
    int c;
    *why = NULL;
    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (c == '\0') return *why = "a NUL byte is no text", false;
        if (length == LONGEST) return *why = "longer than 1 MiB", false;
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return c != EOF || length > 0;
}

static KfStatus read_lines(List *list, FILE *file, char *text) {
    unsigned number = 1;
    const char *why;
    for (; next_line(file, text, &why); number++) {
        const char *line = number == 1 ? behind_mark(text) : text;
        if (!is_blank(line) && !add_line(list, line, number))
            return job_complain(KF_ENVIRONMENT, "out of memory");
    }
    if (ferror(file)) return unreadable(list);
    if (why) fprintf(stderr, "kfuse: %s:%u: %s\n", list->path, number, why);
    return why ? KF_INPUT : KF_OK;
}

KfStatus list_read(const char *path, List *list) {
    bool standard = strcmp(path, "-") == 0;
    *list = (List){.path = standard ? "<stdin>" : path};
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) return unreadable(list);
    char *text = malloc(LONGEST + 1);
    KfStatus status =
        text ? read_lines(list, file, text) : job_complain(KF_ENVIRONMENT, "out of memory");
    free(text);
    if (!standard) fclose(file);
    return status;
}

void list_free(List *list) {
    for (size_t i = 0; i < list->count; i++) free(list->lines[i].text);
    free(list->lines);
}

/* --- one line */

/* What the store does not keep is lost: a list is tuned for the store. */
static KfStatus tune_line(Job *job, ListTell *tell, void *context) {
    const char *why;
    KfStatus status = job_program(job);
    if (status == KF_OK)
        status = job_told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (job->kernel) tell(context, job);
    if (status == KF_OK && !kf_kernel_result(job->kernel).cached &&
        !kf_session_keeps(job->session, &why))
        return job_complain(KF_ENVIRONMENT, why);
    return status;
}

/* Values of the command for names that the line says nothing of. */
static bool inherit(const Named *from, size_t from_count, Named *list, size_t *count) {
    for (size_t i = 0, own = *count; i < from_count; i++) {
        bool said = false;
        for (size_t k = 0; k < own; k++)
            said |= from[i].name && list[k].name ? strcmp(from[i].name, list[k].name) == 0
                                                 : from[i].name == list[k].name;
        if (!said && *count == OPTION_NAMED) return false;
        if (!said) list[(*count)++] = from[i];
    }
    return true;
}

/* What a line cannot have. */
static const char *misplaced(const Options *command, const Options *line) {
    if (line->command != COMMAND_TUNE || line->help || line->help_all || line->version ||
        line->check || line->has_stage)
        return "a line is an expression with its options";
    if (line->output_count || line->devices || line->shards || line->verify_bucket)
        return "-o, --devices, --shard and --verify-bucket are no options of a line";
    if (line->ops_count > command->ops_count) return "--ops goes with the command, for all lines";
    if (line->file && strcmp(line->file, "-") == 0) return "a line cannot read standard input";
    return options_misplaced(line);
}

/* The command's options, with the line's own on top. */
static KfStatus line_options(const Job *command, int count, char **words, Options *options,
                             char *why, size_t size) {
    const Options *from = command->options;
    *options = *from;
    options->command = COMMAND_TUNE;
    options->word_count = options->shape_count = options->dtype_count = options->param_count = 0;
    options->devices = NULL;
    options->shards = 0;
    KfStatus status = options_add(count, words, options, why, size);
    if (status != KF_OK) return status;
    const char *wrong = misplaced(from, options);
    bool room = inherit(from->shapes, from->shape_count, options->shapes, &options->shape_count) &&
                inherit(from->dtypes, from->dtype_count, options->dtypes, &options->dtype_count) &&
                inherit(from->params, from->param_count, options->params, &options->param_count);
    if (!wrong && !room) wrong = "too many values of one option";
    if (wrong) snprintf(why, size, "%s", wrong);
    return wrong ? KF_USAGE : KF_OK;
}

static KfStatus read_options(const Job *command, char *text, char **words, Options *options,
                             char *why, size_t size) {
    int count;
    if (split(text, words, &count)) return line_options(command, count, words, options, why, size);
    snprintf(why, size, "a quote is not closed");
    return KF_USAGE;
}

KfStatus list_tune(const List *list, size_t index, const Job *command, const char *not_done,
                   ListTell *tell, void *context) {
    const ListLine *line = &list->lines[index];
    char why[LINE];
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    char **words = malloc((strlen(line->text) / 2 + 3) * sizeof *words);
    KfStatus status = KF_ENVIRONMENT;
    snprintf(why, sizeof why, "out of memory");
    if (options && job && words) {
        job->options = options;
        job->session = command->session;
        status = read_options(command, line->text, words, options, why, sizeof why);
        if (status == KF_OK) {
            status = tune_line(job, tell, context);
            snprintf(why, sizeof why, "%s", not_done);
        }
        kf_kernel_close(job->kernel);
        kf_program_close(job->program);
        free(job->text_owned);
    }
    if (status != KF_OK) fprintf(stderr, "%s:%u: %s\n", list->path, line->number, why);
    free(words);
    free(job);
    free(options);
    return status;
}
