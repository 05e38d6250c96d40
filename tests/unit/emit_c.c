/* The C that emit_c writes: compiled by the host's compiler, run at every kind of shape and at many
 * points, compared bit for bit between points and with an evaluation of the Ir element by element.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/fold.h"
#include "planned.h"

typedef void Kernel(void *const *args, int64_t part, int64_t parts);

/* --- compile */

static char folder[] = "/tmp/kfuse-emit-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static Kernel *compile(const Template *template, const Point *point, void **library) {
    static int serial;
    char path[96], command[512];
    Text text = {0};
    template_instantiate(&text, template, point, "");
    snprintf(path, sizeof path, "%s/%d", folder, serial++);
    snprintf(command, sizeof command,
             "cc -O2 -march=native -std=gnu11 -ffp-contract=off -fno-math-errno -fno-trapping-math "
             "-Wall -Wextra -Wno-psabi -Werror -shared -fPIC -x c - -o %s.so -lmvec -lm",
             path);
    FILE *pipe = popen(command, "w");
    fwrite(text.data, 1, text.length, pipe);
    if (pclose(pipe) != 0) fail_msg("does not compile: %s", template->name);
    text_free(&text);
    snprintf(path + strlen(path), 8, ".so");
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library) fail_msg("%s", dlerror());
    void *symbol = dlsym(*library, template->launches.data[0].entry);
    Kernel *kernel;
    memcpy(&kernel, &symbol, sizeof kernel);
    return kernel;
}

/* --- data */

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

typedef struct Buffer {
    uint8_t *memory, *zero; /* element 0 */
    size_t size;
} Buffer;

