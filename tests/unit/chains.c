/* fuse on programs made at random, the same each time: whatever the statements, there is a chain in
 * both languages unless a product is in the way; every step is a program that verifies, has kernels,
 * binds at the gate's shapes and reads back from its text; and the steps one after another give what
 * the whole program may give. KF_CHECK_ALL=1 takes many more; KF_CHAINS_SEED=n runs the n-th alone. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "compiler/eval.h"
#include "compiler/fuse.h"
#include "compiler/gate.h"
#include "compiler/ir_text.h"
#include "compiler/near.h"
#include "compiler/verify.h"
#include "planned.h"
#include "random_program.h"

enum { FEW = 1200, MANY = 20000, DATA_SEED = 5 };

typedef struct Case {
    Arena *arena;
    const Registry *registry;
    const char *text;
    const Ir *ir;
    void **given; /* inputs' elements */
    const char *wrong;
} Case;

static void complain(Case *c, const char *format, const char *a, const char *b) {
    if (!c->wrong) c->wrong = arena_printf(c->arena, format, a, b);
}

static int failures;

/* A program whose emission aborts is named as well. */
static const char *current;

static void name_current(int signal) {
    (void)signal;
    if (write(2, current, strlen(current)) < 0) _exit(1);
}

/* --- evaluation */

static void fill_inputs(Case *c) {
    c->given = arena_array(c->arena, void *, c->ir->inputs.count);
    for (uint32_t i = 0; i < c->ir->inputs.count; i++) {
        const Type *type = &c->ir->inputs.data[i].type;
        c->given[i] = arena_alloc(c->arena, (size_t)type_bytes(type) + 8);
        gate_fill(c->given[i], type->dtype, DATA_SEED, i, 0, type_count(type), 1);
    }
}

/* Buffers by chain_buffer; what is updated in place is one with its input. */
static void **make_buffers(Case *c, const Chain *chain) {
    const Ir *ir = c->ir;
    uint32_t n = 0;
    void **buffers = arena_array(c->arena, void *,
                                 ir->inputs.count + ir->outputs.count + chain->temporaries.count);
    for (; n < ir->inputs.count; n++) {
        size_t size = (size_t)type_bytes(&ir->inputs.data[n].type);
        buffers[n] = arena_alloc(c->arena, size + 8);
        memcpy(buffers[n], c->given[n], size);
    }
    for (uint32_t o = 0; o < ir->outputs.count; o++) {
        const IrOutput *output = &ir->outputs.data[o];
        buffers[n++] = output->updates >= 0
                           ? buffers[output->updates]
                           : arena_alloc(c->arena, (size_t)type_bytes(&output->type) + 8);
    }
    for (uint32_t t = 0; t < chain->temporaries.count; t++)
        buffers[n++] = arena_alloc(c->arena, (size_t)chain->temporaries.data[t] + 8);
    return buffers;
}

/* All outputs are evaluated before the first is stored. */
static void run_step(Case *c, const Step *step, void **buffers) {
    const void **inputs = arena_array(c->arena, const void *, step->inputs.count);
    void **results = arena_array(c->arena, void *, step->outputs.count);
    for (uint32_t i = 0; i < step->inputs.count; i++)
        inputs[i] = buffers[chain_buffer(c->ir, step->inputs.data[i])];
    Eval *eval = eval_open(step->ir, inputs, ACCURACY_C, NULL);
    for (uint32_t o = 0; o < step->outputs.count; o++) {
        results[o] = arena_alloc(c->arena, (size_t)type_bytes(&step->ir->outputs.data[o].type) + 8);
        eval_values(eval, o, results[o]);
    }
    eval_close(eval);
    for (uint32_t o = 0; o < step->outputs.count; o++)
        memcpy(buffers[chain_buffer(c->ir, step->outputs.data[o])], results[o],
               (size_t)type_bytes(&step->ir->outputs.data[o].type));
}

