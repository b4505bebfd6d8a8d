/* Preloaded: a file system that has no locks and no files without a name, as NFS without its lock
 * daemon and Lustre mounted without `flock`. NO_LOCKS names what alone is missing: flock, posix or
 * tmpfile; without it all are. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int is_missing(const char *what)
{
    const char *named = getenv("NO_LOCKS");
    return !named || strcmp(named, what) == 0;
}

int flock(int file, int how)
{
    int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    if (!is_missing("flock")) return next(file, how);
    errno = ENOLCK;
    return -1;
}

static int control(const char *name, int file, int command, void *argument)
{
    int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    const int is_lock = command == F_GETLK || command == F_SETLK || command == F_SETLKW;
    if (!is_lock || !is_missing("posix")) return next(file, command, argument);
    errno = ENOSYS;
    return -1;
}

int fcntl(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl", file, command, argument);
}

int fcntl64(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl64", file, command, argument);
}

static int open_named(const char *name, const char *path, int flags, mode_t mode)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    if ((flags & O_TMPFILE) != O_TMPFILE || !is_missing("tmpfile")) return next(path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_named("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_named("open64", path, flags, mode);
}
