/* SPDX-License-Identifier: MIT */

/* A server's machine: takes commands out of bytes. */

#include "world/host.h"

#include <stdlib.h>
#include <string.h>

#include "world/random.h"

/* Noon of a day in 2026; what it is, is of no importance. */
#define SIM_WALL_NS UINT64_C(1790000000000000000)

enum { ARGS_MOST = 512 };

static uint64_t wall_us(void *data)
{
    const sim_host *host = data;

    return sim_clock_at(&host->clock, host->schedule->now) / 1000;
}

static void on_tick(sim_event *event)
{
    sim_host *host =
        (sim_host *)(void *)((char *)event - offsetof(sim_host, tick));

    if (!sim_host_runs(host, event))
        return;
    sim_server_tick(host->server);
    sim_host_touched(host);
}

void sim_host_touched(sim_host *host)
{
    uint64_t due = sim_server_due(host->server);

    sim_event_set(host->schedule, &host->tick,
                  due == UINT64_MAX ? SIM_NEVER
                                    : sim_clock_when(&host->clock, due * 1000));
}

void sim_host_init(sim_host *host, sim_schedule *schedule, sim_engine *engine,
                   unsigned number, uint64_t seed)
{
    memset(host, 0, sizeof(*host));
    host->schedule = schedule;
    host->number = number;
    (void)snprintf(host->name, sizeof(host->name), "h%u", number % 10);
    host->clock.base = SIM_WALL_NS;
    host->tick.happen = on_tick;
    host->server = sim_server_new(engine, sim_random_for(seed, 100 + number),
                                  wall_us, host);
}

void sim_host_done(sim_host *host)
{
    if (host->stranger != NULL)
        sim_session_free(host->stranger);
    sim_server_free(host->server);
}

sim_host *sim_host_find(sim_host *const *hosts, const char *name)
{
    return hosts[name[1] - '0'];
}

void sim_host_stop(sim_host *host, uint64_t ns)
{
    uint64_t to = host->schedule->now + ns;

    if (host->stopped_to < to)
        host->stopped_to = to;
}

/* ---- sessions --------------------------------------------------------------- */

/* "$<size>\r\n<text>\r\n" at *at; what does not fit is not taken. */
static bool take_text(const char **at, const char *end, char *text, size_t room)
{
    char *digits_end;
    size_t size;

    if (*at >= end || **at != '$')
        return false;
    size = strtoul(*at + 1, &digits_end, 10);
    if (size >= room || (size_t)(end - digits_end) < size + 4)
        return false;
    memcpy(text, digits_end + 2, size);
    text[size] = '\0';
    *at = digits_end + 2 + size + 2;
    return true;
}

/* Keeps a message that is on its way, for those who say it again. */
static void overhear(sim_host *host, const char *bytes, size_t size)
{
    static const char head[] = "*3\r\n$7\r\nmessage\r\n";
    const char *at = bytes + sizeof(head) - 1, *end = bytes + size;
    sim_message message;

    if (host->deaf || size < sizeof(head) ||
        memcmp(bytes, head, sizeof(head) - 1) != 0)
        return;
    if (take_text(&at, end, message.channel, sizeof(message.channel)) &&
        take_text(&at, end, message.text, sizeof(message.text)))
        host->heard[host->heard_count++ % SIM_HEARD] = message;
}

static void on_send(void *data, const char *bytes, size_t size)
{
    lk__link *link = data;

    overhear(link->host, bytes, size);
    sim_link_reply(link, bytes, size);
}

static void on_end(void *data)
{
    sim_link_end(data);
}

bool sim_host_runs(const sim_host *host, sim_event *event)
{
    if (host->stopped_to <= host->schedule->now)
        return true;
    sim_event_set(host->schedule, event, host->stopped_to);
    return false;
}

sim_session *sim_host_open(sim_host *host, lk__link *link)
{
    static const sim_ears ears = {on_send, on_end};

    return sim_session_new(host->server, &ears, link);
}

