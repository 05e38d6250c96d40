/* A plan in, CUDA C++ out. One idea: the chain is written once, for one element; around it stand
 * three ways to walk the index space in vectors of VEC elements, UNROLL of them in flight. Linear: one
 * division a vector finds its row, then elements wrap one by one, so that dense arrays keep wide accesses
 * whatever a row's length. Rows: a thread keeps its columns and walks down, which needs rows of whole
 * vectors. Tiles: it has as many rows as are in flight, for arrays that lie the other way round. */
#include "compiler/cuda_space.h"
#include "compiler/cuda_walk.h"

const EmitLanguage emit_language_cuda = {
    .name = "cuda",
    .preludes = {"registry/templates/prelude_cuda.h", "registry/templates/prelude_cuda_math.h",
                 "registry/templates/prelude_cuda_rows.h",
                 "registry/templates/prelude_cuda_reduce.h"},
    .index = "k_index",
    .divides = true,
    .vector = false,
    .type_f32 = {"float", "int", "long long", "bool"},
    .type_f64 = {"double", "int", "long long", "bool"},
};
static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- one element */

static void print_element(const Emitter *e) {
    const Hoist whole = hoist(e->scratch, e->plan, NULL);
    const CudaElement element = {.name = "k_element", .piece = &whole.after};
    text_add(e->out, "// One element.\n");
    cuda_element(e->out, e->plan, &e->parameters, &element);
}

/* Tails, and pointers that no vector access may touch. */
static void print_single(const Emitter *e) {
    bool line = e->plan->rank == 1;
    text_add(e->out,
             "\n// The element with linear index i, alone: tails, and arrays without alignment.\n"
             "K_INLINE void k_single(");
    print_parameters(e, "k_index");
    text_add(e->out, ", const k_index i) {\n");
    if (!line) {
        text_add(e->out, "    const k_index row = ");
        emit_quotient(e->out, CUDA, "i", "kf_cols");
        text_add(e->out, ", column = i - row * kf_cols;\n");
    }
    emit_coordinates(e->out, CUDA, e->plan, "row", 4);
    text_add(e->out, "    k_element(");
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        emit_next(e->out, i, "%s[", access->name);
        if (access->class == ACCESS_DENSE)
            text_add(e->out, "i");
        else
            emit_offset(e->out, e->plan, access, "row", line ? "i" : "column");
        text_add(e->out, "]");
    }
    cuda_scalars(e->out, &e->parameters);
    text_add(e->out, "}\n");
}

/* --- entries */

static void print_entry(const Emitter *e) {
    text_printf(e->out,
                "\nextern \"C\" __global__ void __launch_bounds__(__BLOCK__)\nKF_ENTRY(%s)(",
                e->plan->name);
    print_parameters(e, "long long");
    text_add(e->out, ") {\n    k_begin<__NEXT__>();\n    KF_ENTRY(k_all)(");
    print_arguments(e);
    text_add(e->out, ");\n}\n");
}

static void print_twin(const Emitter *e) {
    text_printf(e->out,
                "\n// The same for arrays aligned to no more than an element.\n"
                "extern \"C\" __global__ void KF_ENTRY(%s_scalar)(",
                e->plan->name);
    print_parameters(e, "long long");
    text_printf(e->out,
                ") {\n"
                "    k_begin<false>();\n"
                "    const k_index n = %s, block = (k_index)blockIdx.y * gridDim.x + blockIdx.x;\n"
                "    const k_index threads = blockDim.x * blockDim.y;\n"
                "    k_index i = block * threads + threadIdx.y * blockDim.x + threadIdx.x;\n"
                "    for (; i < n; i += threads * gridDim.x * gridDim.y) k_single(",
                language_total(e->plan));
    print_arguments(e);
    text_add(e->out, ", i);\n}\n");
}

/* --- the file */

/* The walks that the plan allows: INDEX chooses. */
static void print_walks(const Emitter *e) {
    typedef void Print(const Emitter *e);
    Print *const all[] = {walk_line, walk_rows, walk_tile};
    const bool there[] = {language_linear(e->plan), e->plan->rank >= 2, cuda_tiles(e->plan)};
    uint32_t count = 0;
    for (int index = 2; index >= 0; index--) {
        bool last = true;
        for (int lower = 0; lower < index; lower++) last &= !there[lower];
        if (!there[index]) continue;
        if (!last) text_printf(e->out, "\n#%s __INDEX__ == %d", count ? "elif" : "if", index);
        if (last && count) text_add(e->out, "#else");
        all[index](e);
        count++;
    }
    if (count > 1) text_add(e->out, "#endif\n");
}

static void print_code(const Emitter *e) {
    bool rows = e->plan->rank >= 2, line = language_linear(e->plan);
    print_element(e);
    if (rows) cuda_hoisted(e->out, e->plan, &e->parameters, &e->rows.hoist, "rows");
    if (line) cuda_hoisted(e->out, e->plan, &e->parameters, &e->line.hoist, "line");
    if (e->vec > 1) print_single(e);
    text_add(e->out, SHARED_END);
    print_walks(e);
    print_entry(e);
    if (e->vec > 1) print_twin(e);
}

const Template *emit_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[CUDA_KNOBS];
    Text text = {0}, code = {0};
    uint32_t count = cuda_knobs(plan, knobs);
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    for (uint32_t i = 0; i < knobs[0].count; i++)
        if (knobs[0].values[i] > e.vec) e.vec = knobs[0].values[i];
    e.parameters = language_parameters(CUDA, plan, e.scratch);
    walk_find(&e);
    print_code(&e);
    e.out = &text;
    emit_head(&text, CUDA, plan, knobs, count);
    cuda_rules(&text, plan, e.vec > 1);
    emit_defaults(&text, plan, knobs, count);
    cuda_types(&text, plan);
    const Template *template = emit_file(arena, CUDA, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
