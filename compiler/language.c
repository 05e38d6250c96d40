/* The pieces of an emitted file that do not depend on the language: header lines, knobs, offsets,
 * helpers. */
#include "compiler/language.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/embed.h"

/* --- arrays and parameters */

uint32_t access_count(const Plan *plan) {
    return plan->loads.count + plan->stores.count;
}

const Access *access_at(const Plan *plan, uint32_t i) {
    return access_is_store(plan, i) ? &plan->stores.data[i - plan->loads.count]
                                    : &plan->loads.data[i];
}

bool access_is_store(const Plan *plan, uint32_t i) {
    return i >= plan->loads.count;
}

bool access_walks_rows(const Plan *plan, const Access *access) {
    for (uint32_t axis = 0; axis + 1 < plan->rank; axis++)
        if (access->stride[axis] != 0) return true;
    return false;
}

bool parameter_is_scalar(const Parameter *parameter) {
    return strncmp(parameter->name, "s_", 2) == 0;
}

bool parameter_is_reciprocal(const Parameter *parameter) {
    size_t length = strlen(parameter->name);
    return !parameter_is_scalar(parameter) && length > 4 &&
           strcmp(parameter->name + length - 4, "_div") == 0;
}

/* The reciprocal of an extent that indices are divided by. */
static bool divides_by(const EmitLanguage *language, const char *size) {
    return language->divides && strcmp(size, "kf_n") != 0 && strcmp(size, "kf_rows") != 0;
}

Parameters language_parameters(const EmitLanguage *language, const Plan *plan, Arena *arena) {
    Parameters parameters = {0};
    const char *sizes[RANK_MAX + 1];
    uint32_t count = plan_sizes(plan, arena, sizes);
    for (uint32_t i = 0; i < count; i++) {
        array_push(arena, &parameters.list, (Parameter){sizes[i], DT_I64});
        if (divides_by(language, sizes[i]))
            array_push(arena, &parameters.list,
                       (Parameter){arena_printf(arena, "%s_div", sizes[i]), DT_I64});
    }
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        for (uint32_t axis = 0; axis < plan->rank; axis++)
            if (plan_stride_given(plan, access, axis))
                array_push(arena, &parameters.list,
                           (Parameter){plan_stride_name(arena, access, axis), DT_I64});
    }
    for (uint32_t i = 0; i < plan->scalars.count; i++) {
        const PlanScalar *scalar = &plan->scalars.data[i];
        array_push(arena, &parameters.list, (Parameter){scalar->name, scalar->dtype});
    }
    return parameters;
}

/* --- offsets */

void emit_quotient(Text *out, const EmitLanguage *language, const char *a, const char *b) {
    if (language->divides)
        text_printf(out, "k_divide(%s, %s, %s_div)", a, b, b);
    else
        text_printf(out, "%s / %s", a, b);
}

void emit_coordinates(Text *out, const EmitLanguage *language, const Plan *plan, const char *row,
                      int indent) {
    bool needed = false;
    Arena *scratch = arena_open();
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        needed |= access->class != ACCESS_DENSE && access_walks_rows(plan, access);
    }
    for (uint32_t axis = plan->rank - 2; needed && plan->rank >= 2 && axis > 0; axis--) {
        text_printf(out, "%*sconst %s r%u = ", indent, "", language->index, axis);
        emit_quotient(out, language, row, arena_printf(scratch, "kf_e%u", axis));
        text_printf(out, ", i%u = %s - r%u * kf_e%u;\n", axis, row, axis, axis);
        row = arena_printf(scratch, "r%u", axis);
    }
    if (needed && plan->rank >= 2)
        text_printf(out, "%*sconst %s i0 = %s;\n", indent, "", language->index, row);
    arena_close(scratch);
}

static void add_term(Text *out, size_t begin, const char *index, const char *stride) {
    text_printf(out, "%s%s", out->length > begin ? " + " : "", index);
    if (stride) text_printf(out, " * %s", stride);
}

