/* Files compiled into the program (cmake/embed.cmake writes the tables). */
#ifndef KF_EMBED_H
#define KF_EMBED_H

#include <stddef.h>

typedef struct Embed {
    const char *path; /* below the project's root; NULL ends a table */
    const char *text; /* NUL-terminated */
    size_t length;
} Embed;

extern const Embed registry_texts[]; /* registry/ *.kf and templates */
extern const Embed export_texts[];   /* what every launcher has */
extern const Embed cli_texts[];      /* pages of help */
extern const Embed onnx_texts[];     /* the operators of rewritten models */
extern const Embed compiler_texts[]; /* what the device's oracle shares with the host's */

#endif
