/* kfuse: text in, one fused, verified and tuned kernel out. The one public header.
 *
 *     KfSession *session;
 *     if (kf_session_open(&session, NULL) != KF_OK) …kf_session_message(session)…
 *     KfProgram *program;
 *     KfProblem problem = {.plain = {.type = KF_F32, .rank = 2, .dim = {4096, 4096}}};
 *     if (kf_program_open(session, "relu(x + res)", &problem, &program) != KF_OK) …
 *     KfKernel *kernel;
 *     if (kf_tune(program, NULL, &kernel) != KF_OK) …
 *     kf_launch(kernel, inputs, outputs, stream);
 *
 * No function exits, prints or keeps global state. Threads may each use a session of their own; of one
 * session, one thread at a time, but that kf_launch and kf_run may be called by several at once, on one
 * kernel too. What goes wrong is a KfStatus with a message in the session. Objects are closed
 * in reverse order of opening. */
#ifndef KFUSE_H
#define KFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KF_API __attribute__((visibility("default")))
#else
#define KF_API
#endif

#define KF_VERSION "0.1.0"

/* Also the command line's exit codes. */
typedef enum KfStatus {
    KF_OK = 0,
    KF_INPUT = 1,       /* the program, a shape, a type or a file is wrong */
    KF_USAGE = 2,       /* the call is wrong: a NULL, an unknown option value */
    KF_NO_KERNEL = 3,   /* no working kernel: none covers the program, or every candidate failed */
    KF_ENVIRONMENT = 4, /* no device, no compiler, no driver: the message says what to install */
    KF_INTERRUPTED = 130, /* kf_session_interrupt; what was found so far is kept */
} KfStatus;

typedef enum KfType {
    KF_PLAIN_TYPE, /* the problem's plain type; f32 where that is not given */
    KF_BOOL,
    KF_U8,
    KF_I8,
    KF_I32,
    KF_I64,
    KF_F16,
    KF_BF16,
    KF_F32,
    KF_F64,
} KfType;

enum { KF_RANK_MAX = 8, KF_PLAIN_SHAPE = -1 };

typedef struct KfSession KfSession;
typedef struct KfProgram KfProgram;
typedef struct KfKernel KfKernel;
typedef struct KfTemplate KfTemplate;
typedef struct KfSpace KfSpace;

typedef struct KfTensor {
    const char *name; /* NULL where it does not matter */
    KfType type;
    int rank; /* 0: a scalar; KF_PLAIN_SHAPE: the problem's plain shape */
    int64_t dim[KF_RANK_MAX];
    const int64_t *strides; /* per dimension, in elements, 0 is broadcast; NULL: row-major */
    /* Of a template's tensors (kf_template_program): host memory, elements in row-major order. An
     * input's: what its kernels are judged and timed on (NULL: generated data). An output's: the
     * reference that it is compared with. */
    const void *data;
} KfTensor;

typedef struct KfParam {
    const char *name;
    double value;
} KfParam;

/* Unless STRICT, what is rounded to 16 bits on a GPU may be computed by forms that move it by 1/8 ulp
 * at most, all together. STRICT: accurate forms, IEEE division and square root. FAST: a product is not rounded before it
 * is added. TF32: products may round their operands to it; no template does yet, so it is the default. */
typedef enum KfMath { KF_MATH_DEFAULT, KF_MATH_STRICT, KF_MATH_FAST, KF_MATH_TF32 } KfMath;

