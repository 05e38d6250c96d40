/* How tightly the operators of the language bind, for texts that are put into others. */
#ifndef KF_ONNX_LEVEL_H
#define KF_ONNX_LEVEL_H

/* Of the loosest operator of a text outside parentheses, between spaces as texts here have them; the
 * highest where it is a name, a number or a call. */
int onnx_level(const char *text);
/* What an operand needs without parentheses that stands in `text` from `from` to `behind`. */
int onnx_level_needed(const char *text, const char *from, const char *behind);

#endif
