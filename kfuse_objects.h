/* The objects behind kfuse.h, and what its files share. Not for other rooms. */
#ifndef KF_OBJECTS_H
#define KF_OBJECTS_H

#include <signal.h>

#include "compiler/lower.h"
#include "kfuse.h"
#include "tuner/launcher.h"
#include "tuner/summary.h"

struct KfSession {
    Arena *arena;
    KfSessionOptions options;
    const char *folder; /* of the store, or NULL */
    Registry *registry;
    Store *store;
    Text message;
    volatile sig_atomic_t interrupt;
};

struct KfProgram {
    KfSession *session;
    Arena *arena;
    const Ast *ast;
    LowerOptions lower;
    const Ir *ir;         /* as lowered */
    const Ir *simplified; /* calls inlined */
    const char *device, *math;
    const char *expression; /* canonical, on one line */
};

struct KfKernel {
    KfProgram *program;
    Arena *arena;
    const Device *device;
    int index;
    const Run *run;
    const Binary *binaries;
    uint32_t binary_count;
    Launcher *current, *own; /* in the caller's context, in ours */
    Report report;
    Text text, json;
};

/* Adds "kfuse: …" to the session's message and returns `status`. */
KfStatus session_say(KfSession *session, KfStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Hands a Text's memory to the caller of the library. */
KfStatus session_give(Text *text, char **out);
/* Empties the store and opens it anew. */
bool session_clear_store(KfSession *session, char *why, size_t size);

/* kfuse.c: the two halves of the pipeline. */
KfStatus pipeline_compile(KfProgram *program, const Source *source, const KfProblem *problem);
KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *options);
/* The groups, if all are elementwise; else KF_NO_KERNEL with a diagnostic at what no kernel covers
 * yet. */
KfStatus pipeline_groups(KfProgram *program, Groups *groups);

/* kfuse_program.c */
bool program_output_strides(KfSession *session, const KfProblem *problem, Ir *ir);
const char *program_one_line(Arena *arena, const Ast *ast);

/* kfuse_tune.c: what stands around the stages of tuning. */
double tuning_clock(void);
/* What results depend on, without starting a driver where an earlier start is on record. */
bool tuning_identify(KfSession *session, const Device *device, int index, Arena *arena,
                     DeviceIdentity *identity, Why *why);
bool tuning_options(KfProgram *program, const KfTuneOptions *in, const Template *template,
                    Arena *arena, TuneOptions *out);
KfStatus tuning_fits_memory(KfProgram *program, const DeviceIdentity *identity);
/* A Run and its binary from an earlier answer, without any driver. */
bool tuning_answer(KfKernel *kernel, const TuneProblem *problem, double began);
KfStatus tuning_kernel(KfKernel *kernel, const TuneProblem *problem, const TuneOptions *options,
                       const Eager *eager, double began);

#endif