/* What a program is compiled for. Zero-initialised it is: f32, no plain shape. */
typedef struct KfProblem {
    const char *source; /* name of the text in messages; NULL: "<expr>" */
    bool has_plain_shape;
    KfTensor plain;         /* shape and type of every input that is not listed */
    const KfTensor *inputs; /* by name; order does not matter */
    size_t input_count;
    /* Strides of outputs, by name; shapes and types are inferred. Of a template that does not say
     * what it computes: references, with their shapes (KF_PLAIN_SHAPE: by the sizes) and types. */
    const KfTensor *outputs;
    size_t output_count;
    const KfParam *params;
    size_t param_count;
    KfType out_type; /* KF_PLAIN_TYPE: as inferred */
    KfMath math;
    bool round_each_op; /* round after every operation, as an eager framework does */
    const char *device; /* "cuda:0", "cpu"; NULL: a GPU if there is one, else cpu */
    /* |out - reference| <= atol + rtol * |reference|. Without them, by the output's type: f64 1e-7 and
     * 1e-7, f32 1.3e-6 and 1e-5, f16 1e-3 and 1e-5, bf16 1.6e-2 and 1e-5 (those of
     * torch.testing.assert_close), others 0. */
    bool has_tolerance;
    double rtol, atol;
    const char *reference_name; /* in the report; NULL: "a reference" */
} KfProblem;

typedef enum KfFormat {
    KF_TEXT,
    KF_JSON,
    KF_PHASES /* of a report: where this run's time went */
} KfFormat;

typedef enum KfEffort { KF_NORMAL, KF_QUICK, KF_FULL } KfEffort;

typedef struct KfTuneOptions {
    KfEffort effort;
    const char *strategy; /* "grid", "random"; NULL: "auto" */
    uint32_t trials;      /* candidates at most; 0: by effort */
    double budget;        /* seconds; 0: 20 */
    uint64_t seed;
    int jobs;          /* compile workers; 0: by CPUs and memory */
    bool hot;          /* time on one set of buffers that stays in the cache */
    bool exact;        /* key results by the very shape, not by its bucket */
    bool retune;       /* ignore stored results */
    bool complete;     /* no early end within 1 % of the roof */
    bool no_tune;      /* a stored point of the bucket, or the analytic default: no search */
    const char *point; /* "VEC=4,BLOCK=256": only this one; of several kernels "A | B", for each */
    double stop_at;    /* end once a kernel reaches this part of the roof, up to 1; 0: not asked */
} KfTuneOptions;

/* `finished` of `total` candidates; `best` seconds so far (0: none); `left` seconds at most. */
typedef struct KfProgress {
    const char *stage;
    uint32_t finished, total;
    double best, left;
} KfProgress;

typedef struct KfSessionOptions {
    const char
        *cache; /* folder of the store; NULL: $KFUSE_CACHE, $XDG_CACHE_HOME/kfuse, ~/.cache/kfuse */
    bool no_user_ops; /* do not read *.kf of the user's configuration folder */
    void (*progress)(void *context, const KfProgress *progress); /* called on the caller's thread */
    void *context;
} KfSessionOptions;

/* --- session */

/* Always gives a session (but when out of memory: KF_ENVIRONMENT, NULL), so that its message can be
 * read. */
KF_API KfStatus kf_session_open(KfSession **session, const KfSessionOptions *options);
KF_API void kf_session_close(KfSession *session);
/* What the last call on this session had to say: diagnostics with carets, warnings too; "" if
 * nothing. A launch says something only where it fails. Valid until the next call. */
KF_API const char *kf_session_message(const KfSession *session);
/* Async-signal-safe: a running kf_tune ends soon with KF_INTERRUPTED. */
KF_API void kf_session_interrupt(KfSession *session);
/* More functions: a .kf file, one definition a line. KF_INPUT with carets into that file. */
KF_API KfStatus kf_session_add_ops(KfSession *session, const char *path);

/* --- program */

/* Parses and lowers `text` (`length` bytes in all; SIZE_MAX: up to its NUL). */
KF_API KfStatus kf_program_open(KfSession *session, const char *text, size_t length,
                                const KfProblem *problem, KfProgram **program);
KF_API void kf_program_close(KfProgram *program);
KF_API size_t kf_program_input_count(const KfProgram *program);
KF_API size_t kf_program_output_count(const KfProgram *program);
/* Shape, type and name; strides NULL means row-major. Strings and strides live as long as the
 * program. */
