/* SPDX-License-Identifier: MIT */

/*
 * The real world: a thread with a libuv loop, one timerfd, semaphores to park
 * on. Other threads reach the loop through one uv_async_t and through the
 * timerfd, which the kernel lets any thread set.
 */

#include "world/world_uv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { NS_PER_S = 1000000000 };

/* The world whose loop runs on this thread. */
static _Thread_local const lk__uv_world *current;

static lk__uv_world *world_of(lk__world *base)
{
    return (lk__uv_world *)base;
}

/* ---- time and randomness ------------------------------------------------ */

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
                             .tv_nsec = (long)(ns % NS_PER_S)};
}

static uint64_t world_now(lk__world *base)
{
    (void)base;
    return clock_now(CLOCK_BOOTTIME);
}

/* For where a filter of system calls refuses getrandom(). */
static bool random_read(void *bytes, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool filled;

    if (fd < 0)
        return false;
    filled = read(fd, bytes, size) == (ssize_t)size;
    (void)close(fd);
    return filled;
}

static bool random_draw(void *bytes, size_t size)
{
    ssize_t got;

    do
        got = getrandom(bytes, size, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)size || random_read(bytes, size);
}

/* Under the mutex. What was handed out is kept nowhere. */
static bool chance_take(lk__uv_world *world, void *bytes, size_t size)
{
    unsigned char *from;

    if (world->chance_left < size) {
        world->chance_left = 0;
        if (!random_draw(world->chance, sizeof(world->chance)))
            return false;
        world->chance_left = sizeof(world->chance);
    }
    world->chance_left -= size;
    from = world->chance + world->chance_left;
    memcpy(bytes, from, size);
    memset(from, 0, size);
    return true;
}

/* Few bytes come out of a store, which costs no system call. Never in a child of
   fork(), which has the same store, and perhaps a mutex that nobody lets go. */
static bool world_random(lk__world *base, void *bytes, size_t size)
{
    lk__uv_world *world = world_of(base);
    bool drawn;

    if (size > LK__UV_CHANCE_BYTES / 4 ||
        world->generation != lk__fork_generation())
        return random_draw(bytes, size);
    (void)pthread_mutex_lock(&world->mutex);
    drawn = chance_take(world, bytes, size);
    (void)pthread_mutex_unlock(&world->mutex);
    return drawn;
}

/* ---- timer and wake ----------------------------------------------------- */

static void world_set_timer(lk__world *base, uint64_t at)
{
    struct itimerspec spec = {0};

    /* All zeros would disarm it. */
    if (at != LK__NEVER)
        spec.it_value = timespec_of(at > 0 ? at : 1);
    (void)timerfd_settime(world_of(base)->timer_fd.fd, TFD_TIMER_ABSTIME, &spec,
                          NULL);
}

static void on_timer(uv_poll_t *handle, int status, int events)
{
    lk__uv_world *world = handle->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    lk__uv_up(world);
    /* Nothing to read: it was set again since, and comes again. */
    if (read(world->timer_fd.fd, &expirations, sizeof(expirations)) > 0)
        world->events->on_timer(world->user);
}

/*
 * A loop that is up looks at woken before it waits, so it need not be told. Each
 * side writes its flag before it reads the other's: one of the two sees.
 */
static void world_wake(lk__world *base)
{
    lk__uv_world *world = world_of(base);
    int error = errno;

    /* In a child the loop is the parent's. */
    if (world->generation != lk__fork_generation())
        return;
    atomic_store(&world->woken, true);
    if (!atomic_load(&world->up))
        (void)uv_async_send(&world->async);
    errno = error;
}

static void wakes_look(lk__uv_world *world)
{
    if (!atomic_load(&world->ending) && atomic_load(&world->woken) &&
        atomic_exchange(&world->woken, false))
        world->events->on_wake(world->user);
}

/* The loop is about to wait. */
static void on_prepare(uv_prepare_t *handle)
{
    lk__uv_world *world = handle->data;

    wakes_look(world);
    lk__uv_links_seal(world);
    atomic_store(&world->up, false);
    if (atomic_load(&world->woken))
        (void)uv_async_send(&world->async);
}

/* ---- the loop thread ---------------------------------------------------- */

