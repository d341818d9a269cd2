/* SPDX-License-Identifier: MIT */

/*
 * A URL in the one spelling that docs/url.md begins with, for operators to
 * see what was understood. A password is shown as *** whatever its length.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "settings/options.h"
#include "settings/url.h"

/* Where the text is written; goes on counting when it is full. */
typedef struct sheet {
    char *text;
    size_t size;
    size_t used;
} sheet;

static void put(sheet *s, const char *text, size_t size)
{
    if (s->used < s->size && size < s->size - s->used)
        memcpy(s->text + s->used, text, size);
    s->used += size;
}

static void put_text(sheet *s, const char *text)
{
    put(s, text, strlen(text));
}

static void put_number(sheet *s, uint64_t number)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, number);
    put_text(s, digits);
}

/* Percent-encodes all but letters, digits and the bytes of more. */
static void put_encoded(sheet *s, const char *text, const char *more)
{
    char code[4];

    for (; *text != '\0'; text++) {
        bool plain =
            (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
            (*text >= '0' && *text <= '9') || strchr(more, *text) != NULL;

        if (plain) {
            put(s, text, 1);
        } else {
            (void)snprintf(code, sizeof(code), "%%%02X", (unsigned char)*text);
            put_text(s, code);
        }
    }
}

static void put_login(sheet *s, const lk_client_options *options)
{
    bool has_password =
        options->password != NULL && options->password[0] != '\0';

    if (options->user == NULL && !has_password)
        return;
    if (options->user != NULL)
        put_encoded(s, options->user, "-._~");
    put_text(s, has_password ? ":***@" : ":@");
}

static void put_server(sheet *s, const char *host, uint16_t port)
{
    bool is_ipv6 = strchr(host, ':') != NULL;

    put_text(s, is_ipv6 ? "[" : "");
    put_encoded(s, host, is_ipv6 ? "-._~:" : "-._~");
    put_text(s, is_ipv6 ? "]" : "");
    put_text(s, ":");
    put_number(s, port);
}

/* The server of a URL, up to the database. */
static void put_place(sheet *s, const lk__url *url)
{
    if (url->path != NULL) {
        put_encoded(s, url->path, "-._~/:@");
        return;
    }
    if (url->host != NULL)
        put_server(s, url->host, url->port);
    for (size_t i = 0; i < url->server_count; i++) {
        put_text(s, i > 0 ? "," : "");
        put_server(s, url->servers[i].host, url->servers[i].port);
    }
    if (url->is_cluster)
        return;
    put_text(s, "/");
    if (url->master != NULL) {
        put_encoded(s, url->master, "-._~");
        put_text(s, "/");
    }
    put_number(s, url->options.db);
}

static const char *scheme_of(const lk__url *url)
{
    if (url->master != NULL)
        return url->tls ? "rediss+sentinel://" : "redis+sentinel://";
    if (url->is_cluster)
        return url->tls ? "rediss+cluster://" : "redis+cluster://";
    if (url->path != NULL)
        return "unix://";
    return url->tls ? "rediss://" : "redis://";
}

static void put_value(sheet *s, const lk__option *option, uint64_t number)
{
    const lk__choice *choice = option->choices;

    while (choice != NULL && choice->word != NULL && choice->value != number)
        choice++;
    if (choice != NULL && choice->word != NULL) {
        put_text(s, choice->word);
    } else {
        put_number(s, number);
        put_text(s, option->kind == LK__OPTION_MS ? "ms" : "");
    }
}

/* What is said in the path or before the @ is not said again. */
static bool is_elsewhere(const lk__option *option, bool has_path)
{
    return strcmp(option->key, "user") == 0 ||
           strcmp(option->key, "password") == 0 ||
           (!has_path && strcmp(option->key, "db") == 0);
}

static void put_query(sheet *s, const lk__url *url)
{
    const char *before = "?";

    for (size_t i = 0; i < lk__option_count; i++) {
        const lk__option *option = &lk__options[i];
        const char *field = (const char *)&url->options + option->offset;
        const char *text = NULL;
        uint64_t number = 0;

        if (is_elsewhere(option, url->path != NULL))
            continue;
        if (option->kind == LK__OPTION_STRING)
            memcpy(&text, field, sizeof(text));
        else
            memcpy(&number, field, sizeof(number));
        if (text == NULL && number == 0)
            continue;
        put_text(s, before);
        before = "&";
        put_text(s, option->key);
        put_text(s, "=");
        if (strcmp(option->key, "sentinel_password") == 0)
            put_text(s, "***");
        else if (text != NULL)
            put_encoded(s, text, "-._~:/");
        else
            put_value(s, option, number);
    }
}

lk_status lk__url_describe(const lk__url *url, char *text, size_t size)
{
    sheet s = {.text = text, .size = size};

    put_text(&s, scheme_of(url));
    put_login(&s, &url->options);
    put_place(&s, url);
    put_query(&s, url);
    if (s.used >= size)
        return lk__fail(LK_EINVAL, "the description needs %zu bytes",
                        s.used + 1);
    text[s.used] = '\0';
    return LK_OK;
}

lk_status lk_url_describe(const char *url, char *text, size_t size)
{
    lk__url parsed;
    lk_status status;

    if (url == NULL || text == NULL)
        return lk__fail(LK_EINVAL, "the URL or the place for it is NULL");
    status = lk__url_parse(&parsed, url);
    if (status != LK_OK)
        return status;
    status = lk__url_describe(&parsed, text, size);
    lk__url_done(&parsed);
    return status;
}
