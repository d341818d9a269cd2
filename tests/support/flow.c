/* SPDX-License-Identifier: MIT */

#include "support/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    READ_BYTES = 64 * 1024,
    KEPT_BYTES = 1024 * 1024 /* a passing flow reads no further ahead */
};

struct flow_chunk {
    flow_chunk *next;
    uint64_t due;
    size_t size;
    size_t given;
    char bytes[];
};

/* ---- the queue ---- */

static void append(flow *f, const char *bytes, size_t size, uint64_t due)
{
    flow_chunk *chunk = malloc(sizeof(*chunk) + size);

    if (chunk == NULL)
        abort();
    *chunk = (flow_chunk){.due = due, .size = size};
    memcpy(chunk->bytes, bytes, size);
    if (f->last != NULL)
        f->last->next = chunk;
    else
        f->first = chunk;
    f->last = chunk;
    f->queued += size;
}

static void drop_first(flow *f)
{
    flow_chunk *chunk = f->first;

    f->queued -= chunk->size;
    f->first = chunk->next;
    if (f->first == NULL)
        f->last = NULL;
    free(chunk);
}

void flow_clear(flow *f)
{
    while (f->first != NULL)
        drop_first(f);
}

void flow_hasten(flow *f)
{
    for (flow_chunk *chunk = f->first; chunk != NULL; chunk = chunk->next)
        chunk->due = 0;
}

/* ---- from the source ---- */

bool flow_wants_source(const flow *f)
{
    return !f->is_source_done && f->state != FLOW_STALLS &&
           (f->state == FLOW_HOLDS || f->queued < KEPT_BYTES);
}

void flow_take(flow *f, int source, uint64_t now)
{
    char bytes[READ_BYTES];
    ssize_t n;

    if (!flow_wants_source(f))
        return;
    n = recv(source, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        f->is_source_done = true;
        f->end_due = now + f->delay_ms;
        return;
    }
    f->received += (uint64_t)n;
    if (!f->is_target_gone)
        append(f, bytes, (size_t)n, now + f->delay_ms);
}

/* ---- to the target ---- */

/* Gives of the first chunk what the cut allows. False: not now, or cut. */
static bool give_first(flow *f, int target)
{
    flow_chunk *chunk = f->first;
    size_t size = chunk->size - chunk->given;
    ssize_t n;

    if (f->cut_left >= 0 && (uint64_t)f->cut_left < size)
        size = (size_t)f->cut_left;
    if (size == 0)
        return false;
    n = send(target, chunk->bytes + chunk->given, size, MSG_NOSIGNAL);
    if (n < 0) {
        f->is_target_gone = errno != EAGAIN && errno != EINTR;
        return false;
    }
    f->delivered += (uint64_t)n;
    if (f->cut_left > 0)
        f->cut_left -= n;
    chunk->given += (size_t)n;
    if (chunk->given == chunk->size)
        drop_first(f);
    return true;
}

flow_verdict flow_give(flow *f, int target, uint64_t now)
{
    uint64_t before = f->delivered;

    if (f->state == FLOW_SWALLOWS) {
        f->has_lost |= f->first != NULL;
        flow_clear(f);
    }
    if (f->state != FLOW_PASSES)
        return FLOW_GOES_ON;
    while (f->first != NULL && f->first->due <= now)
        if (!give_first(f, target))
            break;
    if (f->cut_left == 0 &&
        (f->delivered > before || (f->first != NULL && f->first->due <= now)))
        return FLOW_CUT;
    if (f->is_target_gone)
        flow_clear(f);
    if (f->is_ended || f->first != NULL || !f->is_source_done ||
        f->end_due > now)
        return FLOW_GOES_ON;
    f->is_ended = true;
    return FLOW_ENDED;
}

uint64_t flow_due(const flow *f)
{
    if (f->state != FLOW_PASSES)
        return UINT64_MAX;
    if (f->first != NULL)
        return f->first->due;
    return f->is_source_done && !f->is_ended ? f->end_due : UINT64_MAX;
}
