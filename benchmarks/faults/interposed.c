/* Library for LD_PRELOAD: reports what a process syncs and renames, and lets some files fail.
 *
 * In the folder that ACER_FAULTS names, `trace` gets a line for each call; `rule`, if it exists, holds a part of the
 * paths whose writes, syncs and renames fail as on a full disk; `unreadable` holds inodes, each between spaces, whose
 * reads fail as on a bad disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST 4096

static int in_folder(const char *name, int flags) {
    char path[LONGEST];
    const char *folder = getenv("ACER_FAULTS");
    if (folder == NULL) return -1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC, 0644);
}

static void report(const char *call, const char *path) {
    char line[LONGEST + 16];
    int before = errno, file = in_folder("trace", O_WRONLY | O_APPEND | O_CREAT);
    if (file >= 0) {
        int size = snprintf(line, sizeof line, "%s %s\n", call, path);
        ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (size > 0) real(file, line, size);
        close(file);
    }
    errno = before;
}

static const char *content(const char *name, char *text) {
    int before = errno, file = in_folder(name, O_RDONLY);
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    ssize_t size = file < 0 ? 0 : real(file, text, LONGEST - 1);
    if (file >= 0) close(file);
    errno = before;
    text[size < 0 ? 0 : size] = 0;
    return text;
}

static int is_refused(const char *path) {
    char rule[LONGEST];
    return *content("rule", rule) && strstr(path, rule) != NULL;
}

static const char *path_of(int file, char *path) {
    char link[64];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, LONGEST - 1);
    path[size < 0 ? 0 : size] = 0;
    errno = before;
    return path;
}

ssize_t read(int file, void *data, size_t size) {
    char inodes[LONGEST], inode[32];
    struct stat found;
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    if (*content("unreadable", inodes) && fstat(file, &found) == 0) {
        snprintf(inode, sizeof inode, " %lu ", (unsigned long)found.st_ino);
        if (strstr(inodes, inode) != NULL) return errno = EIO, -1;
    }
    return real(file, data, size);
}

ssize_t write(int file, const void *data, size_t size) {
    char path[LONGEST];
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (is_refused(path_of(file, path))) return errno = ENOSPC, -1;
    return real(file, data, size);
}

int fsync(int file) {
    char path[LONGEST];
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    if (is_refused(path_of(file, path))) return errno = ENOSPC, -1;
    report("sync", path);
    return real(file);
}

int rename(const char *old, const char *new) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    if (is_refused(new)) return errno = ENOSPC, -1;
    report("from", old);
    report("to", new);
    return real(old, new);
}
