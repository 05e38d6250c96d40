/* In: files in memory, a folder. Out: the files there, without what an earlier emit of the same name left
 * behind: a cubin of another architecture would be shipped as if it belonged to them.
 *
 * The one idea: a manifest lists the files of its export, so that it says whose a file is. It is written last:
 * where something is in the way before, what the earlier one listed is still known. */
#include <errno.h>
#include <regex.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/source.h"
#include "export/export.h"

/* --- what manifests list */

typedef struct Names {
    ARRAY(const char *) list;
} Names;

static bool has(const Names *names, const char *name) {
    for (uint32_t i = 0; i < names->list.count; i++)
        if (strcmp(names->list.data[i], name) == 0) return true;
    return false;
}

static void add_listed(Arena *arena, sqlite3 *reader, const char *manifest, const char *name,
                       Names *names) {
    static const char sql[] = "SELECT value FROM json_each(?1, '$.files')"
                              " WHERE type = 'text' AND json_extract(?1, '$.name') = ?2";
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(reader, sql, -1, &query, NULL) != SQLITE_OK) return;
    sqlite3_bind_text(query, 1, manifest, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, name, -1, SQLITE_STATIC);
    while (sqlite3_step(query) == SQLITE_ROW) {
        const char *file = (const char *)sqlite3_column_text(query, 0);
        if (file) array_push(arena, &names->list, arena_copy(arena, file, strlen(file)));
    }
    sqlite3_finalize(query);
}

/* The files that FOLDER/NAME.json lists; none where that is not there, or no manifest of an export NAME. */
static Names read_manifest(Arena *arena, const char *folder, const char *name) {
    Names names = {0};
    sqlite3 *reader = NULL;
    const char *why;
    const Source *source =
        source_read(arena, arena_printf(arena, "%s/%s.json", folder, name), &why);
    if (source && sqlite3_open(":memory:", &reader) == SQLITE_OK)
        add_listed(arena, reader, source->text, name, &names);
    sqlite3_close(reader);
    return names;
}

/* The export of another name whose file this is: of "a_2.ptx" it may be "a_2" or "a". NULL: none's. */
static const char *other_owner(Arena *arena, const char *folder, const char *name,
                               const char *file) {
    size_t stem = strcspn(file, ".");
    for (size_t length = stem; length > 0; length--) {
        if (length < stem && file[length] != '_') continue;
        const char *owner = arena_copy(arena, file, length);
        if (strcmp(owner, name) == 0) continue;
        Names names = read_manifest(arena, folder, owner);
        if (has(&names, file)) return owner;
    }
    return NULL;
}

bool export_fits(Arena *arena, const Export *e, const ExportFiles *files, const char *folder,
                 Why *why) {
    for (uint32_t i = 0; i < files->list.count; i++) {
        const char *file = files->list.data[i].name;
        const char *owner = other_owner(arena, folder, e->name, file);
        if (owner)
            return why_set(why,
                           "%s/%s belongs to '%s' there, as %s.json lists it: take another --name "
                           "or folder",
                           folder, file, owner, owner);
    }
    return true;
}

/* --- what is left of an earlier emit */

/* A name that an emit gives to a file of the export: manifests can be edited. */
static bool is_of(const char *name, const char *file) {
    static const char pattern[] =
        "^(_binaries\\.h|\\.[ch]|(_kernel)?(_[0-9]+)?\\.(cu|c|ptx|sm_[0-9]+\\.cubin))$";
    size_t length = strlen(name);
    regex_t regex;
    if (strncmp(file, name, length) != 0 || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool matches = regexec(&regex, file + length, 0, NULL, 0) == 0;
    regfree(&regex);
    return matches;
}

static bool is_written(const ExportFiles *files, const char *file) {
    for (uint32_t i = 0; i < files->list.count; i++)
        if (strcmp(files->list.data[i].name, file) == 0) return true;
    return false;
}

static bool remove_earlier(Arena *arena, const Export *e, ExportFiles *files, const char *folder,
                           Why *why) {
    Names earlier = read_manifest(arena, folder, e->name);
    for (uint32_t i = 0; i < earlier.list.count; i++) {
        const char *file = earlier.list.data[i];
        const char *path = arena_printf(arena, "%s/%s", folder, file);
        if (!is_of(e->name, file) || is_written(files, file) ||
            other_owner(arena, folder, e->name, file))
            continue;
        if (unlink(path) == 0)
            array_push(arena, &files->removed, file);
        else if (errno != ENOENT)
            return why_set(why, "cannot remove '%s', which an earlier emit wrote: %s", path,
                           strerror(errno));
    }
    return true;
}

/* --- writing */

/* Like mkdir -p. */
static bool make_folder(const char *path, Why *why) {
    char copy[4096];
    if (strlen(path) >= sizeof copy) return why_set(why, "the folder's name is too long");
    strcpy(copy, path);
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            return why_set(why, "cannot make the folder '%s': %s", copy, strerror(errno));
        if (!(*at = end)) return true;
    }
}

static bool write_file(const char *folder, const ExportFile *file, Why *why) {
    char path[4096], partial[4096 + 32];
    if (snprintf(path, sizeof path, "%s/%s", folder, file->name) >= (int)sizeof path)
        return why_set(why, "the name of '%s' is too long", file->name);
    snprintf(partial, sizeof partial, "%s.%ld.tmp", path, (long)getpid());
    FILE *out = fopen(partial, "wbe");
    bool good =
        out && fwrite(text_string(&file->text), 1, file->text.length, out) == file->text.length;
    if (out && fclose(out) != 0) good = false;
    if (good && rename(partial, path) == 0) return true;
    why_set(why, "cannot write '%s': %s", path, strerror(errno));
    unlink(partial);
    return false;
}

bool export_write(Arena *arena, const Export *e, ExportFiles *files, const char *folder, Why *why) {
    uint32_t last = files->list.count - 1;
    if (!make_folder(folder, why)) return false;
    for (uint32_t i = 0; i < last; i++)
        if (!write_file(folder, &files->list.data[i], why)) return false;
    return remove_earlier(arena, e, files, folder, why) &&
           write_file(folder, &files->list.data[last], why);
}
