/* A list of problems: a file of lines, each what a command line says behind `kfuse`. */
#ifndef KF_LIST_H
#define KF_LIST_H

#include "cli/job.h"

typedef struct ListLine {
    char *text;
    unsigned number; /* in the file, from 1 */
} ListLine;

/* Blank lines and comments are not among them. */
typedef struct List {
    const char *path;
    ListLine *lines;
    size_t count;
} List;

/* KF_OK, or what it is after a complaint. */
KfStatus list_read(const char *path, List *list);
void list_free(List *list);

/* What is to be done with a line's kernel: `line` has it, and its program. */
typedef void ListTell(void *context, const Job *line);
/* Tunes a line with the options of the command on top of which its own come, and in its session. What is
 * wrong is complained of, at last with the word `not_done`. Cuts the line's text in place. */
KfStatus list_tune(const List *list, size_t index, const Job *command, const char *not_done,
                   ListTell *tell, void *context);

#endif