KF_API KfTensor kf_program_input(const KfProgram *program, size_t index);
KF_API KfTensor kf_program_output(const KfProgram *program, size_t index);
/* The input that output `index` updates in place, or -1: both must be launched with one pointer. */
KF_API int kf_program_updates(const KfProgram *program, size_t index);

typedef enum KfStage {
    KF_STAGE_AST,
    KF_STAGE_IR,
    KF_STAGE_PLAN,
    KF_STAGE_CUDA,
    KF_STAGE_C,
    KF_STAGE_GROUPS /* the kernels it is cut into, each way, and the bytes that saves */
} KfStage;
/* A stage as text; needs no device. `point` chooses the knobs of the two languages (NULL: the
 * analytic default). *text is freed with kf_free. KF_NO_KERNEL where nothing covers the program. */
KF_API KfStatus kf_program_dump(KfProgram *program, KfStage stage, const char *point, char **text);
KF_API void kf_free(void *memory);
/* How few kernels the program can be in its device's language, and the bytes that these move; none where
 * no output has elements. KF_NO_KERNEL where nothing covers the program. Needs no device, if one is
 * named. */
KF_API KfStatus kf_program_cut(KfProgram *program, uint32_t *kernels, int64_t *bytes);
/* Right results by the oracle, interpreted on the host: works for the whole language. Host
 * pointers, dense outputs that overlap no input, not even one that they update. */
KF_API KfStatus kf_program_evaluate(KfProgram *program, const void *const *inputs,
                                    void *const *outputs);

/* What goes in and comes out, before shapes are known: {"inputs":["x","b"],"params":["eps"],"outputs":["y"]},
 * in the order of kf_program_input and kf_program_output; an output that updates an input has its name.
 * Statements alone are looked at: what else is wrong kf_program_open says. `source` as in KfProblem. *out is
 * freed with kf_free. */
KF_API KfStatus kf_program_names(KfSession *session, const char *text, size_t length,
                                 const char *source, char **out);

/* The backward program of `text`, in the language: `dy` for each output y in, `dx` for each input x out
 * (grad.h says what it does where). No shape is needed, and none is in the result. Of `problem` (or NULL:
 * all f32) the source's name and the inputs' types alone are looked at. `wrt`: the inputs to derive by;
 * none: all floating ones that an output depends on smoothly. KF_JSON: the text and which name stands for
 * what. *out is freed with kf_free. */
KF_API KfStatus kf_program_grad(KfSession *session, const char *text, size_t length,
                                const KfProblem *problem, const char *const *wrt, size_t wrt_count,
                                KfFormat format, char **out);

/* --- template: a kernel of your own */

/* Reads a file of CUDA (.cu) or C (.c) with a header of //! lines: kernel, computes, input, output,
 * args, knob, require, prefer, launch, workspace (kfuse(1) lists them). `lines` (or NULL): more such
 * lines without "//!". One that is about the same knob, tensor or entry as a line of the file, or a
 * kernel, args, computes or workspace line, takes its place; others are added. KF_INPUT with carets
 * into the file or "<options>". */
KF_API KfStatus kf_template_open(KfSession *session, const char *path, const char *lines,
                                 KfTemplate **template_);
KF_API void kf_template_close(KfTemplate *template_);
/* The program whose only kernel is the template, for all calls below; close it before the template.
 * `problem` names tensors as the template does; an input that it does not list takes the shape of one
 * with the same dimensions, else from sizes that others give, else the plain shape. A template with computes lines is judged by them; of
 * one without, `inputs` and `outputs` give the data of all inputs and references of all outputs, and
 * what its other arguments are is said by `params`. Data are read while tuning, not copied.
 * `problem->device` NULL: the first device of the file's language. */
KF_API KfStatus kf_template_program(KfTemplate *template_, const KfProblem *problem,
                                    KfProgram **program);

/* --- kernel */

/* Tunes, or answers from the store. `options` may be NULL. KF_INTERRUPTED gives a kernel too if one
 * is right so far. */
