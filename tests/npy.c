/* NumPy files for shell tests, by hand so that no test needs Python. Values are C numbers
 * (0x1p-149, nan, -inf); f16 and bf16 are their bits in hexadecimal, in and out. Fewer values than
 * elements are repeated.
 *
 *     npy FILE TYPE SHAPE VALUE…    writes; SHAPE is 2x3, or scalar
 *     npy FILE                      prints "TYPE SHAPE VALUE…" */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union Value {
    int8_t i8;
    uint8_t u8;
    uint16_t u16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} Value;

static const struct Type {
    const char *name, *descr;
    size_t bytes;
} types[] = {
    {"bool", "|b1", 1}, {"u8", "|u1", 1},  {"i8", "|i1", 1},  {"i32", "<i4", 4}, {"i64", "<i8", 8},
    {"f16", "<f2", 2},  {"u16", "<u2", 2}, {"f32", "<f4", 4}, {"f64", "<f8", 8},
};

enum { TYPES = sizeof types / sizeof *types, HEADER = 256 };

static void die(const char *what) {
    fprintf(stderr, "npy: %s\n", what);
    exit(2);
}

static Value parse(const char *type, const char *text) {
    Value value = {0};
    if (strcmp(type, "f32") == 0)
        value.f32 = strtof(text, NULL);
    else if (strcmp(type, "f64") == 0)
        value.f64 = strtod(text, NULL);
    else if (strcmp(type, "f16") == 0 || strcmp(type, "u16") == 0)
        value.u16 = (uint16_t)strtoul(text, NULL, 16);
    else
        value.i64 = strtoll(text, NULL, 0); /* little-endian: its low bytes */
    return value;
}

/* A NaN's sign says nothing. */
static void print_real(int digits, double value) {
    if (value != value)
        printf(" nan");
    else
        printf(" %.*g", digits, value);
}

static void print(const char *type, const char *bytes) {
    Value value = {0};
    memcpy(&value, bytes, sizeof value);
    if (strcmp(type, "f32") == 0)
        print_real(9, (double)value.f32);
    else if (strcmp(type, "f64") == 0)
        print_real(17, value.f64);
    else if (strcmp(type, "f16") == 0 || strcmp(type, "u16") == 0)
        printf(" %04x", value.u16);
    else if (strcmp(type, "i8") == 0)
        printf(" %d", value.i8);
    else if (strcmp(type, "i32") == 0)
        printf(" %" PRId32, value.i32);
    else if (strcmp(type, "i64") == 0)
        printf(" %" PRId64, value.i64);
    else
        printf(" %u", value.u8);
}

static void write_file(FILE *file, const struct Type *type, const char *shape, int count,
                       char **values) {
    char dims[160] = "", header[HEADER];
    size_t elements = 1;
    for (const char *at = shape; *at >= '0' && *at <= '9';) {
        char *end;
        unsigned long dim = strtoul(at, &end, 10);
        elements *= dim;
        size_t used = strlen(dims);
        snprintf(dims + used, sizeof dims - used, "%lu, ", dim);
        at = *end == 'x' ? end + 1 : end;
    }
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\xf6\x00", 10);
    int length =
        snprintf(header + 10, HEADER - 10,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type->descr, dims);
    header[10 + length] = ' ';
    header[HEADER - 1] = '\n';
    fwrite(header, 1, HEADER, file);
    for (size_t i = 0; i < elements; i++) {
        Value value = parse(type->name, values[i % (size_t)count]);
        fwrite(&value, 1, type->bytes, file);
    }
}

static const struct Type *read_type(const char *header) {
    for (size_t i = 0; i < TYPES; i++) {
        char entry[32];
        snprintf(entry, sizeof entry, "'descr': '%s'", types[i].descr);
        if (strstr(header, entry)) return &types[i];
    }
    die("unknown type");
    return NULL;
}

static void print_file(FILE *file) {
    char header[1 << 12] = "", bytes[sizeof(Value)] = "";
    unsigned char head[10];
    if (fread(head, 1, 10, file) != 10) die("no header");
    size_t length = head[8] | (size_t)head[9] << 8;
    if (length >= sizeof header || fread(header, 1, length, file) != length) die("bad header");
    const struct Type *type = read_type(header);
    const char *dims = strchr(header, '(');
    if (!dims || !strstr(header, "'fortran_order': False")) die("bad header");
    printf("%s ", type->name);
    if (dims[1] == ')') printf("scalar");
    for (const char *at = dims + 1, *cross = ""; *at != ')' && *at; at++) {
        if (*at < '0' || *at > '9') continue;
        char *end;
        printf("%s%lu", cross, strtoul(at, &end, 10));
        cross = "x";
        at = end - 1;
    }
    while (fread(bytes, 1, type->bytes, file) == type->bytes) print(type->name, bytes);
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc != 2 && argc < 5) die("npy FILE [TYPE SHAPE VALUE…]");
    FILE *file = fopen(argv[1], argc == 2 ? "rb" : "wb");
    if (!file) die(strerror(errno));
    if (argc == 2) return print_file(file), 0;
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, argv[2]) == 0)
            write_file(file, &types[i], argv[3], argc - 4, argv + 4);
    return fclose(file) != 0;
}