/* What the steps leave lies inside the whole program's intervals. */
static void judge(Case *c, Eval *whole, const Chain *chain, void **buffers) {
    for (uint32_t o = 0; o < c->ir->outputs.count; o++) {
        const IrOutput *output = &c->ir->outputs.data[o];
        int64_t count = type_count(&output->type);
        size_t bytes = dtype_info(output->type.dtype)->bytes;
        for (int64_t at = 0; at < count; at += EVAL_BLOCK) {
            int64_t some = count - at < EVAL_BLOCK ? count - at : EVAL_BLOCK;
            Check check = check_none();
            const char *out = (const char *)buffers[c->ir->inputs.count + o] + (size_t)at * bytes;
            check_block(eval_range(whole, 0, o, at, some), out, at, &check);
            if (check.wrong)
                complain(c, "the steps of '%s' give another %s", chain->name, output->name);
        }
    }
}

/* --- steps */

static void check_bounds(Case *c, const Step *step) {
    uint32_t count;
    const Ir *const *shapes = gate_shapes(c->arena, step->ir, &count);
    for (uint32_t i = 0; i < count; i++) {
        const char *broken = verify(shapes[i], c->arena);
        if (broken) complain(c, "%s at a gate's shape: %s", step->label, broken);
        for (uint32_t k = 0; k < step->kernels.list.count; k++)
            kernel_bound(c->arena, &step->kernels.list.data[k], shapes[i]);
    }
    for (uint32_t k = 0; k < step->kernels.list.count; k++)
        if (!kernel_bound(c->arena, &step->kernels.list.data[k], step->ir))
            complain(c, "%s does not bind as %s", step->label, step->kernels.list.data[k].name);
}

/* No name has the shape that IR_BROADCAST gives. */
static bool has_broadcast(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++)
        if (ir_node(ir, v)->op == IR_BROADCAST) return true;
    return false;
}

static Ir *read_back(Case *c, const Ir *ir, const char *text) {
    Diags diags = {.arena = c->arena};
    LowerOptions options = {.plain = {.dtype = DT_F32}};
    InputSpec *specs = arena_array(c->arena, InputSpec, ir->inputs.count);
    uint32_t *uses = arena_array(c->arena, uint32_t, ir->nodes.count);
    ir_count_uses(ir, uses);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if (uses[ir->inputs.data[i].value] > 0)
            specs[options.input_count++] = (InputSpec){ir->inputs.data[i].name, true, true, false,
                                                       ir->inputs.data[i].type, {0}};
    options.inputs = specs;
    const Ast *ast =
        parse_program(c->arena, source_new(c->arena, "<step>", text, strlen(text)), &diags);
    Ir *again = ast ? lower(c->arena, ast, c->registry, &options, &diags) : NULL;
    Text message = {0};
    diags_print(&message, &diags);
    if (!again) complain(c, "a step's text is refused: %s%s", text, text_string(&message));
    text_free(&message);
    return again ? simplify(c->arena, again, true) : NULL;
}

static const void *input_named(const Step *step, const Ir *whole, void **buffers,
                               const char *name) {
    for (uint32_t i = 0; i < step->inputs.count; i++)
        if (strcmp(step->ir->inputs.data[i].name, name) == 0)
            return buffers[chain_buffer(whole, step->inputs.data[i])];
    return NULL;
}

static int32_t output_named(const Ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (strcmp(ir->outputs.data[i].name, name) == 0) return (int32_t)i;
    return -1;
}

static bool is_near(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-4 * (fabs(a) + 1e-3);
}

/* In the types that the step stores, an output may be given as a wider one. */
static void compare_texts(Case *c, const Step *step, const Ir *again, Eval *a, Eval *b) {
    for (uint32_t o = 0; o < step->outputs.count; o++) {
        const IrOutput *output = &step->ir->outputs.data[o];
        int32_t other = output_named(again, output->name);
        int64_t count = type_count(&output->type);
        if (other < 0 || type_count(&again->outputs.data[other].type) != count) {
            complain(c, "%s: the step's text has no such %s", step->label, output->name);
            continue;
        }
        if (again->outputs.data[other].type.dtype != output->type.dtype) continue;
        for (int64_t at = 0; at < count; at += EVAL_BLOCK) {
            int64_t some = count - at < EVAL_BLOCK ? count - at : EVAL_BLOCK;
            const Expected *x = eval_range(a, 0, o, at, some);
            const Expected *y = eval_range(b, 0, (uint32_t)other, at, some);
            for (int64_t i = 0; i < some; i++)
                if (!is_near(x->value[i], y->value[i]))
                    complain(c, "the step's text gives another %s: %s", output->name,
                             step->ir->source->text);
        }
    }
}

