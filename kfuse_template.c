/* A user's kernel file as a program. In: its text, what is said of its tensors. Out: a KfProgram whose
 * only kernel it is. What the template computes is the oracle; where it does not say, references of
 * the caller's are. */
#include <stdlib.h>
#include <string.h>

#include "compiler/infer.h"
#include "kfuse_objects.h"

/* --- the file */

static const char *language_of(const char *path) {
    const char *ending = strrchr(path, '.');
    if (ending && strcmp(ending, ".cu") == 0) return "cuda";
    return ending && strcmp(ending, ".c") == 0 ? "c" : NULL;
}

/* What to write where nothing is said at all. */
static void show_header(Text *out, bool cuda) {
    text_add(out,
             "a header to begin with; its lines may also be options (--knob '__BLOCK__ 128 256'):\n"
             "    //! kernel   scale\n"
             "    //! computes y = x * 2\n"
             "    //! input    x[n] : f32\n"
             "    //! output   y[n] : like x\n"
             "    //! args     x y n\n"
             "    //! knob     __BLOCK__ 128 256\n");
    text_add(out, cuda ? "    //! launch   grid = ceildiv(n, __BLOCK__)  block = __BLOCK__\n"
                       : "    //! launch   block = cpus\n");
}

/* "kfuse tune scale.c --knob '__VEC__ 1 2'" without its first two words. */
static const char *command_of(Arena *arena, const char *path, const char *lines) {
    Text text = {0};
    text_add_word(&text, path, strlen(path));
    while (*lines) {
        size_t length = strcspn(lines, "\n"), kind = strcspn(lines, " \n");
        size_t from = kind + strspn(lines + kind, " ");
        if (length > from) {
            text_printf(&text, " --%.*s ", (int)kind, lines);
            text_add_word(&text, lines + from, length - from);
        }
        lines += lines[length] ? length + 1 : length;
    }
    const char *command = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return command;
}

static KfStatus read_template(KfTemplate *template, const char *path, const char *lines) {
    KfSession *session = template->session;
    Arena *arena = template->arena;
    Diags diags = {.arena = arena};
    const char *why, *language = language_of(path);
    if (!language)
        return session_say(session, KF_INPUT, "'%s' is neither a .cu nor a .c file", path);
    const Source *source = source_read(arena, path, &why);
    if (!source) return session_say(session, KF_INPUT, "%s", why);
    const Source *options = source_new(arena, "<options>", lines, strlen(lines));
    const Template *parsed = template_parse_with(arena, source, options, language, &diags);
    if (parsed && !template_check_entries(parsed, &diags)) parsed = NULL;
    diags_print(&session->message, &diags);
    if (!parsed && !*lines && !template_has_header(source))
        show_header(&session->message, strcmp(language, "cuda") == 0);
    template->template = parsed;
    template->path = source->name;
    template->command = command_of(arena, source->name, lines);
    return parsed ? KF_OK : KF_INPUT;
}

KfStatus kf_template_open(KfSession *session, const char *path, const char *lines,
                          KfTemplate **out) {
    text_clear(&session->message);
    *out = NULL;
    if (!path) return session_say(session, KF_USAGE, "no file");
    KfTemplate *template = calloc(1, sizeof *template);
    if (!template) return session_say(session, KF_ENVIRONMENT, "out of memory");
    template->session = session;
    template->arena = arena_open();
    KfStatus status = read_template(template, path, lines ? lines : "");
    if (status == KF_OK)
        *out = template;
    else
        kf_template_close(template);
    return status;
}

void kf_template_close(KfTemplate *template) {
    if (!template) return;
    arena_close(template->arena);
    free(template);
}

/* --- the device */

/* The file's language decides where nothing else does; what is asked for must speak it. */
static KfStatus choose_device(KfProgram *program) {
    const KfTemplate *template = program->template;
    const char *language = template->template->language, *asked = program->device;
    for (const Device *const *d = device_table; *d; d++) {
        size_t length = strlen((*d)->name);
        bool same = strcmp((*d)->language, language) == 0;
        if (!asked && same && !(*d)->imaginary) return program->device = (*d)->name, KF_OK;
        if (!asked || strncmp(asked, (*d)->name, length) != 0 || same) continue;
        if (asked[length] != '\0' && asked[length] != ':') continue;
        return session_say(program->session, KF_USAGE, "%s runs no %s, which %s is", asked,
                           strcmp(language, "c") == 0 ? "C" : "CUDA", template->path);
    }
    return KF_OK; /* an unknown name is told where devices are selected */
}

