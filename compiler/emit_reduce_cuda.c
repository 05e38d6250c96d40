/* A plan of reductions in, CUDA C++ out. One idea: each thread has a part of its own in registers,
 * of one result (along) or of VEC neighbouring ones (across); a block joins its threads' parts in a
 * tree, and where SPLIT blocks share a result, they leave what they have in the workspace and
 * NAME_join joins that. No atomics: a point's results have the same bits in every run. */
#include "compiler/reduce_cuda_code.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* `next`: when the kernel behind it may begin early. */
static void print_entry(const ReduceCuda *e, const char *suffix, const char *threads,
                        const char *next) {
    text_printf(e->out, "\nextern \"C\" __global__ void __launch_bounds__(%s)\nKF_ENTRY(%s%s)(",
                threads, e->plan->name, suffix);
    cuda_parameters(e->out, e->plan, &e->reduce->parameters, "long long");
    text_printf(e->out, ", k_part *__restrict__ workspace) {\n    k_begin<%s>();\n", next);
}

static void print_call(const ReduceCuda *e, const char *function) {
    text_printf(e->out, "    %s(", function);
    reduce_cuda_arguments(e);
    text_add(e->out, ", workspace);\n");
}

static void print_entries(const ReduceCuda *e) {
    print_entry(e, "", e->across ? "__BLOCK__" : "__TPR__ * __RPB__",
                "(__SPLIT__ > 1 || __NEXT__)");
    if (e->across) {
        text_add(e->out, "    if (k_is_wide<__VEC__>(");
        reduce_cuda_arguments(e);
        text_add(e->out, "))\n    ");
        print_call(e, "k_across<true, __VEC__, __ACROSS__, __BLOCK__, __UNROLL__, __SPLIT__>");
        text_add(e->out, "    else\n    ");
        print_call(e, "k_across<false, __VEC__, __ACROSS__, __BLOCK__, __UNROLL__, __SPLIT__>");
    } else {
        print_call(e, "k_along<__VEC__, __TPR__, __RPB__, __UNROLL__, __SPLIT__>");
    }
    text_add(e->out, "}\n");
    print_entry(e, "_join", e->across ? "256" : "128", "__NEXT__");
    print_call(e, e->across ? "k_across_join<__SPLIT__>" : "k_along_join<__SPLIT__>");
    text_add(e->out, "}\n");
}

static void print_code(const ReduceCuda *e) {
    reduce_cuda_values(e);
    if (e->across)
        reduce_cuda_across(e);
    else
        reduce_cuda_along(e);
    text_add(e->out, SHARED_END);
    print_entries(e);
}

const Template *emit_reduce_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[REDUCE_CUDA_KNOBS];
    Text text = {0}, code = {0};
    ReduceCuda e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.reduce = reduce_open(e.scratch, plan, CUDA);
    e.across = reduce_has_inner(e.reduce);
    uint32_t count = reduce_cuda_knobs(e.reduce, knobs);
    print_code(&e);
    reduce_head(&text, e.reduce, knobs, count);
    reduce_cuda_rules(&text, e.reduce, reduce_cuda_part_bytes(&e));
    emit_defaults(&text, plan, knobs, count);
    cuda_types(&text, plan);
    const Template *template = emit_file(arena, CUDA, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
