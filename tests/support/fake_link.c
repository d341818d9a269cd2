/* SPDX-License-Identifier: MIT */

/*
 * The streams of the fake world. Bytes on their way are events. Each direction
 * keeps its order: nothing arrives before what was sent before it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_inside.h"

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* ---- to the core -------------------------------------------------------- */

/* Tells whether the core may still hear of the link. */
static bool link_listens(const fake_link *link)
{
    return link->world->events != NULL && !link->closed &&
           link->state != FAKE_LINK_DEAD;
}

static void tell_open(fake_link *link, int error)
{
    fake_world *world = link->world;

    link->state = error == 0 ? FAKE_LINK_OPEN : FAKE_LINK_DEAD;
    link->is_deaf = error != 0;
    world->in_event = true;
    world->events->on_open(world->user, link->tag, link, error);
    world->in_event = false;
}

static void tell_end(fake_link *link, int error)
{
    fake_world *world = link->world;

    if (link->state == FAKE_LINK_OPENING) {
        tell_open(link, error != 0 ? error : -ECONNRESET);
        return;
    }
    link->state = FAKE_LINK_DEAD;
    world->in_event = true;
    world->events->on_end(world->user, link->tag, link, error);
    world->in_event = false;
}

/* ---- to the server ------------------------------------------------------ */

static void open_arrives(fake_link *link)
{
    const fake_world *world = link->world;
    int error = 0;

    if (!link_listens(link))
        return;
    if (world->server->on_connect != NULL)
        error = world->server->on_connect(world->data, link);
    link->is_accepted = error == 0;
    if (error != FAKE_SILENT)
        tell_open(link, error);
}

static void command_run(fake_link *link, const redisReply *command)
{
    const fake_world *world = link->world;
    const char **argv = fake_alloc(command->elements * sizeof(*argv));
    size_t *sizes = fake_alloc(command->elements * sizeof(*sizes));
    size_t i;

    for (i = 0; i < command->elements; i++) {
        if (command->element[i]->type != REDIS_REPLY_STRING)
            fake_fail(world, "an argument is no bulk string");
        argv[i] = command->element[i]->str;
        sizes[i] = (size_t)command->element[i]->len;
    }
    world->server->on_command(world->data, link, (int)command->elements, argv,
                              sizes);
    free(argv);
    free(sizes);
}

static void request_arrives(fake_link *link, const char *bytes, size_t size)
{
    fake_world *world = link->world;
    redisReply *command;
    void *reply = NULL;

    link->under_way -= size;
    if (link->blocked && link->state == FAKE_LINK_OPEN) {
        link->blocked = false;
        (void)fake_event_add(world, FAKE_WRITABLE, world->now, link, NULL, 0);
    }
    if (redisReaderFeed(link->reader, bytes, size) != REDIS_OK)
        fake_fail(world, link->reader->errstr);
    while (!link->is_deaf) {
        if (redisReaderGetReply(link->reader, &reply) != REDIS_OK)
            fake_fail(world, link->reader->errstr);
        if (reply == NULL)
            return;
        command = reply;
        if (command->type != REDIS_REPLY_ARRAY || command->elements == 0)
            fake_fail(world, "a command is no array");
        command_run(link, command);
        freeReplyObject(reply);
    }
}

static void close_arrives(fake_link *link)
{
    const fake_world *world = link->world;

    if (link->is_deaf)
        return;
    link->is_deaf = true;
    if (link->is_accepted && world->server->on_close != NULL)
        world->server->on_close(world->data, link);
}

void fake_link_event(fake_world *world, const fake_event *event)
{
    fake_link *link = event->link;

    switch (event->kind) {
    case FAKE_OPEN:
        open_arrives(link);
        break;
    case FAKE_REQUEST:
        if (!link->is_deaf)
            request_arrives(link, event->bytes, event->size);
        break;
    case FAKE_CLOSE:
        close_arrives(link);
        break;
    case FAKE_DATA:
        if (!link_listens(link))
            break;
        world->in_event = true;
        world->events->on_data(world->user, link->tag, link, event->bytes,
                               event->size);
        world->in_event = false;
        break;
    case FAKE_WRITABLE:
        if (!link_listens(link))
            break;
        world->in_event = true;
        world->events->on_writable(world->user, link->tag, link);
        world->in_event = false;
        break;
    case FAKE_END:
        if (link_listens(link))
            tell_end(link, event->error);
        break;
    case FAKE_CALL:
    case FAKE_WAKE:
        break;
    }
}

/* ---- the core's side ---------------------------------------------------- */

static char *text_copy(const char *text)
{
    size_t size;

    if (text == NULL)
        return NULL;
    size = strlen(text) + 1;
    return memcpy(fake_alloc(size), text, size);
}

lk__link *fake_link_open(lk__world *base, const lk__address *address, void *tag)
{
    fake_world *world = (fake_world *)base;
    fake_link *link = fake_alloc(sizeof(*link));

    link->world = world;
    link->number = world->link_count++;
    link->address.path = text_copy(address->path);
    link->address.host = text_copy(address->host);
    link->address.port = address->port;
    link->tag = tag;
    link->reader = redisReaderCreate();
    if (link->reader == NULL)
        fake_fail(world, "out of memory");
    *world->last_link = link;
    world->last_link = &link->next;
    link->request_at =
        world->now + world->settings.connect_ns + fake_jitter(world);
    (void)fake_event_add(world, FAKE_OPEN, link->request_at, link, NULL, 0);
    return link;
}

