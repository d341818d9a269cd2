/* SPDX-License-Identifier: MIT */

/*
 * The HTTP server over libmicrohttpd. The library is loaded when it is needed:
 * linked in, it and what it needs would make every run of the tool slower.
 */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/http/guests.h"
#include "cli/http/http.h"

/* ---- the library ------------------------------------------------------------ */

#define CALLS(X)                                                               \
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

/* Filled once, before there is a second thread that looks at it. */
static struct {
#define X(call) __typeof__ (&MHD_##call)(call);
    CALLS(X)
#undef X
} mhd;

static bool call_find(void *library, const char *name, void *at)
{
    void *found = dlsym(library, name);

    memcpy(at, &found, sizeof(found));
    return found != NULL;
}

static bool library_load(void)
{
    void *library = dlopen(LK_MICROHTTPD, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return false;
#define X(call)                                                                \
    if (!call_find(library, "MHD_" #call, &mhd.call))                          \
        return false;
    CALLS(X)
#undef X
    return true;
}

/* ---- what is published ------------------------------------------------------- */

/* Each reader that is in the middle of one keeps it. */
typedef struct body {
    size_t refs, size;
    char *text;
} body;

typedef struct stream {
    cli_http *http;
    struct MHD_Connection *connection;
    body *sends; /* NULL: nothing */
    size_t at;
    uint64_t seen; /* number of what it sends, or has sent */
    bool is_suspended;
    bool is_to_tell; /* that nothing is new */
    struct stream *next;
} stream;

struct cli_http {
    struct MHD_Daemon *daemon;
    const cli_http_page *pages;
    bool is_local;
    char address[64]; /* on which it listens, as a Host header has it */
    unsigned short port;
    pthread_mutex_t lock; /* of all below, and of all bodies and streams */
    body *current;        /* NULL: nothing was published yet */
    uint64_t number;      /* of current */
    stream *streams;
    size_t stream_count;
    cli_guests guests;
    bool is_closed;
    bool is_watched;
    pthread_t watch;
    pthread_cond_t closing;
};

static void body_drop(body *b)
{
    if (b == NULL || --b->refs > 0)
        return;
    free(b->text);
    free(b);
}

static void streams_wake(cli_http *http)
{
    for (stream *s = http->streams; s != NULL; s = s->next) {
        if (s->is_suspended)
            mhd.resume_connection(s->connection);
        s->is_suspended = false;
    }
}

bool cli_http_publish(cli_http *http, char *text, size_t size)
{
    body *made = malloc(sizeof(*made));

    if (made == NULL) {
        free(text);
        return false;
    }
    *made = (body){.refs = 1, .size = size, .text = text};
    (void)pthread_mutex_lock(&http->lock);
    body_drop(http->current);
    http->current = made;
    http->number++;
    streams_wake(http);
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

static void on_connection(void *data, struct MHD_Connection *connection,
                          void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    cli_http *http = data;
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    (void)context;
    (void)pthread_mutex_lock(&http->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        cli_guests_enter(&http->guests, connection, info->connect_fd);
    else
        cli_guests_leave(&http->guests, connection);
    (void)pthread_mutex_unlock(&http->lock);
}

/* It is to be answered; or another head may come. */
static void guest_begins(cli_http *http, struct MHD_Connection *connection)
{
    (void)pthread_mutex_lock(&http->lock);
    cli_guests_begin(&http->guests, connection);
    (void)pthread_mutex_unlock(&http->lock);
}

static void on_completed(void *data, struct MHD_Connection *connection,
                         void **request, enum MHD_RequestTerminationCode how)
{
    (void)request;
    (void)how;
    guest_begins(data, connection);
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
        for (stream *s = http->streams; s != NULL; s = s->next)
            s->is_to_tell = s->is_suspended;
        streams_wake(http);
    }
    (void)pthread_mutex_unlock(&http->lock);
    return NULL;
}

static bool watch_start(cli_http *http)
{
    http->is_watched = pthread_create(&http->watch, NULL, watch, http) == 0;
    return http->is_watched;
}

/* ---- streams ------------------------------------------------------------------- */

/* Takes up what is newest. False: it was sent. */
static bool stream_next(stream *s)
{
    cli_http *http = s->http;

    if (s->sends != NULL && s->at < s->sends->size)
        return true;
    body_drop(s->sends);
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

/* Called only when there is room for more to be sent. */
static ssize_t stream_read(void *data, uint64_t at, char *to, size_t room)
{
    static const char comment[] = ":\n\n";
    stream *s = data;
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
        mhd.suspend_connection(s->connection);
    }
    (void)pthread_mutex_unlock(&s->http->lock);
    return size;
}

static void stream_free(void *data)
{
    stream *s = data;
    cli_http *http = s->http;
    stream **at = &http->streams;

    (void)pthread_mutex_lock(&http->lock);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    http->stream_count--;
    body_drop(s->sends);
    (void)pthread_mutex_unlock(&http->lock);
    free(s);
}

/* NULL: there are too many, or no memory. */
static stream *stream_make(cli_http *http, struct MHD_Connection *connection)
{
    stream *s = NULL;

    (void)pthread_mutex_lock(&http->lock);
    if (http->stream_count < CLI_HTTP_STREAMS)
        s = malloc(sizeof(*s));
    if (s != NULL) {
        *s = (stream){.http = http,
                      .connection = connection,
                      .next = http->streams};
        http->streams = s;
        http->stream_count++;
    }
    (void)pthread_mutex_unlock(&http->lock);
    return s;
}

/* ---- answers --------------------------------------------------------------------- */

enum { POLICY_SIZE = 320, NONCE_SIZE = 33, PIECE = 16384 };

static const char no_policy[] = "default-src 'none'; frame-ancestors 'none'";

static enum MHD_Result answer(struct MHD_Connection *connection,
                              unsigned status, struct MHD_Response *response,
                              const char *type, const char *policy)
{
    const char *const headers[][2] = {
        {"Content-Type", type},
        {"Content-Security-Policy", policy},
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {status == MHD_HTTP_METHOD_NOT_ALLOWED ? "Allow" : NULL, "GET, HEAD"},
    };
    enum MHD_Result result = response != NULL ? MHD_YES : MHD_NO;

    for (size_t i = 0;
         i < sizeof(headers) / sizeof(headers[0]) && result == MHD_YES; i++) {
        if (headers[i][0] != NULL)
            result =
                mhd.add_response_header(response, headers[i][0], headers[i][1]);
    }
    if (result == MHD_YES)
        result = mhd.queue_response(connection, status, response);
    if (response != NULL)
        mhd.destroy_response(response);
    return result;
}

static enum MHD_Result answer_words(struct MHD_Connection *connection,
                                    unsigned status, const char *words)
{
    char text[128];
    int size = snprintf(text, sizeof(text), "%s\n", words);

    return answer(connection, status,
                  mhd.create_response_from_buffer((size_t)size, text,
                                                  MHD_RESPMEM_MUST_COPY),
                  "text/plain; charset=utf-8", no_policy);
}

static enum MHD_Result answer_text(cli_http *http,
                                   struct MHD_Connection *connection,
                                   const cli_http_page *page)
{
    struct MHD_Response *response = NULL;
    bool is_there;

    (void)pthread_mutex_lock(&http->lock);
    is_there = http->current != NULL;
    if (is_there)
        response = mhd.create_response_from_buffer(http->current->size,
                                                   http->current->text,
                                                   MHD_RESPMEM_MUST_COPY);
    (void)pthread_mutex_unlock(&http->lock);
    if (!is_there)
        return answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "nothing was looked at yet");
    return answer(connection, MHD_HTTP_OK, response, page->type, no_policy);
}

static enum MHD_Result answer_events(cli_http *http,
                                     struct MHD_Connection *connection,
                                     const cli_http_page *page)
{
    stream *s = stream_make(http, connection);
    struct MHD_Response *response;

    if (s == NULL)
        return answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many look already");
    response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE,
                                                 stream_read, s, stream_free);
    if (response == NULL)
        stream_free(s);
    return answer(connection, MHD_HTTP_OK, response, page->type, no_policy);
}

static bool nonce_make(char nonce[NONCE_SIZE])
{
    unsigned char bytes[(NONCE_SIZE - 1) / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* The page with this answer's word in it. NULL: no memory. From malloc(). */
static char *page_fill(const char *text, const char *nonce, size_t *ret_size)
{
    static const char mark[] = "@NONCE@";
    char *made = NULL;
    FILE *to = open_memstream(&made, ret_size);
    const char *found;

    if (to == NULL)
        return NULL;
    while ((found = strstr(text, mark)) != NULL) {
        (void)fwrite(text, 1, (size_t)(found - text), to);
        (void)fputs(nonce, to);
        text = found + sizeof(mark) - 1;
    }
    (void)fputs(text, to);
    if (fclose(to) == 0)
        return made;
    free(made);
    return NULL;
}

static enum MHD_Result
answer_page(struct MHD_Connection *connection, const cli_http_page *page)
{
    char nonce[NONCE_SIZE], policy[POLICY_SIZE];
    size_t size;
    char *text;

    if (!nonce_make(nonce))
        return MHD_NO;
    text = page_fill(page->text, nonce, &size);
    if (text == NULL)
        return MHD_NO;
    (void)snprintf(policy, sizeof(policy),
                   "default-src 'none'; script-src 'nonce-%s'; style-src "
                   "'nonce-%s'; connect-src 'self'; base-uri 'none'; "
                   "form-action 'none'; frame-ancestors 'none'; "
                   "require-trusted-types-for 'script'",
                   nonce, nonce);
    return answer(connection, MHD_HTTP_OK,
                  mhd.create_response_from_buffer(size, text,
                                                  MHD_RESPMEM_MUST_FREE),
                  page->type, policy);
}

/* ---- requests -------------------------------------------------------------------- */

static const cli_http_page *page_find(const cli_http *http, const char *path)
{
    for (const cli_http_page *page = http->pages; page->path != NULL; page++) {
        if (strcmp(page->path, path) == 0)
            return page;
    }
    return NULL;
}

/* NULL: it may be answered. Else why not, and with which status. */
static const char *refuse(const cli_http *http,
                          struct MHD_Connection *connection, const char *method,
                          unsigned *ret_status)
{
    const char *host = mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_HOST);

    *ret_status = MHD_HTTP_FORBIDDEN;
    if (http->is_local && !cli_http_host_is_local(host, http->address))
        return "this is only answered as localhost";
    *ret_status = MHD_HTTP_METHOD_NOT_ALLOWED;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return "only GET";
    return NULL;
}

/* Whether a browser says that a page of another origin asks. It could not read
   the answer, but take the streams away from those who can. */
static bool is_from_elsewhere(struct MHD_Connection *connection)
{
    const char *site = mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   "Sec-Fetch-Site");

    return site != NULL && strcmp(site, "same-origin") != 0 &&
           strcmp(site, "none") != 0;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection,
                              const char *path, const char *method,
                              const char *version, const char *body_text,
                              size_t *body_size, void **request)
{
    cli_http *http = data;
    const cli_http_page *page = page_find(http, path);
    unsigned status;
    const char *words = refuse(http, connection, method, &status);

    (void)version;
    (void)body_text;
    *body_size = 0; /* a body is passed over */
    (void)request;
    guest_begins(http, connection);
    if (words != NULL)
        return answer_words(connection, status, words);
    if (page == NULL)
        return answer_words(connection, MHD_HTTP_NOT_FOUND, "not here");
    if (page->kind == CLI_HTTP_PAGE)
        return answer_page(connection, page);
    if (page->kind == CLI_HTTP_EVENTS && is_from_elsewhere(connection))
        return answer_words(connection, MHD_HTTP_FORBIDDEN,
                            "this is for a page of this origin");
    if (page->kind == CLI_HTTP_EVENTS)
        return answer_events(http, connection, page);
    return answer_text(http, connection, page);
}

/* ---- begin and end ----------------------------------------------------------------- */

/* Binds and listens, so that it is known why it cannot: the library does not keep
   errno. A port of 0 becomes the one that it is. -1: errno says why. */
static int listen_at(const cli_http_place *place, unsigned short *ret_port)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons(place->port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons(place->port)};
    bool is_six = strchr(place->address, ':') != NULL;
    struct sockaddr *at = is_six ? (void *)&six : (void *)&four;
    socklen_t size = is_six ? sizeof(six) : sizeof(four);
    int fd =
        socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error;

    (void)inet_pton(at->sa_family, place->address,
                    is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr);
    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
        (!is_six || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1},
                               sizeof(int)) == 0) &&
        bind(fd, at, size) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, at, &size) == 0) {
        *ret_port = ntohs(is_six ? six.sin6_port : four.sin_port);
        return fd;
    }
    error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return -1;
}