void emit_offset(Text *out, const Plan *plan, const Access *access, const char *row,
                 const char *column) {
    Arena *scratch = arena_open();
    size_t begin = out->length;
    uint32_t inner = plan->rank - 1;
    bool dense = access->class == ACCESS_DENSE;
    if (dense && plan->rank >= 2) add_term(out, begin, row, "kf_cols");
    for (uint32_t axis = 0; !dense && axis < inner; axis++)
        if (access->stride[axis] != 0)
            add_term(out, begin, arena_printf(scratch, "i%u", axis),
                     plan_stride_name(scratch, access, axis));
    if (column && plan_stride_given(plan, access, inner))
        add_term(out, begin, column, plan_stride_name(scratch, access, inner));
    else if (column && access->stride[inner] != 0)
        add_term(out, begin, column, NULL);
    if (out->length == begin) text_add(out, "0");
    arena_close(scratch);
}

const char *language_total(const Plan *plan) {
    return plan->rank == 1 ? "kf_n" : "kf_rows * kf_cols";
}

bool language_linear(const Plan *plan) {
    for (uint32_t i = 0; plan->rank >= 2 && i < plan->stores.count; i++)
        if (plan->stores.data[i].class != ACCESS_DENSE) return false;
    return true;
}

/* --- lists */

enum { LINE_COLUMNS = 100 };

void emit_next(Text *out, uint32_t i, const char *format, ...) {
    Text item = {0};
    size_t line = 0;
    va_list args;
    va_start(args, format);
    text_vprintf(&item, format, args);
    va_end(args);
    while (line < out->length && out->data[out->length - 1 - line] != '\n') line++;
    if (i > 0) text_add(out, line + item.length > LINE_COLUMNS - 6 ? ",\n        " : ", ");
    text_add(out, text_string(&item));
    text_free(&item);
}

/* --- header and defaults */

static const char *dims(const Plan *plan, const Access *access) {
    bool outer = access_walks_rows(plan, access);
    bool inner = access->stride[plan->rank - 1] != 0;
    if (plan->rank == 1) return inner ? "kf_n" : "1";
    if (outer) return inner ? "kf_rows, kf_cols" : "kf_rows, 1";
    return inner ? "kf_cols" : "1";
}

static void print_array(Text *out, const Plan *plan, const Access *access, const char *kind) {
    text_printf(out, "//! %-8s %s[%s] : %s\n", kind, access->name, dims(plan, access),
                dtype_name(access->dtype));
}

static void print_args(Text *out, const EmitLanguage *language, const Plan *plan) {
    Arena *scratch = arena_open();
    Parameters parameters = language_parameters(language, plan, scratch);
    text_add(out, "//! args    ");
    for (uint32_t i = 0; i < access_count(plan); i++)
        text_printf(out, " %s", access_at(plan, i)->name);
    for (uint32_t i = 0; i < parameters.list.count; i++)
        text_printf(out, " %s", parameters.list.data[i].name);
    text_add(out, "\n");
    arena_close(scratch);
}

void emit_knobs(Text *out, const KnobText *knobs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        text_printf(out, "//! knob     __%s__", knobs[i].label);
        for (uint32_t k = 0; k < knobs[i].count; k++)
            text_printf(out, " %lld", (long long)knobs[i].values[k]);
        text_add(out, "\n");
    }
}

void emit_head(Text *out, const EmitLanguage *language, const Plan *plan, const KnobText *knobs,
               uint32_t count) {
    text_printf(out, "//! kernel   %s\n", plan->name);
    for (uint32_t i = 0; i < access_count(plan); i++)
        print_array(out, plan, access_at(plan, i), access_is_store(plan, i) ? "output" : "input");
    print_args(out, language, plan);
    emit_knobs(out, knobs, count);
}

void emit_program(Text *out, const char *program) {
    text_add(out, "// Generated by kfuse; `kfuse dump` prints it again. Computes\n");
    for (const char *line = program; *line;) {
        size_t length = strcspn(line, "\n");
        text_add(out, "//     ");
        text_add_bytes(out, line, length);
        text_add(out, "\n");
        line += length + (line[length] == '\n');
    }
}

