/* SPDX-License-Identifier: MIT */

#include "shims/fail.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- which one ---------------------------------------------------------------- */

static _Atomic int armed = FAIL_POINTS; /* none */
static atomic_uint own_calls;
static atomic_uint *calls = &own_calls;
static unsigned first;
static bool forever;
static int failure;

enum { DEATH = FAIL_POINTS + 1 }; /* armed for that */

static const char *const words[FAIL_POINTS] = {[FAIL_MEMORY] = "memory",
                                               [FAIL_SOCKET] = "socket",
                                               [FAIL_CONNECT] = "connect",
                                               [FAIL_RECV] = "recv",
                                               [FAIL_SEND] = "send",
                                               [FAIL_READ] = "read",
                                               [FAIL_WRITE] = "write",
                                               [FAIL_EPOLL_CTL] = "epoll_ctl",
                                               [FAIL_EPOLL_WAIT] = "epoll_wait",
                                               [FAIL_EVENTFD] = "eventfd",
                                               [FAIL_TIMER] = "timer",
                                               [FAIL_RANDOM] = "random",
                                               [FAIL_OPEN] = "open",
                                               [FAIL_FCNTL] = "fcntl",
                                               [FAIL_THREAD] = "thread",
                                               [FAIL_FORK] = "fork"};

const char *fail_word(fail_point point)
{
    return words[point];
}

/* At the n-th call of any sort. */
static void die_in_turn(fail_point point)
{
    if (point != FAIL_MEMORY && atomic_fetch_add(calls, 1) + 1 == first)
        (void)syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGKILL);
}

/* Whether this call fails; errno is set then. */
static bool fails(fail_point point)
{
    unsigned n;

    if (atomic_load_explicit(&armed, memory_order_acquire) == DEATH)
        die_in_turn(point);
    if (atomic_load_explicit(&armed, memory_order_acquire) != (int)point)
        return false;
    n = atomic_fetch_add(calls, 1) + 1;
    if (first == 0 || (forever ? n < first : n != first))
        return false;
    errno = failure;
    return true;
}

/* ---- blocks that are taken ------------------------------------------------------ */

enum { BLOCKS = 1 << 16 };

static struct {
    void *block;
    const void *caller;
} blocks[BLOCKS];
static size_t block_end; /* behind the last one */
static atomic_flag blocks_busy = ATOMIC_FLAG_INIT;
static atomic_bool is_tracking;

static void blocks_lock(void)
{
    while (atomic_flag_test_and_set(&blocks_busy))
        continue;
}

static void blocks_unlock(void)
{
    atomic_flag_clear(&blocks_busy);
}

/* Takes the place of `before`, NULL for one that is new. */
static void block_note(const void *before, void *block, const void *caller)
{
    bool is_new = before == NULL;
    size_t at = 0;

    if (!atomic_load(&is_tracking) ||
        (is_new && atomic_load(&armed) == FAIL_POINTS))
        return;
    blocks_lock();
    while (at < block_end && blocks[at].block != before)
        at++;
    if (at < block_end || (is_new && block_end < BLOCKS)) {
        blocks[at].block = block;
        blocks[at].caller = caller;
        block_end += at == block_end;
    }
    while (block_end > 0 && blocks[block_end - 1].block == NULL)
        block_end--;
    blocks_unlock();
}

/* What a thread keeps in its stack, which is kept for the next one. */
static bool is_loader(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           strstr(info.dli_fname, "/ld-linux") != NULL;
}

size_t fail_leaked(const void **ret_caller)
{
    size_t leaked = 0;

    *ret_caller = NULL;
    blocks_lock();
    for (size_t i = 0; i < block_end; i++) {
        if (blocks[i].block == NULL || is_loader(blocks[i].caller))
            continue;
        leaked++;
        *ret_caller = blocks[i].caller;
    }
    blocks_unlock();
    return leaked;
}

