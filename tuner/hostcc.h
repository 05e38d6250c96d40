/* The host's compiler as a function: source text in, a shared object's bytes out. Source, object,
 * messages and result are memfds that the compiler opens as /proc/self/fd/N, compiling and linking
 * are two steps and -pipe is given: nothing touches the disk, and a compiler that is killed leaves
 * nothing behind (gcc and clang traced: no file created). */
#ifndef KF_HOSTCC_H
#define KF_HOSTCC_H

#include "tuner/device.h"

typedef struct HostCompiler {
    char text[512];             /* what `words` point into */
    const char *words[8];       /* $CC may bring options: "ccache gcc -m64"; NULL-terminated */
    const char *const *options; /* of compiling, the language's among them; NULL: ours for C */
    char machine[32];           /* "-march=native", with our options for C */
    bool clang;
    char version[64]; /* "gcc 12.2.0"; after hostcc_version */
} HostCompiler;

/* $CC, else cc, gcc, clang on PATH, for the instructions that $KFUSE_CPU_ISA allows. False, with what
 * to install or to set, where there is none. Runs nothing. */
bool hostcc_find(HostCompiler *compiler, Why *why);
/* Asks it for its name and version: a few ms. False if it is neither gcc nor clang. */
bool hostcc_version(HostCompiler *compiler, Why *why);
/* Every option of both steps, for keys. */
void hostcc_options(const HostCompiler *compiler, Text *out);
/* OUTCOME_COMPILE with the first error's line in `why`. */
Outcome hostcc_compile(const HostCompiler *compiler, const char *source, Text *object, Why *why);

#endif
