/* In: argv. Out: Options, or one line that says what is wrong. The table below is all there is to
 * know. */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/embed.h"

typedef struct Parse {
    Options *options;
    char *why;
    size_t size;
} Parse;

typedef struct Option {
    const char *name, *value, *help; /* value NULL: a flag */
    bool (*take)(Parse *parse, char *value);
} Option;

static bool wrong(Parse *p, const char *format, const char *a, const char *b) {
    snprintf(p->why, p->size, format, a, b);
    return false;
}

/* --- values */

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
    }
    return length > 0;
}

/* Splits "NAME=VALUE" in place. */
static Named split(char *text) {
    char *equals = strchr(text, '=');
    if (!equals || !is_name(text, (size_t)(equals - text))) return (Named){NULL, text};
    *equals = '\0';
    return (Named){text, equals + 1};
}

static bool add_named(Parse *p, Named *list, size_t *count, Named named) {
    if (*count == OPTION_NAMED) return wrong(p, "too many values of one option%s%s", "", "");
    for (size_t i = 0; i < *count; i++) {
        bool same = named.name && list[i].name ? strcmp(named.name, list[i].name) == 0
                                               : named.name == list[i].name;
        if (same) return wrong(p, "'%s' and '%s' for one and the same", list[i].value, named.value);
    }
    list[(*count)++] = named;
    return true;
}

static bool whole(Parse *p, const char *option, const char *text, long low, long high,
                  long *value) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    if (*end || end == text || errno || *value < low || *value > high)
        return wrong(p,
                     low > 0 ? "%s takes a whole number from 1 up, not '%s'"
                             : "%s takes a whole number, not '%s'",
                     option, text);
    return true;
}

static bool choice(Parse *p, const char *option, const char *text, const char *const *names,
                   int *value) {
    for (*value = 0; names[*value]; ++*value)
        if (strcmp(text, names[*value]) == 0) return true;
    size_t length = (size_t)snprintf(p->why, p->size, "%s '%s' is not one of", option, text);
    for (int i = 0; names[i] && length < p->size; i++)
        length += (size_t)snprintf(p->why + length, p->size - length, " %s", names[i]);
    return false;
}

/* --- one function an option */

