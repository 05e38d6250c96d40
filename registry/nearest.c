/* In: a misspelt name and those that exist, one by one. Out: the likeliest. */
#include "registry/nearest.h"

#include <stdbool.h>
#include <string.h>

#include "compiler/base/text.h"

/* Whether two neighbouring letters are swapped: the commonest slip, and one edit. */
static bool is_swap(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a && *b && a[0] == b[1] && a[1] == b[0] && !strcmp(a + 2, b + 2);
}

/* Edits first; then names of the same length and the same first letter are nearer, whatever its
 * case. */
static int cost(const char *wanted, const char *name, int edits) {
    return 4 * edits + 2 * (strlen(wanted) != strlen(name)) + ((*wanted | 32) != (*name | 32));
}

void nearest_consider(Nearest *nearest, const char *name) {
    int most = strlen(nearest->wanted) < 4 ? 1 : 2;
    int edits = text_distance(nearest->wanted, name, most + 1);
    if (is_swap(nearest->wanted, name)) edits = 1;
    if (edits > most || !strcmp(nearest->wanted, "")) return;
    int mine = cost(nearest->wanted, name, edits);
    if (nearest->name && mine > nearest->cost) return;
    if (nearest->name && mine == nearest->cost && strcmp(name, nearest->name) > 0) return;
    nearest->cost = mine;
    nearest->name = name;
}