void fail_arm(fail_point point, unsigned n, bool is_forever, int error)
{
    atomic_store(calls, 0);
    first = n;
    forever = is_forever;
    failure = error;
    block_end = 0;
    atomic_store(&is_tracking, true);
    atomic_store(&armed, (int)point);
}

void fail_arm_death(unsigned n)
{
    atomic_store(calls, 0);
    first = n;
    atomic_store(&armed, DEATH);
}

unsigned fail_disarm(void)
{
    atomic_store(&armed, FAIL_POINTS);
    return atomic_load(calls);
}

/* ---- told by the environment ------------------------------------------------------ */

static void count_share(const char *path)
{
    int fd =
        path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
    void *shared;

    if (fd < 0)
        return;
    shared =
        mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)syscall(SYS_close, fd);
    if (shared != MAP_FAILED)
        calls = shared;
}

/* Takes a word and the blank behind it off the text. */
static bool word_take(const char **text, const char *word)
{
    size_t size = strlen(word);

    if (strncmp(*text, word, size) != 0 || (*text)[size] != ' ')
        return false;
    *text += size + 1;
    return true;
}

static unsigned number_take(const char **text)
{
    char *end;
    unsigned long number = strtoul(*text, &end, 10);

    *text = end;
    return (unsigned)number;
}

__attribute__((constructor)) static void begin(void)
{
    const char *said = getenv("LK_FAIL");

    if (said == NULL || !word_take(&said, program_invocation_short_name))
        return;
    count_share(getenv("LK_FAIL_COUNT"));
    for (int i = 0; i < FAIL_POINTS; i++) {
        if (word_take(&said, words[i])) {
            unsigned n = number_take(&said);
            bool is_forever = number_take(&said) != 0;

            fail_arm((fail_point)i, n, is_forever, (int)number_take(&said));
        }
    }
    atomic_store(&is_tracking, false);
}

/* ---- memory ----------------------------------------------------------------------- */

/* As glibc calls its own. */
void *real_malloc(size_t size) __asm__("__libc_malloc");
void *real_calloc(size_t number, size_t size) __asm__("__libc_calloc");
void *real_realloc(void *block, size_t size) __asm__("__libc_realloc");
void real_free(void *block) __asm__("__libc_free");

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    void *block = fails(FAIL_MEMORY) ? NULL : real_malloc(size);

    if (block != NULL)
        block_note(NULL, block, CALLER);
    return block;
}

void *calloc(size_t nmemb, size_t size)
{
    void *block = fails(FAIL_MEMORY) ? NULL : real_calloc(nmemb, size);

    if (block != NULL)
        block_note(NULL, block, CALLER);
    return block;
}

void *realloc(void *ptr, size_t size)
{
    const void *before = ptr;
    void *block = fails(FAIL_MEMORY) ? NULL : real_realloc(ptr, size);

    if (block != NULL)
        block_note(before, block, CALLER);
    return block;
}

void free(void *ptr)
{
    if (ptr != NULL)
        block_note(ptr, NULL, NULL);
    real_free(ptr);
}

/* ---- descriptors ------------------------------------------------------------------ */

int socket(int domain, int type, int protocol)
{
    return fails(FAIL_SOCKET)
               ? -1
               : (int)syscall(SYS_socket, domain, type, protocol);
}

int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
    return fails(FAIL_CONNECT)
               ? -1
               : (int)syscall(SYS_connect, fd, addr.__sockaddr__, len);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    return fails(FAIL_RECV)
               ? -1
               : syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);
}

ssize_t read(int fd, void *buf, size_t nbytes)
{
    return fails(FAIL_READ) ? -1 : syscall(SYS_read, fd, buf, nbytes);
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    return fails(FAIL_SEND) ? -1
                            : syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
}