/* Room for every element that the strides reach, between guards; `skew` bytes off alignment. */
static Buffer buffer_new(Arena *arena, const Type *type, const int64_t *strides, size_t skew) {
    int64_t low = 0, high = 0, bytes = dtype_info(type->dtype)->bytes;
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t reach = strides[i] * (type->dim[i] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    Buffer buffer = {.size = (size_t)((high - low + 1) * bytes) + 2 * GUARD + 128};
    buffer.memory = arena_alloc(arena, buffer.size);
    memset(buffer.memory, GUARD_BYTE, buffer.size);
    uintptr_t at = (uintptr_t)buffer.memory + GUARD - (uintptr_t)(low * bytes);
    buffer.zero = (uint8_t *)((at + 63) / 64 * 64 + skew);
    return buffer;
}

static int64_t offset_of(const Type *type, const int64_t *strides, int64_t index) {
    int64_t offset = 0;
    for (uint32_t i = type->rank; i-- > 0; index /= type->dim[i])
        offset += index % type->dim[i] * strides[i];
    return offset;
}

static Scalar sample(DType type, uint64_t index) {
    static const double specials[] = {0.0,   -0.0,  NAN,   INFINITY, -INFINITY, 1e-40, -1e-44, 1.0,
                                      -1.0,  0.5,   -0.5,  1.5,      2.5,       88.0,  -100.0, 3e38,
                                      -3e38, 65504, 1e300, 127.5,    300,       -7,    1e10};
    uint64_t hash = (index + 1) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    hash *= 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 32;
    double real = ((double)(hash % 20011) - 10005) / 1250.0;
    if (hash >> 60 == 0) real = specials[hash % (sizeof specials / sizeof *specials)];
    if (dtype_is_float(type)) return (Scalar){.real = real};
    if (type == DT_BOOL) return (Scalar){.whole = hash & 1};
    if (hash >> 60 == 1) return (Scalar){.whole = hash & 1 ? INT64_MIN : INT64_MAX};
    return (Scalar){.whole = (int64_t)(hash % 41) - 20};
}

static Scalar load(DType type, const void *at) {
    return dtype_load(type, at);
}

static void fill(const Type *type, const int64_t *strides, const Buffer *buffer, uint64_t seed) {
    int64_t count = type_count(type), bytes = dtype_info(type->dtype)->bytes;
    for (int64_t i = 0; i < count; i++) {
        Scalar value = sample(type->dtype, seed * 1000003 + (uint64_t)i);
        if (!dtype_is_float(type->dtype)) value.whole = dtype_wrap(type->dtype, value.whole);
        dtype_store(type->dtype, buffer->zero + offset_of(type, strides, i) * bytes, value);
    }
}

/* --- the reference: one element of the Ir at a time */

typedef struct Reference {
    const Ir *ir;
    const Buffer *inputs;
    Scalar *value;
    int64_t coordinate[RANK_MAX];
    uint32_t rank;
} Reference;

static Scalar read_input(const Reference *r, Value value) {
    bool swap = false;
    const IrNode *node = ir_node(r->ir, value);
    for (; node->op == IR_TRANSPOSE; node = ir_node(r->ir, node->arg[0])) swap = !swap;
    const IrInput *input = &r->ir->inputs.data[node->index];
    int64_t at[RANK_MAX], offset = 0;
    Type type = ir_node(r->ir, value)->type;
    for (uint32_t i = 0; i < type.rank; i++)
        at[i] = type.dim[i] == 1 ? 0 : r->coordinate[r->rank - type.rank + i];
    for (uint32_t i = 0; i < type.rank; i++) {
        uint32_t axis = swap && i + 2 >= type.rank ? 2 * type.rank - 3 - i : i;
        offset += at[i] * input->strides[axis];
    }
    return load(input->type.dtype,
                r->inputs[node->index].zero + offset * dtype_info(input->type.dtype)->bytes);
}

static Scalar cast_reference(const Ir *ir, DType to, Value a, Scalar x) {
    DType from = ir_dtype(ir, a);
    bool real = from == DT_WEAK || dtype_is_float(from);
    if (from == DT_WEAK) x.real = ir_weak(ir, a);
    if (dtype_is_float(to)) {
        DType type = from == DT_WEAK ? ir->compute : to;
        return (Scalar){.real = real ? dtype_round(type, x.real)
                                     : dtype_round_l(ir->compute, (long double)x.whole)};
    }
    if (real) return (Scalar){.whole = dtype_saturate(to, x.real)};
    if (to == DT_BOOL) return (Scalar){.whole = x.whole != 0};
    const DTypeInfo *info = dtype_info(to);
    return (Scalar){.whole = x.whole < info->low    ? info->low
                             : x.whole > info->high ? info->high
                                                    : x.whole};
}

static Scalar primitive_reference(const Reference *r, const IrNode *node) {
    Primitive primitive = ir_primitive(node);
    DType type = ir_dtype(r->ir, node->arg[primitive == P_SELECT]);
    double real[3];
    int64_t whole[3];
    for (uint32_t i = 0; i < node->count; i++) {
        bool is_real = dtype_is_float(ir_dtype(r->ir, node->arg[i]));
        real[i] = is_real ? r->value[node->arg[i]].real : (double)r->value[node->arg[i]].whole;
        whole[i] = is_real ? 0 : r->value[node->arg[i]].whole;
    }
    if (!dtype_is_float(type))
        return (Scalar){.whole = fold_whole(primitive, node->type.dtype, whole)};
    double result = fold_real(primitive, real, r->ir->compute);
    if (node->type.dtype == DT_BOOL) return (Scalar){.whole = result != 0};
    return (Scalar){.real = dtype_round(r->ir->compute, result)};
}

static Scalar evaluate(Reference *r, Value wanted) {
    for (Value v = 1; v <= wanted; v++) {
        const IrNode *node = ir_node(r->ir, v);
        Scalar x = {0};
        if (node->type.dtype == DT_WEAK) continue;
        if (node->op == IR_CONST && dtype_is_float(node->type.dtype))
            x.real = node->real;
        else if (node->op == IR_CONST)
            x.whole = node->whole;
        else if (node->op == IR_INPUT || node->op == IR_TRANSPOSE)
            x = read_input(r, v);
        else if (node->op == IR_CAST || node->op == IR_CONVERT)
            x = cast_reference(r->ir,
                               node->op == IR_CONVERT && dtype_is_float(node->type.dtype)
                                   ? r->ir->compute
                                   : node->type.dtype,
                               node->arg[0], r->value[node->arg[0]]);
        else
            x = primitive_reference(r, node);
        r->value[v] = x;
    }
    return r->value[wanted];
}

/* --- run */

typedef struct Run {
    Arena *arena;
    const Ir *ir;
    const Plan *plan;
    Buffer *inputs, *outputs;
} Run;

static Run run_prepare(Arena *arena, const Ir *ir, const Plan *plan, size_t skew) {
    Run run = {arena, ir, plan, arena_array(arena, Buffer, ir->inputs.count + 1),
               arena_array(arena, Buffer, ir->outputs.count)};
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        run.inputs[i] = buffer_new(arena, &input->type, input->strides,
                                   skew * dtype_info(input->type.dtype)->bytes);
        fill(&input->type, input->strides, &run.inputs[i], i);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        run.outputs[i] = buffer_new(arena, &output->type, output->strides,
                                    skew * dtype_info(output->type.dtype)->bytes);
    }
    return run;
}

