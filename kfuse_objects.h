/* The objects behind kfuse.h, and what its files share. Not for other rooms. */
#ifndef KF_OBJECTS_H
#define KF_OBJECTS_H

#include <pthread.h>
#include <signal.h>

#include "compiler/fuse.h"
#include "compiler/lower.h"
#include "export/export.h"
#include "kfuse.h"
#include "tuner/given.h"
#include "tuner/launcher.h"
#include "tuner/race.h"
#include "tuner/summary.h"

struct KfSession {
    Arena *arena;
    KfSessionOptions options;
    const char *folder;  /* of the store, or NULL */
    const char *journal; /* beside it: what is launched is written there first; NULL: nowhere */
    Registry *registry;
    Store *store;
    Text message;
    Text ops;                /* files of functions that were given, " --ops FILE" each */
    pthread_mutex_t failing; /* held by a launch that writes the message */
    volatile sig_atomic_t interrupt;
    double opening; /* seconds that it took */
};

struct KfTemplate {
    KfSession *session;
    Arena *arena;
    const Template *template;
    const char *path, *command; /* the file; with the options, as `kfuse tune` takes them */
};

struct KfProgram {
    KfSession *session;
    Arena *arena;
    const Ast *ast;             /* NULL: a template that does not say what it computes */
    const KfTemplate *template; /* whose program this is, or NULL */
    const Given *given;         /* data of the caller's own, or NULL */
    const char *reference;      /* what judges it, for the report; NULL: the oracle */
    LowerOptions lower;
    const Ir *ir;         /* as lowered */
    const Ir *simplified; /* calls inlined; --math fast: by its rules */
    const Ir *near;       /* the same for CUDA, in near forms; NULL: not asked for yet */
    const char *device, *math;
    bool fast;                   /* --math fast */
    bool strict;                 /* --math strict */
    double parsing;              /* seconds that it took */
    const char *math_done;       /* what that did, "" if nothing or another mode */
    const char *near_done;       /* which forms `near` has, "" if none */
    const char *expression;      /* canonical, on one line */
    const Library *libraries[2]; /* of CUDA and C kernels, opened when first needed */
};

struct KfKernel {
    KfProgram *program;
    Arena *arena;
    const Device *device;
    int index;
    const struct Partition *partition; /* the one that won */
    const Run *run;
    const Binary *binaries;
    uint32_t binary_count;
    Launcher *current, *own; /* in the caller's context, in ours */
    Report report;
    Workers workers; /* while it is tuned */
    Phases phases;
    Text text, json, times;
};

/* One kernel of the program: what it is chosen from and, once tuned, what was chosen. */
typedef struct Part {
    const Ir *ir;
    Kernels kernels;
    TuneProblem problem;
    const Point *only; /* of kernel only_kernel: nothing else is tried; NULL: all may be */
    uint32_t only_kernel;
    Tuning *tuning; /* between its two halves */
    Tuned *tuned;   /* NULL: not begun */
    const Run *run; /* NULL: not tuned, or none is right */
    Binary binary;
    Report report;
} Part;

/* A way to cut the program; steps that several ways share are one part. */
typedef struct Partition {
    const Chain *chain;
    Part **parts; /* per step */
} Partition;

typedef struct Partitions {
    ARRAY(Partition) list; /* none: no output has elements */
} Partitions;

static inline uint32_t partition_count(const Partition *partition) {
    return partition->chain->steps.count;
}

/* Adds "kfuse: …" to the session's message and returns `status`. */
KfStatus session_say(KfSession *session, KfStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes back what was said behind `length` bytes. */
void session_unsay(KfSession *session, size_t length);
/* Hands a Text's memory to the caller of the library. */
KfStatus session_give(Text *text, char **out);
/* Empties the store and opens it anew. */
bool session_clear_store(KfSession *session, char *why, size_t size);

/* kfuse.c: the two halves of the pipeline. */
KfStatus pipeline_compile(KfProgram *program, const Source *source, const KfProblem *problem);
KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *options);
/* What there is to tune, with its keys in the store: the whole, for judging several kernels together, and
 * the ways to cut it. Nothing is compiled or measured. */
KfStatus pipeline_problems(KfKernel *kernel, const KfTuneOptions *options, TuneProblem *whole,
                           Partitions *partitions);
/* The ways to cut the program with their kernels in a language, "cuda" or "c"; KF_NO_KERNEL with a
 * diagnostic at what no kernel covers. */
KfStatus pipeline_partitions(KfProgram *program, Arena *arena, const char *language,
                             Partitions *partitions);

/* The kernels of a language, opened when first asked for. */
const Library *pipeline_library(KfProgram *program, const char *language);
/* What the program is compared with, in a language; NULL: nothing. */
const Chain *pipeline_eager(const KfProgram *program, Arena *arena, const char *language);

/* kfuse_template.c: the one partition of a template's program. */
KfStatus template_partitions(KfProgram *program, Arena *arena, const char *language,
                             Partitions *partitions);
/* kfuse_space.c: KF_NO_KERNEL where `require` leaves none of the kernels a point, with what excludes
 * them. */
KfStatus space_check_points(KfProgram *program, const Part *part);

