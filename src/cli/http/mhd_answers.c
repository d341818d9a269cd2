/* SPDX-License-Identifier: MIT */

/* Answers to HTTP requests, with the headers that keep a browser from more. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/http/mhd.h"

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
            result = cli_mhd.add_response_header(response, headers[i][0],
                                                 headers[i][1]);
    }
    if (result == MHD_YES)
        result = cli_mhd.queue_response(connection, status, response);
    if (response != NULL)
        cli_mhd.destroy_response(response);
    return result;
}

enum MHD_Result cli_answer_words(struct MHD_Connection *connection,
                                 unsigned status, const char *words)
{
    char text[128];
    int size = snprintf(text, sizeof(text), "%s\n", words);

    return answer(connection, status,
                  cli_mhd.create_response_from_buffer((size_t)size, text,
                                                      MHD_RESPMEM_MUST_COPY),
                  "text/plain; charset=utf-8", no_policy);
}

enum MHD_Result cli_answer_text(cli_http *http,
                                struct MHD_Connection *connection,
                                const cli_http_page *page)
{
    struct MHD_Response *response = NULL;
    bool is_there;

    (void)pthread_mutex_lock(&http->lock);
    is_there = http->current != NULL;
    if (is_there)
        response = cli_mhd.create_response_from_buffer(http->current->size,
                                                       http->current->text,
                                                       MHD_RESPMEM_MUST_COPY);
    (void)pthread_mutex_unlock(&http->lock);
    if (!is_there)
        return cli_answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "nothing was looked at yet");
    return answer(connection, MHD_HTTP_OK, response, page->type, no_policy);
}

enum MHD_Result cli_answer_events(cli_http *http,
                                  struct MHD_Connection *connection,
                                  const cli_http_page *page)
{
    cli_stream *s = cli_stream_make(http, connection);
    struct MHD_Response *response;

    if (s == NULL)
        return cli_answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "too many look already");
    response = cli_mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE,
                                                     cli_stream_read, s,
                                                     cli_stream_free);
    if (response == NULL)
        cli_stream_free(s);
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

enum MHD_Result
cli_answer_page(struct MHD_Connection *connection, const cli_http_page *page)
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
                  cli_mhd.create_response_from_buffer(size, text,
                                                      MHD_RESPMEM_MUST_FREE),
                  page->type, policy);
}
