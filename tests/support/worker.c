/* SPDX-License-Identifier: MIT */
#include "support/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/wait.h"

/* The whole mapping; tests see the second part. */
typedef struct page {
    _Atomic bool is_started;
    worker_shared shared;
} page;

struct workers {
    page *page;
    unsigned n;
    pid_t pids[WORKER_MAX];
    int exits[WORKER_MAX]; /* as workers_exit() */
    bool are_stopped[WORKER_MAX];
};

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/* ---- start ---- */

/*
 * The end of a child of a test: no atexit() runs, which is the parent's. So
 * the sanitizer has to be asked for what leaked here. Valgrind looks by itself.
 */
_Noreturn void worker_leave(int status)
{
#if defined(__SANITIZE_ADDRESS__)
    if (__lsan_do_recoverable_leak_check() != 0)
        status = WORKER_LEAKED;
#endif
    _exit(status);
}

static void
child_run(workers *w, pid_t parent, worker_function function, void *data)
{
    page *pg = w->page;
    unsigned index = w->n;

    free(w); /* nobody here would do it later */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    /* A failed assertion must not jump into the copy of the parent's test. */
    (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    while (!atomic_load(&pg->is_started))
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    worker_leave(function(&pg->shared, index, data));
}

static bool fork_one(workers *w, worker_function function, void *data)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0)
        child_run(w, parent, function, data);
    if (pid < 0)
        return false;
    w->pids[w->n] = pid;
    w->exits[w->n] = WORKER_RUNS;
    w->n++;
    return true;
}

workers *workers_start(unsigned n, worker_function function, void *data)
{
    workers *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->page = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n > WORKER_MAX)
        errno = EINVAL;
    if (n > WORKER_MAX || w->page == MAP_FAILED)
        goto fail;
    (void)
        wait_lease_ms(); /* the same for the workers as for who started them */
    while (w->n < n)
        if (!fork_one(w, function, data))
            goto fail;
    atomic_store(&w->page->is_started, true);
    return w;

fail:
    workers_free(w);
    return NULL;
}

/* ---- ends ---- */

/* Takes in an end that waitpid() told of; stops and the like are none. */
static void note_end(workers *w, unsigned index, int status)
{
    if (WIFEXITED(status))
        w->exits[index] = WEXITSTATUS(status);
    else if (WIFSIGNALED(status))
        w->exits[index] = -WTERMSIG(status);
}

int workers_exit(workers *w, unsigned index)
{
    int status = 0;

    if (w->exits[index] == WORKER_RUNS &&
        waitpid(w->pids[index], &status, WNOHANG) > 0)
        note_end(w, index, status);
    return w->exits[index];
}

/* Waits for the stop or the end; a second stop is never reported. */
static void stop(workers *w, unsigned index)
{
    int status = 0;

    if (w->are_stopped[index])
        return;
    (void)kill(w->pids[index], SIGSTOP);
    if (waitpid(w->pids[index], &status, WUNTRACED) < 0)
        return;
    w->are_stopped[index] = WIFSTOPPED(status);
    note_end(w, index, status);
}

void workers_kill(workers *w, unsigned index, int signal)
{
    int status = 0;

    if (workers_exit(w, index) != WORKER_RUNS)
        return;
    if (signal == SIGSTOP) {
        stop(w, index);
        return;
    }
    (void)kill(w->pids[index], signal);
    if (signal == SIGCONT)
        w->are_stopped[index] = false;
    if (signal == SIGKILL && waitpid(w->pids[index], &status, 0) > 0)
        note_end(w, index, status);
}

static bool have_all_ended(void *data)
{
    workers *w = data;

    for (unsigned i = 0; i < w->n; i++)
        if (workers_exit(w, i) == WORKER_RUNS)
            return false;
    return true;
}

bool workers_wait(workers *w, unsigned deadline_ms)
{
    return wait_until(have_all_ended, w, deadline_ms);
}

unsigned workers_succeeded(workers *w)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w->n; i++)
        n += workers_exit(w, i) == 0 ? 1U : 0U;
    return n;
}

void workers_end(workers *w)
{
    atomic_store(&w->page->shared.is_over, true);
}

void workers_free(workers *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < w->n; i++)
        workers_kill(w, i, SIGKILL);
    if (w->page != MAP_FAILED)
        (void)munmap(w->page, sizeof(*w->page));
    free(w);
}

/* ---- what they share ---- */

worker_shared *workers_shared(workers *w)
{
    return &w->page->shared;
}

pid_t workers_pid(const workers *w, unsigned index)
{
    return w->pids[index];
}

uint64_t workers_count(workers *w, unsigned counter)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < w->n; i++)
        n += atomic_load(&w->page->shared.counters[i][counter]);
    return n;
}
