/* SPDX-License-Identifier: MIT */

/* The mode that contends: threads that ask, hold, give back, and write down
   when. The witness is a second judge, without clocks. */

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

enum { THREADS_MAX = 64, NS_PER_S = 1000000000, NS_PER_US = 1000 };

typedef struct settings {
    const char *kinds, *name, *log, *witness;
    long threads, hold_us, pause_us, seconds, permits, wait_ms, lease_ms;
} settings;

typedef struct runner {
    const settings *how;
    const servers *from;
    FILE *log;
    uint64_t end;
    atomic_ulong grants, violations, refused;
} runner;

typedef struct thread {
    runner *all;
    unsigned index;
    unsigned seed;
    char kind[16];
    pthread_t id;
} thread;

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void sleep_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * NS_PER_US};

    if (us > 0)
        (void)nanosleep(&t, NULL);
}

/* ---- the witness ------------------------------------------------------------ */

typedef enum share { EXCLUSIVE, SHARED, PERMIT } share;

static share share_of(const char *kind)
{
    if (strcmp(kind, "read") == 0)
        return SHARED;
    return strcmp(kind, "semaphore") == 0 || strcmp(kind, "permits") == 0
               ? PERMIT
               : EXCLUSIVE;
}

/* How many of the witness's files begin with this letter. */
static long files_with(const char *witness, char letter)
{
    DIR *dir = opendir(witness);
    const struct dirent *entry;
    long count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] == letter;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

/* Returns whether nobody is inside who must not be. */
static bool witness_enter(const thread *t, char *path, size_t size)
{
    const settings *how = t->all->how;
    share s = share_of(t->kind);
    int fd;

    if (s == EXCLUSIVE)
        (void)snprintf(path, size, "%s/w", how->witness);
    else
        (void)snprintf(path, size, "%s/%c.%d.%u", how->witness,
                       s == SHARED ? 'r' : 'p', (int)getpid(), t->index);
    fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0600);
    if (fd < 0)
        return false;
    (void)close(fd);
    if (s == EXCLUSIVE)
        return files_with(how->witness, 'r') == 0;
    if (s == SHARED)
        return files_with(how->witness, 'w') == 0;
    return files_with(how->witness, 'p') <= how->permits;
}

/* ---- one turn ----------------------------------------------------------------- */

static lk_status give_back(grip *g, lk_hold *hold)
{
    return hold != NULL ? lk_hold_release(hold) : grip_give(g, "1");
}

static void turn(thread *t, grip *g)
{
    const settings *how = t->all->how;
    char path[512];
    lk_hold *hold = NULL;
    uint64_t asked = now_ns();
    uint64_t got, gave, fence;

    if (grip_acquire(g, how->wait_ms, (uint64_t)how->lease_ms, &hold) !=
        LK_OK) {
        t->all->refused++;
        return;
    }
    got = now_ns();
    if (!witness_enter(t, path, sizeof(path)))
        t->all->violations++;
    fence = hold != NULL ? lk_hold_fence(hold) : 0;
    sleep_us(how->hold_us);
    (void)unlink(path);
    gave = now_ns();
    if (give_back(g, hold) != LK_OK)
        t->all->refused++;
    t->all->grants++;
    (void)fprintf(t->all->log, "%s %llu %llu %llu %llu %u\n",
                  share_of(t->kind) == EXCLUSIVE ? "exclusive" : "shared",
                  (unsigned long long)asked, (unsigned long long)got,
                  (unsigned long long)gave, (unsigned long long)fence,
                  t->index);
}

static void *thread_run(void *data)
{
    thread *t = data;
    const settings *how = t->all->how;
    grip *g = grip_new(t->all->from, t->kind, how->name);

    while (g != NULL && now_ns() < t->all->end) {
        turn(t, g);
        if (how->pause_us > 0)
            sleep_us((long)rand_r(&t->seed) % how->pause_us);
    }
    grip_free(g);
    return NULL;
}

/* ---- settings ------------------------------------------------------------------ */

static const char *text_of(char **words, const char *key, const char *otherwise)
{
    size_t size = strlen(key);

    for (; *words != NULL; words++)
        if (strncmp(*words, key, size) == 0 && (*words)[size] == '=')
            return *words + size + 1;
    return otherwise;
}

static long setting(char **words, const char *key, long otherwise)
{
    return (long)number_of(text_of(words, key, NULL), otherwise);
}

static settings settings_of(char **words)
{
    return (settings){.kinds = text_of(words, "kind", "lock"),
                      .name = text_of(words, "name", "interop"),
                      .log = text_of(words, "log", "/dev/null"),
                      .witness = text_of(words, "witness", "/tmp"),
                      .threads = setting(words, "threads", 1),
                      .hold_us = setting(words, "hold_us", 0),
                      .pause_us = setting(words, "pause_us", 0),
                      .seconds = setting(words, "seconds", 5),
                      .permits = setting(words, "permits", 1),
                      .wait_ms = setting(words, "wait_ms", -1),
                      .lease_ms = setting(words, "lease_ms", 0)};
}

/* The kind of a thread: the next of a list with commas, round and round. */
static void kind_of(const char *kinds, unsigned index, char *kind, size_t size)
{
    unsigned count = 1;
    size_t length;

    for (const char *at = kinds; *at != '\0'; at++)
        count += *at == ',';
    for (index %= count; index > 0; index--)
        kinds = strchr(kinds, ',') + 1;
    length = strcspn(kinds, ",");
    (void)snprintf(kind, size, "%.*s", (int)length, kinds);
}

/* Runs the threads until their time is over. */
static bool threads_run(runner *all)
{
    static thread threads[THREADS_MAX];
    const settings *how = all->how;
    unsigned count = 0;

    all->end = now_ns() + (uint64_t)how->seconds * NS_PER_S;
    for (; count < (unsigned)how->threads; count++) {
        thread *t = &threads[count];

        *t = (thread){.all = all, .index = count, .seed = count};
        kind_of(how->kinds, count, t->kind, sizeof(t->kind));
        if (pthread_create(&t->id, NULL, thread_run, t) != 0)
            break;
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i].id, NULL);
    return count == (unsigned)how->threads;
}

int loop_run(const servers *from, char **words)
{
    settings how = settings_of(words);
    runner all = {.how = &how, .from = from};
    char line[16];
    bool done;

    if (how.threads < 1 || how.threads > THREADS_MAX ||
        fgets(line, sizeof(line), stdin) == NULL)
        return 2;
    all.log = fopen(how.log, "we");
    if (all.log == NULL)
        return 2;
    done = threads_run(&all);
    if (fclose(all.log) != 0 || !done)
        return 2;
    printf("done %lu %lu %lu\n", all.grants, all.violations, all.refused);
    return 0;
}
