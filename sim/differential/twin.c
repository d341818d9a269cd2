/* SPDX-License-Identifier: MIT */

#include "differential/twin.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "differential/data.h"
#include "differential/line.h"
#include "differential/resp.h"
#include "server/inside.h"
#include "support/scratch.h"
#include "support/server.h"

enum { TOLD = 3000 };

struct twin {
    scratch *home;
    _Atomic uint64_t *clock; /* and behind it the real one's random source */
    server *real;
    sim_server *model;
    line lines[LINES];
    unsigned current;    /* the line that is asked */
    sim_buffer requests; /* collected, as bytes */
    sim_buffer past;     /* what was asked before */
    uint64_t asked;
    sim_map errors; /* by their first words; how many is the score */
    bool differs;
    void (*see)(void *data, sim_str reply);
    void *see_data;
};

static uint64_t model_now(void *data)
{
    const twin *t = data;

    return atomic_load(t->clock);
}

/* Asks both; by chance they find the same. */
static void ask(twin *t, line *l, sim_str requests)
{
    atomic_store(&t->clock[1], t->model->random);
    line_ask(l, requests);
}

/* ---- differences -------------------------------------------------------- */

static void
tell(twin *t, const char *what, sim_str asked, sim_str real, sim_str model)
{
    sim_buffer text = {0};
    sim_str past = sim_buffer_str(&t->past);

    t->differs = true;
    sim_buffer_print(&text, "\n%s\nasked before: ", what);
    if (t->past.size > TOLD)
        past = (sim_str){past.bytes + past.size - TOLD, TOLD};
    sim_quote(&text, past);
    sim_buffer_print(&text, "\nclock: %llu\nasked: ",
                     (unsigned long long)twin_now_us(t));
    sim_quote(&text, asked);
    sim_buffer_print(&text, "\nreal:  ");
    sim_quote(&text, real);
    sim_buffer_print(&text, "\nmodel: ");
    sim_quote(&text, model);
    fprintf(stderr, "%.*s\n", (int)text.size, text.bytes);
    sim_buffer_done(&text);
}

bool twin_differs(const twin *t)
{
    return t->differs;
}

static void note_error(twin *t, sim_str reply)
{
    sim_str word = {reply.bytes, strcspn(reply.bytes, " \r")};
    sim_entry *entry = sim_map_find(&t->errors, word);

    if (entry == NULL) {
        entry = sim_map_add(&t->errors, word);
        entry->score = 0;
    }
    entry->score++;
}

/* Compares one reply each; both are taken off the line. */
static void compare_one(twin *t, line *l, sim_str request)
{
    sim_str real, model;

    if (!line_reply(l, &real, &model)) {
        tell(t, "the real server does not answer", request, real, model);
        return;
    }
    if (model.size == 0 || !resp_is_same(request, real, model)) {
        tell(t, "different answers", request, real, model);
        return;
    }
    if (model.bytes[0] == '-')
        note_error(t, model);
    if (t->see != NULL)
        t->see(t->see_data, model);
    line_drop(l, real, model);
}

/* Replies to all that stands in requests, one after another. */
static void compare_replies(twin *t, line *l, sim_str requests)
{
    while (requests.size > 0 && !t->differs) {
        size_t size = resp_size(requests);

        compare_one(t, l, (sim_str){requests.bytes, size});
        requests = (sim_str){requests.bytes + size, requests.size - size};
    }
}

/* ---- data --------------------------------------------------------------- */

/* The first lines that differ. */
static void tell_data(twin *t, sim_str real, sim_str model)
{
    size_t same = 0;

    while (same < real.size && same < model.size &&
           real.bytes[same] == model.bytes[same])
        same++;
    while (same > 0 && real.bytes[same - 1] != '\n')
        same--;
    real = (sim_str){real.bytes + same, real.size - same};
    model = (sim_str){model.bytes + same, model.size - same};
    real.size = strcspn(real.bytes, "\n");
    model.size = strcspn(model.bytes, "\n");
    tell(t, "different data", sim_str_of(""), real, model);
}

static void compare_data(twin *t)
{
    char *model;
    sim_buffer real = {0};

    data_dump(t->real, &real);
    *sim_buffer_more(&real, 1) = '\0';
    real.size--;
    model = sim_server_dump(t->model);
    if (!sim_str_equal(sim_str_of(model), sim_buffer_str(&real)))
        tell_data(t, sim_buffer_str(&real), sim_str_of(model));
    free(model);
    sim_buffer_done(&real);
}

/* ---- both --------------------------------------------------------------- */

