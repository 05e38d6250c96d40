/* In: a Report. Out: text, JSON, or the store's lines. The table in report.h is the only list of
 * fields. */
#include "tuner/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grammar/ast.h"

Report report_none(void) {
    Report report = {0};
#define STRING(name) report.name = "";
#define REAL(name) report.name = (double)NAN;
#define WHOLE(name) report.name = 0;
    REPORT_FIELDS(STRING, REAL, WHOLE)
#undef STRING
#undef REAL
#undef WHOLE
    return report;
}

void report_rate(Text *out, double rate) {
    if (rate >= 1e12)
        text_printf(out, "%.2f TB/s", rate / 1e12);
    else if (rate >= 1e9)
        text_printf(out, "%.3g GB/s", rate / 1e9);
    else
        text_printf(out, "%.3g MB/s", rate / 1e6);
}

void report_bytes(Text *out, int64_t bytes) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t step = 0;
    while (value >= 1024 && step + 1 < sizeof unit / sizeof *unit) value /= 1024, step++;
    text_printf(out, value < 10 && step > 0 ? "%.1f %s" : "%.0f %s", value, unit[step]);
}

void report_time(Text *out, double seconds) {
    if (seconds >= 1)
        text_printf(out, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        text_printf(out, "%.3g ms", seconds * 1e3);
    else
        text_printf(out, "%.3g us", seconds * 1e6);
}

void report_count(Text *out, int64_t count) {
    if (count < 0) text_add(out, "-"), count = -count;
    if (count >= 1000) {
        report_count(out, count / 1000);
        text_printf(out, " %03d", (int)(count % 1000));
    } else {
        text_printf(out, "%d", (int)count);
    }
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static void line_head(Text *out, const Report *r) {
    text_printf(out, "%-24s %s %s   %d input%s, %d output%s, ", r->expression, r->shape, r->dtype,
                (int)r->inputs, plural(r->inputs), (int)r->outputs, plural(r->outputs));
    report_bytes(out, r->bytes);
    text_add(out, " moved\n");
    text_printf(out, "device     %s, %s, %s%s%s\n", r->device, r->software, r->mode,
                *r->conditions ? ", " : "", r->conditions);
}

static void line_math(Text *out, const Report *r) {
    if (strcmp(r->math, "fast") == 0)
        text_printf(out, "math       fast: %s\n",
                    *r->math_done ? r->math_done : "nothing in this program to change");
    else if (strcmp(r->math, "strict") == 0)
        text_add(out, "math       strict: accurate forms, IEEE division and square root\n");
    else if (*r->math_done)
        text_printf(out, "math       %s: %s\n", r->math, r->math_done);
}

static void line_tried(Text *out, const Report *r) {
    text_printf(out, "tried      %d candidate%s: %d right", (int)r->candidates,
                plural(r->candidates), (int)r->right);
    for (int k = OUTCOME_OK + 1; k < OUTCOME_COUNT; k++)
        if (r->failed[k] > 0)
            text_printf(out, ", %d %s", (int)r->failed[k], outcome_phrase((Outcome)k));
    text_printf(out, "; %d distinct binar%s", (int)r->distinct, r->distinct == 1 ? "y" : "ies");
    if (*r->stopped) text_printf(out, "; %s", r->stopped);
    text_add(out, "\n");
}

static void line_winner(Text *out, const Report *r) {
    text_printf(out, "winner     %s", r->winner);
    if (*r->partition) text_printf(out, "   %s", r->partition);
    if (r->registers > 0)
        text_printf(out, "      %d registers, %s", (int)r->registers,
                    r->spills == 0 ? "no spills" : "some in local memory");
    if (*r->tie) text_printf(out, "   (tie with %s, %.1f %%)", r->tie, r->tie_percent);
    text_add(out, "\n");
}

/* The other kernels that compute the same. */
static void line_raced(Text *out, const Report *r) {
    if (*r->rivals)
        text_printf(out, "raced      %s of the winner's time, paired, with 95 %% intervals\n",
                    r->rivals);
}

static void spread(Text *out, double seconds, double half) {
    report_time(out, seconds);
    if (!isnan(half)) text_printf(out, " ±%.1f %%", 100 * half / seconds);
}

static void line_times(Text *out, const Report *r) {
    text_add(out, "time       ");
    spread(out, r->time, r->spread);
    text_add(out, "     ");
    if (r->operations > 0) /* what a product is bound by */
        text_printf(out, "%.3g TFLOP/s", (double)r->operations / r->time / 1e12);
    else
        report_rate(out, (double)r->bytes / r->time);
    double part = (double)r->bytes / r->time / r->roof; /* not a number: there is no roof */
    if (part >= 1) {
        text_printf(out, "     no stream of this size with %s is faster", r->roof_text);
    } else if (part < 1) {
        text_printf(out, "     %.0f %% of the ", 100 * part);
        report_rate(out, r->roof);
        text_printf(out, " that this device streams at this size with %s", r->roof_text);
    }
    text_add(out, "\n");
    if (isnan(r->eager_time)) return;
    text_add(out, "eager      ");
    spread(out, r->eager_time, r->eager_spread);
    text_printf(out, "     %d kernel%s (%s), ", (int)r->eager_count, plural(r->eager_count),
                r->eager_kernels);
    report_bytes(out, r->eager_bytes);
    text_printf(out, " moved\nspeed-up   %.2fx            ", r->eager_time / r->time);
    text_printf(out, "fewer bytes explain %.2fx\n", (double)r->eager_bytes / (double)r->bytes);
}

static void line_right(Text *out, const Report *r) {
    text_add(out, "right      ");
    if (r->checked >= r->elements) {
        text_add(out, "all ");
        report_count(out, r->elements);
    } else {
        report_count(out, r->checked);
        text_add(out, " of ");
        report_count(out, r->elements);
    }
    text_add(out, " elements");
    if (!isnan(r->max_ulp))
        text_printf(out, ", worst %.2g ulp%s%s", r->max_ulp, *r->max_ulp_at ? " at " : "",
                    r->max_ulp_at);
    if (!isnan(r->max_bound)) text_printf(out, " (%.0f %% of its bound)", 100 * r->max_bound);
    if (*r->reference)
        text_printf(out, "; compared with %s, no edge cases", r->reference);
    else if (r->edges == 0)
        text_add(out, "; no edge cases: none fits what the kernel requires");
    else
        text_printf(out, "; NaN, inf, -0, subnormals and odd sizes in %d edge cases too",
                    (int)r->edges);
    if (r->unchecked > 0) text_printf(out, "; %d unchecked", (int)r->unchecked);
    if (r->ambiguous * 100 > r->checked)
        text_printf(out, "\nwarning    %d elements hang on a comparison that rounding can flip",
                    (int)r->ambiguous);
    text_add(out, "\n");
}

static void line_took(Text *out, const Report *r) {
    if (r->cached) {
        char when[64] = "an earlier run";
        time_t date = (time_t)r->date;
        struct tm local;
        if (localtime_r(&date, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
        text_printf(out, "took       %.3g s           answered from the store (tuned %s)\n",
                    r->took, when);
    } else {
        double other = r->took - r->took_start - r->took_compile - r->took_check - r->took_measure;
        text_printf(
            out,
            "took       %.2f s           start %.2f, compile %.2f (%d worker%s), check %.2f, "
            "measure %.2f, other %.2f\n",
            r->took, r->took_start, r->took_compile, (int)r->workers, plural(r->workers),
            r->took_check, r->took_measure, other > 0 ? other : 0);
    }
    if (*r->store_note)
        text_printf(out, "stored     nothing: %s\n", r->store_note);
    else if (*r->store)
        text_printf(out, "stored     %s   %s\n", r->store, r->store_next);
    if (*r->use) text_printf(out, "use it     %s\n", r->use);
}

void report_text(Text *out, const Report *r) {
    line_head(out, r);
    if (r->elements == 0) {
        text_add(out, "nothing to do: the outputs have no elements\n");
        return;
    }
    line_math(out, r);
    line_tried(out, r);
    line_winner(out, r);
    line_raced(out, r);
    line_times(out, r);
    line_right(out, r);
    line_took(out, r);
}

/* --- JSON */

static void json_real(Text *out, const char *key, double value) {
    if (isfinite(value))
        text_printf(out, ",\"%s\":%.9g", key, value);
    else
        text_printf(out, ",\"%s\":null", key);
}

static void json_text(Text *out, const char *key, const char *value) {
    text_printf(out, ",\"%s\":", key);
    text_add_json(out, value);
}

/* "a, b" as a list of texts. */
static void json_list(Text *out, const char *key, const char *items) {
    Text item = {0};
    text_printf(out, ",\"%s\":[", key);
    for (const char *at = items, *end; *at; at = *end ? end + 2 : end) {
        end = strstr(at, ", ");
        if (!end) end = at + strlen(at);
        text_clear(&item);
        text_add_bytes(&item, at, (size_t)(end - at));
        if (at != items) text_add(out, ",");
        text_add_json(out, text_string(&item));
    }
    text_add(out, "]");
    text_free(&item);
}

static void json_whole(Text *out, const char *key, int64_t value) {
    text_printf(out, ",\"%s\":%lld", key, (long long)value);
}

static void json_shape(Text *out, const char *shape) {
    text_add(out, ",\"shape\":[");
    for (const char *c = shape; *c >= '0' && *c <= '9';) {
        char *end;
        text_printf(out, "%s%lld", c == shape ? "" : ",", strtoll(c, &end, 10));
        c = *end == 'x' ? end + 1 : end;
    }
    text_add(out, "]");
}

/* "VEC=4 BLOCK=256" as an object of numbers; returns what follows it. */
static const char *json_point(Text *out, const char *words) {
    const char *separator = "";
    text_add(out, "{");
    while (*words && *words != '|') {
        size_t word = strcspn(words, " "), key = strcspn(words, "=");
        if (key < word)
            text_printf(out, "%s\"%.*s\":%.*s", separator, (int)key, words, (int)(word - key - 1),
                        words + key + 1);
        separator = ",";
        words += word;
        words += strspn(words, " ");
    }
    text_add(out, "}");
    return words;
}

/* "softmax:TPR=32 …" is a template's, the others were generated. Returns the first knob. */
static const char *json_kernel(Text *out, const char *words) {
    size_t name = strcspn(words, ":| ");
    if (words[name] != ':') return text_add(out, "\"generated\""), words;
    text_printf(out, "\"%.*s\"", (int)name, words);
    return words + name + 1;
}

static const char *json_knobs(Text *out, const char *words) {
    size_t name = strcspn(words, ":| ");
    return json_point(out, words[name] == ':' ? words + name + 1 : words);
}

/* One kernel's is a value, several kernels' a list of them. */
static void json_each(Text *out, const char *key, const char *winner,
                      const char *(*print)(Text *out, const char *words)) {
    bool several = strchr(winner, '|') != NULL;
    text_printf(out, ",\"%s\":%s", key, !*winner ? "null" : several ? "[" : "");
    while (*winner) {
        winner = print(out, winner);
        winner += strcspn(winner, "|");
        if (*winner != '|') break;
        winner += strspn(winner, "| ");
        text_add(out, ",");
    }
    if (several) text_add(out, "]");
}

static void json_failed(Text *out, const Report *r) {
    text_add(out, ",\"failed\":{");
    const char *separator = "";
    for (int k = OUTCOME_OK + 1; k < OUTCOME_COUNT; k++) {
        if (r->failed[k] == 0) continue;
        text_printf(out, "%s\"%s\":%lld", separator, outcome_name((Outcome)k),
                    (long long)r->failed[k]);
        separator = ",";
    }
    text_add(out, "}");
}

void report_json(Text *out, const Report *r) {
    text_add(out, "{\"expression\":");
    text_add_json(out, r->expression);
    json_shape(out, r->shape);
    json_text(out, "dtype", r->dtype);
    json_text(out, "device", r->device);
    json_text(out, "software", r->software);
    json_text(out, "mode", r->mode);
    json_text(out, "math", r->math);
    json_list(out, "math_done", r->math_done);
    json_text(out, "reference", r->reference);
    json_each(out, "winner", r->winner, json_knobs);
    json_each(out, "kernel", r->winner, json_kernel);
    json_text(out, "rivals", r->rivals);
    json_whole(out, "kernels", r->kernels);
    json_text(out, "partition", r->partition);
    json_real(out, "time_us", r->time * 1e6);
    json_real(out, "spread_us", r->spread * 1e6);
    json_real(out, "gbps", (double)r->bytes / r->time / 1e9);
    json_real(out, "roof_gbps", r->roof / 1e9);
    json_real(out, "roof_fraction", (double)r->bytes / r->time / r->roof);
    json_real(out, "eager_us", r->eager_time * 1e6);
    json_whole(out, "eager_kernels", r->eager_count);
    json_real(out, "speedup", r->eager_time / r->time);
    json_real(out, "max_ulp", r->max_ulp);
    json_real(out, "max_bound", r->max_bound);
    json_whole(out, "elements", r->elements);
    json_whole(out, "checked", r->checked);
    json_whole(out, "bytes", r->bytes);
    json_whole(out, "operations", r->operations);
    json_whole(out, "eager_bytes", r->eager_bytes);
    json_whole(out, "candidates", r->candidates);
    json_whole(out, "right", r->right);
    json_whole(out, "distinct", r->distinct);
    json_failed(out, r);
    json_text(out, "stopped", r->stopped);
    json_whole(out, "compiled", r->compiled);
    json_whole(out, "edges", r->edges);
    json_whole(out, "mutants_refused", r->mutants);
    json_real(out, "took_s", r->took);
    json_text(out, "store", r->store);
    json_text(out, "store_note", r->store_note);
    text_add(out, ",");
    phases_json(out, &r->phases);
    text_printf(out, ",\"cached\":%s}\n", r->cached ? "true" : "false");
}

/* --- the store's lines */

void report_save(Text *out, const Report *report) {
#define STRING(name) text_printf(out, #name " %s\n", report->name);
#define REAL(name) text_printf(out, #name " %.17g\n", report->name);
#define WHOLE(name) text_printf(out, #name " %lld\n", (long long)report->name);
    REPORT_FIELDS(STRING, REAL, WHOLE)
#undef STRING
#undef REAL
#undef WHOLE
    for (int k = 0; k < OUTCOME_COUNT; k++)
        text_printf(out, "failed.%s %lld\n", outcome_name((Outcome)k),
                    (long long)report->failed[k]);
}

static void load_field(Arena *arena, Report *report, const char *name, const char *value) {
#define STRING(field) \
    if (strcmp(name, #field) == 0) report->field = arena_copy(arena, value, strlen(value));
#define REAL(field) \
    if (strcmp(name, #field) == 0) report->field = strtod(value, NULL);
#define WHOLE(field) \
    if (strcmp(name, #field) == 0) report->field = strtoll(value, NULL, 10);
    REPORT_FIELDS(STRING, REAL, WHOLE)
#undef STRING
#undef REAL
#undef WHOLE
    for (int k = 0; k < OUTCOME_COUNT; k++)
        if (strncmp(name, "failed.", 7) == 0 && strcmp(name + 7, outcome_name((Outcome)k)) == 0)
            report->failed[k] = strtoll(value, NULL, 10);
}

bool report_load(Arena *arena, const char *text, Report *report) {
    *report = report_none();
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (text[length] != '\n') return false;
        char *line = arena_copy(arena, text, length);
        char *space = strchr(line, ' ');
        if (!space) return false;
        *space = '\0';
        load_field(arena, report, line, space + 1);
        text += length + 1;
    }
    return *report->expression != '\0';
}
