/* SPDX-License-Identifier: MIT */

/*
 * A list of descriptors under one mutex. fork() takes the mutex, so that in a
 * child the list is whole and names every descriptor that was made.
 */

#include "core/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/world.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lk__fork_entry *entries;
static atomic_uint generation;

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
static void after_fork_in_child(void)
{
    lk__fork_entry *entry;

    for (entry = entries; entry != NULL; entry = entry->next) {
        (void)close(entry->fd);
        entry->fd = -1;
    }
    entries = NULL;
    (void)atomic_fetch_add(&generation, 1);
    (void)pthread_mutex_unlock(&mutex);
}

static void handlers_install(void)
{
    (void)pthread_atfork(before_fork, after_fork_in_parent,
                         after_fork_in_child);
}

unsigned lk__fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
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
