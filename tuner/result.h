/* What became of a candidate. */
#ifndef KF_RESULT_H
#define KF_RESULT_H

#include "compiler/eval.h"

typedef enum Outcome {
    OUTCOME_OK,
    OUTCOME_INFEASIBLE, /* needs more than the device has: registers, shared memory, threads */
    OUTCOME_COMPILE,    /* the compiler refused it */
    OUTCOME_LAUNCH,     /* the driver refused the launch */
    OUTCOME_WRONG,      /* the gate refused the result */
    OUTCOME_TIMEOUT,    /* compiling or running took too long and was killed */
    OUTCOME_CRASH,      /* killed its worker, or the device reported a fault */
    OUTCOME_COUNT
} Outcome;

const char *outcome_name(Outcome outcome);   /* "ok", "infeasible" … (stored) */
const char *outcome_phrase(Outcome outcome); /* "right", "needs too many resources" … (report) */

typedef struct Resources {
    int32_t registers, spill_bytes, stack_bytes, shared_bytes; /* -1: unknown */
} Resources;

enum { RESULT_SAMPLES = 64 };

typedef struct Result {
    Outcome outcome;
    Resources resources;
    uint64_t machine_code; /* hash of what would run: equal means a duplicate */
    double time;           /* seconds per call, median of samples */
    double spread;         /* half the 95 % interval of the median, seconds */
    float samples[RESULT_SAMPLES];
    uint32_t sample_count;
    Check check;
    char message[256]; /* one line, for outcomes that are not OK */
} Result;

#endif
