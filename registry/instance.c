/* In: a template and a point. Out: text for a compiler. The one idea: knobs are macros, so that the
 * compiler's complaints name lines of the template itself. */
#include <string.h>

#include "registry/template.h"

static void add_line_directive(Text *out, const char *name) {
    text_add(out, "#line 1 \"");
    for (; *name; name++) {
        if (*name == '"' || *name == '\\') text_add(out, "\\");
        text_add_bytes(out, *name == '\n' ? "?" : name, 1);
    }
    text_add(out, "\"\n");
}

/* Where the text has no KF_ENTRY, its entries have plain names: a kernel that was written without
 * kfuse in mind. */
static void each_plain_name(Text *out, const Template *template, const char *suffix, bool begin) {
    if (strstr(template->source->text, "KF_ENTRY") || !*suffix) return;
    for (uint32_t i = 0; i < 2 * template->launches.count; i++) {
        const TemplateLaunch *launch = &template->launches.data[i / 2];
        const char *name = i % 2 ? launch->twin : launch->entry;
        if (name && begin)
            text_printf(out, "#define %s %s%s\n", name, name, suffix);
        else if (name)
            text_printf(out, "#undef %s\n", name);
    }
}

void template_instantiate(Text *out, const Template *template, const Point *point,
                          const char *suffix) {
    static const char pasting[] = "#ifndef KF_CAT\n"
                                  "#define KF_CAT_(a, b) a##b\n"
                                  "#define KF_CAT(a, b) KF_CAT_(a, b)\n"
                                  "#define KF_STR_(a) #a\n"
                                  "#define KF_STR(a) KF_STR_(a)\n"
                                  "#endif\n";
    const Space *space = &template->space;
    const Source *source = template->source;
    for (uint32_t i = 0; i < space->knob_count; i++)
        text_printf(out, "#define %s %lld\n", space->knobs[i].key, (long long)point->value[i]);
    text_printf(out,
                *suffix ? "#define KF_ENTRY(name) name##%s\n" : "#define KF_ENTRY(name) name\n",
                suffix);
    each_plain_name(out, template, suffix, true);
    if (strstr(source->text, "KF_CAT") || strstr(source->text, "KF_STR")) text_add(out, pasting);
    if (template->prologue) text_add(out, template->prologue);
    add_line_directive(out, source->name);
    text_add_bytes(out, source->text, source->length);
    if (source->length && source->text[source->length - 1] != '\n') text_add(out, "\n");
    for (uint32_t i = 0; i < space->knob_count; i++)
        text_printf(out, "#undef %s\n", space->knobs[i].key);
    text_add(out, "#undef KF_ENTRY\n");
    each_plain_name(out, template, suffix, false);
}