/* Closes all that keeps the loop running. */
static void world_close(lk__uv_world *world)
{
    lk__uv_links_free(world);
    lk__uv_lookups_drop(world);
    uv_close((uv_handle_t *)&world->timer, NULL);
    uv_close((uv_handle_t *)&world->prepare, NULL);
    uv_close((uv_handle_t *)&world->tick, NULL);
    uv_close((uv_handle_t *)&world->async, NULL);
    lk__fork_close(&world->timer_fd);
}

static void on_async(uv_async_t *handle)
{
    lk__uv_world *world = handle->data;

    if (atomic_load(&world->ending)) {
        world_close(world);
        return;
    }
    lk__uv_up(world);
    lk__uv_links_work(world);
    lk__uv_lookups_work(world);
}

/* After the loop has ended, or before it was ever started. */
static void world_free(lk__uv_world *world)
{
    int error = uv_loop_close(&world->loop);

    assert(error == 0);
    (void)error;
    (void)pthread_mutex_destroy(&world->mutex);
    lk__free(world);
}

static void *loop_main(void *data)
{
    lk__uv_world *world = data;
    void (*ended)(void *ended_data);

    (void)pthread_setname_np(pthread_self(), "latchkey");
    current = world;
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    current = NULL;
    ended = world->ended;
    data = world->ended_data;
    if (ended == NULL)
        return NULL;
    /* world_stop_later() may not have returned yet. */
    (void)pthread_mutex_lock(&world->mutex);
    (void)pthread_mutex_unlock(&world->mutex);
    world_free(world);
    ended(data);
    return NULL;
}

static int world_start(lk__world *base, const lk__events *events, void *user)
{
    lk__uv_world *world = world_of(base);
    sigset_t all, before;
    int error;

    world->events = events;
    world->user = user;
    /* The thread, and those that libuv starts from it, inherit the mask: the
       program's signal handlers never run on them. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&world->thread, NULL, loop_main, world);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    world->started = error == 0;
    return -error;
}

static bool world_is_loop(const lk__world *base)
{
    return current == (const lk__uv_world *)base;
}

/* Not of a world that a fork has left without its thread. */
static bool world_is_any_loop(const lk__world *base)
{
    return current != NULL &&
           ((const lk__uv_world *)base)->generation == lk__fork_generation();
}

/* Of a world that was never started. */
static void unstarted_end(lk__uv_world *world)
{
    world_close(world);
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    world_free(world);
}

static void world_stop(lk__world *base)
{
    lk__uv_world *world = world_of(base);

    if (world->generation != lk__fork_generation())
        return;
    assert(!world_is_any_loop(base));
    if (!world->started) {
        unstarted_end(world);
        return;
    }
    atomic_store(&world->ending, true);
    (void)uv_async_send(&world->async);
    (void)pthread_join(world->thread, NULL);
    world_free(world);
}

static void
world_stop_later(lk__world *base, void (*ended)(void *data), void *data)
{
    lk__uv_world *world = world_of(base);

    if (!world->started) {
        unstarted_end(world);
        ended(data);
        return;
    }
    world->ended = ended;
    world->ended_data = data;
    (void)pthread_detach(world->thread);
    /* The loop may be awake, see this, and be gone before it is woken. */
    (void)pthread_mutex_lock(&world->mutex);
    atomic_store(&world->ending, true);
    (void)uv_async_send(&world->async);
    (void)pthread_mutex_unlock(&world->mutex);
}

/* ---- parking ------------------------------------------------------------ */

static void world_parking_init(lk__world *base, lk__parking *parking)
{
    (void)base;
    (void)sem_init(&parking->sem, 0, 0);
    atomic_init(&parking->posted, false);
    parking->reads = NULL;
}

/*
 * One sleep. The kernel cannot sleep on CLOCK_BOOTTIME here, and its monotonic
 * clock stands still while the machine is suspended: so it sleeps in slices,
 * and oversleeps a suspension by one at most. Answers as sem_wait().
 */
static int parking_sleep(lk__world *base, lk__parking *parking, uint64_t until)
{
    uint64_t now, left;
    struct timespec limit;

    if (until == LK__NEVER)
        return sem_wait(&parking->sem);
    now = world_now(base);
    left = until > now ? until - now : 0;
    if (left > NS_PER_S)
        left = NS_PER_S;
    limit = timespec_of(clock_now(CLOCK_MONOTONIC) + left);
    return sem_clockwait(&parking->sem, CLOCK_MONOTONIC, &limit);
}

static bool world_park(lk__world *base, lk__parking *parking, uint64_t until)
{
    while (parking_sleep(base, parking, until) != 0)
        if (errno == ETIMEDOUT && world_now(base) >= until)
            return sem_trywait(&parking->sem) == 0;
    /* What the one who unparked wrote before is seen from here on. The
       semaphore says so too, but not to every race detector. */
    return atomic_load(&parking->posted);
}

/* The post is the last touch: the sleeper's stack may be gone right after. One
   that reads is there until it has entered the monitor, where the caller is. */
static void world_unpark(lk__world *base, lk__parking *parking)
{
    lk__link *link = parking->reads;

    (void)base;
    atomic_store(&parking->posted, true);
    if (link != NULL)
        lk__uv_loan_wake(link);
    else
        (void)sem_post(&parking->sem);
}

/* ---- making one --------------------------------------------------------- */

static const lk__world_class uv_class = {
    .now = world_now,
    .random = world_random,
    .start = world_start,
    .stop = world_stop,
    .stop_later = world_stop_later,
    .is_loop = world_is_loop,
    .is_any_loop = world_is_any_loop,
    .set_timer = world_set_timer,
    .wake = world_wake,
    .link_open = lk__uv_link_open,
    .link_send = lk__uv_link_send,
    .link_close = lk__uv_link_close,
    .link_words = lk__uv_link_words,
    .link_lend = lk__uv_link_lend,
    .link_want = lk__uv_link_want,
    .link_borrow = lk__uv_link_borrow,
    .link_await = lk__uv_link_await,
    .link_read = lk__uv_link_read,
    .link_return = lk__uv_link_return,
    .parking_init = world_parking_init,
    .park = world_park,
    .unpark = world_unpark,
};

static void handle_close(uv_handle_t *handle, void *data)
{
    (void)data;
    uv_close(handle, NULL);
}

/*
 * libuv ends the process if it lacks descriptors for its first loop, or if the
 * kernel has no room to watch one. So all that a loop needs, and something more,
 * is had here once and given back. 0 or a negative errno.
 */
static int loop_probe(void)
{
    enum { NEEDED = 10 };
    struct epoll_event readable = {.events = EPOLLIN};
    int fds[NEEDED], count = 0, error = 0;

    while (count < NEEDED && error == 0) {
        fds[count] =
            count == 0 ? epoll_create1(EPOLL_CLOEXEC) : eventfd(0, EFD_CLOEXEC);
        if (fds[count] < 0)
            error = -errno;
        else if (count++ > 0 && epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[count - 1],
                                          &readable) != 0)
            error = -errno;
    }
    while (count > 0)
        (void)close(fds[--count]);
    return error;
}