static bool take_shape(Parse *p, char *v) {
    Named named = split(v);
    KfTensor tensor;
    const char *why;
    if (kf_parse_shape(named.value, &tensor, &why) != KF_OK)
        return wrong(p, "--shape '%s': %s", named.value, why);
    return add_named(p, p->options->shapes, &p->options->shape_count, named);
}
static bool take_dtype(Parse *p, char *v) {
    Named named = split(v);
    KfType type;
    const char *why;
    if (kf_parse_type(named.value, &type, &why) != KF_OK)
        return wrong(p, "--dtype '%s': %s", named.value, why);
    return add_named(p, p->options->dtypes, &p->options->dtype_count, named);
}
static bool take_out_dtype(Parse *p, char *v) {
    KfType type;
    const char *why;
    if (kf_parse_type(v, &type, &why) != KF_OK) return wrong(p, "--out-dtype '%s': %s", v, why);
    p->options->out_dtype = v;
    return true;
}
static bool take_param(Parse *p, char *v) {
    Named named = split(v);
    if (!named.name) return wrong(p, "--param takes NAME=VALUE, not '%s'%s", v, "");
    return add_named(p, p->options->params, &p->options->param_count, named);
}
static bool take_output(Parse *p, char *v) {
    return add_named(p, p->options->outputs, &p->options->output_count, split(v));
}
/* "x,b": cut in place. */
static bool take_wrt(Parse *p, char *v) {
    for (char *next; v; v = next) {
        next = strchr(v, ',');
        if (next) *next++ = '\0';
        if (!is_name(v, strlen(v))) return wrong(p, "--wrt takes names, x,b, not '%s'%s", v, "");
        if (p->options->wrt_count == OPTION_NAMED) return wrong(p, "too many names%s%s", "", "");
        p->options->wrt[p->options->wrt_count++] = v;
    }
    return true;
}
static bool take_ops(Parse *p, char *v) {
    if (p->options->ops_count == OPTION_NAMED) return wrong(p, "too many --ops%s%s", "", "");
    p->options->ops[p->options->ops_count++] = v;
    return true;
}
static bool take_dim(Parse *p, char *v) {
    if (p->options->dim_count == OPTION_NAMED) return wrong(p, "too many --dim%s%s", "", "");
    p->options->dims[p->options->dim_count++] = v;
    return true;
}
static bool take_rewrite(Parse *p, char *v) {
    p->options->rewrite = v;
    return true;
}
static bool take_file(Parse *p, char *v) {
    p->options->file = v;
    return true;
}
static bool take_check(Parse *p, char *v) {
    p->options->check = v;
    return true;
}
static bool take_name(Parse *p, char *v) {
    p->options->name = v;
    return true;
}
static bool take_arch(Parse *p, char *v) {
    p->options->archs = v;
    return true;
}
static bool take_format(Parse *p, char *v) {
    p->options->format = v;
    return true;
}
static bool take_device(Parse *p, char *v) {
    p->options->device = v;
    return true;
}
static bool take_devices(Parse *p, char *v) {
    p->options->devices = v;
    return true;
}
static bool take_shard(Parse *p, char *v) {
    unsigned shard, shards;
    int end = 0;
    if (sscanf(v, "%9u/%9u%n", &shard, &shards, &end) != 2 || v[end] || *v < '0' || *v > '9' ||
        shard < 1 || shard > shards)
        return wrong(p, "--shard takes I/N, from 1/N to N/N, not '%s'%s", v, "");
    p->options->shard = shard;
    p->options->shards = shards;
    return true;
}
static bool take_effort(Parse *p, char *v) {
    static const char *const names[] = {"normal", "quick", "full", NULL};
    int value;
    if (!choice(p, "--effort", v, names, &value)) return false;
    p->options->tune.effort = (KfEffort)value;
    return true;
}
static bool take_math(Parse *p, char *v) {
    static const char *const names[] = {"default", "strict", "fast", "tf32", NULL};
    int value;
    if (!choice(p, "--math", v, names, &value)) return false;
    p->options->math = (KfMath)value;
    return true;
}
static bool take_strategy(Parse *p, char *v) {
    p->options->tune.strategy = v;
    return true;
}
static bool take_trials(Parse *p, char *v) {
    long value;
    if (!whole(p, "--trials", v, 1, 1000000, &value)) return false;
    p->options->tune.trials = (uint32_t)value;
    return true;
}
static bool take_jobs(Parse *p, char *v) {
    long value;
    if (!whole(p, "--jobs", v, 1, 1024, &value)) return false;
    p->options->tune.jobs = (int)value;
    return true;
}
static bool take_seed(Parse *p, char *v) {
    long value;
    if (!whole(p, "--seed", v, 0, INT64_MAX, &value)) return false;
    p->options->tune.seed = (uint64_t)value;
    return true;
}
static bool take_budget(Parse *p, char *v) {
    char *end;
    double value = strtod(v, &end);
    if (*end || end == v || !(value > 0) || isinf(value))
        return wrong(p, "%s takes seconds, not '%s'", "--budget", v);
    p->options->tune.budget = value;
    return true;
}
static bool take_stop_at(Parse *p, char *v) {
    char *end;
    double percent = strtod(v, &end);
    if (end == v || strcmp(end, *end == '%' ? "%" : "") != 0 || !(percent >= 1 && percent <= 100))
        return wrong(p, "%s takes a part of the roof, as in 90%%, not '%s'", "--stop-at", v);
    p->options->tune.stop_at = percent / 100;
    return true;
}
static bool take_reference(Parse *p, char *v) {
    return add_named(p, p->options->references, &p->options->reference_count, split(v));
}
static bool tolerance(Parse *p, const char *option, const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (*end || end == text || !(*value >= 0) || isinf(*value))
        return wrong(p, "%s takes a number from 0 on, not '%s'", option, text);
    return p->options->has_tolerance = true;
}
static bool take_rtol(Parse *p, char *v) {
    return tolerance(p, "--rtol", v, &p->options->rtol);
}
static bool take_atol(Parse *p, char *v) {
    return tolerance(p, "--atol", v, &p->options->atol);
}
static bool add_line(Parse *p, const char *kind, const char *text) {
    if (p->options->line_count == OPTION_NAMED) return wrong(p, "too many --%s%s", kind, "");
    if (strchr(text, '\n')) return wrong(p, "--%s takes one line%s", kind, "");
    p->options->lines[p->options->line_count++] = (Named){kind, text};
    return true;
}
/* A line of a kernel's header. */
#define LINE(kind)                                    \
    static bool take_line_##kind(Parse *p, char *v) { \
        return add_line(p, #kind, v);                 \
    }