/* What a line heard that was asked nothing; a PING shows where it ends. */
static void compare_heard(twin *t, line *l)
{
    static const char ping[] = "*2\r\n$4\r\nPING\r\n$3\r\nend\r\n";
    const sim_str request = {ping, sizeof(ping) - 1};

    if (line_is_blocked(l))
        return;
    line_ask(l, request);
    if (!line_hears_same(l))
        tell(t, "a line heard something different", request,
             sim_buffer_str(&l->heard), sim_buffer_str(&l->expected));
    line_forget(l);
}

static void remember(twin *t)
{
    if (t->past.size > 100000) {
        memmove(t->past.bytes, t->past.bytes + 50000, t->past.size - 50000);
        t->past.size -= 50000;
    }
    sim_buffer_print(&t->past, "\n@%llu #%u ",
                     (unsigned long long)twin_now_us(t), t->current);
    sim_buffer_add(&t->past, sim_buffer_str(&t->requests));
}

void twin_run(twin *t)
{
    line *l = &t->lines[t->current];
    sim_str requests = sim_buffer_str(&t->requests);

    if (requests.size == 0 || t->differs)
        return;
    ask(t, l, requests);
    compare_replies(t, l, requests);
    for (unsigned i = 0; i < LINES && !t->differs; i++) {
        if (&t->lines[i] != l)
            compare_heard(t, &t->lines[i]);
    }
    if (t->differs)
        compare_data(t); /* it may show what has led there */
    remember(t);
    t->requests.size = 0;
}

void twin_ask(twin *t, unsigned number, int argc, const sim_str *argv)
{
    if (number != t->current || t->requests.size > 100000)
        twin_run(t);
    t->current = number;
    resp_write(&t->requests, argc, argv);
    t->asked++;
}

void twin_say(twin *t, unsigned number, const char *words)
{
    enum { MOST = 32 };
    sim_str args[MOST];
    int count = 0;

    for (words += strspn(words, " "); *words != '\0' && count < MOST;
         words += strspn(words, " ")) {
        args[count] = (sim_str){words, strcspn(words, " ")};
        words += args[count++].size;
    }
    twin_ask(t, number, count, args);
}

/* ---- blocks ------------------------------------------------------------- */

bool twin_is_blocked(const twin *t, unsigned number)
{
    return line_is_blocked(&t->lines[number]);
}

/* Waits until the real server has blocked as many as the model. */
static void await_blocks(twin *t)
{
    char expected[64];
    char *info;
    bool is_there = false;

    snprintf(expected, sizeof(expected), "blocked_clients:%u\r",
             t->model->blocked_count);
    for (unsigned tries = 0; !is_there && tries < 10000; tries++) {
        info = server_string(t->real, "INFO clients");
        is_there = strstr(info, expected) != NULL;
        free(info);
    }
    if (!is_there)
        tell(t, "other lines are blocked", sim_str_of(""), sim_str_of(""),
             sim_str_of(expected));
}

void twin_block(twin *t, unsigned number, int argc, const sim_str *argv)
{
    line *l = &t->lines[number];

    twin_run(t);
    if (t->differs)
        return;
    resp_write(&t->requests, argc, argv);
    t->asked++;
    t->current = number;
    ask(t, l, sim_buffer_str(&t->requests));
    remember(t);
    if (twin_is_blocked(t, number))
        await_blocks(t);
    else
        compare_replies(t, l, sim_buffer_str(&t->requests));
    t->requests.size = 0;
}

void twin_unblock(twin *t, unsigned number, const char *how)
{
    line *l = &t->lines[number];
    char command[64];
    long long found;

    twin_run(t);
    if (t->differs)
        return;
    found = server_integer(t->real, "CLIENT UNBLOCK %lld %s", l->id, how);
    snprintf(command, sizeof(command), "CLIENT UNBLOCK %llu %s",
             (unsigned long long)sim_session_id(l->session), how);
    if (strtoll(sim_server_admin(t->model, command) + 1, NULL, 10) != found)
        tell(t, "unblocked or not", sim_str_of(command), sim_str_of(""),
             sim_str_of(""));
    compare_heard(t, l);
}

/* ---- connections -------------------------------------------------------- */

void twin_kill(twin *t, unsigned number)
{
    line *l = &t->lines[number];
    char command[64];

    twin_run(t);
    if (t->differs)
        return;
    server_integer(t->real, "CLIENT KILL ID %lld", l->id);
    snprintf(command, sizeof(command), "CLIENT KILL ID %llu",
             (unsigned long long)sim_session_id(l->session));
    sim_server_admin(t->model, command);
    if (!sim_session_has_ended(l->session))
        tell(t, "not killed", sim_str_of(command), sim_str_of(""),
             sim_str_of(""));
    line_close(l);
    line_open(l, t->model, t->real);
}

/* Another connection for each that the model has ended; the real server's side
   of it has to be closed as well. */