/* kfuse_program.c */
/* A program with all that `problem` says, not compiled yet. */
KfStatus program_new(KfSession *session, const KfProblem *problem, KfProgram **program);
/* Sets `simplified` and, for --math fast, `math_done`. */
void program_simplify(KfProgram *program);
/* Whether kernels in a language compute by near forms where they may. */
bool program_takes_near(const KfProgram *program, const char *language);
/* What kernels in a language, "cuda" or "c", compute, and what judges them. */
const Ir *program_ir(KfProgram *program, const char *language);
/* math_done and, in that language, near_done. */
const char *program_done(const KfProgram *program, Arena *arena, const char *language);
Type program_type(const KfTensor *tensor, DType fallback);
bool program_output_strides(KfSession *session, const KfProblem *problem, Ir *ir);
const char *program_one_line(Arena *arena, const Ast *ast);

/* kfuse_tune.c: what stands around the stages of tuning. */
double tuning_clock(void);
/* What results depend on, from files or the record of an earlier start of the driver. `unseen`: there
 * is no such record, so that the store has nothing of the device. */
bool tuning_recall(KfSession *session, const Device *device, int index, Arena *arena,
                   DeviceIdentity *identity, bool *unseen);
/* The same, with a start if need be: in this process, or (`bench`) in the measuring worker. */
bool tuning_identify(KfSession *session, const Device *device, int index, Bench *bench,
                     Arena *arena, DeviceIdentity *identity, Why *why);
bool tuning_options(KfProgram *program, const KfTuneOptions *in, TuneOptions *out);
KfStatus tuning_fits_memory(KfProgram *program, const DeviceIdentity *identity);
/* Run and binaries from an earlier answer, without any driver. */
bool tuning_answer(KfKernel *kernel, const Partitions *partitions, const TuneOptions *options,
                   double began);
/* Gives the kernel the Run of the partition's parts. */
void tuning_assemble(KfKernel *kernel, const Partition *partition);
/* The kernel's workers, if they do not run yet. */
bool tuning_workers(KfKernel *kernel, int jobs, Why *why);
/* `whole` is the program itself, for judging several kernels together. */
KfStatus tuning_kernel(KfKernel *kernel, const TuneProblem *whole, const Partitions *partitions,
                       const TuneOptions *options, const Chain *eager, double began);

/* No output has elements: an empty Run, nothing compiled, nothing stored. */
KfStatus tuning_nothing(KfKernel *kernel, const DeviceIdentity *identity, double began);

/* kfuse_race.c: tunes all parts, races the ways if there are several; the kernel has the winner and its
 * report. KF_INTERRUPTED with a kernel, too, if one is right so far. */
KfStatus race_ways(KfKernel *kernel, const TuneProblem *whole, const Partitions *partitions,
                   const TuneOptions *options, const Chain *eager);

/* kfuse_emit_points.c: which kernel each step is, at which point, for which architecture and sizes.
 * `arch`: sm_ numbers that are shipped, ended by 0; none in C. */
KfStatus emit_points(KfProgram *program, const KfKernel *kernel, const char *point, const int *arch,
                     Arena *arena, Export *export_);

/* kfuse_emit_keys.c */
/* Whether two keys are the same program, for other sizes or on another device. */
bool keys_are_alike(const char *a, const char *b);
/* 90 of "cuda 9.0 …", 0 of a CPU; -1 of other devices, whose times say nothing here. */
int key_arch(const char *text);
/* "4096x4096\n" -> extents; false where it is not of that rank, or is of one shape alone. */
bool key_bucket(const char *text, uint32_t rank, int64_t *extent);

/* kfuse_derivative.c: whether differences of the function say the same; if not, a line in `out`. The session's
 * registry knows both. */
KfStatus derivative_check(KfSession *session, const Derivative *derivative, bool *right, Text *out);

/* kfuse_partition.c: a chain's steps as parts, not tuned. */
void partition_add(Arena *arena, Partitions *partitions, const Chain *chain);
/* Whether one kernel is the whole program. */
bool partition_is_whole(const Partition *partition, const Ir *ir);
/* The Run of all parts in a row, part i as module i, on the whole program's buffers. */
const Run *partition_run(Arena *arena, const Ir *whole, const Partition *partition);
/* Their binaries, in order. */
const Binary *partition_binaries(Arena *arena, const Partition *partition);
/* "VEC=4 BLOCK=256 | softmax:TPR=32": a label for each kernel; how many, and that of kernel `index`. */
uint32_t labels_count(const char *labels);
const char *labels_at(Arena *arena, const char *labels, uint32_t index);
/* Which of the kernels a label names, and the point; NULL with *why. */
const Kernel *labels_find(Arena *arena, const Kernels *kernels, const char *label, Point *point,
                          const char **why);
/* The first partition whose kernels have these points, or else the first with as many kernels; NULL after a
 * message. Where a partition's name and a colon stand in front it is that one, and they come off *labels. */
const Partition *partition_of(KfSession *session, Arena *arena, const Partitions *partitions,
                              const char **labels);
/* Leaves the partition alone whose kernels have these points; false after a message. */
bool partition_fix(KfSession *session, Arena *arena, Partitions *partitions, const char *labels);
/* Gives the parts what the store has for such winners; false if it has them no more. */
bool partition_stored(Arena *arena, const Partition *partition, const char *winners);
/* The key of the whole: of its only part, or of all parts together. */
StoreKey partitions_key(Arena *arena, const Partitions *partitions);
/* `kfuse dump --groups`: kernels, what they read and write, and what fusing saves. */
void partitions_print(Text *out, const Partitions *partitions, const Ir *whole, const Chain *eager);

#endif