LINE(kernel)
LINE(computes)
LINE(input)
LINE(output)
LINE(args)
LINE(knob)
LINE(require)
LINE(prefer)
LINE(launch)
LINE(workspace)
static bool take_point(Parse *p, char *v) {
    p->options->tune.point = v;
    return true;
}
static bool stage(Parse *p, KfStage value) {
    if (p->options->has_stage && p->options->stage != value)
        return wrong(p, "one stage at a time%s%s", "", "");
    p->options->stage = value;
    p->options->has_stage = true;
    return true;
}
#define FLAG(name, expression)                   \
    static bool take_##name(Parse *p, char *v) { \
        (void)v;                                 \
        return expression;                       \
    }
FLAG(verify_bucket, (p->options->verify_bucket = true))
FLAG(products, (p->options->products = true))
FLAG(hot, (p->options->tune.hot = true))
FLAG(exact, (p->options->tune.exact = true))
FLAG(retune, (p->options->tune.retune = true))
FLAG(no_tune, (p->options->tune.no_tune = true))
FLAG(round, (p->options->round_each_op = true))
FLAG(binaries, (p->options->binaries = true))
FLAG(json, (p->options->json = true))
FLAG(quiet, (p->options->quiet = true))
FLAG(time, (p->options->time = true))
FLAG(help, (p->options->help = true))
FLAG(help_all, (p->options->help_all = true))
FLAG(version, (p->options->version = true))
FLAG(ast, stage(p, KF_STAGE_AST))
FLAG(ir, stage(p, KF_STAGE_IR))
FLAG(plan, stage(p, KF_STAGE_PLAN))
FLAG(groups, stage(p, KF_STAGE_GROUPS))
FLAG(cuda, stage(p, KF_STAGE_CUDA))
FLAG(c, stage(p, KF_STAGE_C))
#undef FLAG

