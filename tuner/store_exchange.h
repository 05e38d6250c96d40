/* Results from one store to another: as a file of JSON lines, or from a store's database. What comes in is
 * kept apart (store_imported) until it has been judged here. */
#ifndef KF_STORE_EXCHANGE_H
#define KF_STORE_EXCHANGE_H

#include <stdio.h>

#include "tuner/store.h"

typedef enum ExchangeStatus {
    EXCHANGE_OK,
    EXCHANGE_BAD,  /* the file is wrong */
    EXCHANGE_STUCK /* it cannot be read, or what comes in cannot be kept */
} ExchangeStatus;

typedef struct Exchange {
    uint32_t results; /* passed on */
    uint32_t known;   /* already here, of the same date or later */
    uint32_t slower;  /* answers that are slower than the one here, by what they say */
    uint32_t damaged; /* rows of the database whose sum is wrong, left out */
    char why[512];    /* one line, where the status is not EXCHANGE_OK */
} Exchange;

/* The lines: a head with the format's version, a result each, the number of results; each ends with the
 * checksum of what stands before it.
 *
 *     {"kfuse_export":1,"kfuse":"0.1.0","schema":1,"sum":"…"}
 *     {"kind":"trial","key":"template=…\nir=…\n","shape":"64x33 …","point":"VEC=4,BLOCK=256","device":"…",
 *      "compiler":"…","date":1764500000,"outcome":"ok","time":4e-05,…,"samples":[…],"message":"","sum":"…"}
 *     {"kind":"answer","key":…,"shape":…,"device":…,"compiler":…,"date":…,"report":{"expression":"…",…},"sum":"…"}
 *     {"kind":"figure","name":"searched\n…","date":…,"value":1,"sum":"…"}
 *     {"results":3,"sum":"…"}
 *
 * Equal stores give equal text. `device` and `compiler` repeat what the key says, for readers. With
 * `binaries` a trial has its machine code, "binary" in hexadecimal; without, whoever imports it compiles
 * the point from sources of his own, so that a file from elsewhere brings no code. Answers that are no
 * reports are notes about this machine, and stay. */
ExchangeStatus store_export(Store *store, const char *version, bool binaries, FILE *file,
                            Exchange *exchange);
/* All of it or nothing, in one transaction. `name` is the file's in messages; `binaries`: takes machine
 * code, too. */
ExchangeStatus store_import(Store *store, FILE *file, const char *name, bool binaries,
                            Exchange *exchange);
/* The same from the database at `path`, which is only read; with its binaries. */
ExchangeStatus store_merge(Store *store, const char *path, Exchange *exchange);

#endif
