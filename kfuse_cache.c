/* kf_cache: the store's contents for people, and from and to other stores. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kfuse_objects.h"
#include "tuner/store_exchange.h"

static KfStatus told(KfSession *session, ExchangeStatus status, const Exchange *exchange) {
    if (status == EXCHANGE_OK) return KF_OK;
    return session_say(session, status == EXCHANGE_BAD ? KF_INPUT : KF_ENVIRONMENT, "%s",
                       exchange->why);
}

static KfStatus cannot(KfSession *session, KfStatus status, const char *what, const char *path) {
    return session_say(session, status, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* To a file it goes under another name first, so that no half of one ever has the name. */
static KfStatus export_file(KfSession *session, const char *path, bool binaries, Text *out) {
    Exchange exchange;
    Text name = {0};
    text_printf(&name, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(name.data, "wb");
    if (!file) {
        text_free(&name);
        return cannot(session, KF_ENVIRONMENT, "write", path);
    }
    KfStatus status = told(
        session, store_export(session->store, KF_VERSION, binaries, file, &exchange), &exchange);
    bool whole = !ferror(file);
    whole = fclose(file) == 0 && whole;
    if (status == KF_OK && (!whole || rename(name.data, path) != 0))
        status = cannot(session, KF_ENVIRONMENT, "write", path);
    if (status != KF_OK) unlink(name.data);
    if (status == KF_OK) text_printf(out, "%s: %u results\n", path, exchange.results);
    text_free(&name);
    return status;
}

static KfStatus export_text(KfSession *session, bool binaries, Text *out) {
    Exchange exchange;
    FILE *file = open_memstream(&out->data, &out->length);
    if (!file) return cannot(session, KF_ENVIRONMENT, "write", "memory");
    ExchangeStatus status = store_export(session->store, KF_VERSION, binaries, file, &exchange);
    bool whole = !ferror(file);
    whole = fclose(file) == 0 && whole;
    out->room = out->length + 1;
    return whole ? told(session, status, &exchange)
                 : cannot(session, KF_ENVIRONMENT, "write", "memory");
}

static void tell_exchange(Text *out, const char *path, const Exchange *exchange) {
    text_printf(out, "%s: %u result%s imported", path, exchange->results,
                exchange->results == 1 ? "" : "s");
    if (exchange->known) text_printf(out, ", %u were here", exchange->known);
    if (exchange->slower) text_printf(out, ", %u are slower than what is here", exchange->slower);
    if (exchange->damaged) text_printf(out, ", %u are damaged and left out", exchange->damaged);
    text_add(out, "\n");
}

static KfStatus import_file(KfSession *session, const char *path, bool binaries, Text *out) {
    Exchange exchange;
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) return cannot(session, KF_INPUT, "read", path);
    const char *name = standard ? "<stdin>" : path;
    KfStatus status =
        told(session, store_import(session->store, file, name, binaries, &exchange), &exchange);
    if (!standard) fclose(file);
    if (status == KF_OK) tell_exchange(out, name, &exchange);
    return status;
}

static KfStatus merge_file(KfSession *session, const char *path, Text *out) {
    Exchange exchange;
    KfStatus status = told(session, store_merge(session->store, path, &exchange), &exchange);
    if (status == KF_OK) tell_exchange(out, path, &exchange);
    return status;
}

/* The commands that take a store elsewhere; false: it is none of them. */
static bool exchange_command(KfSession *session, const char *command, const char *argument,
                             Text *out, KfStatus *status) {
    bool binaries = strstr(command, "-binaries") != NULL;
    if (strcmp(command, "export") == 0 || strcmp(command, "export-binaries") == 0)
        *status = argument && strcmp(argument, "-") != 0
                      ? export_file(session, argument, binaries, out)
                      : export_text(session, binaries, out);
    else if (!argument)
        return false;
    else if (strcmp(command, "import") == 0 || strcmp(command, "import-binaries") == 0)
        *status = import_file(session, argument, binaries, out);
    else if (strcmp(command, "merge") == 0)
        *status = merge_file(session, argument, out);
    else
        return false;
    return true;
}

/* One that cannot be written can still be read. */
static const char *complaint_of(const Store *store, const char *command) {
    bool reads = strcmp(command, "ls") == 0 || strcmp(command, "show") == 0 ||
                 strncmp(command, "export", 6) == 0;
    bool read_only = store_is_readable(store) && !store_keeps(store);
    return reads && read_only ? NULL : store_complaint(store);
}

KfStatus kf_cache(KfSession *session, const char *command, const char *argument, char **text) {
    Text out = {0};
    char why[256];
    text_clear(&session->message);
    const char *complaint = complaint_of(session->store, command);
    KfStatus status = KF_OK;
    if (strcmp(command, "path") == 0)
        text_printf(&out, "%s\n", store_path(session->store));
    else if (complaint && strcmp(command, "clear") != 0)
        status = session_say(session, KF_ENVIRONMENT, "%s", complaint);
    else if (exchange_command(session, command, argument, &out, &status))
        ;
    else if (strcmp(command, "ls") == 0)
        store_list(session->store, &out);
    else if (strcmp(command, "show") == 0 && argument)
        status = store_show(session->store, argument, &out)
                     ? KF_OK
                     : session_say(session, KF_INPUT, "no entry '%s'; kfuse cache ls lists them",
                                   argument);
    else if (strcmp(command, "clear") == 0)
        status = session_clear_store(session, why, sizeof why)
                     ? KF_OK
                     : session_say(session, KF_ENVIRONMENT, "%s", why);
    else
        status = session_say(session, KF_USAGE,
                             "cache ls | show KEY | clear | path | export [FILE] | "
                             "import FILE... | merge FILE.db...");
    if (status == KF_OK) return session_give(&out, text);
    text_free(&out);
    return status;
}
