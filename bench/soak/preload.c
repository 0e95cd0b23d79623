/* Faults of the file system and of the clock, for one process: loaded before the C library
 * (LD_PRELOAD), driven by bench/soak/preload.py.
 *
 * A call is watched where its path, or the path that its descriptor was opened with, lies below
 * one of the roots. Watched calls of the armed kinds are counted. The call with the armed number
 * fails with an error, or the process is killed before it. With a log every watched call that
 * changes something is written down, with its data, so that a power loss can be played afterwards.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, RENAME = 8, UNLINK = 16, LOCK = 32, MKDIR = 64, TRUNCATE = 128, READ = 256 };
enum { FAIL = 0, KILL = 1, KILL_TORN = 2, FAIL_SHORT = 3 };
enum { FDS = 4096 };

static char *roots[8];
static int root_count;
static int armed_kinds, armed_errno, armed_action, armed_always;
static long armed_at, counted, fired;
static int log_file = -1;
static int64_t clock_offset; /* microseconds */
static char *watched[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

void fault_root(const char *path) {
    if (path == NULL) { root_count = 0; return; }
    if (root_count < 8) roots[root_count++] = strdup(path);
}
void fault_arm(int kinds, long at, int number, int action, int always) {
    armed_kinds = kinds; armed_at = at; armed_errno = number; armed_action = action; armed_always = always;
    counted = fired = 0;
}
void fault_log(int file) { log_file = file; }
void fault_clock(int64_t microseconds) { clock_offset = microseconds; }
long fault_counted(void) { return counted; }
long fault_fired(void) { return fired; }

static int is_below_root(const char *path) {
    for (int i = 0; i < root_count; i++) {
        size_t length = strlen(roots[i]);
        if (length == 1 || (strncmp(path, roots[i], length) == 0 && (path[length] == '/' || path[length] == 0)))
            return 1;
    }
    return 0;
}

/* The absolute path in `full`; 1 where it is watched. */
static int resolve(int folder, const char *path, char *full) {
    if (root_count == 0 || path == NULL) return 0;
    if (path[0] == '/') {
        snprintf(full, PATH_MAX, "%s", path);
    } else {
        char start[PATH_MAX];
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, start, sizeof start) < 0) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, start, sizeof start - 1);
            if (length < 0) return 0;
            start[length] = 0;
        }
        while (path[0] == '.' && path[1] == '/') path += 2;
        if (strcmp(path, ".") == 0) snprintf(full, PATH_MAX, "%.4000s", start);
        else snprintf(full, PATH_MAX, "%.3000s/%.1000s", start, path);
    }
    return is_below_root(full);
}

static const char *path_of(int file) { return file >= 0 && file < FDS ? watched[file] : NULL; }

static void remember(int file, const char *path) {
    if (file < 0 || file >= FDS) return;
    free(watched[file]);
    watched[file] = path ? strdup(path) : NULL;
}

/* 0: go on. Otherwise the call fails, with errno set; 2: a write takes half of its bytes. */
static int strikes(int kind) {
    if (!(armed_kinds & kind)) return 0;
    long number = __sync_add_and_fetch(&counted, 1);
    if (armed_at == 0 || number < armed_at || (number > armed_at && !armed_always)) return 0;
    fired++;
    if (armed_action == KILL) { syscall(SYS_kill, getpid(), SIGKILL); }
    if (armed_action == KILL_TORN) {
        if (kind == WRITE) return 2;
        syscall(SYS_kill, getpid(), SIGKILL);
    }
    if (armed_action == FAIL_SHORT && kind == WRITE && number == armed_at) return 2;
    errno = armed_errno;
    return 1;
}

struct header { char kind; char pad[3]; uint32_t path, second; uint32_t data; uint64_t inode; int64_t offset; };

