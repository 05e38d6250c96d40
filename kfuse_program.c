/* Programs: what the caller says about them, what can be asked of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/fast.h"
#include "compiler/near.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"
#include "kfuse_objects.h"

Type program_type(const KfTensor *tensor, DType fallback) {
    Type type = {.dtype = tensor->type == KF_PLAIN_TYPE ? fallback : (DType)tensor->type};
    type.rank = tensor->rank > 0 ? (uint32_t)tensor->rank : 0;
    for (uint32_t d = 0; d < type.rank; d++) type.dim[d] = tensor->dim[d];
    return type;
}

static const char *check_tensor(const KfTensor *tensor) {
    if (tensor->rank > RANK_MAX || tensor->rank < KF_PLAIN_SHAPE)
        return "the rank is not between 0 and 8";
    if ((unsigned)tensor->type > KF_F64) return "unknown type";
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->dim[d] < 0) return "a dimension is negative";
    return NULL;
}

static LowerOptions lower_options(Arena *arena, const KfProblem *problem) {
    LowerOptions options = {.has_shape = problem->has_plain_shape,
                            .plain = program_type(&problem->plain, DT_F32),
                            .has_out_dtype = problem->out_type != KF_PLAIN_TYPE,
                            .out_dtype = (DType)problem->out_type,
                            .round_each_op = problem->round_each_op};
    InputSpec *inputs = arena_array(arena, InputSpec, problem->input_count);
    for (size_t i = 0; i < problem->input_count; i++) {
        const KfTensor *t = &problem->inputs[i];
        inputs[i] = (InputSpec){.name = arena_copy(arena, t->name, strlen(t->name)),
                                .has_shape = t->rank != KF_PLAIN_SHAPE,
                                .has_dtype = t->type != KF_PLAIN_TYPE,
                                .has_strides = t->strides != NULL,
                                .type = program_type(t, options.plain.dtype)};
        for (uint32_t d = 0; t->strides && d < inputs[i].type.rank; d++)
            inputs[i].strides[d] = t->strides[d];
    }
    ParamSpec *params = arena_array(arena, ParamSpec, problem->param_count);
    for (size_t i = 0; i < problem->param_count; i++)
        params[i] =
            (ParamSpec){arena_copy(arena, problem->params[i].name, strlen(problem->params[i].name)),
                        problem->params[i].value};
    options.inputs = inputs;
    options.input_count = (uint32_t)problem->input_count;
    options.params = params;
    options.param_count = (uint32_t)problem->param_count;
    return options;
}

const char *program_one_line(Arena *arena, const Ast *ast) {
    Text text = {0};
    ast_print(&text, ast);
    while (text.length > 0 && text.data[text.length - 1] == '\n') text.data[--text.length] = '\0';
    Text line = {0};
    for (const char *c = text_string(&text); *c; c++)
        *c == '\n' ? text_add(&line, "; ") : text_add_bytes(&line, c, 1);
    const char *copy = arena_copy(arena, text_string(&line), line.length);
    text_free(&text);
    text_free(&line);
    return copy;
}

bool program_output_strides(KfSession *session, const KfProblem *problem, Ir *ir) {
    for (size_t i = 0; i < problem->output_count; i++) {
        const KfTensor *t = &problem->outputs[i];
        uint32_t o = 0;
        while (o < ir->outputs.count && strcmp(ir->outputs.data[o].name, t->name) != 0) o++;
        if (o == ir->outputs.count)
            return session_say(session, KF_INPUT, "the program has no output '%s'", t->name), false;
        if (!t->strides) continue;
        for (uint32_t d = 0; d < ir->outputs.data[o].type.rank; d++) {
            if (t->strides[d] == 0 && ir->outputs.data[o].type.dim[d] > 1)
                return session_say(session, KF_INPUT,
                                   "output '%s' has stride 0: elements would overlap", t->name),
                       false;
            ir->outputs.data[o].strides[d] = t->strides[d];
        }
    }
    return true;
}

static const char *check_problem(const KfProblem *problem) {
    if (!problem || (unsigned)problem->math > KF_MATH_TF32)
        return "no program, or an unknown math mode";
    const char *wrong = problem->has_plain_shape ? check_tensor(&problem->plain) : NULL;
    for (size_t i = 0; i < problem->input_count && !wrong; i++)
        wrong =
            problem->inputs[i].name ? check_tensor(&problem->inputs[i]) : "an input without a name";
    for (size_t i = 0; i < problem->output_count && !wrong; i++)
        wrong = problem->outputs[i].name ? check_tensor(&problem->outputs[i])
                                         : "an output without a name";
    return wrong;
}

void program_simplify(KfProgram *program) {
    FastDone done;
    Text text = {0};
    program->simplified = simplify(program->arena, program->ir, true);
    if (!program->fast) return;
    program->simplified = fast(program->arena, program->simplified, &done);
    fast_print(&text, &done);
    program->math_done = arena_copy(program->arena, text_string(&text), text.length);
    text_free(&text);
}

bool program_takes_near(const KfProgram *program, const char *language) {
    return !program->strict && !program->template && strcmp(language, "cuda") == 0;
}

const Ir *program_ir(KfProgram *program, const char *language) {
    NearDone done;
    Text text = {0};
    if (!program_takes_near(program, language)) return program->simplified;
    if (program->near) return program->near;
    program->near = near(program->arena, program->simplified, &done);
    near_print(&text, &done);
    program->near_done = arena_copy(program->arena, text_string(&text), text.length);
    text_free(&text);
    return program->near;
}

const char *program_done(const KfProgram *program, Arena *arena, const char *language) {
    const char *near = program_takes_near(program, language) ? program->near_done : "";
    const char *separator = *program->math_done && *near ? ", " : "";
    return arena_printf(arena, "%s%s%s", program->math_done, separator, near);
}

KfStatus program_new(KfSession *session, const KfProblem *problem, KfProgram **out) {
    static const char *const math[] = {"default", "strict", "fast", "tf32"};
    const char *wrong = check_problem(problem);
    *out = NULL;
    if (wrong) return session_say(session, KF_USAGE, "%s", wrong);
    KfProgram *program = calloc(1, sizeof *program);
    if (!program) return session_say(session, KF_ENVIRONMENT, "out of memory");
    program->session = session;
    program->arena = arena_open();
    program->lower = lower_options(program->arena, problem);
    program->math = math[problem->math];
    program->fast = problem->math == KF_MATH_FAST;
    program->strict = problem->math == KF_MATH_STRICT;
    program->math_done = program->near_done = "";
    if (problem->device)
        program->device = arena_copy(program->arena, problem->device, strlen(problem->device));
    *out = program;
    return KF_OK;
}

KfStatus kf_program_open(KfSession *session, const char *text, size_t length,
                         const KfProblem *problem, KfProgram **out) {
    KfProgram *program;
    double began = tuning_clock();
    text_clear(&session->message);
    *out = NULL;
    if (!text) return session_say(session, KF_USAGE, "no program");
    if (length == SIZE_MAX) length = strlen(text);
    if (length > SOURCE_MAX)
        return session_say(session, KF_INPUT, "the program is longer than 16 MiB");
    KfStatus status = program_new(session, problem, &program);
    if (status != KF_OK) return status;
    const char *name = problem->source ? problem->source : "<expr>";
    status = pipeline_compile(program, source_new(program->arena, name, text, length), problem);
    program->parsing = tuning_clock() - began;
    if (status == KF_OK)
        *out = program;
    else
        kf_program_close(program);
    return status;
}

void kf_program_close(KfProgram *program) {
    if (!program) return;
    arena_close(program->arena);
    free(program);
}

size_t kf_program_input_count(const KfProgram *program) {
    return program->ir->inputs.count;
}

size_t kf_program_output_count(const KfProgram *program) {
    return program->ir->outputs.count;
}

static KfTensor tensor_of(const char *name, const Type *type, const int64_t *strides) {
    KfTensor tensor = {
        .name = name, .type = (KfType)type->dtype, .rank = (int)type->rank, .strides = strides};
    memcpy(tensor.dim, type->dim, sizeof tensor.dim);
    return tensor;
}

KfTensor kf_program_input(const KfProgram *program, size_t index) {
    const IrInput *input = &program->ir->inputs.data[index];
    return tensor_of(input->name, &input->type, input->strides);
}

KfTensor kf_program_output(const KfProgram *program, size_t index) {
    const IrOutput *output = &program->ir->outputs.data[index];
    return tensor_of(output->name, &output->type, output->strides);
}

int kf_program_updates(const KfProgram *program, size_t index) {
    return program->ir->outputs.data[index].updates;
}

/* The kernel and point that a label names: "VEC=4", "softmax:TPR=32"; NULL: the first kernel at its
 * analytic default. */