KF_API KfStatus kf_tune(KfProgram *program, const KfTuneOptions *options, KfKernel **kernel);
/* The bare strategies: no stored answer, no early end but by the budget. Every point that `prefer`
 * and `require` allow; `trials` of them in random order by `seed`, the analytic default among them. Of
 * `options` the strategy, trials and, in kf_random, seed are not looked at. */
KF_API KfStatus kf_grid(KfProgram *program, const KfTuneOptions *options, KfKernel **kernel);
KF_API KfStatus kf_random(KfProgram *program, uint32_t trials, uint64_t seed,
                          const KfTuneOptions *options, KfKernel **kernel);
KF_API void kf_kernel_close(KfKernel *kernel);

/* Enqueues the kernel once. CUDA: device pointers; `stream` is a CUstream (NULL: the default
 * stream) of the caller's current context; returns before it is done. CPU: host pointers; `stream`
 * is ignored; returns when done. Pointers may be aligned to one element only. Overlap of an output
 * with anything but the input it updates is refused (KF_INPUT), as is NULL for an array with elements.
 *
 * The first launch in a context loads the kernel there. Where the program is several kernels, what they hand
 * on is memory of the stream's, allocated at its first launch: graphs that were captured from one stream share
 * it and must not run at the same time. Close the kernel when its launches are done, also those of graphs, and
 * before the contexts go.
 *
 * Several threads may launch at once, in one context or in several, while nobody else uses the session; if
 * launches fail at once, the message is of one of them. On the CPU a kernel of several threads waits for
 * another launch of its own. */
KF_API KfStatus kf_launch(KfKernel *kernel, const void *const *inputs, void *const *outputs,
                          void *stream);
/* The same on host arrays, whatever the device: copies in, launches, copies out, waits; one call on a kernel
 * after another. The caller's current context stays. */
KF_API KfStatus kf_run(KfKernel *kernel, const void *const *inputs, void *const *outputs);

/* The report, as long as the kernel lives. */
KF_API const char *kf_kernel_report(KfKernel *kernel, KfFormat format);

typedef struct KfResult {
    const char *winner;   /* "VEC=4,BLOCK=256,…"; "" where nothing had to be launched */
    double time;          /* seconds a call */
    double eager_time;    /* of the eager chain; 0: not measured */
    double roof_fraction; /* of what the device streams with these arrays; 0: not measured */
    double speedup;       /* eager_time / time; 0: not measured */
    double max_ulp;
    uint32_t candidates, compiled; /* tried when it was tuned; compiled in this run */
    bool cached;                   /* answered from the store */
    uint64_t workspace; /* bytes that one call's kernels hand each other, held for each stream */
} KfResult;
KF_API KfResult kf_kernel_result(const KfKernel *kernel);

/* Files that need neither kfuse nor a compiler where they run: the kernels' text and binaries, a
 * launcher in C with a test of itself, a manifest (doc/exporting.md). */
typedef struct KfEmitOptions {
    const char *
        folder; /* made if need be. What an earlier export of this name left there, by its manifest, is
                          replaced or removed; a file of another export is KF_USAGE. */
    const char *name;  /* of files and functions, a C identifier; NULL: "kernel" */
    const char *archs; /* "sm_80,sm_90": CUDA's; NULL: the kernel's device's, or sm_80 and sm_90 */
    const char *point; /* as KfTuneOptions.point, and behind it "; sm_80 4096x64 A | B" for other
                          sizes and architectures; NULL: the kernel's, stored ones, the default */
    bool header;       /* all in one file, NAME.h */
} KfEmitOptions;
/* `kernel`, tuned from `program`, says the point and the device; NULL: no device is needed, and the language is
 * CUDA, or C if program's device is the cpu. *summary, a line a file and a line for what was chosen, is freed with kf_free. */
KF_API KfStatus kf_emit(KfProgram *program, const KfKernel *kernel, const KfEmitOptions *options,
                        char **summary);

