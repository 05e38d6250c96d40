/* In: CUDA C++ text. Out: a cubin, or the compiler's first complaint. The idea: a cubin, not PTX,
 * so that one binary is what is measured, stored and launched, and no driver compiles behind our
 * back. */
#include "tuner/cuda_nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tuner/cuda_driver.h"

/* --- finding the library */

/* Outside the loader's path NVRTC does not find its own builtins; loaded first from the same
 * folder, they are found by name. */
static void load_builtins(const char *folder) {
    Text pattern = {0};
    glob_t found;
    text_printf(&pattern, "%s/libnvrtc-builtins.so.*", folder);
    if (glob(pattern.data, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL);
        globfree(&found);
    }
    text_free(&pattern);
}

static void *open_in(const char *root, const char *below, const char *name) {
    Text path = {0};
    struct stat status;
    void *library = NULL;
    text_printf(&path, "%s/%s", root, below);
    size_t folder = path.length;
    text_printf(&path, "/%s", name);
    if (stat(path.data, &status) == 0) {
        path.data[folder] = 0;
        load_builtins(path.data);
        path.data[folder] = '/';
        library = dlopen(path.data, RTLD_LAZY | RTLD_LOCAL);
    }
    text_free(&path);
    return library;
}

/* By the loader's path, then in the toolkit's usual folders. */
static void *open_named(const char *name) {
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
        for (size_t b = 0; !library && roots[r] && b < sizeof below / sizeof *below; b++)
            library = open_in(roots[r], below[b], name);
    return library;
}

/* A driver runs binaries of its own major version and older ones. */
static void *open_library(Why *why) {
    int driver = cuda_driver_version() / 1000;
    void *library = NULL;
    if (driver == 0 || driver >= 13) library = open_named("libnvrtc.so.13");
    if (!library) library = open_named("libnvrtc.so.12");
    if (!library && driver == 0) library = open_named("libnvrtc.so");
    if (!library && driver > 0 && driver < 13)
        why_set(why, "libnvrtc.so.12 not found: install CUDA's NVRTC (apt package cuda-nvrtc-12-8 "
                     "of NVIDIA's "
                     "repository), or a driver of version 580 or newer for NVRTC 13; --device cpu "
                     "needs neither");
    else if (!library)
        why_set(why, "libnvrtc.so.13 not found: install CUDA's NVRTC (apt package cuda-nvrtc-13-0 "
                     "of NVIDIA's "
                     "repository) or name the toolkit in CUDA_HOME; --device cpu needs neither");
    return library;
}