static const Kernel *choose(Arena *arena, const Kernels *kernels, const char *label, Point *point,
                            const char **why) {
    if (label) return labels_find(arena, kernels, label, point, why);
    *point = space_fallback(&kernels->list.data[0].template->space);
    return &kernels->list.data[0];
}

static KfStatus dump_part(KfProgram *program, const Part *part, KfStage stage, const char *label,
                          Text *out) {
    Point point;
    const char *why;
    const Kernel *kernel = choose(program->arena, &part->kernels, label, &point, &why);
    if (!kernel) return session_say(program->session, KF_USAGE, "%s", why);
    if (stage != KF_STAGE_PLAN)
        template_instantiate(out, kernel->template, &point, "");
    else if (kernel->plan)
        plan_print(out, kernel->plan);
    else
        text_printf(out, "template %s\n", kernel->name);
    return KF_OK;
}

/* The kernels of the first way to cut the program, or of the first with as many as `labels` name. */
static KfStatus dump_parts(KfProgram *program, KfStage stage, const char *labels, Text *out) {
    Partitions partitions = {0};
    KfStatus status = pipeline_partitions(program, program->arena,
                                          stage == KF_STAGE_C ? "c" : "cuda", &partitions);
    if (status != KF_OK || partitions.list.count == 0) return status;
    const Partition *partition = &partitions.list.data[0];
    if (labels) partition = partition_of(program->session, program->arena, &partitions, &labels);
    if (!partition) return KF_USAGE;
    uint32_t count = partition_count(partition);
    for (uint32_t i = 0; i < count && status == KF_OK; i++) {
        if (count > 1 && stage != KF_STAGE_PLAN)
            text_printf(out, "%s// ---- kernel %u of %u: a file of its own ----\n", i ? "\n" : "",
                        i + 1, count);
        status = dump_part(program, partition->parts[i], stage,
                           labels ? labels_at(program->arena, labels, i) : NULL, out);
    }
    return status;
}

