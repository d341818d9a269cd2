/* SPDX-License-Identifier: MIT */

/* A server's machine. */

#include "world/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world/random.h"

/* Noon of a day in 2026; what it is, is of no importance. */
#define SIM_WALL_NS UINT64_C(1790000000000000000)

static sim_host *host_of(sim_peer *peer)
{
    return (sim_host *)peer;
}

static uint64_t wall_us(void *data)
{
    const sim_host *host = data;

    return sim_clock_at(&host->clock, host->peer.schedule->now) / 1000;
}

static void on_tick(sim_event *event)
{
    sim_host *host =
        (sim_host *)(void *)((char *)event - offsetof(sim_host, tick));

    if (!sim_peer_runs(&host->peer, event))
        return;
    sim_server_tick(host->server);
    sim_host_touched(host);
}

void sim_host_touched(sim_host *host)
{
    uint64_t due = sim_server_due(host->server);

    sim_event_set(host->peer.schedule, &host->tick,
                  due == UINT64_MAX ? SIM_NEVER
                                    : sim_clock_when(&host->clock, due * 1000));
}

void sim_host_stop(sim_host *host, uint64_t ns)
{
    uint64_t to = host->peer.schedule->now + ns;

    if (host->peer.stopped_to < to)
        host->peer.stopped_to = to;
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

    overhear(host_of(link->peer), bytes, size);
    sim_link_reply(link, bytes, size);
}

static void on_end(void *data)
{
    sim_link_end(data);
}

static int host_open(sim_peer *peer, lk__link *link)
{
    static const sim_ears ears = {on_send, on_end};

    if (host_of(peer)->down)
        return -ECONNREFUSED;
    link->session = sim_session_new(host_of(peer)->server, &ears, link);
    return 0;
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

/* CLIENT KILL ID is for what was the sender's own connection. What the process
   before was asked is not done by the one that has the host now. */
static void see_kill(const lk__link *link, size_t count,
                     const char *const *argv, const size_t *sizes)
{
    sim_host *host = host_of(link->peer);
    const lk__link *other;

    if (sim_session_has_ended(link->session) || count < 4 || sizes[0] != 6 ||
        memcmp(argv[0], "CLIENT", 6) != 0 || sizes[2] != 2 ||
        memcmp(argv[2], "ID", 2) != 0)
        return;
    other = sim_server_ear(host->server, strtoull(argv[3], NULL, 10));
    host->killed_other |= other != NULL && other->process != link->process;
}

static void
command_run(void *data, int argc, const char **argv, const size_t *sizes)
{
    lk__link *link = data;

    see_kill(link, (size_t)argc, argv, sizes);
    sim_session_command(link->session, argc, argv, sizes);
}

static void
host_read(sim_peer *peer, lk__link *link, const char *bytes, size_t size)
{
    sim_inlet_read(&link->inlet, bytes, size, command_run, link);
    sim_host_touched(host_of(peer));
}

static void host_close(sim_peer *peer, lk__link *link)
{
    (void)peer;
    sim_session_free(link->session);
}

static const sim_peer_class host_class = {host_open, host_read, host_close};

/* ---- life ------------------------------------------------------------------- */

void sim_host_init(sim_host *host, sim_schedule *schedule, sim_engine *engine,
                   unsigned number, uint64_t seed)
{
    memset(host, 0, sizeof(*host));
    host->peer = (sim_peer){&host_class, schedule, number, 0};
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