static void put(char kind, const char *path, const char *second, uint64_t inode, int64_t offset, const void *data, size_t size) {
    if (log_file < 0) return;
    int saved = errno;
    struct header head = { kind, {0}, path ? strlen(path) : 0, second ? strlen(second) : 0, size, inode, offset };
    struct iovec parts[4] = { { &head, sizeof head }, { (void *)path, head.path }, { (void *)second, head.second }, { (void *)data, size } };
    pthread_mutex_lock(&lock);
    syscall(SYS_writev, log_file, parts, 4);
    pthread_mutex_unlock(&lock);
    errno = saved;
}
void fault_mark(const char *text) { put('A', text, NULL, 0, 0, NULL, 0); }

static uint64_t inode_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_ino : 0;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    int is_watched = resolve(folder, path, full);
    if (is_watched && strikes(OPEN)) return -1;
    int is_new = 0;
    if (is_watched && log_file >= 0 && (flags & O_CREAT)) {
        struct stat status;
        is_new = syscall(SYS_newfstatat, folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0;
    }
    int file = syscall(SYS_openat, folder, path, flags, mode);
    if (file >= 0) remember(file, is_watched ? full : NULL);
    if (file >= 0 && is_watched && log_file >= 0) {
        uint64_t inode = inode_of(file);
        if (is_new) put('C', full, NULL, inode, 0, NULL, 0);
        else put('O', full, NULL, inode, 0, NULL, 0);
        if (!is_new && (flags & O_TRUNC)) put('T', NULL, NULL, inode, 0, NULL, 0);
    }
    return file;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | __O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, int); va_end(list); }
int open(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }

int close(int file) {
    remember(file, NULL);
    return syscall(SYS_close, file);
}

static ssize_t write_at(int file, const void *data, size_t size, int64_t offset, int is_positioned) {
    const char *path = path_of(file);
    if (path == NULL) return is_positioned ? syscall(SYS_pwrite64, file, data, size, offset) : syscall(SYS_write, file, data, size);
    int answer = strikes(WRITE);
    if (answer == 1) return -1;
    int is_torn = answer == 2;
    if (is_torn) size = size / 2;
    if (!is_positioned && log_file >= 0) {
        int flags = syscall(SYS_fcntl, file, F_GETFL);
        struct stat status;
        offset = (flags & O_APPEND) && fstat(file, &status) == 0 ? status.st_size : syscall(SYS_lseek, file, 0, SEEK_CUR);
    }
    ssize_t written = is_positioned ? syscall(SYS_pwrite64, file, data, size, offset) : syscall(SYS_write, file, data, size);
    if (is_torn && armed_action == KILL_TORN) syscall(SYS_kill, getpid(), SIGKILL);
    if (written > 0) put('W', NULL, NULL, inode_of(file), offset, data, written);
    return written;
}
ssize_t write(int file, const void *data, size_t size) { return write_at(file, data, size, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t size, off_t offset) { return write_at(file, data, size, offset, 1); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) { return write_at(file, data, size, offset, 1); }

ssize_t read(int file, void *data, size_t size) {
    if (path_of(file) && strikes(READ)) return -1;
    return syscall(SYS_read, file, data, size);
}
ssize_t pread(int file, void *data, size_t size, off_t offset) {
    if (path_of(file) && strikes(READ)) return -1;
    return syscall(SYS_pread64, file, data, size, offset);
}
ssize_t pread64(int file, void *data, size_t size, off64_t offset) { return pread(file, data, size, offset); }

/* Python's shutil falls back to write(2), which is watched. */
ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    if (path_of(to)) { errno = ENOSYS; return -1; }
    return syscall(SYS_sendfile, to, from, offset, count);
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) { return sendfile(to, from, offset, count); }

static int sync_file(int file, long call) {
    if (path_of(file)) {
        if (strikes(SYNC)) return -1;
        put('S', path_of(file), NULL, inode_of(file), 0, NULL, 0);
    }
    return syscall(call, file);
}
int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

