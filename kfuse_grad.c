/* A program's text in, its backward program's out. */
#include <string.h>

#include "compiler/grad.h"
#include "grammar/parse.h"
#include "kfuse_objects.h"

static GradOptions grad_options(Arena *arena, const KfProblem *problem, const char *const *wrt,
                                size_t wrt_count) {
    GradOptions options = {.wrt = wrt, .wrt_count = (uint32_t)wrt_count};
    size_t count = problem ? problem->input_count : 0;
    GradType *types = arena_array(arena, GradType, count + 1);
    options.types = types;
    if (problem && problem->plain.type != KF_PLAIN_TYPE)
        types[options.type_count++] = (GradType){NULL, (DType)problem->plain.type};
    for (size_t i = 0; i < count; i++)
        if (problem->inputs[i].type != KF_PLAIN_TYPE)
            types[options.type_count++] =
                (GradType){problem->inputs[i].name, (DType)problem->inputs[i].type};
    return options;
}

/* The text as a JSON string; it is ASCII, with line ends. */
static void json_text(Text *out, const char *text) {
    text_add(out, "\"");
    for (; *text; text++) *text == '\n' ? text_add(out, "\\n") : text_add_bytes(out, text, 1);
    text_add(out, "\"");
}

static void json_names(Text *out, const char *title, const char *of, const GradName *names,
                       uint32_t count) {
    text_printf(out, ",\"%s\":[", title);
    for (uint32_t i = 0; i < count; i++)
        text_printf(out, "%s{\"%s\":\"%s\",\"name\":\"%s\"}", i ? "," : "", of, names[i].of,
                    names[i].name);
    text_add(out, "]");
}

static void print_grad(Text *out, const Grad *grad, KfFormat format) {
    if (format == KF_TEXT) {
        text_add(out, grad->text);
        return;
    }
    text_add(out, "{\"program\":");
    json_text(out, grad->text);
    json_names(out, "cotangents", "output", grad->cotangents.data, grad->cotangents.count);
    json_names(out, "results", "input", grad->results.data, grad->results.count);
    text_add(out, "}\n");
}

KfStatus kf_program_grad(KfSession *session, const char *text, size_t length,
                         const KfProblem *problem, const char *const *wrt, size_t wrt_count,
                         KfFormat format, char **out) {
    text_clear(&session->message);
    *out = NULL;
    if (!text || (wrt_count > 0 && !wrt)) return session_say(session, KF_USAGE, "no program");
    if (length == SIZE_MAX) length = strlen(text);
    if (length > SOURCE_MAX)
        return session_say(session, KF_INPUT, "the program is longer than 16 MiB");
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    Text printed = {0};
    const char *name = problem && problem->source ? problem->source : "<expr>";
    GradOptions options = grad_options(arena, problem, wrt, wrt_count);
    const Ast *ast = parse_program(arena, source_new(arena, name, text, length), &diags);
    const Grad *result = ast ? grad(arena, ast, session->registry, &options, &diags) : NULL;
    diags_print(&session->message, &diags);
    if (result) print_grad(&printed, result, format);
    arena_close(arena);
    return result ? session_give(&printed, out) : KF_INPUT;
}
