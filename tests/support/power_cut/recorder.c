/* Records what a process writes, synchronizes, renames and removes, in the order in which it does so.
 *
 * Loaded by LD_PRELOAD on Linux. It does nothing until the environment names a file in PLANLOOM_DISK_LOG. A record
 * is the struct below and its two texts; `disk.py` reads it. It is written after the call that it tells of, under
 * a lock, so that records stand in the order of the effects. Nothing is truly synchronized: the disk that `disk.py`
 * makes of the record has only what was meant to be.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct __attribute__((packed)) record {
    char kind;
    uint64_t device, inode;
    int64_t number;
    uint8_t flag;
    uint32_t text_size, data_size;
};

/* The function of the same name that would have been called without this library. */
#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, name)

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static int log_pid = 0;

/* Whether this process records: what it starts, such as git and commands, does not. */
static int recording(void) {
    if (log_fd >= 0) return log_pid == getpid();
    const char *name = getenv("PLANLOOM_DISK_LOG");
    if (!name) return 0;
    REAL(int, "open", const char *, int, ...);
    int fd = real(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return 0;
    log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 800);
    close(fd);
    log_pid = getpid();
    return log_fd >= 0;
}

static void put(char kind, const struct stat *file, int64_t number, int flag, const char *text, size_t text_size,
                const void *data, size_t data_size) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    struct record head = {kind, file ? file->st_dev : 0, file ? file->st_ino : 0, number, flag, text_size, data_size};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)text, text_size}, {(void *)data, data_size}};
    int kept = errno;
    if (real(log_fd, parts, 3) < 0) abort();
    errno = kept;
}

static int is_file(int fd, struct stat *found) { return fstat(fd, found) == 0 && S_ISREG(found->st_mode); }

/* The absolute path of a name below an open folder; returns its length. */
static size_t full(int folder, const char *name, char *path, size_t room) {
    char base[PATH_MAX] = "";
    if (name[0] == '/') return snprintf(path, room, "%s", name);
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) base[0] = 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t size = readlink(link, base, sizeof base - 1);
        base[size < 0 ? 0 : size] = 0;
    }
    return snprintf(path, room, "%s/%s", base, name);
}

/* Opening: 'C' is a new file, 'T' one that is cut to nothing. */

static int opened(int fd, int folder, const char *name, int flags, int existed) {
    struct stat found;
    if (fd >= 0 && recording() && (flags & (O_CREAT | O_TRUNC)) && is_file(fd, &found)) {
        char path[PATH_MAX * 2];
        size_t size = full(folder, name, path, sizeof path);
        pthread_mutex_lock(&order);
        if (!existed) put('C', &found, 0, 0, path, size, NULL, 0);
        else if (flags & O_TRUNC) put('T', &found, 0, 0, NULL, 0, NULL, 0);
        pthread_mutex_unlock(&order);
    }
    return fd;
}

