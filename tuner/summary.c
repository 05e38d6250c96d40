/* In: a finished tuning run. Out: its Report. */
#include "tuner/summary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *keep(Arena *arena, Text *text) {
    const char *copy = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return copy;
}

static const char *label(Arena *arena, const TuneProblem *problem, const Candidate *c) {
    return tune_label(arena, problem, c->kernel, &c->point, " ");
}

/* Row-major element `at` of a shape: "[17, 2203]". */
static const char *place(Arena *arena, const Type *type, int64_t at) {
    Text text = {0};
    int64_t index[RANK_MAX];
    if (at < 0 || at >= type_count(type)) return "";
    for (uint32_t d = type->rank; d-- > 0;) {
        index[d] = at % type->dim[d];
        at /= type->dim[d];
    }
    text_add(&text, "[");
    for (uint32_t d = 0; d < type->rank; d++)
        text_printf(&text, "%s%" PRId64, d ? ", " : "", index[d]);
    text_add(&text, "]");
    return keep(arena, &text);
}

static void count_candidates(const Tuned *tuned, Report *r) {
    for (uint32_t i = 0; i < tuned->candidates.count; i++) {
        const Candidate *c = &tuned->candidates.data[i];
        if (!c->done) continue;
        r->candidates++;
        r->distinct += c->binary.bytes && c->twin_of < 0;
        if (c->result.outcome == OUTCOME_OK)
            r->right++;
        else
            r->failed[c->result.outcome]++;
    }
    r->compiled = tuned->compiled;
    r->workers = tuned->workers;
}

/* Edges that the winner ran on: not those that its `require` rules out. */
static int64_t count_edges(Arena *arena, const TuneProblem *problem, const Tuned *tuned) {
    int64_t count = 0;
    if (tuned->winner < 0) return 0;
    const Candidate *winner = &tuned->candidates.data[tuned->winner];
    const TuneKernel *k = &problem->kernels[winner->kernel];
    for (uint32_t i = 1; i <= problem->edge_count; i++) {
        Run run = {0};
        const char *why;
        count += k->bounds[i] && tune_run(arena, k->kernel.template, k->bounds[i], &winner->point,
                                          problem->identity, &run, &why);
    }
    return count;
}

static void describe_winner(Arena *arena, const TuneProblem *problem, const Tuned *tuned,
                            Report *r) {
    if (tuned->winner < 0) return;
    const Candidate *winner = &tuned->candidates.data[tuned->winner];
    const Check *check = &winner->result.check;
    r->winner = label(arena, problem, winner);
    r->time = winner->result.time;
    r->spread = winner->result.spread;
    r->registers = winner->result.resources.registers;
    r->spills = winner->result.resources.spill_bytes;
    r->checked = check->checked;
    r->unchecked = check->unchecked;
    r->ambiguous = check->ambiguous;
    if (check->checked > 0) r->max_ulp = check->worst_ulp, r->max_bound = check->worst_bound;
    r->max_ulp_at = place(arena, &problem->ir->outputs.data[0].type, check->worst_ulp_at);
    if (tuned->tie < 0) return;
    r->tie = label(arena, problem, &tuned->candidates.data[tuned->tie]);
    r->tie_percent = 100 * fabs(tuned->tie_ratio - 1);
}

static void describe_companions(Arena *arena, const TuneProblem *problem, const Tuned *tuned,
                                const Chain *eager, Report *r) {
    const Bound *main = problem->kernels[0].bounds[0];
    Text labels = {0};
    if (tuned->roof >= 0) {
        r->roof = (double)problem_roof_bytes(main) / tuned->companions[tuned->roof].time;
        /* A kernel that beats every stream that was tried is itself what the device streams. */
        r->roof = fmax(r->roof, (double)r->bytes / r->time);
        r->roof_text = problem_roof_text(arena, main);
    }
    for (uint32_t i = 0; i < problem->companion_count; i++) {
        const Result *result = &tuned->companions[i];
        if (problem->companions[i].kind != COMPANION_EAGER || result->outcome != OUTCOME_OK ||
            result->time <= 0) /* interrupted before it was timed */
            continue;
        r->eager_time = result->time;
        r->eager_spread = result->spread;
    }
    for (uint32_t i = 0; eager && i < eager->steps.count; i++)
        text_printf(&labels, "%s%s", i ? ", " : "", eager->steps.data[i].label);
    r->eager_kernels = keep(arena, &labels);
    r->eager_count = eager ? eager->steps.count : 0;
    r->eager_bytes = eager ? eager->bytes : 0;
}