static const Option table[] = {
    {"--shape", "[NAME=]DIMS", "shape of every input, or of one: 4096x4096, b=4096, s=scalar",
     take_shape},
    {"--dtype", "[NAME=]TYPE", "f64 f32 f16 bf16, and bool u8 i8 i32 i64 for one input",
     take_dtype},
    {"--out-dtype", "TYPE", "type of the outputs (default: as inferred)", take_out_dtype},
    {"--param", "NAME=VALUE", "value of a run-time scalar (`param NAME = …` in the program)",
     take_param},
    {"--device", "NAME[:N]", "cuda:0, cpu (default: a GPU if there is one, else cpu)", take_device},
    {"--devices", "all|NAMES", "tune-all: cuda:0,cuda:1, a process each (default: --device alone)",
     take_devices},
    {"--shard", "I/N", "tune-all: lines I, I+N, I+2N … of the list alone", take_shard},
    {"--ops", "FILE", "more functions, one definition a line", take_ops},
    {"-f", "FILE", "the program from a file ('-': standard input)", take_file},
    {"-o", "[NAME=]FILE",
     "where `run` puts an output (.npy), `dump` its text, `emit` and `onnx` their files",
     take_output},
    {"--math", "MODE", "default, strict, fast (fma, reciprocals, sums reordered), tf32 (products)",
     take_math},
    {"--round-each-op", NULL, "round after every operation, as an eager framework does",
     take_round},
    {"--effort", "LEVEL", "quick (16 candidates), normal (64), full (all)", take_effort},
    {"--strategy", "NAME", "auto, grid, random", take_strategy},
    {"--trials", "N", "candidates at most", take_trials},
    {"--budget", "SECONDS", "time for the search (default 20)", take_budget},
    {"--stop-at", "PERCENT",
     "end the search once a kernel reaches this part of the roof, as in 90%", take_stop_at},
    {"--seed", "N", "of data and search", take_seed},
    {"--jobs", "N", "compile workers (default: CPUs and memory)", take_jobs},
    {"--hot", NULL, "time on buffers that stay in the cache", take_hot},
    {"--exact", NULL, "key results by the very shape, not by its bucket", take_exact},
    {"--retune", NULL, "ignore stored results", take_retune},
    {"--verify-bucket", NULL,
     "search the bucket's smallest and largest shape too, say what is lost", take_verify_bucket},
    {"--no-tune", NULL, "a stored point of this bucket, or the analytic default: no search",
     take_no_tune},
    {"--point", "KNOB=V,..", "only this candidate: VEC=4,BLOCK=256", take_point},
    {"--reference", "NAME=FILE", "tune: what an output should be, where no computes line says it",
     take_reference},
    {"--rtol", "R", "tune: |out - reference| <= A + R * |reference| (default: by type)", take_rtol},
    {"--atol", "A", "tune: likewise", take_atol},
    {"--kernel", "NAME", "tune: a line of the kernel's header; in place of the file's",
     take_line_kernel},
    {"--computes", "PROGRAM", "tune: likewise: y = x * 2", take_line_computes},
    {"--args", "NAMES", "tune: likewise: x y n", take_line_args},
    {"--workspace", "BYTES", "tune: likewise: rows * 4", take_line_workspace},
    {"--input", "TENSOR", "tune: 'x[n] : f32 f16', in place of the file's of that name, or more",
     take_line_input},
    {"--output", "TENSOR", "tune: 'y[n] : like x', likewise", take_line_output},
    {"--knob", "KNOB", "tune: '__VEC__ 1 2 4', likewise", take_line_knob},
    {"--launch", "LAUNCH",
     "tune: '[ENTRY] grid = ceildiv(n, __BLOCK__) block = __BLOCK__', likewise", take_line_launch},
    {"--require", "CONDITION", "tune: one condition more: 'n % __VEC__ == 0'", take_line_require},
    {"--prefer", "CONDITION", "tune: likewise, of what is worth a try", take_line_prefer},
    {"--ast", NULL, "dump: the syntax tree", take_ast},
    {"--ir", NULL, "dump: values in SSA form", take_ir},
    {"--groups", NULL, "dump: the kernels, what each reads and writes, what fusing saves",
     take_groups},
    {"--plan", NULL, "dump: the fused loop nest", take_plan},
    {"--cuda", NULL, "dump: the CUDA kernel", take_cuda},
    {"--c", NULL, "dump: the C kernel", take_c},
    {"--wrt", "NAMES", "grad: the inputs to derive by: x,b (default: all floating ones)", take_wrt},
    {"--name", "NAME", "emit: of files and functions (default: kernel)", take_name},
    {"--arch", "SM,..", "emit: sm_80,sm_90 (default: the device's, else these)", take_arch},
    {"--format", "header", "emit: all in one file, NAME.h", take_format},
    {"--dim", "NAME=SIZE", "onnx: size of a symbolic dimension: batch=8", take_dim},
    {"--rewrite", "FILE", "onnx: the model with kernels in the place of regions, with -o FOLDER",
     take_rewrite},
    {"--products", NULL, "onnx: matrix products may begin a region", take_products},
    {"--check", "FILE", "ops: test a .kf file on every device present", take_check},
    {"--binaries", NULL, "cache export, import: with the compiled kernels", take_binaries},
    {"--json", NULL, "the report as one JSON object", take_json},
    {"--quiet", NULL, "no progress", take_quiet},
    {"--time", NULL, "where the run's time went, on standard error", take_time},
    {"--help", NULL, "the short page", take_help},
    {"--help-all", NULL, "this page", take_help_all},
    {"--version", NULL, "the version", take_version},
};

