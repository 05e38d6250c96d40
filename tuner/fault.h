/* Faults on demand, for tests of the engine. KFUSE_FAULT in the environment says which candidates
 * fail and how:
 *
 *   KFUSE_FAULT="crash@VEC=4,BLOCK=256;wrong@UNROLL=2;hang@*"
 *
 * A rule is KIND@LABEL: it meets every candidate whose label has all of LABEL's comma-separated
 * parts; '*' is every one. The measuring worker asks before it runs a candidate, on every device,
 * so that real kernels can fail too: crash, hang, wrong (one element of the output is changed after
 * the run), crash-once (at the first try only: what a flaky machine does). The null device asks
 * when it compiles: compile, compile-hang. */
#ifndef KF_FAULT_H
#define KF_FAULT_H

typedef enum Fault {
    FAULT_NONE,
    FAULT_CRASH,
    FAULT_HANG,
    FAULT_WRONG,
    FAULT_COMPILE,
    FAULT_COMPILE_HANG,
} Fault;

enum {
    FAULT_RUNNING = 1 << FAULT_CRASH | 1 << FAULT_HANG | 1 << FAULT_WRONG,
    FAULT_COMPILING = 1 << FAULT_COMPILE | 1 << FAULT_COMPILE_HANG
};

/* By KFUSE_FAULT, among the kinds of `stage`; `attempt` counts from 0. */
Fault fault_find(int stage, const char *label, int attempt);
/* Crashes or hangs; returns for the other kinds. */
void fault_strike(Fault fault);

#endif
