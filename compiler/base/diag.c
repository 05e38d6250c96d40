/* In: what is wrong and where. Out: messages with the line and a caret below the place. The one
 * idea: the line is laid out cell by cell once (a tab is blanks, a wide character two columns,
 * anything that could upset a terminal a '?'), and the caret line is drawn from the same cells. */
#include <string.h>

#include "compiler/base/source.h"

enum { TAB = 8, SHOWN_MAX = 96 /* display columns of a line; with the margin it fits in 105 */ };

/* A byte sequence of the line as it is shown. */
typedef struct Cell {
    uint32_t bytes; /* of the source */
    int columns;    /* on the display */
    bool plain;     /* shown as it is; otherwise as '?' or, for a tab, blanks */
} Cell;

typedef struct Range {
    uint32_t first, last;
} Range;

static const Range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2e80, 0x303e},
    {0x3041, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};
static const Range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};
/* Controls of the second block, line separators and marks that turn the direction of the text. */
static const Range hidden[] = {
    {0x80, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool within(uint32_t point, const Range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}

/* Decodes one UTF-8 sequence; its length, or 0 if the bytes are none. */
static uint32_t decode(const unsigned char *text, uint32_t length, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t bytes = text[0] < 0x80             ? 1
                     : (text[0] & 0xe0) == 0xc0 ? 2
                     : (text[0] & 0xf0) == 0xe0 ? 3
                     : (text[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    if (!bytes || bytes > length) return 0;
    *point = bytes == 1 ? text[0] : text[0] & (0x7fu >> bytes);
    for (uint32_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *point = *point << 6 | (text[i] & 0x3f);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point >= least[bytes] && *point <= 0x10ffff && !surrogate ? bytes : 0;
}

static Cell cell_at(const char *text, uint32_t length, int column) {
    if (*text == '\t') return (Cell){1, TAB - column % TAB, false};
    uint32_t point, bytes = decode((const unsigned char *)text, length, &point);
    if (!bytes) return (Cell){1, 1, false};
    if (point < 0x20 || point == 0x7f || within(point, hidden, COUNT(hidden)))
        return (Cell){bytes, 1, false};
    if (within(point, combining, COUNT(combining))) return (Cell){bytes, 0, true};
    return (Cell){bytes, within(point, wide, COUNT(wide)) ? 2 : 1, true};
}

static void show(Text *out, const char *text, Cell cell) {
    if (cell.plain)
        text_add_bytes(out, text, cell.bytes);
    else if (*text == '\t')
        text_printf(out, "%*s", cell.columns, "");
    else
        text_add(out, "?");
}

/* A line and the columns of it that are underlined and shown. */
typedef struct Line {
    const char *text;
    uint32_t length, number;
    int caret, caret_end; /* display columns of the span */
    int columns;          /* of the whole line */
    int from, to;         /* what is shown */
} Line;

static int column_of(const Line *line, uint32_t offset) {
    int column = 0;
    for (uint32_t at = 0; at < line->length && at < offset;) {
        Cell cell = cell_at(line->text + at, line->length - at, column);
        at += cell.bytes;
        column += cell.columns;
    }
    return column;
}

/* A line longer than fits is cut so that the caret stands a third into what is shown. */
static void choose_window(Line *line) {
    line->from = 0;
    line->to = line->columns;
    if (line->columns <= SHOWN_MAX) return;
    if (line->caret > SHOWN_MAX * 2 / 3) line->from = line->caret - SHOWN_MAX / 3;
    line->to = line->from + SHOWN_MAX;
    if (line->to > line->columns) line->to = line->columns;
}

static Line find_line(const Source *source, Span span) {
    uint32_t at = span.begin < source->length ? span.begin : source->length, column;
    Line line = {0};
    source_place(source, at, &line.number, &column);
    uint32_t begin = at - (column - 1);
    const char *end = memchr(source->text + begin, '\n', source->length - begin);
    line.text = source->text + begin;
    line.length = (end ? (uint32_t)(end - source->text) : source->length) - begin;
    if (line.length && line.text[line.length - 1] == '\r') line.length--;
    line.columns = column_of(&line, line.length);
    line.caret = column_of(&line, at - begin);
    line.caret_end = span.end > at ? column_of(&line, span.end - begin) : line.caret;
    choose_window(&line);
    return line;
}

static void print_line(Text *out, const Line *line) {
    if (line->from > 0) text_add(out, "...");
    int column = 0;
    for (uint32_t at = 0; at < line->length && column < line->to;) {
        Cell cell = cell_at(line->text + at, line->length - at, column);
        if (column >= line->from && column + cell.columns <= line->to)
            show(out, line->text + at, cell);
        else if (column + cell.columns > line->from) /* half of a wide character or of a tab */
            text_printf(out, "%*s", column + cell.columns - line->from, "");
        at += cell.bytes;
        column += cell.columns;
    }
    text_add(out, line->to < line->columns ? "...\n" : "\n");
}

static void print_caret(Text *out, const Line *line, const char *hint) {
    int indent = line->caret - line->from + (line->from > 0 ? 3 : 0);
    int end = line->caret_end < line->to ? line->caret_end : line->to;
    text_printf(out, "%*s^", indent, "");
    for (int column = line->caret + 1; column < end; column++) text_add(out, "~");
    if (hint) text_printf(out, " %s", hint);
    text_add(out, "\n");
}

void diag_print(Text *out, const Diag *diag) {
    static const char *const names[] = {"error", "warning", "note"};
    if (!diag->source) {
        text_printf(out, "%s: %s", names[diag->severity], diag->message);
        if (diag->hint) text_printf(out, " (%s)", diag->hint);
        text_add(out, "\n");
        return;
    }
    uint32_t number, column;
    source_place(diag->source, diag->span.begin, &number, &column);
    text_printf(out, "%s:%u:%u: %s: %s\n", diag->source->name, number, column,
                names[diag->severity], diag->message);
    Line line = find_line(diag->source, diag->span);
    size_t begin = out->length;
    text_printf(out, "%4u", number);
    int margin = (int)(out->length - begin);
    text_add(out, " | ");
    print_line(out, &line);
    text_printf(out, "%*s | ", margin, "");
    print_caret(out, &line, diag->hint);
}

void diags_print(Text *out, const Diags *diags) {
    for (uint32_t i = 0; i < diags->list.count; i++) diag_print(out, &diags->list.data[i]);
    if (diags->errors > DIAG_MAX)
        text_printf(out, "%u more errors are not shown\n", diags->errors - DIAG_MAX);
}

void diag_add(Diags *diags, Severity severity, const Source *source, Span span, const char *hint,
              const char *format, ...) {
    if (severity == DIAG_ERROR) diags->errors++;
    if (severity == DIAG_WARNING) diags->warnings++;
    if (diags->errors > DIAG_MAX && severity != DIAG_WARNING) return;
    va_list args;
    va_start(args, format);
    Diag diag = {severity, source, span, arena_vprintf(diags->arena, format, args), NULL};
    va_end(args);
    if (hint) diag.hint = arena_copy(diags->arena, hint, strlen(hint));
    array_push(diags->arena, &diags->list, diag);
}