/* --- what is said of the tensors */

static const KfTensor *find_tensor(const KfTensor *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

/* Every input with all that was inferred. */
static void specify_inputs(KfProgram *program, const Inference *in) {
    const Template *template = program->template->template;
    InputSpec *specs = arena_array(program->arena, InputSpec, template->inputs.count + 1);
    for (uint32_t i = 0; i < template->inputs.count; i++)
        specs[i] = (InputSpec){.name = template->inputs.data[i].name,
                               .has_shape = true,
                               .has_dtype = true,
                               .type = in->inputs[i]};
    program->lower.inputs = specs;
    program->lower.input_count = template->inputs.count;
}

static bool has_output(const Template *template, const char *name) {
    for (uint32_t o = 0; o < template->outputs.count; o++)
        if (strcmp(template->outputs.data[o].name, name) == 0) return true;
    return false;
}

static KfStatus check_layouts(KfProgram *program, const KfProblem *problem) {
    const Template *template = program->template->template;
    const char *strided = NULL;
    for (size_t i = 0; i < problem->input_count; i++)
        if (problem->inputs[i].strides) strided = problem->inputs[i].name;
    for (size_t i = 0; i < problem->output_count; i++) {
        if (problem->outputs[i].strides) strided = problem->outputs[i].name;
        if (!has_output(template, problem->outputs[i].name))
            return session_say(program->session, KF_INPUT, "the template has no output '%s'",
                               problem->outputs[i].name);
    }
    return !strided ? KF_OK
                    : session_say(program->session, KF_USAGE,
                                  "a template's arrays are dense: '%s' has strides", strided);
}

/* --- its program: what it computes */

static bool check_outputs(const KfProgram *program, Inference *in, const Ir *ir) {
    const Template *template = program->template->template;
    bool good = true;
    for (uint32_t o = 0; o < template->outputs.count; o++)
        for (uint32_t k = 0; k < ir->outputs.count; k++)
            if (strcmp(ir->outputs.data[k].name, template->outputs.data[o].name) == 0) {
                Type type = ir->outputs.data[k].type;
                good &= infer_output(in, o, true, true, &type);
            }
    return good;
}

/* The type that the output's line says, where the formula alone would give another. */
static void store_as_said(KfProgram *program, Inference *in, const Ir *ir) {
    LowerOptions *lower = &program->lower;
    DType said = infer_output_type(in, 0, ir->outputs.data[0].type.dtype);
    if (lower->has_out_dtype || said == ir->outputs.data[0].type.dtype) return;
    lower->has_out_dtype = true;
    lower->out_dtype = said;
}

static bool reads(const Ast *ast, const char *name) {
    for (Node n = 1; n < ast->nodes.count; n++)
        if (ast->nodes.data[n].kind == AST_NAME && strcmp(ast->nodes.data[n].name, name) == 0)
            return true;
    return false;
}

static bool check_reads(const Template *template, Diags *diags) {
    for (uint32_t i = 0; i < template->inputs.count; i++) {
        const TemplateTensor *tensor = &template->inputs.data[i];
        if (!reads(template->computes, tensor->name))
            diag_error(diags, tensor->said, tensor->mark, NULL,
                       "what the template computes does not read '%s'", tensor->name);
    }
    return diags->errors == 0;
}

static bool check_writes(const Ir *ir, const Ast *computes, Diags *diags) {
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        if (ir->outputs.data[o].updates >= 0)
            diag_error(diags, computes->source, computes->statements.data[0].span, NULL,
                       "a template writes no input: '%s' is updated in place",
                       ir->outputs.data[o].name);
    return diags->errors == 0;
}

static const Ir *computed_program(KfProgram *program, Inference *in, Diags *diags) {
    const Template *template = program->template->template;
    const Registry *registry = program->session->registry;
    program->ast = template->computes;
    if (!check_reads(template, diags)) return NULL;
    const Ir *ir = lower(program->arena, program->ast, registry, &program->lower, diags);
    if (!ir || !check_writes(ir, program->ast, diags)) return NULL;
    store_as_said(program, in, ir);
    if (program->lower.has_out_dtype)
        ir = lower(program->arena, program->ast, registry, &program->lower, diags);
    return ir && check_outputs(program, in, ir) ? ir : NULL;
}

/* --- its program: inputs and outputs alone */

static void add_inputs(const Template *template, const Inference *in, Ir *ir) {
    for (uint32_t i = 0; i < template->inputs.count; i++) {
        IrInput input = {
            .name = template->inputs.data[i].name, .type = in->inputs[i], .updated_by = -1};
        type_strides(&input.type, input.strides);
        input.value = ir_value(ir, (IrNode){.op = IR_INPUT, .type = input.type, .index = i});
        array_push(ir->arena, &ir->inputs, input);
        if (input.type.dtype == DT_F64) ir->compute = DT_F64;
    }
}

/* Outputs of zeros: their shapes and types are what matters. */
static bool add_outputs(const Template *template, Inference *in, const KfProblem *problem, Ir *ir) {
    bool good = true;
    for (uint32_t o = 0; o < template->outputs.count; o++) {
        IrOutput output = {.name = template->outputs.data[o].name, .updates = -1};
        const KfTensor *said = find_tensor(problem->outputs, problem->output_count, output.name);
        if (said) output.type = program_type(said, DT_F32);
        good &= infer_output(in, o, said && said->rank != KF_PLAIN_SHAPE,
                             said && said->type != KF_PLAIN_TYPE, &output.type);
        if (output.type.dtype == DT_F64) ir->compute = DT_F64;
        type_strides(&output.type, output.strides);
        array_push(ir->arena, &ir->outputs, output);
    }
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        ir->outputs.data[o].value =
            ir_cast(ir, ir->outputs.data[o].type.dtype, ir_real(ir, 0), (Span){0});
    return good;
}

static bool add_params(const Template *template, const LowerOptions *lower, Ir *ir, Diags *diags) {
    for (uint32_t i = 0; i < lower->param_count; i++) {
        IrParam param = {.name = lower->params[i].name, .value = lower->params[i].value};
        bool found = false;
        for (uint32_t a = 0; a < template->args.count; a++)
            found |= strcmp(template->args.data[a], param.name) == 0;
        if (!found)
            diag_error(diags, NULL, (Span){0}, NULL, "the template has no argument '%s'",
                       param.name);
        array_push(ir->arena, &ir->params, param);
    }
    return diags->errors == 0;
}

static const Ir *silent_program(KfProgram *program, Inference *in, const KfProblem *problem,
                                Diags *diags) {
    const Template *template = program->template->template;
    Ir *ir = ir_open(program->arena, template->source);
    ir->compute = DT_F32;
    add_inputs(template, in, ir);
    return add_outputs(template, in, problem, ir) &&
                   add_params(template, &program->lower, ir, diags)
               ? ir
               : NULL;
}

/* "scale(x, g)" */
static const char *silent_expression(Arena *arena, const Template *template) {
    const char *text = arena_printf(arena, "%s(", template->name);
    for (uint32_t i = 0; i < template->inputs.count; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? ", " : "", template->inputs.data[i].name);
    return arena_printf(arena, "%s)", text);
}

/* --- the caller's data */

static KfStatus take_references(KfProgram *program, const KfProblem *problem, Given *given) {
    const Ir *ir = program->ir;
    uint32_t count = ir->outputs.count;
    const void **references = arena_array(program->arena, const void *, count);
    double *rtol = arena_array(program->arena, double, count);
    double *atol = arena_array(program->arena, double, count);
    for (uint32_t o = 0; o < count; o++) {
        const char *name = ir->outputs.data[o].name;
        const KfTensor *said = find_tensor(problem->outputs, problem->output_count, name);
        if (!said || !said->data)
            return session_say(
                program->session, KF_INPUT,
                "nothing says what '%s' should be: %s has no computes line, and there is "
                "no reference for it",
                name, program->template->path);
        references[o] = said->data;
        given_tolerance(ir->outputs.data[o].type.dtype, &rtol[o], &atol[o]);
        if (problem->has_tolerance) rtol[o] = problem->rtol, atol[o] = problem->atol;
    }
    given->references = references;
    given->rtol = rtol;
    given->atol = atol;
    program->reference = arena_printf(
        program->arena, "%s (rtol %g, atol %g)",
        problem->reference_name ? problem->reference_name : "a reference", rtol[0], atol[0]);
    return KF_OK;
}

static KfStatus refuse_references(KfProgram *program, const KfProblem *problem) {
    for (size_t i = 0; i < problem->output_count; i++)
        if (problem->outputs[i].data)
            return session_say(program->session, KF_USAGE,
                               "%s says what it computes: a reference of '%s' is not needed",
                               program->template->path, problem->outputs[i].name);
    return KF_OK;
}

static KfStatus take_data(KfProgram *program, const KfProblem *problem) {
    const Ir *ir = program->ir;
    Given *given = arena_new(program->arena, Given);
    const void **inputs = arena_array(program->arena, const void *, ir->inputs.count + 1);
    bool silent = !program->template->template->computes, any = silent;
    given->inputs = inputs;
    KfStatus status =
        silent ? take_references(program, problem, given) : refuse_references(program, problem);
    if (status != KF_OK) return status;
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const char *name = ir->inputs.data[i].name;
        const KfTensor *said = find_tensor(problem->inputs, problem->input_count, name);
        inputs[i] = said ? said->data : NULL;
        any |= inputs[i] != NULL;
        if (silent && !inputs[i])
            return session_say(
                program->session, KF_INPUT,
                "a reference says nothing about generated data: '%s' has none of its own", name);
    }
    given->hash = given_hash(given, ir);
    if (any) program->given = given;
    return KF_OK;
}

