/* A template and types in, the same template with a prologue out. */
#include "compiler/specialise.h"

#include <string.h>

#include "compiler/language.h"

typedef struct Writer {
    Text text;
    const EmitLanguage *language;
    const Template *template;
    const DType *types;
    bool wide; /* ACC is double */
} Writer;

static uint32_t tensor_count(const Template *template) {
    return template->inputs.count + template->outputs.count;
}

static const TemplateTensor *tensor_at(const Template *template, uint32_t i) {
    uint32_t inputs = template->inputs.count;
    return i < inputs ? &template->inputs.data[i] : &template->outputs.data[i - inputs];
}

/* Half floats by the prelude, floats of another width by a cast, integers as C converts them: what
 * computes in integers uses T_x itself. */
static void write_conversions(Writer *w, const char *name, DType type) {
    bool halves = type == DT_F16 || type == DT_BF16, vector = w->language->vector;
    bool same = type == (w->wide ? DT_F64 : DT_F32);
    const char *format = same     ? "#define KF_FROM_%s(v) (v)\n#define KF_TO_%s(v) (v)\n"
                         : vector ? "#define KF_FROM_%s(v) K_TO(k_real, v)\n"
                                    "#define KF_TO_%s(v) K_TO(V_%s, v)\n"
                                  : "#define KF_FROM_%s(v) ((ACC)(v))\n"
                                    "#define KF_TO_%s(v) ((T_%s)(v))\n";
    if (halves)
        text_printf(&w->text,
                    "#define KF_FROM_%s(v) k_from_%s(v)\n#define KF_TO_%s(v) k_to_%s(v)\n", name,
                    dtype_name(type), name, dtype_name(type));
    else
        text_printf(&w->text, format, name, name, name);
}

/* The prelude's vectors are named by width and kind. */
static const char *vector_name(DType type) {
    switch (type) {
    case DT_F16:
    case DT_BF16: return "k_u16";
    case DT_BOOL: return "k_u8";
    default: return NULL;
    }
}

static void write_tensor(Writer *w, uint32_t i) {
    const char *name = tensor_at(w->template, i)->name;
    DType type = w->types[i];
    text_printf(&w->text, "#define T_%s %s\n#define KF_BYTES_%s %d\n", name,
                language_storage(w->language, type), name, (int)dtype_info(type)->bytes);
    if (w->language->vector) {
        const char *vector = vector_name(type);
        if (vector)
            text_printf(&w->text, "#define V_%s %s\n", name, vector);
        else
            text_printf(&w->text, "#define V_%s k_%s\n", name, dtype_name(type));
    }
    write_conversions(w, name, type);
}

/* Bytes of the widest type at work. */
static int widest(const Writer *w) {
    int bytes = 4;
    for (uint32_t i = 0; i < tensor_count(w->template); i++) {
        int own = (int)dtype_info(w->types[i])->bytes;
        if (own > bytes) bytes = own;
    }
    return bytes;
}

/* The prelude's own text speaks of these. */
static void write_index(Text *out, const Insert *insert) {
    text_printf(out, "#define K_INDEX64 %d\ntypedef %s k_index;\n", insert->index64,
                insert->index64 ? "long long" : "int");
}

Template *specialise_with(Arena *arena, const Template *template, const DType *types,
                          const Insert *insert) {
    bool cuda = strcmp(template->language, "cuda") == 0;
    Writer w = {.language = cuda ? &emit_language_cuda : &emit_language_c,
                .template = template,
                .types = types};
    for (uint32_t i = 0; i < tensor_count(template); i++) w.wide |= types[i] == DT_F64;
    Text body = {0}, prologue = {0};
    text_printf(&w.text, "#define ACC %s\n", w.wide ? "double" : "float");
    for (uint32_t i = 0; i < tensor_count(template); i++) write_tensor(&w, i);
    text_add_bytes(&body, template->source->text, template->source->length);
    text_add(&body, text_string(&w.text));
    if (insert) text_add(&body, insert->text);
    text_printf(&prologue, "#ifndef K_SHARED\n#define K_SHARED\n#define K_BYTES %d\n",
                insert && insert->widest > widest(&w) ? insert->widest : widest(&w));
    text_printf(&prologue, "#define K_F64 %d\n", w.wide);
    text_add(&prologue, text_string(&w.text));
    if (cuda && insert) write_index(&prologue, insert);
    emit_prelude(&prologue, w.language, text_string(&body));
    if (insert) text_add(&prologue, insert->text);
    text_add(&prologue, "#endif\n");
    Template *special = arena_new(arena, Template);
    *special = *template;
    special->prologue = arena_copy(arena, text_string(&prologue), prologue.length);
    text_free(&w.text);
    text_free(&body);
    text_free(&prologue);
    return special;
}

const Template *specialise(Arena *arena, const Template *template, const DType *types) {
    return specialise_with(arena, template, types, NULL);
}