/* Takes the socket. */
static bool daemon_start(cli_http *http, int fd)
{
    enum { IDLE_S = 10, HEAD_BYTES = 32768 };

    http->daemon =
        mhd.start_daemon(MHD_USE_POLL_INTERNAL_THREAD |
                             MHD_ALLOW_SUSPEND_RESUME,
                         http->port, NULL, NULL, handle, http,
                         MHD_OPTION_LISTEN_SOCKET, fd,
                         MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)CLI_HTTP_CONNECTIONS,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
                         MHD_OPTION_END);
    return http->daemon != NULL;
}

static cli_http *
http_make(const cli_http_place *place, const cli_http_page *pages)
{
    cli_http *http = malloc(sizeof(*http));
    pthread_condattr_t clock;

    if (http == NULL)
        return NULL;
    *http = (cli_http){.pages = pages, .is_local = place->is_local};
    (void)snprintf(http->address, sizeof(http->address), "%s", place->address);
    (void)pthread_mutex_init(&http->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&http->closing, &clock);
    (void)pthread_condattr_destroy(&clock);
    return http;
}

static int
no_socket(const struct cli *c, const cli_http_place *place, int error)
{
    if (error == EADDRINUSE)
        return cli_fail(c, CLI_CONFIG,
                        "port %u of %s is taken by another program\n"
                        "  name another with --listen; port 0 is a free one",
                        place->port, place->address);
    return cli_fail(c, CLI_INTERNAL, "listening on %s port %u: %s",
                    place->address, place->port, strerror(error));
}