static void check_text(Case *c, const Step *step, void **buffers) {
    if (has_broadcast(step->ir)) return;
    const Ir *again = read_back(c, step->ir, ir_text(c->arena, step->ir));
    if (!again) return;
    const void **inputs = arena_array(c->arena, const void *, step->inputs.count);
    const void **named = arena_array(c->arena, const void *, again->inputs.count);
    for (uint32_t i = 0; i < step->inputs.count; i++)
        inputs[i] = buffers[chain_buffer(c->ir, step->inputs.data[i])];
    for (uint32_t i = 0; i < again->inputs.count; i++)
        named[i] = input_named(step, c->ir, buffers, again->inputs.data[i].name);
    Eval *a = eval_open(step->ir, inputs, ACCURACY_C, NULL);
    Eval *b = eval_open(again, named, ACCURACY_C, NULL);
    compare_texts(c, step, again, a, b);
    eval_close(a);
    eval_close(b);
}

/* --- chains */

static void check_chain(Case *c, Eval *whole, const Chain *chain) {
    void **buffers = make_buffers(c, chain);
    for (uint32_t s = 0; s < chain->steps.count && !c->wrong; s++) {
        const Step *step = &chain->steps.data[s];
        const char *broken = verify(step->ir, c->arena);
        if (broken) complain(c, "%s: %s", step->label, broken);
        if (broken) return;
        check_bounds(c, step);
        check_text(c, step, buffers);
        run_step(c, step, buffers);
    }
    if (!c->wrong) judge(c, whole, chain, buffers);
}

static bool has_product(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++)
        if (ir_node(ir, v)->op == IR_MATMUL) return true;
    return false;
}

static void check_language(Case *c, Eval *whole, const char *language) {
    const Library *library = library_open(c->arena, language, c->registry);
    Uncovered uncovered = {0};
    Chains chains = fuse(c->arena, library, c->ir, &uncovered);
    if (chains.list.count == 0 && !(uncovered.ir && has_product(uncovered.ir)))
        complain(c, "no chain in %s: %s", language,
                 uncovered.ir ? ir_text(c->arena, uncovered.ir) : "");
    for (uint32_t i = 0; i < chains.list.count; i++) check_chain(c, whole, chains.list.data[i]);
}

/* Whether the language takes the program. */
static bool check_program(uint64_t seed) {
    Case c = {.arena = arena_open()};
    RandomProgram random = random_program(c.arena, seed);
    Diags diags = {.arena = c.arena};
    c.registry = registry_open(c.arena);
    c.text = random.text;
    current = arena_printf(c.arena, "program %llu, %s:\n%s", (unsigned long long)seed,
                           random.shapes, random.text);
    const Ast *ast =
        parse_program(c.arena, source_new(c.arena, "<random>", c.text, strlen(c.text)), &diags);
    Ir *ir = ast ? lower(c.arena, ast, c.registry, &random.options, &diags) : NULL;
    if (ir) {
        c.ir = simplify(c.arena, ir, true);
        fill_inputs(&c);
        Eval *whole = eval_open(c.ir, (const void *const *)c.given, ACCURACY_C, NULL);
        check_language(&c, whole, "c");
        c.ir = near(c.arena, c.ir, NULL);
        check_language(&c, whole, "cuda");
        eval_close(whole);
    } else if (getenv("KF_CHAINS_SEED")) {
        Text message = {0};
        diags_print(&message, &diags);
        print_error("%s%s", current, text_string(&message));
        text_free(&message);
    }
    if (c.wrong) print_error("%s%s\n\n", current, c.wrong);
    if (c.wrong) failures++;
    arena_close(c.arena);
    return ir != NULL;
}

static void chains_of_random_programs(void **state) {
    uint64_t count = getenv("KF_CHECK_ALL") ? MANY : FEW, taken = 0;
    const char *alone = getenv("KF_CHAINS_SEED");
    (void)state;
    if (alone) {
        check_program(strtoull(alone, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++) taken += check_program(seed);
    print_message("%llu of %llu programs\n", (unsigned long long)taken, (unsigned long long)count);
    assert_int_equal(failures, 0);
    assert_true(taken > count / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_random_programs),
    };
    signal(SIGABRT, name_current);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
