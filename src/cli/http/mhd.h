/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_HTTP_MHD_H
#define LK_CLI_HTTP_MHD_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>

#include "cli/http/guests.h"
#include "cli/http/http.h"

/*
 * The HTTP server over libmicrohttpd, from inside: mhd.c begins, takes requests and
 * ends, mhd_streams.c has what is published and who reads it, mhd_answers.c answers.
 */

/* ---- the library ---- */

#define CLI_MHD_CALLS(X)                                                       \
    X(add_response_header)                                                     \
    X(create_response_from_buffer)                                             \
    X(create_response_from_callback)                                           \
    X(destroy_response)                                                        \
    X(get_connection_info)                                                     \
    X(lookup_connection_value)                                                 \
    X(queue_response)                                                          \
    X(resume_connection)                                                       \
    X(start_daemon)                                                            \
    X(stop_daemon)                                                             \
    X(suspend_connection)

typedef struct cli_mhd_calls {
#define X(call) __typeof__ (&MHD_##call)(call);
    CLI_MHD_CALLS(X)
#undef X
} cli_mhd_calls;

/* Filled once, before there is a second thread that looks at it. */
extern cli_mhd_calls cli_mhd;

/* ---- the server ---- */

/* Each reader that is in the middle of one keeps it. */
typedef struct cli_body {
    size_t refs, size;
    char *text;
} cli_body;

typedef struct cli_stream {
    cli_http *http;
    struct MHD_Connection *connection;
    cli_body *sends; /* NULL: nothing */
    size_t at;
    uint64_t seen; /* number of what it sends, or has sent */
    bool is_suspended;
    bool is_to_tell; /* that nothing is new */
    struct cli_stream *next;
} cli_stream;

struct cli_http {
    struct MHD_Daemon *daemon;
    const cli_http_page *pages;
    bool is_local;
    char address[64]; /* on which it listens, as a Host header has it */
    unsigned short port;
    pthread_mutex_t lock; /* of all below, and of all bodies and streams */
    cli_body *current;    /* NULL: nothing was published yet */
    uint64_t number;      /* of current */
    cli_stream *streams;
    size_t stream_count;
    cli_guests guests;
    bool is_closed;
    bool is_watched;
    pthread_t watch;
    pthread_cond_t closing;
};

/* ---- readers, mhd_streams.c ---- */

/* Inside the lock. */
void cli_body_drop(cli_body *b);
void cli_streams_wake(cli_http *http);

/* Starts the thread that cuts who is late, and wakes who has nothing to read. */
bool cli_streams_watch(cli_http *http);

/* NULL: there are too many, or no memory. */
cli_stream *cli_stream_make(cli_http *http, struct MHD_Connection *connection);
/* For create_response_from_callback(): called only when there is room for more to be
   sent; and at its end. */
ssize_t cli_stream_read(void *data, uint64_t at, char *to, size_t room);
void cli_stream_free(void *data);

/* The connection is to be answered; or another head may come. */
void cli_mhd_begins(cli_http *http, struct MHD_Connection *connection);
/* What the library tells of connections and requests; data is the server. */
void cli_mhd_on_connection(void *data, struct MHD_Connection *connection,
                           void **context,
                           enum MHD_ConnectionNotificationCode what);
void cli_mhd_on_completed(void *data, struct MHD_Connection *connection,
                          void **request, enum MHD_RequestTerminationCode how);

/* ---- answers, mhd_answers.c ---- */

enum MHD_Result cli_answer_words(struct MHD_Connection *connection,
                                 unsigned status, const char *words);
enum MHD_Result cli_answer_text(cli_http *http,
                                struct MHD_Connection *connection,
                                const cli_http_page *page);
enum MHD_Result cli_answer_events(cli_http *http,
                                  struct MHD_Connection *connection,
                                  const cli_http_page *page);
enum MHD_Result
cli_answer_page(struct MHD_Connection *connection, const cli_http_page *page);

#endif /* LK_CLI_HTTP_MHD_H */
