/* SPDX-License-Identifier: MIT */

/* What is published over HTTP, and who reads it. */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/http/mhd.h"

/* ---- what is published ------------------------------------------------------- */

void cli_body_drop(cli_body *b)
{
    if (b == NULL || --b->refs > 0)
        return;
    free(b->text);
    free(b);
}

void cli_streams_wake(cli_http *http)
{
    for (cli_stream *s = http->streams; s != NULL; s = s->next) {
        if (s->is_suspended)
            cli_mhd.resume_connection(s->connection);
        s->is_suspended = false;
    }
}

bool cli_http_publish(cli_http *http, char *text, size_t size)
{
    cli_body *made = malloc(sizeof(*made));

    if (made == NULL) {
        free(text);
        return false;
    }
    *made = (cli_body){.refs = 1, .size = size, .text = text};
    (void)pthread_mutex_lock(&http->lock);
    cli_body_drop(http->current);
    http->current = made;
    http->number++;
    cli_streams_wake(http);
    (void)pthread_mutex_unlock(&http->lock);
    return true;
}

/* ---- who is slow, or gone ------------------------------------------------------ */

/*
 * At each tick a reader that has nothing to read is told so, by a comment: at the
 * second one the system knows whether it is gone. So whoever is late or gone keeps
 * no place for more than CLI_HTTP_LATE_S and a tick.
 */
enum { TICK_S = 2 };

void cli_mhd_on_connection(void *data, struct MHD_Connection *connection,
                           void **context,
                           enum MHD_ConnectionNotificationCode what)
{
    cli_http *http = data;
    const union MHD_ConnectionInfo *info =
        cli_mhd.get_connection_info(connection,
                                    MHD_CONNECTION_INFO_CONNECTION_FD);

    (void)context;
    (void)pthread_mutex_lock(&http->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        cli_guests_enter(&http->guests, connection, info->connect_fd);
    else
        cli_guests_leave(&http->guests, connection);
    (void)pthread_mutex_unlock(&http->lock);
}

void cli_mhd_begins(cli_http *http, struct MHD_Connection *connection)
{
    (void)pthread_mutex_lock(&http->lock);
    cli_guests_begin(&http->guests, connection);
    (void)pthread_mutex_unlock(&http->lock);
}

void cli_mhd_on_completed(void *data, struct MHD_Connection *connection,
                          void **request, enum MHD_RequestTerminationCode how)
{
    (void)request;
    (void)how;
    cli_mhd_begins(data, connection);
}

static void *watch(void *data)
{
    cli_http *http = data;
    struct timespec at;

    (void)pthread_mutex_lock(&http->lock);
    while (!http->is_closed) {
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec += TICK_S;
        (void)pthread_cond_timedwait(&http->closing, &http->lock, &at);
        cli_guests_cut(&http->guests);
        for (cli_stream *s = http->streams; s != NULL; s = s->next)
            s->is_to_tell = s->is_suspended;
        cli_streams_wake(http);
    }
    (void)pthread_mutex_unlock(&http->lock);
    return NULL;
}

bool cli_streams_watch(cli_http *http)
{
    http->is_watched = pthread_create(&http->watch, NULL, watch, http) == 0;
    return http->is_watched;
}

/* ---- streams ------------------------------------------------------------------- */

/* Takes up what is newest. False: it was sent. */
static bool stream_next(cli_stream *s)
{
    cli_http *http = s->http;

    if (s->sends != NULL && s->at < s->sends->size)
        return true;
    cli_body_drop(s->sends);
    s->sends = NULL;
    s->at = 0;
    if (http->current == NULL || s->seen == http->number)
        return false;
    s->sends = http->current;
    s->sends->refs++;
    s->seen = http->number;
    cli_guests_begin(&http->guests, s->connection);
    return true;
}

ssize_t cli_stream_read(void *data, uint64_t at, char *to, size_t room)
{
    static const char comment[] = ":\n\n";
    cli_stream *s = data;
    ssize_t size = 0;

    (void)at;
    (void)pthread_mutex_lock(&s->http->lock);
    if (s->http->is_closed) {
        size = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (stream_next(s)) {
        size_t left = s->sends->size - s->at;

        size = (ssize_t)(left < room ? left : room);
        memcpy(to, s->sends->text + s->at, (size_t)size);
        s->at += (size_t)size;
    } else if (s->is_to_tell) {
        s->is_to_tell = false;
        size = sizeof(comment) - 1;
        memcpy(to, comment, (size_t)size);
    } else {
        cli_guests_rest(&s->http->guests, s->connection);
        s->is_suspended = true;
        cli_mhd.suspend_connection(s->connection);
    }
    (void)pthread_mutex_unlock(&s->http->lock);
    return size;
}

void cli_stream_free(void *data)
{
    cli_stream *s = data;
    cli_http *http = s->http;
    cli_stream **at = &http->streams;

    (void)pthread_mutex_lock(&http->lock);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    http->stream_count--;
    cli_body_drop(s->sends);
    (void)pthread_mutex_unlock(&http->lock);
    free(s);
}

cli_stream *cli_stream_make(cli_http *http, struct MHD_Connection *connection)
{
    cli_stream *s = NULL;

    (void)pthread_mutex_lock(&http->lock);
    if (http->stream_count < CLI_HTTP_STREAMS)
        s = malloc(sizeof(*s));
    if (s != NULL) {
        *s = (cli_stream){.http = http,
                          .connection = connection,
                          .next = http->streams};
        http->streams = s;
        http->stream_count++;
    }
    (void)pthread_mutex_unlock(&http->lock);
    return s;
}
