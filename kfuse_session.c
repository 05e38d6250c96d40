/* Sessions: registry, store, messages. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grammar/parse.h"
#include "kfuse_objects.h"

KfStatus session_say(KfSession *session, KfStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add(&session->message, "kfuse: ");
    text_vprintf(&session->message, format, args);
    text_add(&session->message, "\n");
    va_end(args);
    return status;
}

void session_unsay(KfSession *session, size_t length) {
    session->message.length = length;
    if (session->message.data) session->message.data[length] = '\0';
}

KfStatus session_give(Text *text, char **out) {
    if (!text->data) text_add(text, "");
    *out = text->data; /* malloc'd: the caller's now */
    return KF_OK;
}

static KfStatus add_ops(KfSession *session, const char *path) {
    const char *why;
    const Source *source = source_read(session->arena, path, &why);
    if (!source) return session_say(session, KF_INPUT, "%s", why);
    Diags diags = {.arena = session->arena};
    const Ast *ast = parse_definitions(session->arena, source, &diags);
    bool ok = ast && registry_add(session->registry, ast, LAYER_USER, &diags);
    diags_print(&session->message, &diags);
    return ok ? KF_OK : KF_INPUT;
}

/* Every *.kf in $XDG_CONFIG_HOME/kfuse or ~/.config/kfuse, in the order of their names. */
static KfStatus add_user_ops(KfSession *session) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (!config && !home) return KF_OK;
    const char *pattern = config ? arena_printf(session->arena, "%s/kfuse/*.kf", config)
                                 : arena_printf(session->arena, "%s/.config/kfuse/*.kf", home);
    glob_t found = {0};
    KfStatus status = KF_OK;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && status == KF_OK; i++)
            status = add_ops(session, found.gl_pathv[i]);
    globfree(&found);
    return status;
}

enum { JOURNAL_BYTES = 1 << 20 };

/* Where a candidate is named before it launches, so that what took a machine down can be told
 * afterwards. It is append-only while anything runs, and begun anew when it has grown long. */
static const char *open_journal(const KfSession *session) {
    struct stat status;
    if (!store_keeps(session->store)) return NULL;
    const char *path = arena_printf(session->arena, "%s/journal", session->folder);
    if (stat(path, &status) == 0 && status.st_size > JOURNAL_BYTES) unlink(path);
    return path;
}

KfStatus kf_session_open(KfSession **out, const KfSessionOptions *options) {
    double began = tuning_clock();
    KfSession *session = *out = calloc(1, sizeof *session);
    if (!session) return KF_ENVIRONMENT;
    pthread_mutex_init(&session->failing, NULL);
    session->arena = arena_open();
    if (options) session->options = *options;
    session->registry = registry_open(session->arena);
    session->folder =
        session->options.cache ? session->options.cache : store_folder(session->arena);
    session->store = store_open(session->folder);
    session->journal = open_journal(session);
    KfStatus status = session->options.no_user_ops ? KF_OK : add_user_ops(session);
    session->opening = tuning_clock() - began;
    return status;
}

void kf_session_close(KfSession *session) {
    if (!session) return;
    store_close(session->store);
    arena_close(session->arena);
    text_free(&session->message);
    text_free(&session->ops);
    pthread_mutex_destroy(&session->failing);
    free(session);
}

bool session_clear_store(KfSession *session, char *why, size_t size) {
    store_close(session->store);
    bool ok = store_clear(session->folder, why, size);
    session->store = store_open(session->folder);
    return ok;
}

bool kf_session_keeps(KfSession *session, const char **why) {
    store_flush(session->store);
    *why = store_keeps(session->store) ? NULL : store_complaint(session->store);
    return !*why;
}

const char *kf_session_message(const KfSession *session) {
    return text_string(&session->message);
}

void kf_session_interrupt(KfSession *session) {
    session->interrupt = 1;
}

KfStatus kf_session_add_ops(KfSession *session, const char *path) {
    KfStatus status = add_ops(session, path);
    if (status != KF_OK) return status;
    text_add(&session->ops, " --ops ");
    text_add_word(&session->ops, path, strlen(path));
    return status;
}