static void on_stranger_send(void *data, const char *bytes, size_t size)
{
    (void)data;
    (void)bytes;
    (void)size;
}

static void on_stranger_end(void *data)
{
    (void)data;
}

void sim_host_publish(sim_host *host, const char *channel, const char *text)
{
    static const sim_ears ears = {on_stranger_send, on_stranger_end};
    const char *argv[] = {"PUBLISH", channel, text};
    size_t sizes[] = {7, strlen(channel), strlen(text)};

    if (host->stranger != NULL && sim_session_has_ended(host->stranger)) {
        sim_session_free(host->stranger);
        host->stranger = NULL;
    }
    if (host->stranger == NULL)
        host->stranger = sim_session_new(host->server, &ears, NULL);
    sim_session_command(host->stranger, 3, argv, sizes);
}

/* ---- commands --------------------------------------------------------------- */

/* "<mark><number>\r\n" at *at; false: it is not complete. */
static bool
take_number(const char **at, const char *end, char mark, size_t *ret_number)
{
    const char *digit = *at + 1;
    size_t number = 0;

    if (*at < end && **at != mark)
        sim_wrong("the client sends what is no command");
    while (digit < end && *digit >= '0' && *digit <= '9')
        number = number * 10 + (size_t)(*digit++ - '0');
    if (end - digit < 2)
        return false;
    *at = digit + 2;
    *ret_number = number;
    return true;
}

/* CLIENT KILL ID is for what was the sender's own connection. What the process
   before was asked is not done by the one that has the host now. */
static void see_kill(const lk__link *link, size_t count,
                     const char *const *argv, const size_t *sizes)
{
    const lk__link *other;

    if (sim_session_has_ended(link->session) || count < 4 || sizes[0] != 6 ||
        memcmp(argv[0], "CLIENT", 6) != 0 || sizes[2] != 2 ||
        memcmp(argv[2], "ID", 2) != 0)
        return;
    other = sim_server_ear(link->host->server, strtoull(argv[3], NULL, 10));
    link->host->killed_other |=
        other != NULL && other->process != link->process;
}

/* Runs the command at the begin of the bytes and returns its size; 0: it is not
   complete. */
static size_t command_run(lk__link *link, const char *bytes, size_t size)
{
    const char *argv[ARGS_MOST], *at = bytes, *end = bytes + size;
    size_t sizes[ARGS_MOST], count, i;

    if (!take_number(&at, end, '*', &count))
        return 0;
    if (count == 0 || count > ARGS_MOST)
        sim_wrong("a command of %zu arguments", count);
    for (i = 0; i < count; i++) {
        if (!take_number(&at, end, '$', &sizes[i]) ||
            (size_t)(end - at) < sizes[i] + 2)
            return 0;
        argv[i] = at;
        at += sizes[i] + 2;
    }
    see_kill(link, count, argv, sizes);
    sim_session_command(link->session, (int)count, argv, sizes);
    return (size_t)(at - bytes);
}

static void inlet_grow(sim_inlet *inlet, size_t size)
{
    if (size <= inlet->room)
        return;
    inlet->room = 2 * size;
    inlet->bytes = sim_resize(inlet->bytes, inlet->room);
}

void sim_host_read(lk__link *link, const char *bytes, size_t size)
{
    sim_inlet *inlet = &link->inlet;
    size_t done;

    if (inlet->size > 0) {
        inlet_grow(inlet, inlet->size + size);
        memcpy(inlet->bytes + inlet->size, bytes, size);
        bytes = inlet->bytes;
        size += inlet->size;
    }
    while (size > 0 && (done = command_run(link, bytes, size)) > 0) {
        bytes += done;
        size -= done;
    }
    sim_host_touched(link->host);
    inlet_grow(inlet, size);
    if (size > 0)
        memmove(inlet->bytes, bytes, size); /* the rest of it comes later */
    inlet->size = size;
}
