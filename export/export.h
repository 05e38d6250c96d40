/* Export: a program at chosen points as files that need neither kfuse nor a compiler where they run:
 * the kernels' text and binaries, a launcher in C with a test of itself, a manifest. What goes in is
 * decided by the caller (kfuse_emit.c); what comes out depends on it alone: no date, no path, so that
 * emitting twice gives the same bytes. */
#ifndef KF_EXPORT_H
#define KF_EXPORT_H

#include "compiler/base/embed.h"
#include "compiler/chain.h"
#include "export/size.h"
#include "tuner/device.h"

/* A kernel at one point. */
typedef struct ExportInstance {
    Point point;
    const char *label;  /* "VEC=4,BLOCK=256" */
    const char *suffix; /* of its entries */
} ExportInstance;

/* Compiled text. */
typedef struct ExportBinary {
    const char *arch; /* "sm_90"; "compute_80": PTX */
    const void *bytes;
    size_t size;
} ExportBinary;

/* One kernel of a step, with the points at which it is shipped: a file of its own. */
typedef struct ExportKernel {
    const Kernel *kernel;
    uint32_t step;
    const Bound *bound;      /* at the program's own shape */
    const ExportSize *sizes; /* per bound->sizes */
    bool wide;               /* its indices have 64 bits */
    ARRAY(ExportInstance) instances;
    const char *source; /* all instances, a translation unit */
    ARRAY(ExportBinary) binaries;
} ExportKernel;

/* What each step launches, for sizes near `extent` on one architecture or, arch 0, on any. */
typedef struct ExportVariant {
    int arch;
    uint32_t rank;
    const int64_t *extent;       /* of its bucket, per extent of kernels[0]'s bound */
    uint32_t *kernel, *instance; /* per step: which of Export.kernels, which of its instances */
    const char *origin; /* "tuned on NVIDIA H200 …", "stored: …", "given", "the analytic default" */
    double time, spread; /* seconds a call; 0: not measured */
} ExportVariant;

/* A self-test: the program at some extents of its axes, and right values at some elements. */
typedef struct ExportCase {
    const Ir *ir;
    const int64_t *axes;
} ExportCase;

typedef struct Export {
    const char *name;       /* a C identifier: of files and functions */
    const char *language;   /* "cuda" or "c" */
    const char *expression; /* canonical */
    const char *command;    /* that makes it again */
    const char *numerics;   /* math mode and what it did */
    const char *compiler;   /* what made the binaries, or how the C is compiled */
    Accuracy accuracy;
    const DeviceIdentity *identity; /* that points were chosen for; without a device a stand-in */
    const Ir *ir;                   /* the program: its inputs and outputs are the launcher's */
    const Chain *chain;
    Axes axes;
    ARRAY(ExportKernel) kernels;
    ARRAY(ExportVariant) variants;
    ARRAY(ExportCase) cases;
    bool header;       /* one file, NAME.h */
    int64_t workspace; /* bytes at the program's own shape */
} Export;

typedef struct ExportFile {
    const char *name; /* "NAME.cu", in the folder */
    Text text;
} ExportFile;
typedef struct ExportFiles {
    ARRAY(ExportFile) list;
    ARRAY(const char *) removed; /* names of files of an earlier emit */
} ExportFiles;

/* All files, in a fixed order, the manifest last. False with `why` where a right value cannot be had. */
bool export_files(Arena *arena, const Export *export_, ExportFiles *files, Why *why);
void export_files_free(ExportFiles *files);
/* False with `why` where a file in `folder` of one of these names belongs to an export of another name. */
bool export_fits(Arena *arena, const Export *export_, const ExportFiles *files, const char *folder,
                 Why *why);
/* Writes them into `folder`, made if need be; each is complete or not there at all. What an earlier emit of this
 * name wrote there, by its manifest, and this one does not is removed; nothing else is touched. */
bool export_write(Arena *arena, const Export *export_, ExportFiles *files, const char *folder,
                  Why *why);

/* Their parts. */
void export_header(Text *out, const Export *export_);
void export_launcher(Text *out, const Export *export_);
/* `static bool is_reached(const int64_t *d)`: whether the kernels' indices reach all elements. */
void export_reach(Text *out, const Export *export_);
void export_variants(Text *out, const Export *export_);
void export_binaries(Text *out, const Export *export_);
bool export_selftest(Text *out, const Export *export_, Why *why);
void export_manifest(Text *out, const Export *export_, const ExportFiles *files);
bool export_is_cuda(const Export *export_);
/* The most temporaries and workspaces that a variant has. */
uint32_t export_temporaries(const Export *export_);
/* The name of kernel `index`'s file, without its ending: NAME, NAME_2; in C NAME_kernel, … */
const char *export_stem(Arena *arena, const Export *export_, uint32_t index);
/* `text` inside a comment, on one line: it may be a store's from elsewhere, and ends the comment nowhere. */
void export_comment(Text *out, const char *text);
/* A text of texts/ with @NAME@ as the export's name, @UPPER@ as that in capitals. */
void export_piece(Text *out, const Export *export_, const char *file);

#endif
