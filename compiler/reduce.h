/* Reduce: what the emitters of reductions in one pass share. One idea: whatever the axes are, there
 * are three, and a result is what lies along the middle one:
 *
 *     kf_outer x kf_depth x kf_inner -> kf_outer x kf_inner, result t = o * kf_inner + c
 *
 * each of one collapsed axis or more; kf_inner is 1 where nothing inner is kept. A reduction %6 is
 * field t6 of a part, what some of the elements of one result have come to; parts are joined in a
 * fixed order. */
#ifndef KF_REDUCE_H
#define KF_REDUCE_H

#include "compiler/language.h"
#include "compiler/rows.h"

/* Collapsed axes, first <= axis < end; the last one's number is the fastest. */
typedef struct Section {
    uint32_t first, end;
} Section;

typedef struct Reduce {
    const Plan *plan;
    const EmitLanguage *language;
    Section outer, depth, inner; /* inner may be empty */
    Values reductions;           /* of the body, in order */
    Values elements, behind;     /* of the body: for each element, for each result */
    const bool *read, *finished; /* by load: whether elements, results need it */
    Parameters parameters;       /* besides arrays and the workspace */
} Reduce;

/* Something is kept inside the reduced axes. */
static inline bool reduce_has_inner(const Reduce *reduce) {
    return reduce->inner.end > reduce->inner.first;
}

/* `plan` has reductions and one pass. */
const Reduce *reduce_open(Arena *arena, const Plan *plan, const EmitLanguage *language);

/* Which of a result's coordinates an offset is made of: i0 … of kept axes, of all of them. */
typedef enum ReduceWhere { REDUCE_RESULT, REDUCE_ELEMENT } ReduceWhere;
/* i0 = …, for the axes of one section, from its linear index; nothing where no array needs them. */
void reduce_coordinates(Text *out, const Reduce *reduce, Section section, const char *index,
                        int indent);
/* Where an array's element lies; of a dense one, `line` says it. */
void reduce_offset(Text *out, const Reduce *reduce, const Access *access, ReduceWhere where,
                   const char *line);
/* It differs along the section. */
bool reduce_walks(const Access *access, Section section);

/* Bytes of a part, with `largest` bytes for a floating sum. */
uint32_t reduce_part_bytes(const Reduce *reduce, uint32_t real);
/* What a reduction of nothing is, as a literal. */
void reduce_nothing(Text *out, const Reduce *reduce, Value reduction);

/* "//!" lines for kernel, arrays, args and knobs, as emit_head's. */
void reduce_head(Text *out, const Reduce *reduce, const KnobText *knobs, uint32_t count);

#endif
