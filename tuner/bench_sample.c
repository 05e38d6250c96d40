/* An output's size and what its elements cost in, those that stand for it out. One idea: elements of
 * a product cost a row of multiplications each, and neighbours share what they read, so that they
 * are taken in stretches and whole rows. */
#include "tuner/bench_rig.h"

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"
#include "compiler/sample.h"

enum { STRETCH = 128 };

/* `taken` of `count` elements, spread evenly in stretches of neighbours. */
static void spread(int64_t count, int64_t taken, int64_t stretch, int64_t *index) {
    int64_t stretches = taken / stretch, unit = stretches > 0 ? count / stretches : 0;
    for (int64_t s = 0, n = 0; s < stretches; s++) {
        int64_t begin = unit * s + s * stretch % (unit - stretch + 1);
        for (int64_t i = 0; i < stretch; i++) index[n++] = begin + i;
    }
}

int64_t sample_affordable(const Oracle *oracle, int64_t count, int64_t most, int64_t work,
                          int64_t *index) {
    int64_t taken = count < most ? count : most, stretch = oracle->work > 0 ? STRETCH : 1;
    int64_t each = count > 0 ? oracle->work / count : 0;
    if (each > 0 && taken > work / each) taken = work / each;
    if (taken < stretch) taken = count < stretch ? count : stretch;
    if (stretch > taken) stretch = taken > 0 ? taken : 1;
    taken -= taken % stretch;
    spread(count, taken, stretch, index);
    return taken;
}

/* --- rows */

typedef struct Rows {
    int64_t *list, count, most, all;
} Rows;

static void take(Rows *rows, int64_t row) {
    if (row < 0 || row >= rows->all || rows->count >= rows->most) return;
    for (int64_t i = 0; i < rows->count; i++)
        if (rows->list[i] == row) return;
    rows->list[rows->count++] = row;
}

/* Around the first and the last border between tiles of `height` rows. */
static void take_border(Rows *rows, int64_t height) {
    int64_t last = (rows->all - 1) / height * height;
    take(rows, last);
    take(rows, height - 1);
    take(rows, height);
    take(rows, last - 1);
    take(rows, height + 1);
    take(rows, last + 1);
}

int64_t sample_rows(const Type *type, int64_t work, int64_t affordable, uint64_t seed,
                    int64_t *list) {
    enum { LEAST = 4, TILE_MIN = 8, TILE_MAX = 256 };
    int64_t count = type_count(type), columns = type->rank > 0 ? type->dim[type->rank - 1] : 1;
    Rows rows = {.list = list, .all = columns > 0 ? count / columns : 0};
    int64_t each = rows.all > 0 ? work / rows.all + 1 : 1;
    rows.most = affordable / each < LEAST ? LEAST : affordable / each;
    if (rows.most > SAMPLE_ROWS) rows.most = SAMPLE_ROWS;
    take(&rows, 0);
    take(&rows, rows.all - 1);
    for (int64_t height = TILE_MAX; height >= TILE_MIN; height /= 2) take_border(&rows, height);
    for (int64_t i = 0; i < rows.most && rows.all > 0; i++)
        take(&rows, (int64_t)(sample_hash(seed, i) % (uint64_t)rows.all));
    return rows.count;
}
