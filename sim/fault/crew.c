/* SPDX-License-Identifier: MIT */
#include "fault/crew.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check.h"
#include "support/wait.h"

enum { PATH = 512, URL = 300, FINISH_MS = 180000 /* scaled */ };

/* ---- standing still, and hearing nothing --------------------------------------- */

static void tell_stop(crew *c, unsigned i, history_phase phase)
{
    const history_event event = {.process = PLAY_HARNESS + 1 + i,
                                 .phase = (uint8_t)phase,
                                 .call = HISTORY_FAULT,
                                 .count = CHECKER_DEADLINES,
                                 .name = "process stopped"};

    if (!history_log_write(c->log, &event))
        abort();
}

void crew_stand_still(crew *c)
{
    int status;

    (void)atomic_fetch_add(&c->shared->stops, 1);
    for (unsigned i = 0; i < CREW_STILL; i++) {
        tell_stop(c, i, HISTORY_INVOKE);
        (void)kill(c->pids[i], SIGSTOP);
        (void)waitpid(c->pids[i], &status, WUNTRACED);
    }
}

void crew_go_on(crew *c)
{
    (void)atomic_fetch_add(&c->shared->stops, 1);
    for (unsigned i = 0; i < CREW_STILL; i++) {
        (void)kill(c->pids[i], SIGCONT);
        tell_stop(c, i, HISTORY_OK);
    }
}

void crew_deafen(crew *c)
{
    for (size_t i = 0; i < SENTINELS; i++) {
        proxy_hold(c->roads[i], PROXY_ALL, PROXY_REPLIES);
        proxy_refuse(c->roads[i], true);
    }
}

void crew_heal(crew *c)
{
    for (size_t i = 0; i < SENTINELS; i++)
        proxy_heal(c->roads[i]);
}

/* ---- processes ----------------------------------------------------------------- */

static bool is_deaf(unsigned i)
{
    return i >= CREW_STILL && i < CREW_STILL + CREW_DEAF;
}

static void
write_url(const crew *c, unsigned i, const char *more, char url[URL])
{
    if (c->group != NULL && is_deaf(i))
        (void)snprintf(url, URL,
                       "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u,"
                       "127.0.0.1:%u/m%s",
                       proxy_port(c->roads[0]), proxy_port(c->roads[1]),
                       proxy_port(c->roads[2]), more);
    else
        (void)snprintf(url, URL, "%s%s", c->url, more);
}

static _Noreturn void
become(const crew *c, unsigned i, const char *more, pid_t parent)
{
    char process[16], seed[16], url[URL];
    const char *arguments[] = {"fault",
                               "--worker",
                               process,
                               seed,
                               c->directory,
                               url,
                               server_url(c->nodes[0]),
                               server_url(c->nodes[1]),
                               server_url(c->nodes[2]),
                               NULL};

    write_url(c, i, more, url);
    (void)snprintf(process, sizeof(process), "%u", PLAY_HARNESS + 1 + i);
    (void)snprintf(seed, sizeof(seed), "%u", i);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
    _exit(127);
}

bool crew_hire(crew *c, const char *more)
{
    pid_t parent = getpid();

    for (unsigned i = 0; i < CREW; i++) {
        c->pids[i] = fork();
        if (c->pids[i] == 0)
            become(c, i, more, parent);
        if (c->pids[i] < 0)
            return false;
    }
    return true;
}

static bool have_all_ended(void *data)
{
    crew *c = data;
    bool all = true;

    for (unsigned i = 0; i < CREW; i++) {
        int status = 0;

        if (c->pids[i] == 0)
            continue;
        if (waitpid(c->pids[i], &status, WNOHANG) != c->pids[i]) {
            all = false;
            continue;
        }
        c->pids[i] = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("a process has ended with %#x\n", (unsigned)status);
            c->broken++;
        }
    }
    return all;
}

void crew_finish(crew *c)
{
    atomic_store(&c->shared->ends, true);
    if (wait_until(have_all_ended, c, FINISH_MS))
        return;
    for (unsigned i = 0; i < CREW; i++) {
        if (c->pids[i] == 0)
            continue;
        printf("a process does not come to its end\n");
        c->broken++;
        (void)kill(c->pids[i], SIGKILL);
        (void)waitpid(c->pids[i], NULL, 0);
    }
}

/* ---- the whole ------------------------------------------------------------------- */

static bool open_group(crew *c, const sentinels_options *options)
{
    c->group = sentinels_start_with(options);
    if (c->group == NULL)
        return false;
    (void)snprintf(c->url, sizeof(c->url), "%s", c->group->url);
    for (size_t i = 0; i < SENTINELS; i++) {
        c->roads[i] = proxy_start_tcp(server_socket(c->group->sentinels[i]));
        if (c->roads[i] == NULL)
            return false;
    }
    return true;
}

static bool open_common(crew *c)
{
    char path[PATH];

    (void)snprintf(path, sizeof(path), "%s/shared", c->directory);
    c->shared = play_shared_map(path, true);
    (void)snprintf(path, sizeof(path), "%s/%d.history", c->directory,
                   PLAY_HARNESS);
    c->log = history_log_open(path, PLAY_HARNESS, PLAY_EVENTS);
    for (size_t i = 0; i < PLAY_REDLOCK; i++) {
        c->nodes[i] = server_start(NULL);
        if (c->nodes[i] == NULL)
            return false;
    }
    return c->shared != NULL && c->log != NULL &&
           play_pulse_start(c->log, c->shared, 0);
}

bool crew_open(crew *c, const sentinels_options *options)
{
    return open_common(c) && open_group(c, options);
}

/* A bus of TLS cannot be cut. */
static cluster *open_ring(void)
{
    return getenv("LK_TEST_TLS") != NULL ? cluster_start(3, 1)
                                         : cluster_start_apart(3, 1);
}

bool crew_open_ring(crew *c)
{
    c->ring = open_common(c) ? open_ring() : NULL;
    if (c->ring == NULL)
        return false;
    cluster_url(c->ring, c->url, sizeof(c->url));
    return true;
}

void crew_close(crew *c)
{
    for (size_t i = 0; i < SENTINELS; i++)
        proxy_stop(c->roads[i]);
    for (size_t i = 0; i < PLAY_REDLOCK; i++)
        server_stop(c->nodes[i]);
    sentinels_stop(c->group);
    cluster_stop(c->ring);
}
