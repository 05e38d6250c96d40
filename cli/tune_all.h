/* `kfuse tune-all`: what its processes share, and what it reports. Not for other files. */
#ifndef KF_TUNE_ALL_H
#define KF_TUNE_ALL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "cli/list.h"

typedef enum LineState { LINE_WAITS, LINE_TAKEN, LINE_DONE } LineState;

/* What became of a line. Texts that do not fit are cut. */
typedef struct LineResult {
    LineState state;
    KfStatus status;
    bool cached;
    uint32_t device; /* whose process has it */
    double time, speedup;
    char shape[96], type[8], winner[512], reason[256];
} LineResult;

/* In memory that parent and children share. */
typedef struct Board {
    atomic_size_t next;     /* line to be taken */
    atomic_size_t finished; /* for progress */
    atomic_bool stop;       /* no more lines are taken */
    LineResult lines[];
} Board;

enum { FLEET_DEVICES = 64, DEVICE_NAME = 32 };

typedef struct Fleet {
    const Options *options;
    List list;        /* this shard's lines */
    size_t all_lines; /* of all shards */
    char devices[FLEET_DEVICES][DEVICE_NAME];
    pid_t children[FLEET_DEVICES]; /* 0: none */
    uint32_t device_count;
    Board *board;
} Fleet;

/* The summary: a line each, and how many were what; returns how many are left. */
size_t tune_all_report(const Fleet *fleet);

#endif