/* When something sent now arrives at the server. */
static uint64_t request_time(fake_link *link)
{
    fake_world *world = link->world;
    uint64_t at = world->now + world->settings.request_ns + fake_jitter(world);

    link->request_at = later(link->request_at, at);
    return link->request_at;
}

ssize_t fake_link_send(lk__link *link, const void *bytes, size_t size)
{
    fake_world *world = link->world;
    size_t limit = world->settings.send_limit;
    size_t room = size;

    if (link->closed)
        fake_fail(world, "a send on a link that was closed");
    if (link->state != FAKE_LINK_OPEN)
        return -EPIPE;
    if (limit > 0)
        room = limit > link->under_way ? limit - link->under_way : 0;
    if (room < size)
        link->blocked = true;
    else
        room = size;
    link->under_way += room;
    if (room > 0)
        (void)fake_event_add(world, FAKE_REQUEST, request_time(link), link,
                             bytes, room);
    return (ssize_t)room;
}

void fake_link_close(lk__link *link)
{
    if (link->closed)
        fake_fail(link->world, "a link was closed twice");
    link->closed = true;
    link->state = FAKE_LINK_DEAD;
    (void)fake_event_add(link->world, FAKE_CLOSE, request_time(link), link,
                         NULL, 0);
}

void fake_links_stop(fake_world *world)
{
    fake_link *link;

    for (link = world->links; link != NULL; link = link->next)
        if (!link->closed)
            fake_link_close(link);
}

void fake_links_free(fake_world *world)
{
    fake_link *link, *next;

    for (link = world->links; link != NULL; link = next) {
        next = link->next;
        redisReaderFree(link->reader);
        /* The strings are the link's own copies. */
        free((void *)(uintptr_t)link->address.path);
        free((void *)(uintptr_t)link->address.host);
        free(link);
    }
    world->links = NULL;
}

/* ---- the server's side -------------------------------------------------- */

unsigned fake_link_number(const fake_link *link)
{
    return link->number;
}

const lk__address *fake_link_address(const fake_link *link)
{
    return &link->address;
}

fake_link *fake_world_link(fake_world *world, unsigned number)
{
    fake_link *link = world->links;

    while (link != NULL && link->number != number)
        link = link->next;
    return link;
}

size_t fake_world_link_count(const fake_world *world)
{
    const fake_link *link;
    size_t count = 0;

    for (link = world->links; link != NULL; link = link->next)
        count += !link->closed;
    return count;
}

/* When something sent ns from now arrives at the client. */
static uint64_t reply_time(fake_link *link, uint64_t ns)
{
    fake_world *world = link->world;
    uint64_t way = world->settings.reply_ns + fake_jitter(world);

    link->reply_at = later(link->reply_at, world->now + ns + way);
    return link->reply_at;
}

static void
reply_add(fake_link *link, uint64_t ns, const char *bytes, size_t size)
{
    fake_world *world = link->world;
    size_t piece, limit = world->settings.piece_limit;
    uint64_t at;

    if (link->state == FAKE_LINK_DEAD)
        return;
    at = reply_time(link, ns);
    while (size > 0) {
        piece = limit > 0 ? 1 + (size_t)fake_world_random(world, limit) : size;
        if (piece > size)
            piece = size;
        (void)fake_event_add(world, FAKE_DATA, at, link, bytes, piece);
        bytes += piece;
        size -= piece;
    }
}

void fake_reply(fake_link *link, const char *bytes, size_t size)
{
    reply_add(link, 0, bytes, size);
}

void fake_say(fake_link *link, const char *text)
{
    reply_add(link, 0, text, strlen(text));
}

void fake_say_in(fake_link *link, uint64_t ns, const char *text)
{
    reply_add(link, ns, text, strlen(text));
}

void fake_end(fake_link *link)
{
    link->is_deaf = true;
    (void)fake_event_add(link->world, FAKE_END, reply_time(link, 0), link, NULL,
                         0);
}

/* Takes what is to come for the link out of the queue, as a list in order. */
static fake_event *events_take(fake_link *link)
{
    fake_event **at = &link->world->first, *taken = NULL, **end = &taken;

    while (*at != NULL) {
        if ((*at)->link != link) {
            at = &(*at)->next;
            continue;
        }
        *end = *at;
        *at = (*at)->next;
        end = &(*end)->next;
        *end = NULL;
    }
    return taken;
}

void fake_break(fake_link *link, int error)
{
    fake_event *event = events_take(link), *next;

    for (; event != NULL; event = next) {
        next = event->next;
        free(event);
    }
    link->is_deaf = true;
    if (link->state == FAKE_LINK_DEAD)
        return;
    event =
        fake_event_add(link->world, FAKE_END, link->world->now, link, NULL, 0);
    event->error = error;
}

void fake_stall(fake_link *link, uint64_t until)
{
    fake_event *event = events_take(link), *next;

    for (; event != NULL; event = next) {
        next = event->next;
        event->at = later(event->at, until);
        fake_event_insert(link->world, event);
    }
    link->request_at = later(link->request_at, until);
    link->reply_at = later(link->reply_at, until);
}
