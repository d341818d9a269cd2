/* SPDX-License-Identifier: MIT */

#include "inspect/silent.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/reply.h"

/* As docs/protocol.md has them: a ticket counts 16 us, and is what a score is
   beyond its band. */
enum { SILENT_MS = 13000 };

#define BAND (UINT64_C(1) << 48)

static bool is_heard(uint64_t at_ms, uint64_t begun_ms)
{
    return at_ms + SILENT_MS >= begun_ms;
}

static bool is_young(const char *score, uint64_t begun_ms)
{
    const uint64_t ticket = strtoull(score, NULL, 10) % BAND;

    return is_heard(ticket * 16 / 1000, begun_ms);
}

/* How much of a member is its client: all before the number of the claim. */
static size_t client_size(const char *member)
{
    size_t size = strcspn(member, " ");

    while (size > 0 && member[size - 1] != ':')
        size--;
    return size > 0 ? size - 1 : 0;
}

static bool is_suspect(const redisReply *rows, size_t i, uint64_t begun_ms)
{
    return !is_young(lk__reply_text_at(rows, i + 1), begun_ms);
}

bool lk__suspects_find(lk__suspects *suspects, const redisReply *rows,
                       uint64_t begun_ms)
{
    size_t count = 0, size = 0;
    char *text;

    if (begun_ms == 0)
        return true;
    for (size_t i = 0; i + 1 < rows->elements; i += 2) {
        if (is_suspect(rows, i, begun_ms)) {
            count++;
            size += client_size(lk__reply_text_at(rows, i)) + 1;
        }
    }
    if (count == 0)
        return true;
    suspects->marks = lk__alloc((count + 1) * sizeof(const char *) + size);
    if (suspects->marks == NULL)
        return false;
    text = (char *)(void *)(suspects->marks + count + 1);
    suspects->marks[suspects->count++] = "gap";
    for (size_t i = 0; i + 1 < rows->elements; i += 2) {
        const char *member = lk__reply_text_at(rows, i);

        if (!is_suspect(rows, i, begun_ms))
            continue;
        size = client_size(member);
        memcpy(text, member, size);
        text[size] = '\0';
        suspects->marks[suspects->count++] = text;
        text += size + 1;
    }
    return true;
}

/* A mark's score is minus its time; 0 where there is none. */
static uint64_t time_of(const redisReply *scores, size_t i)
{
    const char *score = lk__reply_text_at(scores, i);

    return score[0] == '-' ? strtoull(score + 1, NULL, 10) : 0;
}

size_t lk__suspects_judge(const redisReply *scores, uint64_t begun_ms)
{
    size_t silent = 0;

    if (scores->type != REDIS_REPLY_ARRAY || scores->elements == 0 ||
        is_heard(time_of(scores, 0), begun_ms))
        return 0;
    for (size_t i = 1; i < scores->elements; i++)
        silent += !is_heard(time_of(scores, i), begun_ms);
    return silent;
}

void lk__suspects_free(lk__suspects *suspects)
{
    lk__free(suspects->marks);
    suspects->marks = NULL;
    suspects->count = 0;
}
