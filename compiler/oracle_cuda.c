#include "compiler/oracle_cuda.h"
void oracle_cuda(Text *out, const Ir *ir){(void)ir; text_add(out,"");}
