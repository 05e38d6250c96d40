/* KfSession, as kfuse.c and kfuse_info.c see it. */
#ifndef KF_SESSION_H
#define KF_SESSION_H

#include <signal.h>

#include "kfuse.h"
#include "registry/registry.h"
#include "tuner/store.h"

struct KfSession {
    Arena *arena;
    KfSessionOptions options;
    const char *folder; /* of the store, or NULL */
    Registry *registry;
    Store *store;
    Text message;
    volatile sig_atomic_t interrupt;
};

/* Adds "kfuse: …" to the session's message and returns `status`. */
KfStatus session_say(KfSession *session, KfStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Hands a Text's memory to the caller of the library. */
KfStatus session_give(Text *text, char **out);
/* Empties the store and opens it anew. */
bool session_clear_store(KfSession *session, char *why, size_t size);

#endif
