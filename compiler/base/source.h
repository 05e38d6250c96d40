/* Source text, places in it, and what there is to say about them. A place is two byte offsets; line
 * and column exist only in the printer, which shows the line with a caret under the place. */
#ifndef KF_SOURCE_H
#define KF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/arena.h"
#include "compiler/base/text.h"

typedef struct Source {
    const char *name; /* a path, or "<expr>" for the command line */
    const char *text; /* NUL-terminated; may hold NULs before `length` */
    uint32_t length;  /* bytes, at most SOURCE_MAX */
} Source;

enum { SOURCE_MAX = 16 << 20 };

typedef struct Span {
    uint32_t begin, end; /* byte offsets, end exclusive */
} Span;

static inline Span span_join(Span a, Span b) {
    return (Span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

/* Copies; never fails but for length > SOURCE_MAX, which the caller checks first. */
const Source *source_new(Arena *arena, const char *name, const char *text, size_t length);
/* Reads a file ("-": standard input). NULL, with *why set in the arena, if it cannot be read or is
 * larger than SOURCE_MAX. */
const Source *source_read(Arena *arena, const char *path, const char **why);

typedef enum Severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } Severity;

typedef struct Diag {
    Severity severity;
    const Source *source; /* NULL: about no text (a flag, a shape, the machine) */
    Span span;
    const char *message; /* one line, no full stop */
    const char *hint;    /* behind the caret ("did you mean 'gelu'?"), or NULL */
} Diag;

/* Collects diagnostics; messages live in `arena`. At most DIAG_MAX errors are kept, further ones
 * are counted. */
typedef struct Diags {
    Arena *arena;
    ARRAY(Diag) list;
    uint32_t errors, warnings;
} Diags;

enum { DIAG_MAX = 20 };

/* `hint` may be NULL; it is copied. */
void diag_add(Diags *diags, Severity severity, const Source *source, Span span, const char *hint,
              const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The rest is diag_add's: source, span, hint, format, …. */
#define diag_error(diags, ...) diag_add((diags), DIAG_ERROR, __VA_ARGS__)
#define diag_warning(diags, ...) diag_add((diags), DIAG_WARNING, __VA_ARGS__)

/*  in.kf:3:7: error: unknown function 'gleu'
 *     3 | out = gleu(x + b)
 *       |       ^~~~ did you mean 'gelu'?
 * Columns count bytes; the caret counts display columns (tabs, wide characters). A long line is cut
 * around the caret; control bytes are shown as '?'. */
void diag_print(Text *out, const Diag *diag);
/* All of them, in order, and a count where some were dropped. */
void diags_print(Text *out, const Diags *diags);

/* Where `offset` is: both from 1, column in bytes. */
void source_place(const Source *source, uint32_t offset, uint32_t *line, uint32_t *column);

#endif