ssize_t write(int fd, const void *buf, size_t n)
{
    return fails(FAIL_WRITE) ? -1 : syscall(SYS_write, fd, buf, n);
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    return fails(FAIL_EPOLL_CTL)
               ? -1
               : (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

enum { SIGSET_BYTES = 8 }; /* the kernel's, not the C library's */

int epoll_pwait(int epfd, struct epoll_event *events, int maxevents,
                int timeout, const sigset_t *ss)
{
    return fails(FAIL_EPOLL_WAIT)
               ? -1
               : (int)syscall(SYS_epoll_pwait, epfd, events, maxevents, timeout,
                              ss, SIGSET_BYTES);
}

int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
    return epoll_pwait(epfd, events, maxevents, timeout, NULL);
}

int eventfd(unsigned int count, int flags)
{
    return fails(FAIL_EVENTFD) ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

int timerfd_create(clockid_t clock_id, int flags)
{
    return fails(FAIL_TIMER)
               ? -1
               : (int)syscall(SYS_timerfd_create, clock_id, flags);
}

int timerfd_settime(int ufd, int flags, const struct itimerspec *utmr,
                    struct itimerspec *otmr)
{
    return fails(FAIL_TIMER)
               ? -1
               : (int)syscall(SYS_timerfd_settime, ufd, flags, utmr, otmr);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    return fails(FAIL_RANDOM) ? -1
                              : syscall(SYS_getrandom, buffer, length, flags);
}

static int open_any(const char *path, int flags, va_list args)
{
    mode_t mode =
        (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;

    return fails(FAIL_OPEN)
               ? -1
               : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *file, int oflag, ...)
{
    va_list args;
    int fd;

    va_start(args, oflag);
    fd = open_any(file, oflag, args);
    va_end(args);
    return fd;
}

int open64(const char *file, int oflag, ...)
{
    va_list args;
    int fd;

    va_start(args, oflag);
    fd = open_any(file, oflag, args);
    va_end(args);
    return fd;
}

int fcntl(int fd, int cmd, ...)
{
    va_list args;
    long argument;

    va_start(args, cmd);
    argument = va_arg(args, long);
    va_end(args);
    return fails(FAIL_FCNTL) ? -1 : (int)syscall(SYS_fcntl, fd, cmd, argument);
}

int fcntl64(int fd, int cmd, ...)
{
    va_list args;
    long argument;

    va_start(args, cmd);
    argument = va_arg(args, long);
    va_end(args);
    return fails(FAIL_FCNTL) ? -1 : (int)syscall(SYS_fcntl, fd, cmd, argument);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    long argument;

    va_start(args, request);
    argument = va_arg(args, long);
    va_end(args);
    return fails(FAIL_FCNTL) ? -1
                             : (int)syscall(SYS_ioctl, fd, request, argument);
}

/* ---- the end ------------------------------------------------------------------- */

_Noreturn void abort(void)
{
    Dl_info info = {.dli_fname = NULL};
    void (*real)(void) __attribute__((noreturn));
    void *symbol;

    (void)fail_disarm();
    if (dladdr(CALLER, &info) != 0 && info.dli_fname != NULL &&
        strstr(info.dli_fname, "/libuv.so") != NULL)
        _exit(FAIL_ENDED_BY_LIBUV);
    symbol = dlsym(RTLD_NEXT, "abort");
    memcpy(&real, &symbol, sizeof(real));
    real();
}

/* ---- processes and threads -------------------------------------------------------- */

int pthread_create(pthread_t *newthread, const pthread_attr_t *attr,
                   void *(*start_routine)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");

    memcpy(&real, &symbol, sizeof(real));
    return fails(FAIL_THREAD) ? errno
                              : real(newthread, attr, start_routine, arg);
}

pid_t fork(void)
{
    pid_t (*real)(void);
    void *symbol = dlsym(RTLD_NEXT, "fork");

    memcpy(&real, &symbol, sizeof(real));
    return fails(FAIL_FORK) ? -1 : real();
}