enum { TABLE = sizeof table / sizeof *table };

static const char *const commands[] = {"",         "run",  "dump", "ops",  "devices",
                                       "cache",    "warm", "tune", "grad", "emit",
                                       "tune-all", "onnx", "why",  NULL};

static const char *help_text(const char *path) {
    const Embed *text = cli_texts;
    while (strcmp(text->path, path) != 0) text++;
    return text->text;
}

void options_help(bool all) {
    printf("%s\n", help_text("cli/texts/help_commands.txt"));
    for (size_t i = 0; all && i < TABLE; i++)
        printf("  %-15s %-12s %s\n", table[i].name, table[i].value ? table[i].value : "",
               table[i].help);
    if (!all) fputs(help_text("cli/texts/help_common.txt"), stdout);
    printf("\n%s", help_text("cli/texts/help_exit.txt"));
}

static size_t shared_prefix(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

static bool unknown(Parse *p, const char *word) {
    const char *nearest = NULL;
    size_t best = 3;
    for (size_t i = 0; i < TABLE; i++)
        if (shared_prefix(word, table[i].name) > best)
            best = shared_prefix(word, table[i].name), nearest = table[i].name;
    return nearest ? wrong(p, "unknown option '%s'; did you mean '%s'?", word, nearest)
                   : wrong(p, "unknown option '%s'; --help-all lists them%s", word, "");
}

/* "--shape=4x4" is "--shape 4x4". */
static bool take(Parse *p, int argc, char **argv, int *i) {
    char *word = argv[*i], *equals = strchr(word, '=');
    size_t length = equals && word[1] == '-' ? (size_t)(equals - word) : strlen(word);
    for (size_t k = 0; k < TABLE; k++) {
        const Option *option = &table[k];
        if (strlen(option->name) != length || strncmp(option->name, word, length) != 0) continue;
        if (!option->value)
            return word[length] ? wrong(p, "%s takes no value%s", option->name, "")
                                : option->take(p, NULL);
        if (word[length]) return option->take(p, equals + 1);
        if (*i + 1 >= argc) return wrong(p, "%s takes a value: %s", option->name, option->value);
        return option->take(p, argv[++*i]);
    }
    return unknown(p, word);
}

static bool add_word(Parse *p, const char *word) {
    if (p->options->word_count == OPTION_WORDS) return wrong(p, "too many words%s%s", "", "");
    p->options->words[p->options->word_count++] = word;
    return true;
}

static bool is_option(const char *word) {
    if (word[0] != '-' || word[1] == '\0') return false;
    for (size_t k = 0; k < TABLE; k++)
        if (strcmp(word, table[k].name) == 0) return true;
    return word[1] == '-'; /* "-x*2" is an expression, "--x" a mistake */
}

static Command command_of(const char *word) {
    for (int c = 1; commands[c]; c++)
        if (strcmp(word, commands[c]) == 0) return (Command)c;
    return COMMAND_TUNE;
}

KfStatus options_parse(int argc, char **argv, Options *options, char *why, size_t size) {
    *options = (Options){0};
    return options_add(argc, argv, options, why, size);
}

KfStatus options_add(int argc, char **argv, Options *options, char *why, size_t size) {
    Parse parse = {options, why, size};
    bool only_words = false, first = true;
    for (int i = 1; i < argc; i++) {
        bool ok = true;
        if (!only_words && strcmp(argv[i], "--") == 0)
            only_words = true;
        else if (!only_words && is_option(argv[i]))
            ok = take(&parse, argc, argv, &i);
        else if (first && !only_words && command_of(argv[i]) != COMMAND_TUNE)
            options->command = command_of(argv[i]);
        else
            ok = add_word(&parse, argv[i]);
        if (!ok) return KF_USAGE;
        first = first && (is_option(argv[i]) && !only_words);
    }
    return KF_OK;
}