static int is_there(int folder, const char *name, int flags) {
    return !(flags & O_CREAT) || !recording() || faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#define OPEN(symbol) \
    int symbol(const char *name, int flags, ...) { \
        REAL(int, #symbol, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int), existed = is_there(AT_FDCWD, name, flags); \
        va_end(rest); \
        return opened(real(name, flags, mode), AT_FDCWD, name, flags, existed); \
    }
#define OPENAT(symbol) \
    int symbol(int folder, const char *name, int flags, ...) { \
        REAL(int, #symbol, int, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int), existed = is_there(folder, name, flags); \
        va_end(rest); \
        return opened(real(folder, name, flags, mode), folder, name, flags, existed); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* Writing: 'W' with the offset, 'T' with the new size, 'S' for a synchronized file or (flag) folder. */

static void wrote(int fd, int64_t offset, const void *data, ssize_t size) {
    struct stat found;
    if (size <= 0 || !is_file(fd, &found)) return;
    if (offset < 0) offset = lseek(fd, 0, SEEK_CUR) - size;
    put('W', &found, offset, 0, NULL, 0, data, size);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!recording()) return real(fd, data, size);
    pthread_mutex_lock(&order);
    ssize_t done = real(fd, data, size);
    wrote(fd, -1, data, done);
    pthread_mutex_unlock(&order);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (!recording()) return real(fd, parts, count);
    pthread_mutex_lock(&order);
    ssize_t done = real(fd, parts, count), left = done;
    off_t end = lseek(fd, 0, SEEK_CUR);
    for (int index = 0; index < count && left > 0; index++) {
        ssize_t size = (ssize_t)parts[index].iov_len < left ? (ssize_t)parts[index].iov_len : left;
        wrote(fd, end - left, parts[index].iov_base, size);
        left -= size;
    }
    pthread_mutex_unlock(&order);
    return done;
}

#define PWRITE(symbol) \
    ssize_t symbol(int fd, const void *data, size_t size, off_t offset) { \
        REAL(ssize_t, #symbol, int, const void *, size_t, off_t); \
        if (!recording()) return real(fd, data, size, offset); \
        pthread_mutex_lock(&order); \
        ssize_t done = real(fd, data, size, offset); \
        wrote(fd, offset, data, done); \
        pthread_mutex_unlock(&order); \
        return done; \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(symbol) \
    int symbol(int fd, off_t size) { \
        REAL(int, #symbol, int, off_t); \
        if (!recording()) return real(fd, size); \
        struct stat found; \
        pthread_mutex_lock(&order); \
        int done = real(fd, size); \
        if (done == 0 && is_file(fd, &found)) put('T', &found, size, 0, NULL, 0, NULL, 0); \
        pthread_mutex_unlock(&order); \
        return done; \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(symbol) \
    int symbol(int fd) { \
        REAL(int, #symbol, int); \
        struct stat found; \
        if (!recording() || fstat(fd, &found) != 0) return real(fd); \
        pthread_mutex_lock(&order); \
        put('S', &found, 0, S_ISDIR(found.st_mode), NULL, 0, NULL, 0); \
        pthread_mutex_unlock(&order); \
        return 0; \
    }
SYNC(fsync)
SYNC(fdatasync)

/* Names: 'R' rename, 'L' link, 'U' unlink, 'M' mkdir, 'D' rmdir. The text is both paths, with a NUL between them;
 * with the flag, the data is what the file held that lost its name, so that the loss can be taken back. */

struct names {
    int from;
    const char *name;
    int to;
    const char *new_name;
    int flags;
};

static char *content(int folder, const char *name, struct stat *found, size_t *size) {
    REAL(int, "openat", int, const char *, int, ...);
    *size = 0;
    memset(found, 0, sizeof *found);
    int fd = real(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return NULL;
    char *data = NULL;
    if (is_file(fd, found)) {
        data = malloc(found->st_size + 1);
        ssize_t got = read(fd, data, found->st_size);
        *size = got < 0 ? 0 : got;
    }
    close(fd);
    return data;
}

static int named(char kind, int (*act)(const struct names *), struct names at) {
    if (!recording()) return act(&at);
    char text[PATH_MAX * 4];
    struct stat old;
    size_t size;
    pthread_mutex_lock(&order);
    char *data = content(at.to, at.new_name, &old, &size);
    int done = act(&at);
    if (done == 0) {
        size_t first = full(at.from, at.name, text, PATH_MAX * 2) + 1;
        size_t second = full(at.to, at.new_name, text + first, PATH_MAX * 2);
        put(kind, &old, 0, data != NULL, text, first + second, data, size);
    }
    pthread_mutex_unlock(&order);
    free(data);
    return done;
}

static int do_rename(const struct names *at) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    return real(at->from, at->name, at->to, at->new_name, at->flags);
}

static int do_link(const struct names *at) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    return real(at->from, at->name, at->to, at->new_name, at->flags);
}

static int do_remove(const struct names *at) {
    REAL(int, "unlinkat", int, const char *, int);
    return real(at->from, at->name, at->flags);
}

static int do_make(const struct names *at) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    return real(at->from, at->name, at->flags);
}

#define HERE AT_FDCWD
int rename(const char *name, const char *to) { return named('R', do_rename, (struct names){HERE, name, HERE, to, 0}); }
int renameat(int from, const char *name, int to, const char *new_name) {
    return named('R', do_rename, (struct names){from, name, to, new_name, 0});
}
int link(const char *name, const char *to) { return named('L', do_link, (struct names){HERE, name, HERE, to, 0}); }
int linkat(int from, const char *name, int to, const char *new_name, int flags) {
    return named('L', do_link, (struct names){from, name, to, new_name, flags});
}
int unlinkat(int from, const char *name, int flags) {
    return named(flags & AT_REMOVEDIR ? 'D' : 'U', do_remove, (struct names){from, name, from, name, flags});
}
int unlink(const char *name) { return unlinkat(HERE, name, 0); }
int rmdir(const char *name) { return unlinkat(HERE, name, AT_REMOVEDIR); }
int mkdirat(int from, const char *name, mode_t mode) {
    return named('M', do_make, (struct names){from, name, from, name, mode});
}
int mkdir(const char *name, mode_t mode) { return mkdirat(HERE, name, mode); }