static void reopen_ended(twin *t)
{
    for (unsigned i = 0; i < LINES; i++) {
        line *l = &t->lines[i];

        if (!sim_session_has_ended(l->session))
            continue;
        if (!line_is_closed(l))
            tell(t, "the real server keeps a connection", sim_str_of(""),
                 sim_buffer_str(&l->heard), sim_str_of(""));
        line_close(l);
        line_open(l, t->model, t->real);
    }
}

void twin_set_replica(twin *t, bool is_replica)
{
    twin_run(t);
    if (t->differs || t->model->is_replica == is_replica)
        return;
    freeReplyObject(server_command(t->real, is_replica ? "REPLICAOF 127.0.0.1 1"
                                                       : "REPLICAOF NO ONE"));
    sim_server_set_replica(t->model, is_replica);
    reopen_ended(t);
}

void twin_remove_user(twin *t, const char *name)
{
    char command[64];
    long long removed;

    twin_run(t);
    if (t->differs)
        return;
    snprintf(command, sizeof(command), "ACL DELUSER %s", name);
    removed = server_integer(t->real, command);
    if (strtoll(sim_server_admin(t->model, command) + 1, NULL, 10) != removed)
        tell(t, "removed or not", sim_str_of(command), sim_str_of(""),
             sim_str_of(""));
    reopen_ended(t);
}

/* ---- life --------------------------------------------------------------- */

static void clock_open(twin *t, char *path, size_t size)
{
    int fd;

    snprintf(path, size, "%s/clock", scratch_path(t->home));
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 2 * sizeof(*t->clock)) != 0)
        sim_fail("no file for the clock");
    t->clock = mmap(NULL, 2 * sizeof(*t->clock), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);
    close(fd);
    if (t->clock == MAP_FAILED)
        sim_fail("no memory for the clock");
    atomic_store(t->clock, UINT64_C(1700000000000000));
}

static server *real_start(const char *clock)
{
    static const char *const debug[] = {"--enable-debug-command", "yes", NULL};
    server *real;

    setenv("LK_SIM_CLOCK", clock, 1);
    setenv("LD_PRELOAD", SIM_WALLCLOCK, 1);
    real = server_start(debug);
    unsetenv("LD_PRELOAD");
    if (real != NULL)
        freeReplyObject(server_command(real, "DEBUG SET-ACTIVE-EXPIRE 0"));
    return real;
}

twin *twin_new(sim_engine *engine, uint64_t seed)
{
    twin *t = sim_alloc(sizeof(*t));
    char clock[256];

    t->home = scratch_new();
    clock_open(t, clock, sizeof(clock));
    t->real = real_start(clock);
    if (t->real == NULL)
        sim_fail("the real server does not start");
    t->model = sim_server_new(engine, seed, model_now, t);
    for (unsigned i = 0; i < LINES; i++)
        line_open(&t->lines[i], t->model, t->real);
    twin_say(t, 0, "CONFIG SET hash-max-listpack-entries 1000000");
    twin_say(t, 0, "CONFIG SET hash-max-listpack-value 1000000");
    twin_run(t);
    return t;
}

void twin_free(twin *t)
{
    for (unsigned i = 0; i < LINES; i++) {
        line_close(&t->lines[i]);
        line_done(&t->lines[i]);
    }
    sim_server_free(t->model);
    server_stop(t->real);
    munmap(t->clock, 2 * sizeof(*t->clock));
    scratch_free(t->home);
    sim_buffer_done(&t->requests);
    sim_buffer_done(&t->past);
    sim_map_clear(&t->errors, NULL);
    free(t);
}

bool twin_is_modelled(const twin *t)
{
    static const char modelled[] = "7.0.", field[] = "redis_version:";
    char *text = server_string(t->real, "INFO server");
    const char *version = strstr(text, field);
    bool is_modelled;

    version = version != NULL ? version + strlen(field) : "";
    is_modelled = strncmp(version, modelled, strlen(modelled)) == 0;
    if (!is_modelled)
        printf("not run: the simulated server is a model of Redis 7.0, and "
               "this is %.*s\n",
               (int)strcspn(version, "\r\n"), version);
    free(text);
    return is_modelled;
}

uint64_t twin_asked(const twin *t)
{
    return t->asked;
}

void twin_tell_errors(const twin *t)
{
    for (const sim_entry *at = t->errors.first; at != NULL; at = at->next)
        printf(" %.0f %.*s", at->score, (int)at->size, at->key);
    printf("\n");
}

uint64_t twin_now_us(const twin *t)
{
    return atomic_load(t->clock);
}

void twin_set_clock(twin *t, uint64_t us)
{
    twin_run(t);
    atomic_store(t->clock, us);
}

void twin_watch(twin *t, void (*see)(void *data, sim_str reply), void *data)
{
    t->see = see;
    t->see_data = data;
}

void twin_compare_data(twin *t)
{
    twin_run(t);
    if (!t->differs)
        compare_data(t);
}
