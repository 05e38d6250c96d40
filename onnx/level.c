/* In: a text with a gap, a text to fill it. Out: whether that needs parentheses. Sums and products of
 * equal level keep theirs on the right: rounding has an order. Comparisons do not chain. */
#include "onnx/level.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { LOOSEST = 0, EQUAL = 3, ORDER = 4, UNARY = 7, POWER = 8, ATOM = 9 };

static const struct {
    const char *sign;
    int level;
} operators[] = {{"?", 0},  {":", 0}, {"||", 1}, {"&&", 2}, {"==", EQUAL}, {"!=", EQUAL},
                 {"<", ORDER},  {"<=", ORDER}, {">", ORDER},  {">=", ORDER}, {"+", 5},  {"-", 5},
                 {"*", 6},  {"/", 6},  {"//", 6}, {"%", 6},  {"@", 6},  {"**", POWER}};

/* Of the operator that these characters are; ATOM where they are none. */
static int level_of(const char *from, size_t length) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strlen(operators[i].sign) == length && strncmp(operators[i].sign, from, length) == 0)
            return operators[i].level;
    return ATOM;
}

int onnx_level(const char *text) {
    int open = 0, loosest = *text == '-' || *text == '!' ? UNARY : ATOM;
    for (const char *at = text; *at; at++) {
        open += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (open > 0 || *at != ' ') continue;
        int level = level_of(at + 1, strcspn(at + 1, " "));
        if (level < loosest) loosest = level;
    }
    return loosest;
}

/* Of the operator that stands before, at least one more: it is the right operand. */
static int needed_behind(const char *text, const char *from) {
    if (from == text || from[-1] == '(') return LOOSEST;
    if (from[-1] == '-' || from[-1] == '!') return POWER;
    const char *end = from - 1, *begin = end;
    while (begin > text && begin[-1] != ' ' && begin[-1] != '(') begin--;
    int level = level_of(begin, (size_t)(end - begin));
    return level == ATOM ? LOOSEST : level >= POWER ? ATOM : level + 1;
}

static int needed_before(const char *behind) {
    if (*behind == '.') return ATOM;
    if (*behind != ' ') return LOOSEST;
    int level = level_of(behind + 1, strcspn(behind + 1, " "));
    if (level == ATOM) return LOOSEST;
    if (level == POWER) return ATOM;
    return level == LOOSEST || level == EQUAL || level == ORDER ? level + 1 : level;
}

int onnx_level_needed(const char *text, const char *from, const char *behind) {
    int left = needed_behind(text, from), right = needed_before(behind);
    return left > right ? left : right;
}
