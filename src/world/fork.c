/* SPDX-License-Identifier: MIT */

/*
 * A list of descriptors under one mutex. fork() takes the mutex, so that in a
 * child the list is whole and names every descriptor that was made.
 *
 * _Fork() and clone() call no handler. Their child is found out at the first
 * question for the generation, by a page that the kernel leaves empty in it.
 */

#include "world/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "world/world.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lk__fork_entry *entries;
static atomic_uint generation;

/* A page that is zeros in a child; NULL: the kernel has none, or it is not made yet.
   It is KNOWN before anybody sees it: the first two clients of a program may be
   opened at the same time. */
enum { WIPED, TAKEN, KNOWN };
static _Atomic(atomic_uint *) page;

/* ---- around a fork ------------------------------------------------------ */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

/* Only what a signal handler may do: other threads may have held any lock. */
static void entries_close(void)
{
    lk__fork_entry *entry;

    for (entry = entries; entry != NULL; entry = entry->next) {
        (void)close(entry->fd);
        entry->fd = -1;
    }
    entries = NULL;
}

static void after_fork_in_child(void)
{
    atomic_uint *wiped = atomic_load(&page);

    entries_close();
    (void)atomic_fetch_add(&generation, 1);
    if (wiped != NULL)
        atomic_store(wiped, KNOWN);
    (void)pthread_mutex_unlock(&mutex);
}

/* A thread of the parent that is not here may have had the mutex and left the
   list in pieces: then the descriptors stay open. */
static void after_other_fork(atomic_uint *known)
{
    unsigned state = WIPED;

    if (atomic_compare_exchange_strong(known, &state, TAKEN)) {
        if (pthread_mutex_trylock(&mutex) == 0) {
            entries_close();
            (void)pthread_mutex_unlock(&mutex);
        }
        (void)atomic_fetch_add(&generation, 1);
        atomic_store(known, KNOWN);
    }
    while (atomic_load(known) != KNOWN)
        ; /* another thread is at it: a moment */
}

static void page_make(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED)
        return;
    if (madvise(made, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(made, size);
        return;
    }
    atomic_store((atomic_uint *)made, KNOWN);
    atomic_store(&page, made);
}

static void handlers_install(void)
{
    (void)pthread_atfork(before_fork, after_fork_in_parent,
                         after_fork_in_child);
    page_make();
}

/* The page is made before the first descriptor, and so before any client. */
unsigned lk__fork_generation(void)
{
    atomic_uint *known = atomic_load_explicit(&page, memory_order_acquire);

    if (known != NULL &&
        atomic_load_explicit(known, memory_order_relaxed) != KNOWN)
        after_other_fork(known);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* Not pthread_exit(): behind the last thread that would run what the program has
   asked for at its exit, which may wait for threads that are the parent's. */
void lk__fork_end_thread(void)
{
    for (;;)
        (void)syscall(SYS_exit, 0);
}

/* ---- descriptors -------------------------------------------------------- */

/* Enters fd, just made, or keeps errno. Under the mutex, as the making was. */
static int entry_add(lk__fork_entry *entry, int fd)
{
    entry->fd = fd;
    if (fd < 0)
        return -errno;
    entry->next = entries;
    entry->link = &entries;
    if (entries != NULL)
        entries->link = &entry->next;
    entries = entry;
    return 0;
}

int lk__fork_socket(lk__fork_entry *entry, int family)
{
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int error;

    (void)pthread_once(&once, handlers_install);
    (void)pthread_mutex_lock(&mutex);
    error = entry_add(entry, socket(family, type, 0));
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

int lk__fork_timer(lk__fork_entry *entry)
{
    int error;

    (void)pthread_once(&once, handlers_install);
    (void)pthread_mutex_lock(&mutex);
    error = entry_add(entry, timerfd_create(CLOCK_BOOTTIME,
                                            TFD_CLOEXEC | TFD_NONBLOCK));
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

void lk__fork_close(lk__fork_entry *entry)
{
    (void)pthread_mutex_lock(&mutex);
    if (entry->link != NULL && entry->fd >= 0) {
        *entry->link = entry->next;
        if (entry->next != NULL)
            entry->next->link = entry->link;
        entry->link = NULL;
        (void)close(entry->fd);
        entry->fd = -1;
    }
    (void)pthread_mutex_unlock(&mutex);
}
