/* Arrays in, how functions name them and what threads read of them out. */
#include "compiler/reduce_cuda_code.h"

void reduce_cuda_parameters(const ReduceCuda *e) {
    cuda_parameters(e->out, e->plan, &e->reduce->parameters, "k_index");
}

void reduce_cuda_arguments(const ReduceCuda *e) {
    cuda_arguments(e->out, e->plan, &e->reduce->parameters);
}

static void print_scalars(const ReduceCuda *e) {
    for (uint32_t i = 0; i < e->plan->scalars.count; i++)
        emit_next(e->out, 1, "%s", e->plan->scalars.data[i].name);
}

/* --- places */

const char *reduce_cuda_begin(const ReduceCuda *e, const Access *access, ReduceWhere where,
                              const char *line) {
    Text text = {0};
    text_printf(&text, "%s + ", access->name);
    reduce_offset(&text, e->reduce, access, where, line);
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

const char *reduce_cuda_place(const ReduceCuda *e, const Access *access, ReduceWhere where,
                              const char *line) {
    Text text = {0};
    text_printf(&text, "%s[", access->name);
    reduce_offset(&text, e->reduce, access, where, line);
    text_add(&text, "]");
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

/* --- how elements are read */

ReduceReach reduce_cuda_reach(const ReduceCuda *e, const Access *access) {
    Section last = e->across ? e->reduce->inner : e->reduce->depth;
    bool deep = reduce_walks(access, e->reduce->depth), wide = reduce_walks(access, last);
    bool unit = access->class == ACCESS_DENSE ||
                (access->class == ACCESS_ROWS && last.end - last.first == 1);
    if (!deep) return e->across && wide ? REACH_COLUMNS : REACH_ONCE;
    if (e->across && !wide) return REACH_LINE;
    return unit ? REACH_VECTOR : REACH_EACH;
}

bool reduce_cuda_reads(const ReduceCuda *e, uint32_t load) {
    return e->reduce->read[load];
}

bool reduce_cuda_is_vector(const ReduceCuda *e, uint32_t i) {
    return reduce_cuda_reads(e, i) && reduce_cuda_reach(e, &e->plan->loads.data[i]) == REACH_VECTOR;
}

bool reduce_cuda_has_vectors(const Reduce *reduce) {
    const ReduceCuda e = {
        .reduce = reduce, .plan = reduce->plan, .across = reduce_has_inner(reduce)};
    for (uint32_t i = 0; i < e.plan->loads.count; i++)
        if (reduce_cuda_is_vector(&e, i)) return true;
    return false;
}

void reduce_cuda_kept(const ReduceCuda *e, bool declare) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        ReduceReach reach = reduce_cuda_reach(e, access);
        if (!reduce_cuda_reads(e, i) || (reach != REACH_ONCE && reach != REACH_COLUMNS)) continue;
        if (!declare)
            emit_next(e->out, 1, "%s_v", access->name);
        else if (reach == REACH_ONCE)
            emit_next(e->out, 1, "const %s %s_v", cuda_storage(access), access->name);
        else
            emit_next(e->out, 1, "const k_pack<%s, N> &%s_v", cuda_storage(access), access->name);
    }
}

void reduce_cuda_flight(const ReduceCuda *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        ReduceReach reach = reduce_cuda_reach(e, access);
        if (!reduce_cuda_reads(e, i)) continue;
        if (reach == REACH_VECTOR || reach == REACH_EACH)
            text_printf(e->out, "    k_pack<%s, N> %s_v[U];\n", cuda_storage(access), access->name);
        if (reach == REACH_LINE)
            text_printf(e->out, "    %s %s_v[U];\n", cuda_storage(access), access->name);
    }
}

void reduce_cuda_element(const ReduceCuda *e, const char *n) {
    static const char *const forms[] = {[REACH_VECTOR] = "[u].at[j]",
                                        [REACH_EACH] = "[u].at[j]",
                                        [REACH_ONCE] = "",
                                        [REACH_LINE] = "[u]",
                                        [REACH_COLUMNS] = ".at[j]"};
    text_printf(e->out, "k_element(terms, %s", n);
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (reduce_cuda_reads(e, i))
            emit_next(e->out, 1, "%s_v%s", e->plan->loads.data[i].name,
                      forms[reduce_cuda_reach(e, &e->plan->loads.data[i])]);
    print_scalars(e);
    text_add(e->out, ");\n");
}

void reduce_cuda_once(const ReduceCuda *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (reduce_cuda_reads(e, i) && reduce_cuda_reach(e, access) == REACH_ONCE)
            text_printf(e->out, "    const %s %s_v = %s;\n", cuda_storage(access), access->name,
                        reduce_cuda_place(e, access, REDUCE_RESULT, "o"));
    }
}
