/* A long test in shares, for processes that run at the same time: with KF_TEST_SHARE=2/8 it takes the second of every
 * eight pieces. Pieces are counted as they are asked for, so that all shares together take each one once. */
#ifndef KF_TEST_SHARE_H
#define KF_TEST_SHARE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* Whether this process takes the next piece. */
static inline bool share_takes(void) {
    static unsigned next;
    unsigned share = 1, shares = 1;
    char end;
    const char *text = getenv("KF_TEST_SHARE");
    if (text &&
        (sscanf(text, "%u/%u%c", &share, &shares, &end) != 2 || share < 1 || share > shares))
        fail_msg("KF_TEST_SHARE=%s is none", text);
    return next++ % shares == share - 1;
}

#endif