static void dump_ir(const KfProgram *program, Text *out) {
    ir_print(out, program->ir, false);
    if (!program->fast) return;
    text_printf(out, "\nfast: %s\n",
                *program->math_done ? program->math_done : "nothing in this program to change");
    if (*program->math_done) ir_print(out, program->simplified, false);
}

static KfStatus dump_groups(KfProgram *program, Text *out) {
    Partitions partitions = {0};
    const Device *device;
    int index;
    Why why;
    if (!device_select(program->device, &device, &index, &why))
        return session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    KfStatus status = pipeline_partitions(program, program->arena, device->language, &partitions);
    if (status == KF_OK && partitions.list.count == 0)
        text_add(out, "no kernel: no output has elements\n");
    else if (status == KF_OK)
        partitions_print(out, &partitions, program->ir,
                         pipeline_eager(program, program->arena, device->language));
    return status;
}

/* The language of the device that is named, be it there or not; of none, of the one that is there. */
static const char *language_of(const KfProgram *program, Why *why) {
    const char *text = program->device;
    char name[32];
    const Device *device;
    int index;
    snprintf(name, sizeof name, "%.*s", text ? (int)strcspn(text, ":") : 0, text ? text : "");
    device = device_find(name);
    if (!device && !device_select(text, &device, &index, why)) return NULL;
    return device->language;
}

KfStatus kf_program_cut(KfProgram *program, uint32_t *kernels, int64_t *bytes) {
    Partitions partitions = {0};
    Why why;
    text_clear(&program->session->message);
    *kernels = 0;
    *bytes = 0;
    const char *language = language_of(program, &why);
    if (!language) return session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    KfStatus status = pipeline_partitions(program, program->arena, language, &partitions);
    if (status != KF_OK || partitions.list.count == 0) return status;
    *kernels = partition_count(&partitions.list.data[0]);
    *bytes = partitions.list.data[0].chain->bytes;
    return KF_OK;
}

KfStatus kf_program_dump(KfProgram *program, KfStage stage, const char *point, char **text) {
    Text out = {0};
    KfStatus status = KF_OK;
    text_clear(&program->session->message);
    if (!program->ast && (stage == KF_STAGE_AST || stage == KF_STAGE_IR))
        return session_say(program->session, KF_USAGE, "%s does not say what it computes",
                           program->template->path);
    switch (stage) {
    case KF_STAGE_AST: ast_dump(&out, program->ast); break;
    case KF_STAGE_IR: dump_ir(program, &out); break;
    case KF_STAGE_GROUPS: status = dump_groups(program, &out); break;
    default: status = dump_parts(program, stage, point, &out); break;
    }
    if (status == KF_OK) return session_give(&out, text);
    text_free(&out);
    return status;
}

KfStatus kf_program_evaluate(KfProgram *program, const void *const *inputs, void *const *outputs) {
    text_clear(&program->session->message);
    if (!program->ast)
        return session_say(program->session, KF_USAGE, "%s does not say what it computes",
                           program->template->path);
    Team *team = team_open(parallel_cpus());
    Eval *eval = eval_open(program->simplified, inputs, ACCURACY_C, team);
    if (eval)
        for (uint32_t o = 0; o < program->ir->outputs.count; o++) eval_values(eval, o, outputs[o]);
    eval_close(eval);
    team_close(team);
    return eval ? KF_OK
                : session_say(program->session, KF_ENVIRONMENT,
                              "the program's values do not fit in memory");
}
