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

/* UNROLL rows at a time: blockDim.y apart, which in tiles is 1. */
static void print_walk(const Emitter *e, const Walk *walk) {
    static const char step[] = "#pragma unroll\n"
                               "            for (int u = 0; u < __UNROLL__; u++) {\n"
                               "                const k_index row = top + u * blockDim.y;\n"
                               "                if (row >= kf_rows) continue;\n";
    walk_flight(e, walk, 12);
    if (walk == &e->tile) print_down_loads(e);
    text_add(e->out, step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    print_row_loads(e, walk);
    text_printf(e->out, "            }\n%s", step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    walk_compute(e, walk, 16);
    walk_stores(e, "row", "column", 16);
    text_add(e->out, "            }\n        }\n    }\n}\n");
}

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
    print_walk(e, &e->rows);
}

void walk_tile(const Emitter *e) {
    walk_function(e, "// A thread has tiles of UNROLL rows and VEC columns, eight threads beside each other:\n"
                     "// what is contiguous down the rows is read down, and turned in registers.");
    text_printf(e->out,
                "    const k_index right = (k_index)gridDim.x * %d * __VEC__;\n"
                "    const k_index down = (k_index)gridDim.y * (__BLOCK__ / %d) * __UNROLL__;\n"
                "    k_index column = ((k_index)blockIdx.x * %d + threadIdx.x %% %d) * __VEC__;\n"
                "    for (; column < kf_cols; column += right) {\n",
                TILE_THREADS, TILE_THREADS, TILE_THREADS, TILE_THREADS);
    walk_once(e, &e->tile, 8);
    text_printf(e->out,
                "        k_index top = ((k_index)blockIdx.y * (__BLOCK__ / %d) + threadIdx.x / %d) * "
                "__UNROLL__;\n"
                "        for (; top < kf_rows; top += down) {\n",
                TILE_THREADS, TILE_THREADS);
    print_walk(e, &e->tile);
}
