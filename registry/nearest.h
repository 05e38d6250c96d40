/* Nearest: which of the names offered a misspelt one is likely to mean. Private to registry/. */
#ifndef KF_NEAREST_H
#define KF_NEAREST_H

#include <stdint.h>

typedef struct Nearest {
    const char *wanted;
    const char *name; /* the best so far, or NULL if none is near */
    int cost;         /* of that */
} Nearest;

void nearest_consider(Nearest *nearest, const char *name);

#endif