/* Not the default, which may depend on a shape: the text must not. */
static int64_t smallest(const KnobText *knob) {
    int64_t value = knob->values[0];
    for (uint32_t i = 1; i < knob->count; i++)
        if (knob->values[i] < value) value = knob->values[i];
    return value;
}

void emit_defaults(Text *out, const Plan *plan, const KnobText *knobs, uint32_t count) {
    text_add(out, "\n");
    emit_program(out, plan->text);
    text_add(out, "\n#ifndef KF_ENTRY\n#define KF_ENTRY(name) name\n");
    for (uint32_t i = 0; i < count; i++)
        text_printf(out, "#define __%s__ %lld\n", knobs[i].label, (long long)smallest(&knobs[i]));
    text_add(out, "#endif\n");
}

/* --- helpers */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool names(const char *text, const char *word, size_t length) {
    const char *at = text;
    while ((at = strstr(at, word)) != NULL) {
        if ((at == text || !is_word(at[-1])) && !is_word(at[length])) return true;
        at += length;
    }
    return false;
}

/* Whether the section's first line "//@ k_a k_b : k_c" names something that `text` uses; what
 * stands behind the colon, the section uses itself, by a macro. */
static bool wanted(const char *section, const char *text) {
    char word[64];
    for (const char *at = section + 3; *at == ' ';) {
        size_t length = strcspn(++at, " \n");
        if (*at == ':') break;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (names(text, word, strlen(word))) return true;
        at += length;
    }
    return false;
}

const char *emit_text(const char *path) {
    for (const Embed *embed = registry_texts; embed->path; embed++)
        if (strcmp(embed->path, path) == 0) return embed->text;
    abort();
}

enum { SECTIONS = 256 };

typedef struct Section {
    const char *begin, *end;
} Section;

/* Of all preludes, in order; returns their number. */
static uint32_t find_sections(const EmitLanguage *language, Section sections[SECTIONS]) {
    uint32_t count = 0;
    for (int p = 0; p < PRELUDES && language->preludes[p]; p++) {
        const char *at = strstr(emit_text(language->preludes[p]), "\n//@ ");
        while (at) {
            const char *next = strstr(at + 1, "\n//@ ");
            if (count == SECTIONS) abort();
            sections[count++] = (Section){at + 1, next ? next + 1 : at + strlen(at)};
            at = next;
        }
    }
    return count;
}

static void add_section(Text *out, Section section) {
    const char *begin = strchr(section.begin, '\n') + 1, *end = section.end;
    while (end > begin && end[-1] == '\n') end--;
    text_printf(out, "%.*s\n\n", (int)(end - begin), begin);
}

void emit_prelude(Text *out, const EmitLanguage *language, const char *body) {
    Section sections[SECTIONS];
    uint32_t count = find_sections(language, sections);
    const char *first = emit_text(language->preludes[0]);
    bool chosen[SECTIONS] = {false};
    Text text = {0};
    text_add(&text, body);
    for (uint32_t i = count; i-- > 0;) {
        chosen[i] = wanted(sections[i].begin, text_string(&text));
        if (chosen[i])
            text_add_bytes(&text, sections[i].begin, (size_t)(sections[i].end - sections[i].begin));
    }
    text_free(&text);
    text_add_bytes(out, first, (size_t)(sections[0].begin - first));
    for (uint32_t i = 0; i < count; i++)
        if (chosen[i]) add_section(out, sections[i]);
}

const Template *emit_finish(Arena *arena, const char *name, const char *language,
                            const Text *text) {
    Diags diags = {.arena = arena};
    const char *title = arena_printf(arena, "<%s>", name);
    const Source *source = source_new(arena, title, text_string(text), text->length);
    const Template *template = template_parse(arena, source, language, &diags);
    if (template) return template;
    Text message = {0};
    diags_print(&message, &diags);
    fputs(text_string(&message), stderr);
    abort();
}

const Template *emit_file(Arena *arena, const EmitLanguage *language, const char *name, Text *head,
                          Text *code) {
    emit_prelude(head, language, text_string(code));
    text_add(head, text_string(code));
    const Template *template = emit_finish(arena, name, language->name, head);
    text_free(head);
    text_free(code);
    return template;
}
