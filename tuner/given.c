/* In: host arrays. Out: the same arrays in a worker. One idea: both ends lay the file out by the
 * program, so that only which arrays there are has to be said. */
#include "tuner/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { UNIT = 64 }; /* arrays begin at multiples of it */

void given_tolerance(DType type, double *rtol, double *atol) {
    *atol = dtype_is_float(type) ? type == DT_F64 ? 1e-7 : 1e-5 : 0;
    switch (type) {
    case DT_F16: *rtol = 1e-3; break;
    case DT_BF16: *rtol = 1.6e-2; break;
    case DT_F32: *rtol = 1.3e-6; break;
    case DT_F64: *rtol = 1e-7; break;
    default: *rtol = 0;
    }
}

static uint32_t array_count(const Ir *ir) {
    return ir->inputs.count + ir->outputs.count;
}

/* Inputs, then outputs. */
static const void *array_at(const Given *given, const Ir *ir, uint32_t i, size_t *bytes) {
    bool input = i < ir->inputs.count;
    uint32_t o = i - ir->inputs.count;
    *bytes = (size_t)type_bytes(input ? &ir->inputs.data[i].type : &ir->outputs.data[o].type);
    if (input) return given->inputs[i];
    return given->references ? given->references[o] : NULL;
}

uint64_t given_hash(const Given *given, const Ir *ir) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (uint32_t i = 0; i < array_count(ir); i++) {
        size_t bytes;
        const void *array = array_at(given, ir, i, &bytes);
        XXH3_64bits_update(&state, &i, sizeof i);
        if (array) XXH3_64bits_update(&state, array, bytes);
    }
    for (uint32_t o = 0; given->references && o < ir->outputs.count; o++) {
        XXH3_64bits_update(&state, &given->rtol[o], sizeof *given->rtol);
        XXH3_64bits_update(&state, &given->atol[o], sizeof *given->atol);
    }
    return XXH3_64bits_digest(&state);
}

static bool write_all(int fd, const void *bytes, size_t size, off_t at) {
    for (const char *from = bytes; size > 0;) {
        ssize_t done = pwrite(fd, from, size, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from += done;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static off_t behind(off_t at, size_t bytes) {
    return at + (off_t)((bytes + UNIT - 1) / UNIT * UNIT);
}

int given_share(const Given *given, const Ir *ir, Why *why) {
    int fd = memfd_create("kfuse-given", MFD_CLOEXEC);
    off_t at = UNIT;
    bool good = fd >= 0 && ftruncate(fd, at) == 0;
    for (uint32_t i = 0; i < array_count(ir) && good; i++) {
        size_t bytes;
        const void *array = array_at(given, ir, i, &bytes);
        if (!array) continue;
        good = write_all(fd, array, bytes, at);
        at = behind(at, bytes);
    }
    if (good) return fd;
    why_set(why, "the given data do not fit in memory: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

void given_put(Text *out, const Given *given, const Ir *ir, int fd) {
    char path[64];
    wire_put_u32(out, given != NULL);
    if (!given) return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    wire_put_string(out, path);
    wire_put_u32(out, given->references != NULL);
    for (uint32_t i = 0; i < array_count(ir); i++) {
        size_t bytes;
        wire_put_u32(out, array_at(given, ir, i, &bytes) != NULL);
    }
    for (uint32_t o = 0; given->references && o < ir->outputs.count; o++) {
        wire_put_f64(out, given->rtol[o]);
        wire_put_f64(out, given->atol[o]);
    }
}

/* The whole file, or NULL. */
static const char *map(const char *path, size_t *size, Why *why) {
    struct stat status = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) why_set(why, "cannot read the given data: %s", strerror(errno));
    if (fd >= 0) close(fd);
    *size = (size_t)status.st_size;
    return bytes == MAP_FAILED ? NULL : bytes;
}

bool given_get(Arena *arena, WireReader *reader, const Ir *ir, const Given **out, Why *why) {
    *out = NULL;
    if (!wire_get_u32(reader)) return true;
    Given *given = arena_new(arena, Given);
    const char *path = wire_get_string(reader, arena);
    const void **arrays = arena_array(arena, const void *, array_count(ir) + 1);
    double *tolerances = arena_array(arena, double, 2 * ir->outputs.count);
    size_t size, bytes;
    const char *file = path ? map(path, &size, why) : NULL;
    off_t at = UNIT;
    if (!file) return false;
    *given = (Given){.inputs = arrays, .rtol = tolerances, .atol = tolerances + ir->outputs.count};
    if (wire_get_u32(reader)) given->references = arrays + ir->inputs.count;
    for (uint32_t i = 0; i < array_count(ir); i++) {
        array_at(given, ir, i, &bytes);
        if (!wire_get_u32(reader)) continue;
        if ((size_t)at + bytes > size) return why_set(why, "the given data are cut short");
        arrays[i] = file + at;
        at = behind(at, bytes);
    }
    for (uint32_t o = 0; given->references && o < ir->outputs.count; o++) {
        tolerances[o] = wire_get_f64(reader);
        tolerances[ir->outputs.count + o] = wire_get_f64(reader);
    }
    *out = given;
    return !reader->damaged || why_set(why, "a damaged program came over the wire");
}