int ftruncate(int file, off_t size) {
    if (path_of(file)) {
        if (strikes(TRUNCATE)) return -1;
        put('T', NULL, NULL, inode_of(file), size, NULL, 0);
    }
    return syscall(SYS_ftruncate, file, size);
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int renameat(int from, const char *source, int to, const char *target) {
    char full_source[PATH_MAX], full_target[PATH_MAX];
    int is_watched = resolve(from, source, full_source) & resolve(to, target, full_target);
    if (is_watched && strikes(RENAME)) return -1;
    int answer = syscall(SYS_renameat2, from, source, to, target, 0);
    if (answer == 0 && is_watched) put('R', full_source, full_target, 0, 0, NULL, 0);
    return answer;
}
int rename(const char *source, const char *target) { return renameat(AT_FDCWD, source, AT_FDCWD, target); }

int linkat(int from, const char *source, int to, const char *target, int flags) {
    char full_source[PATH_MAX], full_target[PATH_MAX];
    int is_watched = resolve(from, source, full_source) & resolve(to, target, full_target);
    if (is_watched && strikes(RENAME)) return -1;
    int answer = syscall(SYS_linkat, from, source, to, target, flags);
    if (answer == 0 && is_watched) put('L', full_source, full_target, 0, 0, NULL, 0);
    return answer;
}
int link(const char *source, const char *target) { return linkat(AT_FDCWD, source, AT_FDCWD, target, 0); }

int unlinkat(int folder, const char *path, int flags) {
    char full[PATH_MAX];
    int is_watched = resolve(folder, path, full);
    if (is_watched && strikes(UNLINK)) return -1;
    int answer = syscall(SYS_unlinkat, folder, path, flags);
    if (answer == 0 && is_watched) put('U', full, NULL, 0, 0, NULL, 0);
    return answer;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
    char full[PATH_MAX];
    int is_watched = resolve(folder, path, full);
    if (is_watched && strikes(MKDIR)) return -1;
    int answer = syscall(SYS_mkdirat, folder, path, mode);
    if (answer == 0 && is_watched) put('M', full, NULL, 0, 0, NULL, 0);
    return answer;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int flock(int file, int operation) {
    if (path_of(file) && !(operation & LOCK_UN) && strikes(LOCK)) return -1;
    return syscall(SYS_flock, file, operation);
}
static int control(int file, int command, void *argument) {
    int is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (is_lock && path_of(file) && ((struct flock *)argument)->l_type != F_UNLCK && strikes(LOCK)) return -1;
    int answer = syscall(SYS_fcntl, file, command, argument);
    if (answer >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) remember(answer, path_of(file));
    return answer;
}
int fcntl(int file, int command, ...) { va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); return control(file, command, argument); }
int fcntl64(int file, int command, ...) { va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); return control(file, command, argument); }

static void move(struct timespec *moment) {
    int64_t nanoseconds = moment->tv_sec * 1000000000LL + moment->tv_nsec + clock_offset * 1000;
    moment->tv_sec = nanoseconds / 1000000000LL;
    moment->tv_nsec = nanoseconds % 1000000000LL;
    if (moment->tv_nsec < 0) { moment->tv_nsec += 1000000000LL; moment->tv_sec--; }
}
int clock_gettime(clockid_t clock, struct timespec *moment) {
    int answer = REAL(clock_gettime)(clock, moment);
    if (answer == 0 && clock_offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(moment);
    return answer;
}
int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    moment->tv_sec = precise.tv_sec;
    moment->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *place) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (place) *place = precise.tv_sec;
    return precise.tv_sec;
}

/* For processes that nobody arms from inside: FAULTS="kinds:at:errno:action:always", FAULTS_ROOT. */
__attribute__((constructor)) static void start(void) {
    const char *root = getenv("FAULTS_ROOT"), *plan = getenv("FAULTS"), *offset = getenv("FAULTS_CLOCK");
    if (root) fault_root(root);
    int kinds, number, action, always;
    long at;
    if (plan && sscanf(plan, "%d:%ld:%d:%d:%d", &kinds, &at, &number, &action, &always) == 5)
        fault_arm(kinds, at, number, action, always);
    if (offset) clock_offset = atoll(offset);
}
