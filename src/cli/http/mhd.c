/* SPDX-License-Identifier: MIT */

/*
 * The HTTP server over libmicrohttpd. The library is loaded when it is needed:
 * linked in, it and what it needs would make every run of the tool slower.
 */

#include "cli/http/mhd.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- the library ------------------------------------------------------------ */

cli_mhd_calls cli_mhd;

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
    if (!call_find(library, "MHD_" #call, &cli_mhd.call))                      \
        return false;
    CLI_MHD_CALLS(X)
#undef X
    return true;
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
    const char *host =
        cli_mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
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
    const char *site =
        cli_mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
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
    cli_mhd_begins(http, connection);
    if (words != NULL)
        return cli_answer_words(connection, status, words);
    if (page == NULL)
        return cli_answer_words(connection, MHD_HTTP_NOT_FOUND, "not here");
    if (page->kind == CLI_HTTP_PAGE)
        return cli_answer_page(connection, page);
    if (page->kind == CLI_HTTP_EVENTS && is_from_elsewhere(connection))
        return cli_answer_words(connection, MHD_HTTP_FORBIDDEN,
                                "this is for a page of this origin");
    if (page->kind == CLI_HTTP_EVENTS)
        return cli_answer_events(http, connection, page);
    return cli_answer_text(http, connection, page);
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

    http->daemon = cli_mhd.start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, http->port,
        NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLI_HTTP_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_NOTIFY_CONNECTION, cli_mhd_on_connection, http,
        MHD_OPTION_NOTIFY_COMPLETED, cli_mhd_on_completed, http,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES, MHD_OPTION_END);
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
    else if (!daemon_start(http, fd) || !cli_streams_watch(http))
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
    cli_streams_wake(http);
    (void)pthread_cond_signal(&http->closing);
    (void)pthread_mutex_unlock(&http->lock);
    if (http->is_watched)
        (void)pthread_join(http->watch, NULL);
    if (http->daemon != NULL)
        cli_mhd.stop_daemon(http->daemon);
    cli_body_drop(http->current);
    (void)pthread_cond_destroy(&http->closing);
    (void)pthread_mutex_destroy(&http->lock);
    free(http);
}