static int64_t binding(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->bindings.count; i++)
        if (strcmp(plan->bindings.list[i].name, name) == 0) return plan->bindings.list[i].value;
    fail_msg("no binding %s", name);
    return 0;
}

/* Points args at the values of the template's args. */
static void **run_args(const Run *run, const Template *template) {
    void **args = arena_array(run->arena, void *, template->args.count);
    const Plan *plan = run->plan;
    uint32_t at = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++)
        args[at++] = &run->inputs[plan->loads.data[i].slot].zero;
    for (uint32_t i = 0; i < plan->stores.count; i++) {
        int32_t updates = run->ir->outputs.data[plan->stores.data[i].slot].updates;
        args[at++] = updates >= 0 ? &run->inputs[updates].zero
                                  : &run->outputs[plan->stores.data[i].slot].zero;
    }
    for (; at + plan->scalars.count < template->args.count; at++) {
        int64_t *value = arena_new(run->arena, int64_t);
        *value = binding(plan, template->args.data[at]);
        args[at] = value;
    }
    for (uint32_t i = 0; i < plan->scalars.count; i++) {
        const PlanScalar *scalar = &plan->scalars.data[i];
        args[at] = arena_alloc(run->arena, 8);
        dtype_store(scalar->dtype, args[at++], scalar->argument);
    }
    return args;
}

static void run_kernel(const Run *run, const Template *template, Kernel *kernel, int64_t parts) {
    void **args = run_args(run, template);
    for (int64_t part = 0; part < parts; part++) kernel(args, part, parts);
}

static bool is_exact(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (ir_is_primitive(node) && primitive_info(ir_primitive(node))->class == CLASS_FUNCTION)
            return false;
    }
    return true;
}

static bool same(DType type, Scalar a, Scalar b, bool exact) {
    if (!dtype_is_float(type)) return a.whole == b.whole || !exact;
    if (isnan(a.real) && isnan(b.real)) return true;
    if (a.real == b.real) return !exact || signbit(a.real) == signbit(b.real);
    double unit = ldexp(1, -dtype_info(type == DT_F64 ? DT_F64 : type)->precision);
    return !exact && fabs(a.real - b.real) <= 64 * unit * fmax(fabs(b.real), 1);
}

/* Every stored element against the reference; an output in place is compared before it is
 * overwritten. */
static void check_values(Run *run, const char *text, Reference *r, uint32_t output,
                         const Buffer *stored) {
    const IrOutput *out = &run->ir->outputs.data[output];
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    bool exact = is_exact(run->ir);
    r->rank = out->type.rank;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (uint32_t axis = r->rank; axis-- > 0; rest /= out->type.dim[axis])
            r->coordinate[axis] = rest % out->type.dim[axis];
        Scalar expected = evaluate(r, out->value);
        if (dtype_is_float(out->type.dtype))
            expected.real = dtype_round(out->type.dtype, expected.real);
        Scalar got =
            load(out->type.dtype, stored->zero + offset_of(&out->type, out->strides, i) * bytes);
        if (!same(out->type.dtype, got, expected, exact))
            fail_msg("%s: out[%lld] is %.9g (%lld), expected %.9g (%lld)", text, (long long)i,
                     got.real, (long long)got.whole, expected.real, (long long)expected.whole);
    }
}

static Buffer copy_buffer(Arena *arena, const Buffer *buffer) {
    Buffer copy = *buffer;
    copy.memory = arena_alloc(arena, buffer->size + 64);
    copy.memory += (64 + (uintptr_t)buffer->memory % 64 - (uintptr_t)copy.memory % 64) % 64;
    memcpy(copy.memory, buffer->memory, buffer->size);
    copy.zero = copy.memory + (buffer->zero - buffer->memory);
    return copy;
}

