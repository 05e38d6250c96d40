/* Ir to bytes and back, for a worker of the same binary. One idea: the bytes carry a checksum, and
 * what is read must verify and be the very array that hash-consing gives; so whatever arrives is a
 * sound Ir or NULL.
 *
 *     magic  checksum of the rest  compute
 *     counts of params, inputs, outputs, nodes; each of them in turn
 *     (numbers as the machine stores them, names behind their length) */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/verify.h"

static const uint64_t MAGIC = 0x317269657375666bu; /* "kfuseir1" */

/* --- Writing */

static void put(Text *out, const void *bytes, size_t length) {
    text_add_bytes(out, bytes, length);
}

static void put_u32(Text *out, uint32_t number) {
    put(out, &number, sizeof number);
}

static void put_i64(Text *out, int64_t number) {
    put(out, &number, sizeof number);
}

static void put_name(Text *out, const char *name) {
    put_u32(out, (uint32_t)strlen(name));
    put(out, name, strlen(name));
}

static void put_type(Text *out, const Type *type) {
    put_u32(out, (uint32_t)type->dtype);
    put_u32(out, type->rank);
    for (uint32_t i = 0; i < type->rank; i++) put_i64(out, type->dim[i]);
}

static void put_strides(Text *out, const Type *type, const int64_t *strides) {
    for (uint32_t i = 0; i < type->rank; i++) put_i64(out, strides[i]);
}

static void put_node(Text *out, const IrNode *node) {
    put_u32(out, node->op);
    put_u32(out, node->count);
    put_type(out, &node->type);
    for (uint32_t i = 0; i < node->count; i++) put_u32(out, node->arg[i]);
    put_i64(out, node->whole); /* or what shares its place */
}

static void put_interface(Text *out, const Ir *ir) {
    for (uint32_t i = 0; i < ir->params.count; i++) {
        const IrParam *param = &ir->params.data[i];
        put_name(out, param->name);
        put(out, &param->value, sizeof param->value);
        put_u32(out, param->whole);
    }
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        put_name(out, input->name);
        put_type(out, &input->type);
        put_strides(out, &input->type, input->strides);
        put_u32(out, (uint32_t)input->updated_by);
        put_u32(out, input->value);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        put_name(out, output->name);
        put_type(out, &output->type);
        put_strides(out, &output->type, output->strides);
        put_u32(out, (uint32_t)output->updates);
        put_u32(out, output->value);
    }
}

void ir_write(Text *out, const Ir *ir) {
    Arena *scratch = arena_open();
    const Ir *flat = ir_copy(scratch, ir, true);
    Text body = {0};
    put_u32(&body, (uint32_t)flat->compute);
    put_u32(&body, flat->params.count);
    put_u32(&body, flat->inputs.count);
    put_u32(&body, flat->outputs.count);
    put_u32(&body, flat->nodes.count);
    put_interface(&body, flat);
    for (Value v = 1; v < flat->nodes.count; v++) put_node(&body, ir_node(flat, v));
    uint64_t head[2] = {MAGIC, XXH3_64bits(body.data, body.length)};
    put(out, head, sizeof head);
    put(out, body.data, body.length);
    text_free(&body);
    arena_close(scratch);
}

/* --- Reading */

typedef struct Reader {
    const char *bytes;
    size_t left;
    bool failed; /* what was read since is zero */
    Arena *arena;
} Reader;

static void get(Reader *r, void *to, size_t length) {
    memset(to, 0, length);
    if (length > r->left) r->failed = true;
    if (r->failed) return;
    memcpy(to, r->bytes, length);
    r->bytes += length;
    r->left -= length;
}

static uint32_t get_u32(Reader *r) {
    uint32_t number;
    get(r, &number, sizeof number);
    return number;
}

static int64_t get_i64(Reader *r) {
    int64_t number;
    get(r, &number, sizeof number);
    return number;
}

static const char *get_name(Reader *r) {
    uint32_t length = get_u32(r);
    if (length > r->left) r->failed = true;
    if (r->failed) return "";
    const char *name = arena_copy(r->arena, r->bytes, length);
    r->bytes += length;
    r->left -= length;
    return name;
}

static Type get_type(Reader *r) {
    Type type = {.dtype = (DType)get_u32(r)};
    uint32_t rank = get_u32(r);
    if (rank > RANK_MAX) r->failed = true;
    type.rank = r->failed ? 0 : rank;
    for (uint32_t i = 0; i < type.rank; i++) type.dim[i] = get_i64(r);
    return type;
}

static void get_strides(Reader *r, const Type *type, int64_t *strides) {
    for (uint32_t i = 0; i < type->rank; i++) strides[i] = get_i64(r);
}

static void get_param(Reader *r, Ir *ir) {
    IrParam param = {.name = get_name(r)};
    get(r, &param.value, sizeof param.value);
    param.whole = get_u32(r) != 0;
    array_push(ir->arena, &ir->params, param);
}

static void get_input(Reader *r, Ir *ir) {
    IrInput input = {.name = get_name(r)};
    input.type = get_type(r);
    get_strides(r, &input.type, input.strides);
    input.updated_by = (int32_t)get_u32(r);
    input.value = get_u32(r);
    array_push(ir->arena, &ir->inputs, input);
}

static void get_output(Reader *r, Ir *ir) {
    IrOutput output = {.name = get_name(r)};
    output.type = get_type(r);
    get_strides(r, &output.type, output.strides);
    output.updates = (int32_t)get_u32(r);
    output.value = get_u32(r);
    array_push(ir->arena, &ir->outputs, output);
}

/* Every node is new: the writer's array held no value twice. */
static void get_node(Reader *r, Ir *ir) {
    IrNode node = {.op = (uint16_t)get_u32(r)};
    uint32_t count = get_u32(r);
    if (count > 3 || node.op == IR_CALL) r->failed = true;
    node.count = r->failed ? 0 : (uint16_t)count;
    node.type = get_type(r);
    for (uint32_t i = 0; i < node.count; i++) node.arg[i] = get_u32(r);
    node.whole = get_i64(r);
    Value next = ir->nodes.count;
    if (!r->failed && ir_value(ir, node) != next) r->failed = true;
}

static Ir *get_ir(Reader *r) {
    Ir *ir = ir_open(r->arena, NULL);
    ir->compute = (DType)get_u32(r);
    uint32_t params = get_u32(r), inputs = get_u32(r), outputs = get_u32(r), nodes = get_u32(r);
    for (uint32_t i = 0; i < params && !r->failed; i++) get_param(r, ir);
    for (uint32_t i = 0; i < inputs && !r->failed; i++) get_input(r, ir);
    for (uint32_t i = 0; i < outputs && !r->failed; i++) get_output(r, ir);
    for (uint32_t i = 1; i < nodes && !r->failed; i++) get_node(r, ir);
    return r->failed || r->left > 0 || verify(ir, r->arena) != NULL ? NULL : ir;
}

Ir *ir_read(Arena *arena, const void *bytes, size_t length) {
    Reader r = {.bytes = bytes, .left = length, .arena = arena};
    uint64_t head[2];
    get(&r, head, sizeof head);
    if (r.failed || head[0] != MAGIC || head[1] != XXH3_64bits(r.bytes, r.left)) return NULL;
    return get_ir(&r);
}
