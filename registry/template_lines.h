/* The lines of a template's header, and of texts that have nothing else. */
#ifndef KF_TEMPLATE_LINES_H
#define KF_TEMPLATE_LINES_H

#include "compiler/base/source.h"

/* Moves *offset behind the line there; the part that says something, or an empty span: what stands
 * behind "//!" in a template, the whole line where a text has nothing but `bare` lines. */
Span lines_next(const Source *source, bool bare, uint32_t *offset);
bool lines_name_byte(char byte);
/* Of the text and its options (NULL: none), without knob lines. */
uint64_t lines_hash(const Source *source, const Source *options);

#endif
