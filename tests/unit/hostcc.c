/* The host's compiler: found, asked, run without a trace on the disk; and the hash of what it
 * makes. */
#include "tuner/hostcc.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tuner/elf_code.h"

static HostCompiler find(const char *cc) {
    HostCompiler compiler;
    Why why;
    if (cc)
        setenv("CC", cc, 1);
    else
        unsetenv("CC");
    if (!hostcc_find(&compiler, &why) || !hostcc_version(&compiler, &why)) skip();
    return compiler;
}

static void is_found(void **state) {
    HostCompiler compiler;
    Why why = {""};
    char path[4096];
    (void)state;
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    compiler = find(NULL);
    assert_non_null(strchr(compiler.version, '.'));
    setenv("CC", "no-such-compiler -m64", 1);
    assert_false(hostcc_find(&compiler, &why));
    assert_non_null(strstr(why.text, "no-such-compiler"));
    unsetenv("CC");
    setenv("PATH", "/nowhere:", 1);
    assert_false(hostcc_find(&compiler, &why));
    assert_non_null(strstr(why.text, "install"));
    setenv("PATH", path, 1);
    setenv("CC", "sh", 1);
    assert_true(hostcc_find(&compiler, &why));
    assert_false(hostcc_version(&compiler, &why));
    unsetenv("CC");
}

static Text compile(const HostCompiler *compiler, const char *source) {
    Text object = {0};
    Why why;
    if (hostcc_compile(compiler, source, &object, &why) != OUTCOME_OK) fail_msg("%s", why.text);
    return object;
}

static int count_files(const char *folder) {
    int count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

static void each(void (*test)(const HostCompiler *compiler)) {
    const char *const names[] = {"gcc -DVALUE=3", "clang -DVALUE=3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        HostCompiler compiler;
        Why why;
        setenv("CC", names[i], 1);
        if (hostcc_find(&compiler, &why) && hostcc_version(&compiler, &why)) test(&compiler);
    }
    unsetenv("CC");
}

static void leaves_nothing(const HostCompiler *compiler) {
    char folder[] = "/tmp/kfuse-test-XXXXXX";
    Text object = {0};
    Why why = {""};
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    object = compile(compiler, "int k(int x) { return x + VALUE; }");
    assert_memory_equal(object.data, "\177ELF", 4);
    text_clear(&object);
    assert_int_equal(hostcc_compile(compiler, "int a;\nint k( { }\n#error no\n", &object, &why),
                     OUTCOME_COMPILE);
    assert_non_null(strstr(why.text, ":2:")); /* the first error's line */
    assert_null(strchr(why.text, '\n'));
    assert_int_equal(
        hostcc_compile(compiler, "extern int f(void); int k(void) { return f(); }", &object, &why),
        OUTCOME_OK);
    assert_int_equal(count_files(folder), 0);
    unsetenv("TMPDIR");
    rmdir(folder);
    text_free(&object);
}

static uint64_t hash_of(const HostCompiler *compiler, const char *source) {
    uint64_t hash;
    Text object = compile(compiler, source);
    assert_true(elf_code_hash(object.data, object.length, &hash));
    text_free(&object);
    return hash;
}

static void hash_is_of_the_code(const HostCompiler *compiler) {
    uint64_t one = hash_of(compiler, "float k(float x) { return x * 3; }");
    assert_true(
        one == hash_of(compiler, "/* named otherwise */ float another(float y) { return y * 3; }"));
    assert_false(one == hash_of(compiler, "float k(float x) { return x * 4; }")); /* a constant */
    assert_false(hash_of(compiler, "float sinf(float); float k(float x) { return sinf(x); }") ==
                 hash_of(compiler,
                         "float cosf(float); float k(float x) { return cosf(x); }")); /* a callee */
}

static void damage_is_no_object(const HostCompiler *compiler) {
    Text object = compile(compiler, "float k(float x) { return x * 3; }");
    uint64_t hash;
    char *copy = malloc(object.length);
    for (size_t length = 0; length < object.length; length += 1 + length / 64) {
        memcpy(copy, object.data, length);
        elf_code_hash(copy, length, &hash); /* any answer, but no access outside */
    }
    for (size_t at = 0; at < object.length; at += 1 + at / 64) {
        memcpy(copy, object.data, object.length);
        copy[at] = (char)~copy[at];
        elf_code_hash(copy, object.length, &hash);
    }
    free(copy);
    text_free(&object);
}

static void compiles_without_a_trace(void **state) {
    (void)state;
    each(leaves_nothing);
}

static void hashes(void **state) {
    (void)state;
    each(hash_is_of_the_code);
    each(damage_is_no_object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_found),
        cmocka_unit_test(compiles_without_a_trace),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
