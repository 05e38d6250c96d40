/* In: a template at a point, sizes, buffers by name. Out: launches with every argument and extent a
 * number, checked against what any device allows; and a Run as bytes. */
#include "tuner/run.h"

#include <stdio.h>
#include <string.h>

#include "tuner/wire.h"

/* Limits of every CUDA device; shared memory is the largest any has (227 KiB, from sm_90 on), its
 * own limit is the driver's to say. */
enum {
    GRID_X_MAX = INT32_MAX,
    GRID_YZ_MAX = 65535,
    BLOCK_MAX = 1024,
    BLOCK_Z_MAX = 64,
    SHARED_MAX = 227 << 10,
    CLUSTER_MAX = 16,
    VECTOR_BYTES = 16,
};

typedef struct Builder {
    Arena *arena;
    const Template *template;
    const Point *point;
    const Bound *bound;
    Bindings bindings;
    int64_t workspace; /* its buffer, -1: none */
    const char *why;
} Builder;

/* --- arguments */

static bool add_arg(Arg *arg, ArgKind kind, uint32_t buffer, Scalar value) {
    *arg = (Arg){kind, buffer, value};
    return true;
}

static bool resolve_scalar(const BoundScalar *scalar, Arg *arg) {
    ArgKind kind = scalar->dtype == DT_F64 ? ARG_F64 : scalar->dtype == DT_I64 ? ARG_I64 : ARG_F32;
    return add_arg(arg, kind, 0, scalar->value);
}

/* A tensor, the workspace, a scalar, or a size: names are one space. */
static bool resolve(Builder *b, const char *name, Arg *arg) {
    for (uint32_t i = 0; i < b->bound->tensors.count; i++)
        if (strcmp(b->bound->tensors.data[i].name, name) == 0)
            return add_arg(arg, ARG_BUFFER, b->bound->tensors.data[i].buffer, (Scalar){0});
    if (b->workspace >= 0 && strcmp(name, "workspace") == 0)
        return add_arg(arg, ARG_BUFFER, (uint32_t)b->workspace, (Scalar){0});
    for (uint32_t i = 0; i < b->bound->scalars.count; i++)
        if (strcmp(b->bound->scalars.data[i].name, name) == 0)
            return resolve_scalar(&b->bound->scalars.data[i], arg);
    for (uint32_t i = 0; i < b->bindings.count; i++)
        if (strcmp(b->bindings.list[i].name, name) == 0)
            return add_arg(arg, ARG_I64, 0, (Scalar){.whole = b->bindings.list[i].value});
    b->why = arena_printf(b->arena, "kernel %s: nothing is named '%s'", b->template->name, name);
    return false;
}

/* --- extents */

static bool eval(Builder *b, const Ast *ast, Node node, int64_t fallback, int64_t *value) {
    const char *why = NULL;
    *value = fallback;
    if (node == 0) return true;
    if (space_eval(&b->template->space, b->point, b->bindings, ast, node, value, &why)) return true;
    b->why = arena_printf(b->arena, "kernel %s: launch: %s", b->template->name, why);
    return false;
}

static bool within(Builder *b, const char *what, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return true;
    b->why = arena_printf(b->arena, "%s of %lld: from %lld to %lld is possible", what,
                          (long long)value, (long long)low, (long long)high);
    return false;
}

static bool eval_extents(Builder *b, const TemplateLaunch *from, Launch *launch) {
    static const char *const grid[] = {"grid x", "grid y", "grid z"};
    static const char *const block[] = {"block x", "block y", "block z"};
    int64_t threads = 1, value;
    for (int axis = 0; axis < 3; axis++) {
        if (!eval(b, from->ast, from->grid[axis], 1, &launch->grid[axis])) return false;
        if (!within(b, grid[axis], launch->grid[axis], 0, axis ? GRID_YZ_MAX : GRID_X_MAX))
            return false;
        if (!eval(b, from->ast, from->block[axis], 1, &value)) return false;
        if (!within(b, block[axis], value, 1, axis == 2 ? BLOCK_Z_MAX : BLOCK_MAX)) return false;
        launch->block[axis] = (int32_t)value;
        threads *= value;
    }
    return within(b, "block", threads, 1, BLOCK_MAX);
}

static bool eval_rest(Builder *b, const TemplateLaunch *from, Launch *launch) {
    int64_t cluster, shared, dependent;
    if (!eval(b, from->ast, from->cluster, 1, &cluster)) return false;
    if (!eval(b, from->ast, from->shared, 0, &shared)) return false;
    if (!eval(b, from->ast, from->dependent, 0, &dependent)) return false;
    if (!within(b, "cluster", cluster, 1, CLUSTER_MAX)) return false;
    if (!within(b, "shared memory", shared, 0, SHARED_MAX)) return false;
    launch->cluster = (int32_t)cluster;
    launch->shared = (int32_t)shared;
    launch->dependent = dependent != 0;
    if (launch->grid[0] % cluster == 0) return true;
    b->why = arena_printf(b->arena, "grid x of %lld is not divisible by the cluster of %lld",
                          (long long)launch->grid[0], (long long)cluster);
    return false;
}

/* --- alignment */

/* The C language's vectors are read at any address. */
uint32_t run_alignment(const Template *template, const Point *point, const Bound *bound) {
    const Space *space = &template->space;
    int64_t vector = 1, bytes = 1;
    if (strcmp(template->language, "cuda") != 0) return 1;
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (strcmp(space->knobs[i].label, "VEC") == 0) vector = point->value[i];
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        if (dtype_info(bound->tensors.data[i].dtype)->bytes > bytes)
            bytes = dtype_info(bound->tensors.data[i].dtype)->bytes;
    return vector >= VECTOR_BYTES / bytes ? VECTOR_BYTES : (uint32_t)(vector * bytes);
}