int cli_http_open(const struct cli *c, const cli_http_place *place,
                  const cli_http_page *pages, cli_http **ret_http)
{
    cli_http *http;
    int code = 0;
    int fd;

    if (!library_load())
        return cli_fail(c, CLI_INTERNAL,
                        LK_MICROHTTPD " could not be loaded: install the "
                                      "package that has it");
    http = http_make(place, pages);
    if (http == NULL)
        return cli_fail(c, CLI_INTERNAL, "out of memory");
    fd = listen_at(place, &http->port);
    if (fd < 0)
        code = no_socket(c, place, errno);
    else if (!daemon_start(http, fd) || !watch_start(http))
        code = cli_fail(c, CLI_INTERNAL,
                        LK_MICROHTTPD " does not serve on %s port %u",
                        place->address, http->port);
    if (code != 0) {
        cli_http_close(http);
        return code;
    }
    *ret_http = http;
    return 0;
}

unsigned short cli_http_port(const cli_http *http)
{
    return http->port;
}

void cli_http_close(cli_http *http)
{
    if (http == NULL)
        return;
    (void)pthread_mutex_lock(&http->lock);
    http->is_closed = true;
    streams_wake(http);
    (void)pthread_cond_signal(&http->closing);
    (void)pthread_mutex_unlock(&http->lock);
    if (http->is_watched)
        (void)pthread_join(http->watch, NULL);
    if (http->daemon != NULL)
        mhd.stop_daemon(http->daemon);
    body_drop(http->current);
    (void)pthread_cond_destroy(&http->closing);
    (void)pthread_mutex_destroy(&http->lock);
    free(http);
}