/* Runs the kernel on fresh copies, checks guards and inputs; returns the outputs. */
static Buffer *execute(const Run *prepared, const Template *template, Kernel *kernel,
                       int64_t parts) {
    Run run = *prepared;
    const Ir *ir = run.ir;
    run.inputs = arena_array(run.arena, Buffer, ir->inputs.count + 1);
    run.outputs = arena_array(run.arena, Buffer, ir->outputs.count);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        run.inputs[i] = copy_buffer(run.arena, &prepared->inputs[i]);
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        run.outputs[i] = copy_buffer(run.arena, &prepared->outputs[i]);
    run_kernel(&run, template, kernel, parts);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if (ir->inputs.data[i].updated_by < 0)
            assert_memory_equal(run.inputs[i].memory, prepared->inputs[i].memory,
                                run.inputs[i].size);
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.data[i].updates >= 0)
            run.outputs[i] = run.inputs[ir->outputs.data[i].updates];
    return run.outputs;
}

/* Bytes that the output does not own stay as they were. */
static void check_guards(const Run *run, const Buffer *outputs, uint32_t output) {
    const IrOutput *out = &run->ir->outputs.data[output];
    Buffer mask = copy_buffer(run->arena, &outputs[output]);
    int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
    for (int64_t i = 0; i < count; i++)
        memset(mask.zero + offset_of(&out->type, out->strides, i) * bytes, GUARD_BYTE,
               (size_t)bytes);
    for (size_t i = 0; i < mask.size; i++)
        if (mask.memory[i] != GUARD_BYTE)
            fail_msg("byte %zu of %zu outside the output", i, mask.size);
}

/* NaN payloads may differ between forms of one vector function; all else may not. */
static void check_same_bits(const Run *run, const char *text, const Buffer *a, const Buffer *b) {
    for (uint32_t k = 0; k < run->ir->outputs.count; k++) {
        const IrOutput *out = &run->ir->outputs.data[k];
        int64_t count = type_count(&out->type), bytes = dtype_info(out->type.dtype)->bytes;
        for (int64_t i = 0; i < count; i++) {
            int64_t at = offset_of(&out->type, out->strides, i) * bytes;
            if (memcmp(a[k].zero + at, b[k].zero + at, (size_t)bytes) == 0) continue;
            Scalar x = load(out->type.dtype, a[k].zero + at),
                   y = load(out->type.dtype, b[k].zero + at);
            if (!dtype_is_float(out->type.dtype) || !isnan(x.real) || !isnan(y.real))
                fail_msg("%s: bits differ at %lld", text, (long long)i);
        }
    }
}

/* One compiled point at one shape. */
static void check_shape(const char *text, const char *inputs, const Plan *model,
                        const Template *template, Kernel *kernel, const Buffer **first, Run *run,
                        size_t skew) {
    Arena *arena = run->arena;
    if (!*first) {
        Program p = program_make(arena, text, inputs);
        const Plan *here = plan_like(arena, model, p.ir);
        if (!here) fail_msg("%s: no plan like it at %s", text, inputs);
        *run = run_prepare(arena, p.ir, here, skew);
    }
    for (int64_t parts = 1; parts <= 3; parts += 2) {
        Buffer *outputs = execute(run, template, kernel, parts);
        Reference reference = {.ir = run->ir,
                               .inputs = run->inputs,
                               .value = arena_array(arena, Scalar, run->ir->nodes.count)};
        for (uint32_t i = 0; i < run->ir->outputs.count; i++) {
            if (run->ir->outputs.data[i].updates < 0) check_guards(run, outputs, i);
            if (!*first) check_values(run, text, &reference, i, &outputs[i]);
        }
        if (*first)
            check_same_bits(run, text, *first, outputs);
        else
            *first = outputs;
    }
}

enum { SHAPES = 12, POINTS = 6 };

/* `shapes`: the inputs at other extents, NULL-terminated. The first decides the kernel. */
static void check(const char *text, uint64_t points, const char *const *shapes) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, shapes[0]);
    const Plan *model = program_plan(&p);
    const Template *template = emit_c(arena, model);
    const Buffer *first[SHAPES][2] = {{0}};
    Run runs[SHAPES][2];
    uint64_t size = space_size(&template->space);
    for (uint64_t k = 0; k < points; k++) {
        Point point =
            k == 0 ? space_fallback(&template->space)
                   : space_point(&template->space, k * (size / points) + k * 37 % (size / points));
        void *library;
        Kernel *kernel = compile(template, &point, &library);
        for (uint32_t i = 0; i < SHAPES && shapes[i]; i++)
            for (uint32_t skew = 0; skew < 2; skew++) {
                if (!first[i][skew]) runs[i][skew].arena = arena;
                check_shape(text, shapes[i], model, template, kernel, &first[i][skew],
                            &runs[i][skew], skew);
            }
        dlclose(library);
    }
    arena_close(arena);
}
#define CHECK(text, ...) check(text, POINTS, (const char *const[]){__VA_ARGS__, NULL})

