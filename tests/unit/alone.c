/* Every hand-written template compiles as it stands, by the defaults that it brings itself, for whoever edits or
 * lints it: its includes are put in their places here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "compiler/kernel.h"
#include "compiler/language.h"
#include "tuner/device.h"

/* `text` with each `#include "NAME"` replaced by that file of registry/templates/. */
static void expand(Arena *arena, Text *out, const char *text) {
    const char *include = "#include \"", *at;
    while ((at = strstr(text, include)) != NULL) {
        const char *name = at + strlen(include), *end = strchr(name, '"');
        text_add_bytes(out, text, (size_t)(at - text));
        expand(arena, out,
               emit_text(arena_printf(arena, "registry/templates/%.*s", (int)(end - name), name)));
        text = end + 1;
    }
    text_add(out, text);
}

static void compile_all(const char *language, const char *device_name) {
    const Device *device = device_find(device_name);
    Arena *arena = arena_open();
    Why why = {""};
    if (!device || !device->warm(&why)) {
        printf("no compiler for %s here: %s\n", language, why.text);
        arena_close(arena);
        skip();
    }
    const Library *library = library_open(arena, language, registry_open(arena));
    DeviceIdentity identity = {0};
    snprintf(identity.arch, sizeof identity.arch, "%s", "sm_90");
    for (uint32_t i = 0; i < library->templates.count; i++) {
        const Template *template = library->templates.data[i];
        Text source = {0}, binary = {0};
        expand(arena, &source, template->source->text);
        CompileUnit unit = {text_string(&source), template->name, false};
        if (device->compile(&unit, &identity, &binary, &why) != OUTCOME_OK)
            fail_msg("%s in %s: %s", template->name, language, why.text);
        text_free(&source);
        text_free(&binary);
    }
    assert_true(library->templates.count > 0);
    arena_close(arena);
}

static void cuda_templates_compile_alone(void **state) {
    (void)state;
    compile_all("cuda", "cuda");
}

static void c_templates_compile_alone(void **state) {
    (void)state;
    compile_all("c", "cpu");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuda_templates_compile_alone),
                                       cmocka_unit_test(c_templates_compile_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
