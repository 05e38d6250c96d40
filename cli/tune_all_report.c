/* In: what became of the lines. Out: the summary, as text or as JSON: a line each, in the list's order, then
 * how many were what. */
#include <stdio.h>

#include "cli/tune_all.h"

typedef struct Count {
    size_t tuned, stored, failed, left;
} Count;

static const char *name(const LineResult *result) {
    if (result->state != LINE_DONE) return "left";
    return result->status != KF_OK ? "failed" : result->cached ? "stored" : "tuned";
}

static void add(Count *count, const LineResult *result) {
    if (result->state != LINE_DONE)
        count->left++;
    else if (result->status != KF_OK)
        count->failed++;
    else if (result->cached)
        count->stored++;
    else
        count->tuned++;
}

/* --- text */

static void text_result(const LineResult *result) {
    printf("%s %s  %.4g us  ", result->shape, result->type, result->time * 1e6);
    if (result->speedup > 0) printf("%.2fx  ", result->speedup);
    printf("%s", result->winner);
}

static void text_line(const List *list, size_t index, const LineResult *result) {
    printf("%s:%u  %-6s  ", list->path, list->lines[index].number, name(result));
    if (result->state != LINE_DONE)
        printf("not begun, or interrupted");
    else if (result->status != KF_OK)
        printf("exit %d: %s", (int)result->status, result->reason);
    else
        text_result(result);
    printf("  %s\n", list->lines[index].text);
}

static void text_end(const Fleet *fleet, const Count *count) {
    const Options *o = fleet->options;
    if (o->shards) printf("shard %u/%u of %zu lines: ", o->shard, o->shards, fleet->all_lines);
    printf("%zu line%s: %zu tuned, %zu were in the store, %zu failed", fleet->list.count,
           fleet->list.count == 1 ? "" : "s", count->tuned, count->stored, count->failed);
    if (count->left) printf(", %zu left", count->left);
    printf("\n");
}

/* --- JSON */

/* Bytes of the character of UTF-8 (RFC 3629) that begins here; 0: none does. */
static int character(const char *text) {
    unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
    int count = first < 0x80                    ? 1
                : first >= 0xc2 && first < 0xe0 ? 2
                : first >= 0xe0 && first < 0xf0 ? 3
                : first >= 0xf0 && first < 0xf5 ? 4
                                                : 0;
    bool low = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool high = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    for (int i = 1; i < count; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
    return low || high ? 0 : count;
}

/* A list may be of any bytes; JSON is of characters. */
static void json_text(const char *key, const char *text) {
    printf(",\"%s\":\"", key);
    for (int count; *text; text += count ? count : 1) {
        count = character(text);
        if (count == 0)
            printf("\\ufffd");
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            printf("%.*s", count, text);
    }
    printf("\"");
}

static void json_real(const char *key, double value) {
    if (value > 0)
        printf(",\"%s\":%.9g", key, value);
    else
        printf(",\"%s\":null", key);
}

static void json_line(const Fleet *fleet, size_t index, const LineResult *result) {
    const ListLine *line = &fleet->list.lines[index];
    printf("{\"line\":%u", line->number);
    json_text("text", line->text);
    json_text("outcome", name(result));
    if (result->state == LINE_DONE) {
        json_text("device", fleet->devices[result->device]);
        printf(",\"process\":%u,\"status\":%d", result->device, (int)result->status);
        json_text("reason", result->reason);
        json_text("shape", result->shape);
        json_text("dtype", result->type);
        json_text("winner", result->winner);
        json_real("time_us", result->time * 1e6);
        json_real("speedup", result->speedup);
    }
    printf("}\n");
}

static void json_end(const Fleet *fleet, const Count *count) {
    const Options *o = fleet->options;
    printf("{\"lines\":%zu,\"tuned\":%zu,\"stored\":%zu,\"failed\":%zu,\"left\":%zu",
           fleet->list.count, count->tuned, count->stored, count->failed, count->left);
    if (o->shards) printf(",\"shard\":%u,\"shards\":%u", o->shard, o->shards);
    printf("}\n");
}

size_t tune_all_report(const Fleet *fleet) {
    Count count = {0};
    bool json = fleet->options->json;
    for (size_t i = 0; i < fleet->list.count; i++) {
        const LineResult *result = &fleet->board->lines[i];
        add(&count, result);
        if (json)
            json_line(fleet, i, result);
        else
            text_line(&fleet->list, i, result);
    }
    if (json)
        json_end(fleet, &count);
    else
        text_end(fleet, &count);
    return count.left;
}
