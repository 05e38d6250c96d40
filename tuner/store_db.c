/* In: a folder. Out: an open database in it, or none and a complaint. The one idea: every process
 * that uses the database holds the lock file shared, so whoever gets it exclusively may set a
 * damaged database aside. */
#include "tuner/store_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* 64 processes writing one key waited 0.5 s at worst. */
enum { BUSY_MS = 20000, LOCK_MS = 2000, RENEW_MS = 500 };
/* A statement takes some thousand steps; a damaged tree must not make it endless. */
enum { STEP_UNIT = 10000, STEP_UNITS_MAX = 20000 };

double db_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void db_complain(Store *store, const char *format, ...) {
    if (store->complaint) return;
    va_list args;
    va_start(args, format);
    if (vasprintf(&store->complaint, format, args) < 0) store->complaint = NULL;
    va_end(args);
}

int db_exec(Store *store, const char *sql) {
    store->steps = 0;
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* --- the lock file */

static int lock_file(const char *folder) {
    char *path;
    if (asprintf(&path, "%s/kfuse.lock", folder) < 0) return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) fd = open(path, O_RDONLY | O_CLOEXEC); /* enough for flock */
    free(path);
    return fd;
}

int db_lock(const char *folder, bool exclusive, double seconds) {
    int fd = lock_file(folder);
    if (fd < 0) return -1;
    double end = db_clock() + seconds;
    while (flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
        if ((errno == EWOULDBLOCK || errno == EINTR) && db_clock() < end) {
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
            continue;
        }
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static void unlock(Store *store) {
    if (store->lock >= 0) close(store->lock);
    store->lock = -1;
}

/* --- setting aside */

/* A write-ahead log belongs to its database and goes with it; the database first, because a log
 * alone is discarded. */
static bool set_aside(Store *store, char *name, size_t size) {
    char *to = NULL, *log = NULL, *log_to = NULL;
    bool done = false;
    for (int n = 1; n <= 9; n++) { /* the ninth is replaced */
        free(to);
        if (asprintf(&to, "%s.damaged-%d", store->path, n) < 0) return false;
        if (access(to, F_OK) != 0) break;
    }
    if (asprintf(&log, "%s-wal", store->path) >= 0 && asprintf(&log_to, "%s-wal", to) >= 0) {
        done = rename(store->path, to) == 0;
        if (done) rename(log, log_to);
        snprintf(name, size, "%s", strrchr(to, '/') + 1);
    }
    free(to);
    free(log);
    free(log_to);
    return done;
}

static bool replaced(const Store *store) {
    struct stat now;
    return stat(store->path, &now) != 0 || now.st_ino != store->inode;
}

static int open_database(Store *store);

/* The lock is let go before it is asked for exclusively, so that of two processes that find the
 * damage one gets it; the other one then finds a new database. */
static bool renew(Store *store) {
    char name[64] = "";
    bool may = store->lock >= 0 && store->writes && !store->renewed;
    db_close(store);
    if (!may) return false;
    store->renewed = true;
    int exclusive = db_lock(store->folder, true, 1e-3 * RENEW_MS);
    bool aside = exclusive >= 0 && !replaced(store) && set_aside(store, name, sizeof name);
    if (exclusive >= 0) close(exclusive);
    if (!aside && !replaced(store)) return false;
    store->lock = db_lock(store->folder, false, 1e-3 * LOCK_MS);
    if (store->lock < 0 || open_database(store) != SQLITE_OK) return false;
    if (aside)
        db_complain(store, "%s could not be read as a store; it is set aside as %s and begun anew",
                    store->path, name);
    return true;
}

/* --- failures */

static bool is_damage(const Store *store, int rc) {
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR: /* our statements are right: the schema is not ours */
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return true;
    case SQLITE_INTERRUPT: return store->abandoned;
    case SQLITE_READONLY: /* says the header, and not the file system */
        return access(store->path, W_OK) == 0 && access(store->folder, W_OK) == 0;
    default: return false;
    }
}

bool db_failed(Store *store, int rc) {
    if (is_damage(store, rc)) {
        if (renew(store)) return true;
        db_complain(store, "%s is damaged and cannot be set aside now; running without it",
                    store->path);
        db_close(store);
        return false;
    }
    db_complain(store, "%s: %s; results are not kept", store->path, sqlite3_errstr(rc));
    store->writes = false;
    if ((rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_READONLY) db_close(store);
    return false;
}

static int count_steps(void *context) {
    Store *store = context;
    store->abandoned = ++store->steps > STEP_UNITS_MAX;
    return store->abandoned;
}

/* --- opening */

/* Where several machines may share a file, or the file system is a process, a write-ahead log is no
 * good. */
static bool is_shared(const char *folder) {
    static const long magic[] = {
        0x6969 /* NFS */,        0xFF534D42 /* CIFS */, 0xFE534D42 /* SMB2 */,
        0x0BD00BD0 /* Lustre */, 0x47504653 /* GPFS */, 0x00C36400 /* Ceph */,
        0x01021997 /* 9P */,     0x65735546 /* FUSE */, 0x19830326 /* BeeGFS */,
    };
    struct statfs system;
    if (statfs(folder, &system) != 0) return false;
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (((unsigned long)system.f_type & 0xFFFFFFFF) == (unsigned long)magic[i]) return true;
    return false;
}

static int read_number(Store *store, const char *sql, int *value) {
    Row row = row_open(store, sql, NULL, NULL, NULL);
    if (row_next(&row)) *value = (int)row_whole(&row);
    return row_close(&row);
}

/* Several processes may do this at once. */
static int make_tables(Store *store) {
    char version[64];
    snprintf(version, sizeof version, "PRAGMA user_version = %d; COMMIT", STORE_SCHEMA);
    int rc = db_exec(store, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = db_exec(store, row_tables);
    if (rc == SQLITE_OK) rc = db_exec(store, version);
    if (rc != SQLITE_OK) db_exec(store, "ROLLBACK");
    store->fresh = rc == SQLITE_OK;
    return rc;
}

/* A database without tables is new. One of a later schema is left alone; when there is a second
 * schema, this is where the first is migrated. */
static int check_schema(Store *store) {
    int version = 0, tables = 0;
    int rc = db_exec(store, "BEGIN"); /* both of one moment: another process may be making them */
    if (rc == SQLITE_OK) rc = read_number(store, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK) rc = read_number(store, "SELECT count(*) FROM sqlite_master", &tables);
    db_exec(store, "ROLLBACK");
    if (rc != SQLITE_OK) return rc;
    if (version == STORE_SCHEMA && tables > 0) return SQLITE_OK;
    if (version > STORE_SCHEMA) {
        db_complain(store, "%s has schema %d and this kfuse knows %d%s", store->path, version,
                    STORE_SCHEMA,
                    store->foreign ? "; nothing was merged"
                                   : "; running without it ('kfuse cache clear' begins anew)");
        return SQLITE_CANTOPEN;
    }
    return tables == 0 ? make_tables(store) : SQLITE_FORMAT;
}

static int connect(Store *store, const char *name, int flags) {
    int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) return rc;
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_progress_handler(store->db, STEP_UNIT, count_steps, store);
    struct stat file;
    store->inode = stat(store->path, &file) == 0 ? file.st_ino : 0;
    store->writes = !sqlite3_db_readonly(store->db, "main");
    if (store->writes) { /* where this is refused the other journal stays */
        rc = db_exec(store, is_shared(store->folder) ? "PRAGMA journal_mode = DELETE"
                                                     : "PRAGMA journal_mode = WAL");
        if (is_damage(store, rc)) return rc;
    }
    rc = db_exec(store, "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;"
                        "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
    return rc == SQLITE_OK ? check_schema(store) : rc;
}

/* A database in a folder that cannot be written, whose log is closed: nobody changes it. */
static int connect_immutable(Store *store) {
    Text uri = {0};
    text_add(&uri, "file:");
    for (const char *c = store->path; *c; c++)
        text_printf(&uri, strchr("%?#", *c) ? "%%%02X" : "%c", (unsigned char)*c);
    text_add(&uri, "?immutable=1");
    sqlite3_close(store->db);
    int rc = connect(store, text_string(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    text_free(&uri);
    return rc;
}

static int open_database(Store *store) {
    int rc = connect(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (rc != SQLITE_OK && !is_damage(store, rc) && !store->complaint &&
        access(store->folder, W_OK) != 0 && access(store->path, R_OK) == 0)
        rc = connect_immutable(store);
    return rc;
}

void db_open_foreign(Store *store) {
    store->foreign = store->renewed = true;
    int rc = connect(store, store->path, SQLITE_OPEN_READONLY);
    if (rc != SQLITE_OK && !store->complaint && !is_damage(store, rc))
        rc = connect_immutable(store);
    if (rc == SQLITE_OK) return;
    db_complain(store, "%s: %s", store->path,
                is_damage(store, rc) ? "is no store of kfuse, or damaged" : sqlite3_errstr(rc));
    db_close(store);
}

static bool make_folder(const char *folder) {
    char *path = strdup(folder);
    if (!path) return false;
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = 0;
        mkdir(path, 0700); /* what fails here shows below */
        *c = '/';
    }
    bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
    free(path);
    return made;
}

void db_open(Store *store) {
    if (!make_folder(store->folder)) {
        db_complain(store, "%s cannot be made: %s; running without a store", store->folder,
                    strerror(errno));
        return;
    }
    store->lock = db_lock(store->folder, false, 1e-3 * LOCK_MS);
    if (store->lock < 0 && errno == EWOULDBLOCK) {
        db_complain(store, "%s is being repaired by another process; running without it",
                    store->path);
        return;
    }
    int rc = open_database(store);
    if (rc != SQLITE_OK) db_failed(store, rc);
    if (store->db && !store->writes)
        db_complain(store, "%s cannot be written; results are not kept", store->path);
}

void db_close(Store *store) {
    sqlite3_close(store->db);
    store->db = NULL;
    store->writes = false;
    unlock(store);
}