static void dense(void **state) {
    (void)state;
    CHECK("relu(x+res)", "4096", "0", "1", "2", "3", "5", "7", "127", "1023", "1025", "70001");
}

static void rows(void **state) {
    (void)state;
    CHECK("relu(x*s + b) + c", "x=64x32 s=64x1 b=32 c=scalar", "x=3x5 s=3x1 b=5 c=scalar",
          "x=1x7 s=1x1 b=7 c=scalar", "x=5x1 s=5x1 b=1 c=scalar", "x=0x7 s=0x1 b=7 c=scalar",
          "x=7x0 s=7x1 b=0 c=scalar", "x=33x127 s=33x1 b=127 c=scalar",
          "x=2x70001 s=2x1 b=70001 c=scalar", "x=9000x3 s=9000x1 b=3 c=scalar");
}

static void deep(void **state) {
    (void)state;
    CHECK("x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1", "x=2x1x3x7 y=2x1x7 z=2x2x3x1",
          "x=3x1x5x17 y=2x1x17 z=3x2x5x1");
}

static void strided(void **state) {
    (void)state;
    CHECK("x * 2", "x=10x10@128,1", "x=3x33@128,1");
    CHECK("x + y.T", "x=10x12 y=12x10", "x=33x5 y=5x33");
    CHECK("x - y", "x=300@2 y=300", "x=5@-3 y=5");
    CHECK("x - y", "x=30x20@-20,-1 y=30x20", "x=5x7@-7,-1 y=5x7");
}

static void types(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shapes[2][64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++)
        for (uint32_t k = 0; k < 9; k++) {
            if (k > 1 && k != i && k != 6 && k != 8) continue; /* a sample of the pairs */
            snprintf(shapes[0], sizeof shapes[0], "x=257:%s y=257:%s", names[i], names[k]);
            snprintf(shapes[1], sizeof shapes[1], "x=3:%s y=3:%s", names[i], names[k]);
            CHECK("a = x + y; b = x > y ? x : y; c = x // y; d = x % y; e = x * y - x", shapes[0],
                  shapes[1]);
        }
}

static void casts(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shape[32];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(shape, sizeof shape, "x=513:%s", names[i]);
        CHECK("a = f32(x); b = f16(x); c = bf16(x); d = bool(x); e = u8(x); f = i8(x); g = i32(x); "
              "h = i64(x);"
              "i = f32(bf16(x)) + 1; j = f32(i32(x)) * 0.5; k = i8(i64(x)) + 1",
              shape);
    }
}

static void functions(void **state) {
    uint32_t count;
    Arena *arena = arena_open();
    const Function *const *list = registry_list(registry_open(arena), arena, &count);
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        char call[256];
        int length = snprintf(call, sizeof call, "%s(", list[i]->name);
        for (uint32_t k = 0; k < list[i]->required; k++)
            length += snprintf(call + length, sizeof call - (size_t)length, "%s%c", k ? ", " : "",
                               'a' + (int)k);
        snprintf(call + length, sizeof call - (size_t)length, ")");
        check(call, 1, (const char *const[]){"1025", "5", NULL});
    }
    arena_close(arena);
}

static void in_place(void **state) {
    (void)state;
    CHECK("x = x * 2 + y", "x=1000 y=1000", "x=3 y=3");
    CHECK("s = x + res; out = relu(s); return s, out", "x=33x5 res=33x5", "x=3x1 res=3x1");
}

static void scalars(void **state) {
    (void)state;
    CHECK("param eps = 1e-5; param k = 3; out = x * eps + eps / 2 > 0 ? x : y // k",
          "x=100 y=100:i32", "x=3 y=3:i32");
    CHECK("1.5", "4", "1");
    CHECK("x", "x=100:bf16", "x=3:bf16");
    CHECK("n + i", "100", "3");
    CHECK("float + threadIdx * kf_n", "100", "3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),     cmocka_unit_test(rows),     cmocka_unit_test(deep),
        cmocka_unit_test(strided),   cmocka_unit_test(types),    cmocka_unit_test(casts),
        cmocka_unit_test(functions), cmocka_unit_test(in_place), cmocka_unit_test(scalars),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
