/* Counts what a process does to files below a folder, and at one operation kills the process or
   has the disk be full from there on. Preloaded, so that it sees what libraries do, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile long count, at;
static volatile int armed, kills;
static char folder[PATH_MAX];

void fault_arm(long number, int kind, const char *below) {
    count = 0; at = number; kills = kind;
    strncpy(folder, below, sizeof folder - 1);
    armed = 1;
}
long fault_disarm(void) { armed = 0; return count; }

/* Whether this operation meets a full disk. */
static int step(const char *path) {
    if (!armed || strncmp(path, folder, strlen(folder))) return 0;
    long now = __sync_add_and_fetch(&count, 1);
    if (at <= 0 || now < at) return 0;
    if (kills) kill(getpid(), SIGKILL);
    return 1;
}
static int step_fd(int fd) {
    char link[64], path[PATH_MAX];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return step(path);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define FULL(failed) do { errno = ENOSPC; return failed; } while (0)

#define BY_FD(type, name, parameters, arguments, fd) \
    type name parameters { REAL(name); if (step_fd(fd)) FULL(-1); return real arguments; }
#define BY_PATH(name, parameters, arguments, path) \
    int name parameters { REAL(name); if (step(path)) FULL(-1); return real arguments; }
/* These succeed on a full disk. */
#define ALWAYS_FD(name, parameters, arguments, fd) \
    int name parameters { REAL(name); step_fd(fd); return real arguments; }
#define ALWAYS_PATH(name, parameters, arguments, path) \
    int name parameters { REAL(name); step(path); return real arguments; }

BY_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), fd)
BY_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t to), (fd, data, size, to), fd)
BY_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t to), (fd, data, size, to), fd)
BY_FD(ssize_t, writev, (int fd, const struct iovec *data, int size), (fd, data, size), fd)
BY_FD(int, ftruncate, (int fd, off_t size), (fd, size), fd)
BY_FD(int, ftruncate64, (int fd, off64_t size), (fd, size), fd)
BY_FD(int, fallocate, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size), fd)
BY_FD(int, fallocate64, (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size), fd)
BY_FD(ssize_t, sendfile, (int fd, int source, off_t *from, size_t size), (fd, source, from, size), fd)
BY_FD(ssize_t, sendfile64, (int fd, int source, off64_t *from, size_t size), (fd, source, from, size), fd)
ALWAYS_FD(fsync, (int fd), (fd), fd)
ALWAYS_FD(fdatasync, (int fd), (fd), fd)
BY_PATH(rename, (const char *from, const char *to), (from, to), to)
BY_PATH(link, (const char *from, const char *to), (from, to), to)
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode), path)
ALWAYS_PATH(unlink, (const char *path), (path), path)
ALWAYS_PATH(unlinkat, (int at_fd, const char *path, int flags), (at_fd, path, flags), path)

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if ((flags & O_CREAT) && step(path) && access(path, F_OK)) FULL(-1); \
        return real(path, flags, mode); \
    }
OPENING(open)
OPENING(open64)