static bool find_functions(Nvrtc *nvrtc, void *library) {
    bool all = true;
    void *address = NULL;
#define NVRTC_FIND(name, symbol, arguments)         \
    address = dlsym(library, #symbol);              \
    memcpy(&nvrtc->name, &address, sizeof address); \
    all = all && address;
    NVRTC_FUNCTIONS(NVRTC_FIND)
#undef NVRTC_FIND
    return all;
}

static void find_file(Nvrtc *nvrtc) {
    Dl_info info;
    void *address;
    char path[PATH_MAX];
    memcpy(&address, &nvrtc->Version, sizeof address);
    nvrtc->file[0] = 0;
    if (dladdr(address, &info) && realpath(info.dli_fname, path))
        snprintf(nvrtc->file, sizeof nvrtc->file, "%.255s", path);
}

bool nvrtc_load(Nvrtc *nvrtc, Why *why) {
    void *library = open_library(why);
    if (!library) return false;
    if (!find_functions(nvrtc, library) ||
        nvrtc->Version(&nvrtc->major, &nvrtc->minor) != NVRTC_SUCCESS)
        return why_set(why, "NVRTC is too old: install 12.0 or newer");
    find_file(nvrtc);
    return true;
}

void nvrtc_print(const Nvrtc *nvrtc, char *text, size_t size) {
    struct stat status;
    long long bytes = stat(nvrtc->file, &status) == 0 ? (long long)status.st_size : 0;
    snprintf(text, size, "nvrtc %d.%d (%lld bytes)", nvrtc->major, nvrtc->minor, bytes);
}

/* --- what to compile for */

enum { ARCHS_MAX = 64 };

static int list_archs(const Nvrtc *nvrtc, int archs[ARCHS_MAX]) {
    int count = 0;
    if (nvrtc->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > ARCHS_MAX) return 0;
    return nvrtc->GetSupportedArchs(archs) == NVRTC_SUCCESS ? count : 0;
}

bool nvrtc_target(const Nvrtc *nvrtc, const char *arch, NvrtcTarget *target, Why *why) {
    int archs[ARCHS_MAX], newest = 0, wanted = 0;
    int count = list_archs(nvrtc, archs);
    bool text = sscanf(arch, "compute_%d", &wanted) == 1; /* PTX is what is wanted */
    if ((!text && sscanf(arch, "sm_%d", &wanted) != 1) || count == 0)
        return why_set(why, "NVRTC %d.%d does not compile for %s", nvrtc->major, nvrtc->minor,
                       arch);
    bool known = false;
    for (int i = 0; i < count; i++) {
        known |= archs[i] == wanted;
        if (archs[i] > newest) newest = archs[i];
    }
    target->ptx = text || !known;
    if (text && !known)
        return why_set(why, "NVRTC %d.%d has no PTX for %s", nvrtc->major, nvrtc->minor, arch);
    if (!known && wanted < newest)
        return why_set(why, "NVRTC %d.%d no longer compiles for %s: install an older one",
                       nvrtc->major, nvrtc->minor, arch);
    if (!known)
        snprintf(target->option, sizeof target->option, "--gpu-architecture=compute_%d", newest);
    else
        snprintf(target->option, sizeof target->option, "--gpu-architecture=%.16s", arch);
    return true;
}

/* --- compiling */

/* The first line of the log that tells of an error, else the first line. */
static void first_error(const char *log, Why *why) {
    const char *error = strstr(log, "error");
    const char *line = log;
    for (const char *at = log; error && at < error; at++)
        if (*at == '\n') line = at + 1;
    why_set(why, "%.*s", (int)strcspn(line, "\n"), line);
}

static void explain(const Nvrtc *nvrtc, nvrtcProgram program, nvrtcResult result, Why *why) {
    size_t size = 0;
    nvrtc->GetProgramLogSize(program, &size);
    char *log = calloc(1, size + 1);
    if (log && nvrtc->GetProgramLog(program, log) == NVRTC_SUCCESS && strlen(log) > 1)
        first_error(log, why);
    else
        why_set(why, "NVRTC failed with error %d and said nothing", (int)result);
    free(log);
}

/* Options in order of need; those behind the first four only save time, and an NVRTC that does not
 * know them gets the rest. Half the optimisation is half the time for the oracle (0.39 s to 0.21 s
 * for a tanh chain). */
static nvrtcResult compile(const Nvrtc *nvrtc, nvrtcProgram program, const char *target,
                           bool quick) {
    const char *const options[] = {
        target,      "--fmad=false", "--std=c++17",        "-default-device",
        "--minimal", "--no-cache",   "--Ofast-compile=mid"};
    nvrtcResult result = nvrtc->CompileProgram(program, quick ? 7 : 6, options);
    return result == NVRTC_ERROR_INVALID_OPTION ? nvrtc->CompileProgram(program, 4, options)
                                                : result;
}

/* NVRTC counts PTX's NUL into its size; it stays: what loads the text needs it. */
static bool take(const Nvrtc *nvrtc, nvrtcProgram program, bool ptx, Text *binary) {
    size_t size = 0;
    nvrtcResult result =
        ptx ? nvrtc->GetPTXSize(program, &size) : nvrtc->GetCUBINSize(program, &size);
    char *bytes = result == NVRTC_SUCCESS && size ? malloc(size) : NULL;
    if (!bytes) return false;
    result = ptx ? nvrtc->GetPTX(program, bytes) : nvrtc->GetCUBIN(program, bytes);
    if (result == NVRTC_SUCCESS) text_add_bytes(binary, bytes, size);
    free(bytes);
    return result == NVRTC_SUCCESS;
}

Outcome nvrtc_compile(const Nvrtc *nvrtc, const CompileUnit *unit, const char *arch, Text *binary,
                      Why *why) {
    NvrtcTarget target;
    nvrtcProgram program = NULL;
    Outcome outcome = OUTCOME_COMPILE;
    if (!nvrtc_target(nvrtc, arch, &target, why)) return OUTCOME_COMPILE;
    if (nvrtc->CreateProgram(&program, unit->source, unit->name, 0, NULL, NULL) != NVRTC_SUCCESS) {
        why_set(why, "NVRTC could not take the source");
        return OUTCOME_COMPILE;
    }
    nvrtcResult result = compile(nvrtc, program, target.option, unit->quick);
    if (result != NVRTC_SUCCESS)
        explain(nvrtc, program, result, why);
    else if (!take(nvrtc, program, target.ptx, binary))
        why_set(why, "NVRTC gave no binary for %s", arch);
    else
        outcome = OUTCOME_OK;
    nvrtc->DestroyProgram(&program);
    return outcome;
}
