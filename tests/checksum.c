/* In: lines of `kfuse cache export`, edited. Out: the same lines with right checksums, so that shell tests get past
 * these to what stands in them. A line without a checksum gets one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TAIL = 8 + 16 + 2 /* ,"sum":"…"} */ };

/* Bytes that the sum is of: all before it, or before the last brace. */
static size_t summed(const char *line, size_t length) {
    if (length > TAIL && strncmp(line + length - TAIL, ",\"sum\":\"", 8) == 0) return length - TAIL;
    return length > 0 && line[length - 1] == '}' ? length - 1 : length;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        if (line[length - 1] == '\n') length--;
        size_t size = summed(line, (size_t)length);
        fwrite(line, 1, size, stdout);
        printf(",\"sum\":\"%016llx\"}\n", (unsigned long long)XXH3_64bits(line, size));
    }
    free(line);
    return fflush(stdout) != 0;
}
