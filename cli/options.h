/* Options: one table that parses the command line and prints the help. */
#ifndef KF_OPTIONS_H
#define KF_OPTIONS_H

#include "kfuse.h"

typedef enum Command {
    COMMAND_TUNE,
    COMMAND_RUN,
    COMMAND_DUMP,
    COMMAND_OPS,
    COMMAND_DEVICES,
    COMMAND_CACHE,
    COMMAND_WARM,
    COMMAND_TEMPLATE,
    COMMAND_GRAD,
    COMMAND_EMIT,
    COMMAND_TUNE_ALL,
    COMMAND_ONNX,
    COMMAND_WHY
} Command;

enum { OPTION_WORDS = 600, OPTION_NAMED = 300 };

/* "b=4096": a value for one name; name NULL: for all. */
typedef struct Named {
    const char *name, *value;
} Named;

typedef struct Options {
    Command command;
    const char *words[OPTION_WORDS]; /* what is no option: the expression, NAME=FILE … */
    size_t word_count;
    Named shapes[OPTION_NAMED], dtypes[OPTION_NAMED], params[OPTION_NAMED], outputs[OPTION_NAMED];
    size_t shape_count, dtype_count, param_count, output_count;
    Named references[OPTION_NAMED];
    size_t reference_count;
    Named lines[OPTION_NAMED]; /* of a kernel's header: its kind and what it says */
    size_t line_count;
    bool has_tolerance;
    double rtol, atol;
    const char *wrt[OPTION_NAMED]; /* grad: inputs to derive by */
    size_t wrt_count;
    const char *ops[OPTION_NAMED]; /* --ops FILE, or `ops --check FILE` in `check` */
    size_t ops_count;
    const char *dims[OPTION_NAMED]; /* onnx: NAME=SIZE */
    size_t dim_count;
    const char *rewrite; /* onnx: the model that calls the kernels */
    bool products;       /* onnx: matrix products may begin a region */
    const char *file, *device, *out_dtype, *check;
    const char *name, *archs, *format; /* emit */
    const char *devices;               /* tune-all: "all", "cuda:0,cuda:1"; NULL: `device` */
    unsigned shard, shards;            /* tune-all: lines I, I + N …, I from 1 on; 0 of 0: all */
    KfMath math;
    KfStage stage;
    bool has_stage, round_each_op, verify_bucket, binaries, json, quiet, time, help, help_all,
        version;
    KfTuneOptions tune;
} Options;

/* KF_OK, or KF_USAGE with one line in `why` (`size` bytes). Strings point into argv; names of
 * "NAME=VALUE" are cut out of it in place. */
KfStatus options_parse(int argc, char **argv, Options *options, char *why, size_t size);
/* More words on top of what is there. */
KfStatus options_add(int argc, char **argv, Options *options, char *why, size_t size);
/* Whether the first word is a kernel file of the user's own. */
bool options_name_file(const Options *options);
/* What is wrong where an option is of another command; NULL: none is. */
const char *options_misplaced(const Options *options);
/* The short page, or with `all` every option. */
void options_help(bool all);

#endif