/* An end of a kernel's bucket, and what the kernel loses there against the point that wins at that
 * very shape. */
typedef struct KfBucketEnd {
    const char *shape;      /* "2049x4096"; as long as the kernel */
    const char *best;       /* "VEC=2,BLOCK=128"; likewise */
    double time, best_time; /* seconds a call: of the kernel, of that point */
    double ratio, low,
        high; /* of these times, paired, and its 95 % interval; 1 where both are one */
} KfBucketEnd;
/* Searches the smallest and the largest shape of the kernel's bucket and times its point there: two
 * more tuning runs. *count: ends that are other shapes than the kernel's own, 0 to 2. A program of
 * several kernels is refused (KF_USAGE). */
KF_API KfStatus kf_verify_bucket(KfKernel *kernel, const KfTuneOptions *options,
                                 KfBucketEnd ends[2], size_t *count);

/* --- space: the points that a search may try */

typedef struct KfSize {
    const char *name;
    int64_t value;
} KfSize;

/* The points of "knob __VEC__ 1 2 4\nrequire n % VEC == 0\nprefer VEC > 1\n" that all `require`
 * lines allow, with `sensible` all `prefer` lines too; expressions read knobs and `sizes`. Of a product
 * of more than 2^20 points a sample. KF_INPUT with carets into "<space>". */
KF_API KfStatus kf_space_open(KfSession *session, const char *lines, const KfSize *sizes,
                              size_t size_count, bool sensible, KfSpace **space);
/* Those of one of the program's kernels ("softmax", "generated"; NULL: the first) at its shape on its
 * device. */
KF_API KfStatus kf_program_space(KfProgram *program, const char *kernel, bool sensible,
                                 KfSpace **space);
KF_API void kf_space_close(KfSpace *space);
KF_API size_t kf_space_count(const KfSpace *space);
/* "VEC=4,BLOCK=256", as KfTuneOptions.point takes it; valid until the next call. NULL where there is no
 * such point. */
KF_API const char *kf_space_point(KfSpace *space, size_t index);

/* --- around it. *text is freed with kf_free. */

KF_API KfStatus kf_devices(KfSession *session, char **text);
/* KF_OK if the machine has the device of that name, "cuda:1"; else one line in `why` (`size` bytes). */
KF_API KfStatus kf_device_find(const char *name, char *why, size_t size);
/* name NULL: all, a line each. */
KF_API KfStatus kf_ops(KfSession *session, const char *name, char **text);
/* Tests every op of a .kf file on every device present. */
KF_API KfStatus kf_ops_check(KfSession *session, const char *path, char **text);
/* Whether what is found is kept: false, with *why until the session is closed, where the store cannot be written. */
KF_API bool kf_session_keeps(KfSession *session, const char **why);
/* command: "ls", "show" (argument: the start of a key), "clear", "path"; "export" (argument: a file, or NULL or "-":
 * the lines are the text), "import" (a file of such lines, "-": standard input), "merge" (another store's
 * database): what comes in is judged and timed on this device before it answers. "export-binaries" and
 * "import-binaries" have the compiled kernels, too: only from whom you would run a program. */
KF_API KfStatus kf_cache(KfSession *session, const char *command, const char *argument,
                         char **text);
/* Whether the store answers kf_tune with these options (NULL: none), and for each kernel that it does not
 * answer, which fields of the nearest key differ. Nothing is compiled or measured. */
KF_API KfStatus kf_why(KfProgram *program, const KfTuneOptions *options, char **text);

/* "4096x4096" "4096" "scalar" -> rank and dim; "bf16" -> type. KF_USAGE with a static reason in
 * *why. */
KF_API KfStatus kf_parse_shape(const char *text, KfTensor *tensor, const char **why);
KF_API KfStatus kf_parse_type(const char *text, KfType *type, const char **why);
KF_API size_t kf_type_size(KfType type);
KF_API const char *kf_type_name(KfType type);
KF_API const char *kf_version(void);

#ifdef __cplusplus
}
#endif
#endif