/* Puts the handles into the loop; on failure the loop is closed again. */
static int loop_open(lk__uv_world *world)
{
    int error = loop_probe();

    if (error == 0)
        error = uv_loop_init(&world->loop);
    if (error != 0)
        return error;
    error = uv_async_init(&world->loop, &world->async, on_async);
    if (error == 0)
        error = uv_poll_init(&world->loop, &world->timer, world->timer_fd.fd);
    if (error == 0)
        error = uv_poll_start(&world->timer, UV_READABLE, on_timer);
    if (error == 0) {
        (void)uv_prepare_init(&world->loop, &world->prepare);
        (void)uv_prepare_start(&world->prepare, on_prepare);
        (void)uv_timer_init(&world->loop, &world->tick);
        return 0;
    }
    uv_walk(&world->loop, handle_close, NULL);
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&world->loop);
    return error;
}

lk__world *lk__world_uv_new(void)
{
    lk__uv_world *world = lk__alloc(sizeof(*world));

    if (world == NULL)
        return NULL;
    world->base.class = &uv_class;
    world->generation = lk__fork_generation();
    world->last_work = &world->first_work;
    if (lk__fork_timer(&world->timer_fd) != 0)
        goto fail;
    if (loop_open(world) != 0)
        goto fail;
    world->async.data = world;
    world->timer.data = world;
    world->prepare.data = world;
    world->tick.data = world;
    (void)pthread_mutex_init(&world->mutex, NULL);
    return &world->base;

fail:
    lk__fork_close(&world->timer_fd);
    lk__free(world);
    return NULL;
}

void lk__world_error(int error, char *words, size_t size)
{
    uv_strerror_r(error, words, size);
}
