/* A matrix product in, CUDA text out: a function that computes one element, and a kernel that computes
 * all of them in tiles (oracle_values.h). */
#include "compiler/oracle_writer.h"

static long long at_least_one(int64_t extent) {
    return extent > 0 ? (long long)extent : 1;
}

static void write_batch(Writer *w, const Product *product, const char *a, const char *b) {
    for (uint32_t axis = product->batch_rank; axis-- > 0;) {
        long long dim = at_least_one(product->batch[axis]);
        text_printf(
            w->out,
            "    %s += i %% %lldll * %lldll;\n    %s += i %% %lldll * %lldll;\n    i /= %lldll;\n",
            a, dim, (long long)product->a_batch[axis], b, dim, (long long)product->b_batch[axis],
            dim);
    }
}

static void write_terms(Writer *w, const Product *product, bool whole) {
    const char *type = whole ? "Whole" : "Interval";
    text_printf(w->out, "    for (int64_t k = 0; k < %lldll; k++) {\n        %s x = ",
                (long long)product->depth, type);
    writer_load(w->out, &w->machine, product->a.base, "a");
    text_printf(w->out, ";\n        %s y = ", type);
    writer_load(w->out, &w->machine, product->b.base, "b");
    text_printf(w->out, ";\n        a += %lldll;\n        b += %lldll;\n",
                (long long)product->a_depth, (long long)product->b_depth);
    if (whole) {
        text_add(w->out, "        sum = add_wrapped(sum, mul_wrapped(x.v, y.v));\n"
                         "        unknown |= !whole_is_point(x) || !whole_is_point(y);\n    }\n");
        return;
    }
    text_add(w->out, "        KfReal term = x.v * y.v, r = product_radius(x, y);\n"
                     "        v += term;\n        radius += r;\n        size += fabs(term) + r;\n"
                     "        may_nan |= x.nan == NAN_MAY || y.nan == NAN_MAY;\n"
                     "        fractions |= floor(x.v) != x.v || floor(y.v) != y.v;\n    }\n");
}

/* `product_N(in, i)`: element `i` by itself. */
static void write_element(Writer *w, const OracleStep *step, const Product *product, bool whole) {
    long long columns = at_least_one(product->columns), rows = at_least_one(product->rows);
    text_printf(w->out, "KF_CALL %s product_%u(const void *const *in, int64_t i) {\n",
                writer_type(step->type), step->value);
    text_printf(w->out, "    int64_t b = i %% %lldll * %lldll;\n    i /= %lldll;\n", columns,
                (long long)product->b_column, columns);
    text_printf(w->out, "    int64_t a = i %% %lldll * %lldll;\n    i /= %lldll;\n", rows,
                (long long)product->a_row, rows);
    write_batch(w, product, "a", "b");
    if (whole)
        text_add(w->out, "    int64_t sum = 0;\n    int unknown = 0;\n");
    else
        text_add(w->out,
                 "    KfReal v = 0, size = 0, radius = 0;\n    int fractions = 0, may_nan = 0;\n");
    write_terms(w, product, whole);
    if (whole)
        text_printf(w->out,
                    "    sum = storage_wrap(%d, sum);\n    return unknown ? whole_any(%d, sum) : "
                    "whole_point(sum);\n}\n\n",
                    (int)step->type, (int)step->type);
    else
        text_printf(w->out,
                    "    return product_real(v, size, radius, %lldll, fractions, may_nan);\n}\n\n",
                    (long long)product->depth);
}

static void write_load(Writer *w, const char *name, Value base) {
    text_printf(w->out,
                "    KF_MEMBER Interval load_%s(const void *const *in, int64_t at) {\n"
                "        return ",
                name);
    writer_load(w->out, &w->machine, base, "at");
    text_add(w->out, ";\n    }\n");
}

static void write_number(Writer *w, const char *name, int64_t value) {
    text_printf(w->out, "    static const int64_t %s = %lldll;\n", name, (long long)value);
}

/* What product_tiles asks a product. */
static void write_shape(Writer *w, const OracleStep *step, const Product *product) {
    int64_t batches = 1;
    for (uint32_t i = 0; i < product->batch_rank; i++) batches *= product->batch[i];
    text_printf(w->out, "struct Product_%u {\n", step->value);
    write_number(w, "points",
                 writer_is_stored(&w->machine, product->a.base) &&
                     writer_is_stored(&w->machine, product->b.base));
    write_number(w, "rows", product->rows);
    write_number(w, "columns", product->columns);
    write_number(w, "depth", product->depth);
    write_number(w, "batches", batches);
    write_number(w, "a_row", product->a_row);
    write_number(w, "a_depth", product->a_depth);
    write_number(w, "b_depth", product->b_depth);
    write_number(w, "b_column", product->b_column);
    write_load(w, "a", product->a.base);
    write_load(w, "b", product->b.base);
    text_add(w->out, "    KF_MEMBER void batch(int64_t i, int64_t *a, int64_t *b) {\n");
    write_batch(w, product, "*a", "*b");
    text_add(w->out, "    (void)i;\n    }\n};\n\n");
}

void writer_product(Writer *w, const OracleStep *step) {
    product_find(&w->machine, step->value);
    const Product *product = w->machine.products[step->value];
    bool whole = is_whole(step->type);
    write_element(w, step, product, whole);
    if (!whole) write_shape(w, step, product);
    text_printf(w->out, "extern \"C\" __global__ void kf_value_%u(const void *const *in) {\n",
                step->value);
    if (whole)
        text_printf(w->out,
                    "    for (int64_t i = first_index(); i < %lldll; i += index_step())\n"
                    "        ((Whole *)in[%u])[i] = product_%u(in, i);\n}\n\n",
                    (long long)step->count, step->slot, step->value);
    else
        text_printf(w->out, "    product_tiles<Product_%u>(in, (Interval *)in[%u]);\n}\n\n",
                    step->value, step->slot);
}
