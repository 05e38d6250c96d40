/* Walks down the rows: a thread keeps its columns. In tiles it has some rows, too, so that an array which is
 * contiguous down the rows, a transposed one, is read by vectors and whole lines of memory. */
#include "compiler/cuda_walk.h"

#include "compiler/cuda_space.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

static void print_row_loads(const Emitter *e, const Walk *walk) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = walk->reach_of(e->plan, access);
        if (reach == REACH_VECTOR) walk_vector_load(e, access, "row", "column", 16);
        if (reach == REACH_ROW) {
            text_printf(e->out, "                %s_v[u] = ", access->name);
            walk_place(e, access, "row", "column");
            text_add(e->out, ";\n");
        }
        if (reach == REACH_EACH) {
            text_printf(e->out,
                        "#pragma unroll\n                for (int j = 0; j < __VEC__; j++) "
                        "%s_v[u].at[j] = ",
                        access->name);
            walk_place(e, access, "row", "(column + j)");
            text_add(e->out, ";\n");
        }
    }
}

/* The vectors along the rows, from the tile's first row. */
static void print_down_loads(const Emitter *e) {
    text_add(e->out, "            {\n");
    emit_coordinates(e->out, CUDA, e->plan, "top", 16);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!plan_reads_down(e->plan, access)) continue;
        text_printf(e->out,
                    "#pragma unroll\n                for (int j = 0; j < __VEC__; j++)\n"
                    "                    %s_v[j] = k_load<__UNROLL__>(&",
                    access->name);
        walk_place(e, access, "top", "(column + j)");
        text_add(e->out, ");\n");
    }
    text_add(e->out, "            }\n");
}

/* UNROLL rows, which `step` begins: what is in flight, then what is computed of it. */
static void print_steps(const Emitter *e, const Walk *walk, const char *step) {
    text_add(e->out, step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    print_row_loads(e, walk);
    text_printf(e->out, "            }\n%s", step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    walk_compute(e, walk, 16);
    walk_stores(e, "row", "column", 16);
    text_add(e->out, "            }\n");
}

/* Steps are blockDim.y rows apart, which in tiles is 1. */
static const char row_step[] = "#pragma unroll\n"
                               "            for (int u = 0; u < __UNROLL__; u++) {\n"
                               "                const k_index row = top + u * blockDim.y;\n"
                               "                if (row >= kf_rows) continue;\n";

void walk_rows(const Emitter *e) {
    walk_function(e, "// A thread keeps its columns and walks down the rows.");
    text_add(e->out,
             "    const k_index right = (k_index)gridDim.x * blockDim.x * __VEC__;\n"
             "    const k_index down = (k_index)gridDim.y * blockDim.y * __UNROLL__;\n"
             "    k_index column = ((k_index)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;\n"
             "    for (; column < kf_cols; column += right) {\n");
    walk_once(e, &e->rows, 8);
    text_add(e->out,
             "        k_index top = (k_index)blockIdx.y * blockDim.y * __UNROLL__ + threadIdx.y;\n"
             "        for (; top < kf_rows; top += down) {\n");
    walk_flight(e, &e->rows, 12);
    print_steps(e, &e->rows, row_step);
    text_add(e->out, "        }\n    }\n}\n");
}

/* --- tiles */

static void print_register_tile(const Emitter *e) {
    walk_function(
        e,
        "// A thread has tiles of UNROLL rows and VEC columns, eight threads beside each other:\n"
        "// what is contiguous down the rows is read down, and turned in registers.");
    text_printf(e->out,
                "    const k_index right = (k_index)gridDim.x * %d * __VEC__;\n"
                "    const k_index down = (k_index)gridDim.y * (__BLOCK__ / %d) * __UNROLL__;\n"
                "    k_index column = ((k_index)blockIdx.x * %d + threadIdx.x %% %d) * __VEC__;\n"
                "    for (; column < kf_cols; column += right) {\n",
                TILE_THREADS, TILE_THREADS, TILE_THREADS, TILE_THREADS);
    walk_once(e, &e->tile, 8);
    text_printf(
        e->out,
        "        k_index top = ((k_index)blockIdx.y * (__BLOCK__ / %d) + threadIdx.x / %d) * "
        "__UNROLL__;\n"
        "        for (; top < kf_rows; top += down) {\n",
        TILE_THREADS, TILE_THREADS);
    walk_flight(e, &e->tile, 12);
    print_down_loads(e);
    print_steps(e, &e->tile, row_step);
    text_add(e->out, "        }\n    }\n}\n");
}

/* A statement for each array that is read down: its name is %1$s, its type %2$s. */
static void print_each_down(const Emitter *e, const char *format) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (plan_reads_down(e->plan, access))
            text_printf(e->out, format, access->name, cuda_storage(access));
    }
}

/* Into shared memory, a warp down the rows: */
static void print_shared_loads(const Emitter *e) {
    text_add(e->out, "            if (top + lane < kf_rows) {\n"
                     "                const k_index row = top + lane;\n");
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    text_add(e->out,
             "#pragma unroll\n"
             "                for (int u = 0; u < __UNROLL__; u++) {\n"
             "                    const k_index beside = left + warp + u * (__BLOCK__ / 32);\n"
             "                    if (beside >= kf_cols) continue;\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!plan_reads_down(e->plan, access)) continue;
        text_printf(e->out, "                    %s_s[beside - left][lane] = ", access->name);
        walk_place(e, access, "row", "beside");
        text_add(e->out, ";\n");
    }
    text_add(e->out, "                }\n            }\n            __syncthreads();\n");
}

static void print_shared_tile(const Emitter *e) {
    static const char step[] =
        "#pragma unroll\n"
        "            for (int u = 0; u < __UNROLL__; u++) {\n"
        "                const k_index row = top + warp + u * (__BLOCK__ / 32);\n"
        "                if (row >= kf_rows || left + lane >= kf_cols) continue;\n";
    walk_function(e, "// A block has tiles of 32 by 32: what is contiguous down the rows is read "
                     "by warps down the\n"
                     "// rows, and turned in shared memory.");
    print_each_down(e, "    __shared__ %2$s %1$s_s[32][33];\n");
    text_add(e->out,
             "    const k_index lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
             "    for (k_index left = (k_index)blockIdx.x * 32; left < kf_cols; left += "
             "(k_index)gridDim.x * 32) {\n"
             "        const k_index column = left + lane < kf_cols ? left + lane : kf_cols - 1;\n");
    walk_once(e, &e->tile, 8);
    text_add(e->out, "        for (k_index top = (k_index)blockIdx.y * 32; top < kf_rows; top += "
                     "(k_index)gridDim.y * 32) {\n");
    walk_flight(e, &e->tile, 12);
    print_shared_loads(e);
    text_add(e->out, "#pragma unroll\n            for (int u = 0; u < __UNROLL__; u++) {\n");
    print_each_down(
        e, "                %1$s_v[0].at[u] = %1$s_s[lane][warp + u * (__BLOCK__ / 32)];\n");
    text_add(e->out, "            }\n");
    print_steps(e, &e->tile, step);
    text_add(e->out, "            __syncthreads();\n        }\n    }\n}\n");
}

/* Single elements need no alignment, nor whole tiles. */
void walk_tile(const Emitter *e) {
    text_add(e->out, "\n#if __VEC__ == 1");
    print_shared_tile(e);
    text_add(e->out, "#else");
    print_register_tile(e);
    text_add(e->out, "#endif\n");
}