/* "bias_gelu 1.002 (0.998 to 1.006)": the other kernels' best over the winner. */
static const char *rivals_text(Arena *arena, const TuneProblem *problem, const Tuned *tuned) {
    Text text = {0};
    for (uint32_t i = 0; i < problem->kernel_count; i++) {
        const Rival *rival = &tuned->rivals[i];
        if (tuned->winner < 0 || rival->best < 0 || rival->best == tuned->winner) continue;
        const Candidate *c = &tuned->candidates.data[rival->best];
        if (c->kernel == tuned->candidates.data[tuned->winner].kernel) continue;
        text_printf(&text, "%s%s %.3f", text.length ? ", " : "", problem->kernels[i].kernel.name,
                    rival->pair.ratio);
        if (isfinite(rival->pair.high))
            text_printf(&text, " (%.3f to %.3f)", rival->pair.low, rival->pair.high);
    }
    return keep(arena, &text);
}

static const char *mode_text(Arena *arena, const Tuned *tuned) {
    if (tuned->hot) return "hot buffers";
    return tuned->bench.sets > 1 ? arena_printf(arena, "cold buffers (%u sets)", tuned->bench.sets)
                                 : "cold buffers";
}

static const char *ending_text(Arena *arena, const Tuned *tuned) {
    static const char *const texts[] = {[ENDING_DONE] = "",
                                        [ENDING_ROOF] = "within 1 % of the roof",
                                        [ENDING_ASKED] = "ended where --stop-at said",
                                        [ENDING_BUDGET] = "the time budget was used up",
                                        [ENDING_INTERRUPTED] = "interrupted",
                                        [ENDING_IMPORTED] =
                                            "an imported result was judged and timed here"};
    if (tuned->untried == 0 || tuned->ending == ENDING_DONE) return texts[tuned->ending];
    return arena_printf(arena, "%s, %u more untried", texts[tuned->ending], tuned->untried);
}

Report summary(Arena *arena, const TuneProblem *problem, const Tuned *tuned, const Chain *eager) {
    Report r = report_none();
    const Bound *main = problem->kernels[0].bounds[0];
    r.shape = problem_space(arena, problem->ir);
    r.dtype = dtype_name(problem->ir->outputs.data[0].type.dtype);
    r.inputs = problem->ir->inputs.count;
    r.outputs = problem->ir->outputs.count;
    for (uint32_t i = 0; i < problem->ir->outputs.count; i++)
        r.elements += type_count(&problem->ir->outputs.data[i].type);
    r.bytes = main->bytes;
    r.operations = problem_operations(problem->ir);
    r.rivals = rivals_text(arena, problem, tuned);
    r.device = problem->identity->title;
    r.software = problem->identity->software;
    r.mode = mode_text(arena, tuned);
    r.conditions = arena_copy(arena, tuned->bench.conditions, strlen(tuned->bench.conditions));
    r.edges = count_edges(arena, problem, tuned);
    r.mutants = tuned->bench.mutants_refused;
    r.stopped = ending_text(arena, tuned);
    count_candidates(tuned, &r);
    describe_winner(arena, problem, tuned, &r);
    describe_companions(arena, problem, tuned, eager, &r);
    return r;
}

void summary_join(Arena *arena, Report *into, const Report *part) {
    for (int k = 0; k < OUTCOME_COUNT; k++) into->failed[k] += part->failed[k];
    into->candidates += part->candidates;
    into->right += part->right;
    into->distinct += part->distinct;
    into->compiled += part->compiled;
    into->edges += part->edges;
    into->bytes += part->bytes;
    into->operations += part->operations;
    into->winner = arena_printf(arena, "%s | %s", into->winner, part->winner);
    if (part->registers > into->registers) into->registers = part->registers;
    if (part->spills > into->spills) into->spills = part->spills;
    if (!*into->stopped)
        into->stopped = part->stopped;
    else if (*part->stopped)
        into->stopped = arena_printf(arena, "%s; %s", into->stopped, part->stopped);
    into->rivals = "";
    into->tie = ""; /* of one part alone it says nothing about the whole */
    into->roof = (double)NAN;
}

void summary_race(Report *into, const Result *fused, const Result *eager) {
    into->time = fused->time;
    into->spread = fused->spread;
    into->checked = fused->check.checked;
    into->unchecked = fused->check.unchecked;
    into->ambiguous = fused->check.ambiguous;
    into->max_ulp = fused->check.worst_ulp;
    into->max_bound = fused->check.worst_bound;
    into->max_ulp_at = "";
    if (eager && eager->outcome == OUTCOME_OK && eager->time > 0) {
        into->eager_time = eager->time;
        into->eager_spread = eager->spread;
    }
}