/* --- building */

static bool add_launch(Builder *b, Run *run, const TemplateLaunch *from, uint32_t module) {
    const Template *template = b->template;
    Launch launch = {.module = module, .entry = from->entry, .twin = from->twin};
    launch.alignment = run_alignment(template, b->point, b->bound);
    launch.arg_count = template->args.count;
    launch.args = arena_array(b->arena, Arg, launch.arg_count);
    for (uint32_t i = 0; i < launch.arg_count; i++)
        if (!resolve(b, template->args.data[i], &launch.args[i])) return false;
    if (!eval_extents(b, from, &launch) || !eval_rest(b, from, &launch)) return false;
    array_push(b->arena, &run->launches, launch);
    return true;
}

/* The workspace is one more temporary of the run. */
static bool add_workspace(Builder *b, Run *run) {
    int64_t bytes;
    b->workspace = -1;
    if (!b->template->workspace_ast) return true;
    if (!eval(b, b->template->workspace_ast, b->template->workspace, 0, &bytes)) return false;
    if (!within(b, "workspace", bytes, 0, INT64_MAX / 2)) return false;
    b->workspace = run->temporaries.count;
    b->workspace += b->bound->ir->inputs.count + b->bound->ir->outputs.count;
    array_push(b->arena, &run->temporaries, bytes);
    return true;
}

bool run_add(Arena *arena, Run *run, const Template *template, const Point *point,
             const Bound *bound, Bindings bindings, uint32_t module, const char **why) {
    Builder builder = {arena, template, point, bound, bindings, -1, NULL};
    bool good = add_workspace(&builder, run);
    for (uint32_t i = 0; good && i < template->launches.count; i++)
        good = add_launch(&builder, run, &template->launches.data[i], module);
    *why = builder.why;
    return good;
}

/* --- as bytes */

static void write_launch(Text *out, const Launch *launch) {
    wire_put_u32(out, launch->module);
    wire_put_string(out, launch->entry);
    wire_put_string(out, launch->twin);
    wire_put_u32(out, launch->alignment);
    wire_put_bytes(out, launch->grid, sizeof launch->grid);
    wire_put_bytes(out, launch->block, sizeof launch->block);
    wire_put_u32(out, (uint32_t)launch->cluster);
    wire_put_u32(out, (uint32_t)launch->shared);
    wire_put_u32(out, launch->dependent);
    wire_put_u32(out, launch->arg_count);
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        wire_put_u32(out, launch->args[i].kind);
        wire_put_u32(out, launch->args[i].buffer);
        wire_put_u64(out, (uint64_t)launch->args[i].value.whole);
    }
}

void run_write(Text *out, const Run *run) {
    wire_put_u32(out, run->launches.count);
    for (uint32_t i = 0; i < run->launches.count; i++) write_launch(out, &run->launches.data[i]);
    wire_put_u32(out, run->temporaries.count);
    for (uint32_t i = 0; i < run->temporaries.count; i++)
        wire_put_u64(out, (uint64_t)run->temporaries.data[i]);
}

/* Whether `count` items of at least `bytes` each can still come: a damaged count must not allocate.
 */
static bool plausible(WireReader *reader, uint32_t count, size_t bytes) {
    if (count > reader->left / bytes) reader->damaged = true;
    return !reader->damaged;
}

enum { ARG_BYTES = 16, LAUNCH_BYTES = 64, TEMPORARY_BYTES = 8 };

static void read_args(Arena *arena, WireReader *reader, Launch *launch) {
    if (!plausible(reader, launch->arg_count, ARG_BYTES)) return;
    launch->args = arena_array(arena, Arg, launch->arg_count);
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        Arg *arg = &launch->args[i];
        arg->kind = (ArgKind)wire_get_u32(reader);
        arg->buffer = wire_get_u32(reader);
        arg->value.whole = (int64_t)wire_get_u64(reader);
        if (arg->kind > ARG_F64) reader->damaged = true;
    }
}

static void read_launch(Arena *arena, WireReader *reader, Launch *launch) {
    launch->module = wire_get_u32(reader);
    launch->entry = wire_get_string(reader, arena);
    launch->twin = wire_get_string(reader, arena);
    launch->alignment = wire_get_u32(reader);
    wire_get_struct(reader, launch->grid, sizeof launch->grid);
    wire_get_struct(reader, launch->block, sizeof launch->block);
    launch->cluster = (int32_t)wire_get_u32(reader);
    launch->shared = (int32_t)wire_get_u32(reader);
    launch->dependent = wire_get_u32(reader) != 0;
    launch->arg_count = wire_get_u32(reader);
    if (!launch->entry) reader->damaged = true;
    read_args(arena, reader, launch);
}

Run *run_read(Arena *arena, const void *bytes, size_t length, size_t *used) {
    WireReader reader = wire_reader(bytes, length);
    Run *run = arena_new(arena, Run);
    uint32_t count = wire_get_u32(&reader);
    if (!plausible(&reader, count, LAUNCH_BYTES)) return NULL;
    for (uint32_t i = 0; i < count && !reader.damaged; i++) {
        Launch launch = {0};
        read_launch(arena, &reader, &launch);
        array_push(arena, &run->launches, launch);
    }
    count = wire_get_u32(&reader);
    if (!plausible(&reader, count, TEMPORARY_BYTES)) return NULL;
    for (uint32_t i = 0; i < count; i++)
        array_push(arena, &run->temporaries, (int64_t)wire_get_u64(&reader));
    if (reader.damaged) return NULL;
    *used = length - reader.left;
    return run;
}