/* --- all together */

static KfStatus compile(KfProgram *program, const KfProblem *problem) {
    const Template *template = program->template->template;
    Diags diags = {.arena = program->arena};
    Inference in = {.arena = program->arena, .diags = &diags, .template = template};
    const Ir *ir = NULL;
    if (infer_inputs(&in, &program->lower, problem->plain.type != KF_PLAIN_TYPE)) {
        specify_inputs(program, &in);
        ir = template->computes ? computed_program(program, &in, &diags)
                                : silent_program(program, &in, problem, &diags);
    }
    diags_print(&program->session->message, &diags);
    if (!ir) return KF_INPUT;
    program->ir = ir;
    program->simplified = ir;
    if (template->computes) program_simplify(program);
    program->expression = template->computes ? program_one_line(program->arena, program->ast)
                                             : silent_expression(program->arena, template);
    return take_data(program, problem);
}

KfStatus kf_template_program(KfTemplate *template, const KfProblem *problem, KfProgram **out) {
    KfProgram *program;
    text_clear(&template->session->message);
    *out = NULL;
    KfStatus status = program_new(template->session, problem, &program);
    if (status != KF_OK) return status;
    program->template = template;
    status = choose_device(program);
    if (status == KF_OK) status = check_layouts(program, problem);
    if (status == KF_OK) status = compile(program, problem);
    if (status == KF_OK)
        *out = program;
    else
        kf_program_close(program);
    return status;
}

KfStatus template_partitions(KfProgram *program, Arena *arena, const char *language,
                             Partitions *partitions) {
    const KfTemplate *template = program->template;
    const Ir *ir = program->simplified;
    Step step = chain_whole(arena, ir);
    int64_t elements = 0;
    if (strcmp(language, template->template->language) != 0)
        return session_say(program->session, KF_USAGE, "%s is not in that language",
                           template->path);
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        elements += type_count(&ir->outputs.data[o].type);
    step.label = template->template->name;
    step.kernels = kernels_of(arena, template->template, ir);
    if (step.kernels.list.count == 0)
        return session_say(program->session, KF_INPUT, "%s does not fit these shapes and types",
                           template->path);
    Chain *chain = arena_new(arena, Chain);
    chain->name = "the kernel";
    array_push(arena, &chain->steps, step);
    if (elements > 0) partition_add(arena, partitions, chain);
    return KF_OK;
}
