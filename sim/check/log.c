/* SPDX-License-Identifier: MIT */
#include "check/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct history_log {
    pthread_mutex_t mutex;
    history_event *events;
    size_t room, used;
    uint32_t process;
};

uint64_t history_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- writing ---- */

/* The file is as long as it may get; what is not written takes no room. */
static history_event *map_new(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *events = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)size) == 0)
        events = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return events == MAP_FAILED ? NULL : events;
}

history_log *history_log_open(const char *path, uint32_t process, size_t room)
{
    history_log *log = calloc(1, sizeof(*log));

    if (log == NULL)
        return NULL;
    log->events = map_new(path, room * sizeof(history_event));
    log->room = room;
    log->process = process;
    if (log->events == NULL || pthread_mutex_init(&log->mutex, NULL) != 0) {
        free(log);
        return NULL;
    }
    return log;
}

void history_log_close(history_log *log)
{
    if (log == NULL)
        return;
    (void)munmap(log->events, log->room * sizeof(history_event));
    (void)pthread_mutex_destroy(&log->mutex);
    free(log);
}

/* The phase comes last: an event that was not written to its end is none. */
static void put(history_log *log, const history_event *event)
{
    history_event *place = &log->events[log->used++];
    history_event whole = *event;

    whole.phase = HISTORY_EMPTY;
    if (event->process == 0 && event->call != HISTORY_FAULT)
        whole.process = log->process;
    whole.sequence = log->used;
    if (whole.at == 0)
        whole.at = history_now();
    *place = whole;
    atomic_thread_fence(memory_order_release);
    *(volatile uint8_t *)&place->phase = event->phase;
}

bool history_log_write(history_log *log, const history_event *event)
{
    bool fits;

    (void)pthread_mutex_lock(&log->mutex);
    fits = log->used < log->room;
    if (fits)
        put(log, event);
    (void)pthread_mutex_unlock(&log->mutex);
    return fits;
}

/* ---- reading ---- */

typedef struct mapping {
    void *pages;
    size_t size;
} mapping;

typedef struct reading {
    const history_event **events;
    size_t used, room;
    mapping *files;
    size_t file_count;
} reading;

static bool take(reading *r, const history_event *event)
{
    if (r->used == r->room) {
        size_t room = r->room == 0 ? 4096 : 2 * r->room;
        const history_event **wider =
            realloc(r->events, room * sizeof(const history_event *));

        if (wider == NULL)
            return false;
        r->events = wider;
        r->room = room;
    }
    r->events[r->used++] = event;
    return true;
}

/* A file stays on the disk as long as it is mapped, removed or not. */
static const history_event *map_old(reading *r, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *events = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0)
        events =
            mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (events == MAP_FAILED)
        return NULL;
    r->files[r->file_count++] = (mapping){events, (size_t)about.st_size};
    return events;
}

/* Up to the first place that was not written: none that comes later was. What
   does not fit into a whole event at its end is left out. */
static bool read_one(reading *r, const char *path)
{
    const history_event *events = map_old(r, path);
    size_t count;

    if (events == NULL)
        return false;
    count = r->files[r->file_count - 1].size / sizeof(history_event);
    for (size_t i = 0; i < count && events[i].phase != HISTORY_EMPTY; i++)
        if (!take(r, &events[i]))
            return false;
    return true;
}

static void end_reading(reading *r)
{
    for (size_t i = 0; i < r->file_count; i++)
        (void)munmap(r->files[i].pages, r->files[i].size);
    free(r->files);
    free(r->events);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
    const history_event *one = *(const history_event *const *)a;
    const history_event *other = *(const history_event *const *)b;
    int order = compare(one->at, other->at);

    if (order == 0)
        order = compare(one->process, other->process);
    return order != 0 ? order : compare(one->sequence, other->sequence);
}

bool history_read(const char *const *paths, size_t count,
                  void (*tell)(const history_event *event, void *data),
                  void *data)
{
    reading r = {.files = calloc(count + 1, sizeof(mapping))};
    bool whole = true;

    if (r.files == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_one(&r, paths[i])) {
            perror(paths[i]);
            whole = false;
        }
    }
    if (r.used > 0)
        qsort(r.events, r.used, sizeof(const history_event *), by_time);
    for (size_t i = 0; i < r.used; i++)
        tell(r.events[i], data);
    end_reading(&r);
    return whole;
}
