/* Report: what a tuning run found, as text for people, JSON for machines, and lines for the store.
 * Times are seconds, sizes bytes; a figure that was not measured is NAN (JSON: null). Strings are
 * never NULL. */
#ifndef KF_REPORT_H
#define KF_REPORT_H

#include "tuner/phases.h"
#include "tuner/result.h"

/* REPORT_FIELDS(STRING, REAL, WHOLE): every stored field; the store's form and reading it back
 * follow from this table. */
/* clang-format off */
#define REPORT_FIELDS(STRING, REAL, WHOLE)                                                       \
    STRING(expression) /* canonical */                                                           \
    STRING(shape)      /* of the iteration space, "4096x4096" */                                 \
    STRING(dtype)                                                                                \
    STRING(reference) /* what outputs were compared with; "": the oracle */                      \
    WHOLE(inputs)                                                                                \
    WHOLE(outputs)                                                                               \
    WHOLE(elements) /* of all outputs together */                                                \
    WHOLE(bytes)    /* compulsory traffic of the fused kernel */                                 \
    WHOLE(operations) /* of products, a multiplication and an addition being two; else 0 */      \
    STRING(device)                                                                               \
    STRING(software) STRING(mode) STRING(math) STRING(math_done) STRING(conditions) WHOLE(candidates) WHOLE(right) \
        WHOLE(distinct) WHOLE(compiled) STRING(winner) /* "VEC=4 BLOCK=256" */                   \
        STRING(rivals)    /* other kernels of the race: "gelu 1.002 (0.998 to 1.006)", or "" */  \
        STRING(partition) /* of a program of several kernels: how many, else "" */               \
        WHOLE(kernels)    /* launched one after another */                                       \
        WHOLE(way)        /* number of the partition, of those that were tried */                \
        WHOLE(registers) WHOLE(spills) STRING(tie) /* the runner-up inside the noise, or "" */   \
        REAL(tie_percent) REAL(time) REAL(spread)                                                \
            REAL(roof)    /* bytes per second that the device streams with these arrays */       \
        STRING(roof_text) /* "2 reads and 1 write" */                                            \
        REAL(eager_time) REAL(eager_spread) STRING(eager_kernels) /* "add, relu" */              \
        WHOLE(eager_count) WHOLE(eager_bytes) WHOLE(checked) WHOLE(unchecked) WHOLE(ambiguous)   \
            REAL(max_ulp) STRING(max_ulp_at)                                                     \
                REAL(max_bound) /* largest error as a fraction of its bound */                   \
        WHOLE(edges)            /* special vectors and awkward sizes, launched of the winner */  \
        WHOLE(mutants)          /* refused by the gate's self-test */                            \
        REAL(took) REAL(took_start) REAL(took_compile) REAL(took_check) REAL(took_measure)       \
            WHOLE(workers) STRING(stopped) /* why the search ended early, or "" */               \
        STRING(store)                      /* path, or "" */                                     \
        STRING(store_note)                 /* complaint, or "" */                                \
        STRING(store_next)                 /* what the next run has of it */                     \
        STRING(use)                        /* the command that runs it */                        \
        WHOLE(date)                        /* Unix seconds */                                    \
        WHOLE(cached)                      /* answered from the store */
/* clang-format on */

typedef struct Report {
#define REPORT_STRING(name) const char *name;
#define REPORT_REAL(name) double name;
#define REPORT_WHOLE(name) int64_t name;
    REPORT_FIELDS(REPORT_STRING, REPORT_REAL, REPORT_WHOLE)
#undef REPORT_STRING
#undef REPORT_REAL
#undef REPORT_WHOLE
    int64_t failed[OUTCOME_COUNT];
    Phases phases; /* of this run; not stored */
} Report;

/* All strings "", all reals NAN. */
Report report_none(void);
void report_text(Text *out, const Report *report);
void report_json(Text *out, const Report *report);
/* "name value" lines; report_load puts strings into `arena` and ignores names it does not know.
 * False if damaged. */
void report_save(Text *out, const Report *report);
bool report_load(Arena *arena, const char *text, Report *report);

/* "4.20 TB/s", "192 MiB", "47.9 us", "16 777 216": three significant digits where they are figures.
 */
void report_rate(Text *out, double bytes_per_second);
void report_bytes(Text *out, int64_t bytes);
void report_time(Text *out, double seconds);
void report_count(Text *out, int64_t count);

#endif
