/* SPDX-License-Identifier: MIT */

/*
 * The URL of a server. A copy of the text is cut into parts and each part is
 * decoded where it stands, so that there is one piece of memory to wipe.
 *
 * What may hold a password is never repeated in an error. That can be any
 * part: in redis://:a/b@host the password runs into the path. A part is
 * named and its place given as a byte number instead.
 */

#include "settings/url.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "settings/options.h"
#include "settings/url_alias.h"
#include "settings/url_part.h"
#include "settings/url_scheme.h"

enum {
    MASTER_MAX = 255,
    SOCKET_PATH_MAX = 107 /* sockaddr_un has 108 bytes with the NUL */
};

/* Hosts stand behind two slashes; a socket has none. */
static bool has_hosts(lk__scheme_kind kind)
{
    return kind != LK__SCHEME_UNIX;
}

static bool is_group(lk__scheme_kind kind)
{
    return kind == LK__SCHEME_SENTINEL || kind == LK__SCHEME_SENTINEL_TLS;
}

/* ---- parts -------------------------------------------------------------- */

/* Reads user:password, which ends at the '@'. */
static lk_status parse_user_info(lk__url_parser *parser, char *begin, char *end)
{
    lk_client_options *options = &parser->url->options;
    char *colon = memchr(begin, ':', (size_t)(end - begin));
    lk_status status;

    if (begin == end)
        return LK_OK;
    if (colon == NULL)
        return lk__url_refuse(parser, begin,
                              "user or password? write user:@ or :password@");
    if (memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL ||
        memchr(begin, '@', (size_t)(end - begin)) != NULL)
        return lk__url_refuse(
            parser, begin, "in a user or password write : as %3A and @ as %40");

    status = lk__url_decode(parser, begin, colon);
    if (status == LK_OK)
        status = lk__url_decode(parser, colon + 1, end);
    if (status != LK_OK)
        return status;
    if (begin[0] != '\0')
        options->user = parser->user = begin;
    if (begin[0] != '\0' || colon[1] != '\0')
        options->password = parser->password = colon + 1;
    return LK_OK;
}

static lk_status parse_one(lk__url_parser *parser, char *begin, char *end)
{
    lk__url_server *server = &parser->url->sentinels[0];
    lk_status status;

    if (memchr(begin, ',', (size_t)(end - begin)) != NULL)
        return lk__fail(LK_ENOTSUP,
                        "the URL names several hosts: for those of a Sentinel "
                        "group write redis+sentinel://host,host/master; "
                        "anything else is not supported");
    status = lk__url_read_server(parser, begin, end, server);
    parser->wrote_port = server->port != 0;
    parser->url->sentinel_count = 1; /* it may become one */
    parser->url->host = server->host;
    parser->url->port = parser->wrote_port ? server->port : LK__URL_PORT;
    return status;
}

/* Whether the last sentinel is one of those before it: it would vote twice. */
static bool is_named_before(const lk__url *url)
{
    const lk__url_server *last = &url->sentinels[url->sentinel_count - 1];

    for (size_t i = 0; i + 1 < url->sentinel_count; i++)
        if (strcasecmp(url->sentinels[i].host, last->host) == 0 &&
            url->sentinels[i].port == last->port)
            return true;
    return false;
}

/* Reads a sentinel, from begin to end. port: if it has none; 0: it has to. */
static lk_status
add_sentinel(lk__url_parser *parser, char *begin, char *end, uint16_t port)
{
    lk__url *url = parser->url;
    lk__url_server *server = &url->sentinels[url->sentinel_count];
    lk_status status;

    if (begin == end)
        return lk__url_refuse(parser, begin,
                              "the host of a sentinel is missing");
    if (url->sentinel_count == LK__SENTINELS_MOST)
        return lk__url_refuse(parser, begin, "more than 15 sentinels");
    url->sentinel_count++;
    server->port = port;
    status = lk__url_read_server(parser, begin, end, server);
    if (status == LK_OK && server->port == 0)
        return lk__url_refuse(parser, begin,
                              "the sentinel's port has to stand here");
    if (status == LK_OK && is_named_before(url))
        return lk__url_refuse(parser, begin, "a sentinel is named twice");
    return status;
}

/* Reads the sentinels, with a comma between. */
static lk_status parse_sentinels(lk__url_parser *parser, char *begin, char *end)
{
    for (;;) {
        char *comma = memchr(begin, ',', (size_t)(end - begin));
        char *stop = comma != NULL ? comma : end;
        lk_status status =
            add_sentinel(parser, begin, stop, LK__URL_SENTINEL_PORT);

        if (status != LK_OK || comma == NULL)
            return status;
        begin = comma + 1;
    }
}

/* Reads the number of the database; slash is the '/' before it. */
static lk_status parse_db(lk__url_parser *parser, char *slash, char *end)
{
    lk_status status;

    if (end - slash < 2)
        return LK_OK;
    status = lk__url_decode(parser, slash + 1, end);
    if (status != LK_OK)
        return status;
    if (lk__options_set(&parser->url->options, "db", slash + 1, LK_EURL) !=
        LK_OK)
        return lk__url_refuse(
            parser, slash + 1,
            "the database has to be a number, 0 to 2147483647");
    return LK_OK;
}

/* Takes the master's name, which is decoded. */
static lk_status name_master(lk__url_parser *parser, const char *name)
{
    if (parser->url->master != NULL)
        return lk__url_refuse(parser, name, "the master is named twice");
    if (name[0] == '\0')
        return lk__url_refuse(parser, name,
                              "the master's name has to stand here");
    if (strlen(name) > MASTER_MAX)
        return lk__url_refuse(parser, name,
                              "the name of a master has at most 255 bytes");
    parser->url->master = name;
    return LK_OK;
}

/* Reads /master[/db], from begin to end. */
static lk_status parse_master(lk__url_parser *parser, char *begin, char *end)
{
    char *stop = end - begin < 2 ? NULL : begin + 1 + strcspn(begin + 1, "/?");
    lk_status status;

    if (stop == NULL || stop == begin + 1)
        return lk__url_refuse(parser, begin,
                              "the master's name has to stand here: "
                              "redis+sentinel://host,host/master");
    status = lk__url_decode(parser, begin + 1, stop);
    if (status == LK_OK)
        status = name_master(parser, begin + 1);
    return status == LK_OK ? parse_db(parser, stop, end) : status;
}

/* Reads the path of a socket, from begin to end. */
static lk_status parse_path(lk__url_parser *parser, char *begin, char *end)
{
    lk_status status;

    if (end - begin < 2 || *begin != '/')
        return lk__url_refuse(parser, begin,
                              "a whole path has to stand here: unix:/path");
    status = lk__url_decode(parser, begin, end);
    if (status != LK_OK)
        return status;
    if (strlen(begin) > SOCKET_PATH_MAX)
        return lk__url_refuse(parser, begin,
                              "the path of a socket has at most 107 bytes");
    parser->url->path = begin;
    return LK_OK;
}

/* Lettuce names the master as an option too; go-redis does so behind one of the
   sentinels, and names the others. False: it is another option. */
static bool take_group_option(lk__url_parser *parser, const char *key,
                              char *value, lk_status *ret_status)
{
    const lk__scheme *scheme = parser->scheme;
    bool is_one =
        scheme->kind == LK__SCHEME_TCP || scheme->kind == LK__SCHEME_TLS;

    if ((scheme->master_last && strcasecmp(key, "sentinelMasterId") == 0) ||
        (is_one && strcasecmp(key, "master_name") == 0))
        *ret_status = name_master(parser, value);
    else if (is_one && strcasecmp(key, "addr") == 0)
        *ret_status = add_sentinel(parser, value, value + strlen(value), 0);
    else
        return false;
    return true;
}

/* Reads one key=value, from begin to end. *seen has a bit for each option. */
static lk_status
parse_option(lk__url_parser *parser, char *begin, char *end, uint64_t *seen)
{
    char *equals = memchr(begin, '=', (size_t)(end - begin));
    const char *key = begin;
    const char *value;
    const lk__option *option;
    uint64_t bit;
    lk_status status;

    if (equals == NULL || equals == begin)
        return lk__url_refuse(parser, begin,
                              "an option has to be written key=value");
    status = lk__url_decode(parser, begin, equals);
    if (status == LK_OK)
        status = lk__url_decode(parser, equals + 1, end);
    if (status != LK_OK)
        return status;

    if (take_group_option(parser, begin, equals + 1, &status))
        return status;
    value = equals + 1;
    lk__url_alias(&key, &value);
    status = lk__options_set(&parser->url->options, key, value, LK_EURL);
    if (status != LK_OK)
        return lk__url_refuse(parser, begin,
                              lk__url_has_late_at(parser)
                                  ? "not an option that is understood"
                                  : lk_last_error());
    option = lk__option_find(key);
    if (lk__option_is_tls(option) && !parser->url->tls)
        return lk__url_refuse(
            parser, begin,
            parser->url->master == NULL
                ? "an option of TLS, and the URL is without; write "
                  "rediss://"
                : "an option of TLS, and the URL is without; write "
                  "rediss+sentinel://");
    if (lk__option_is_sentinel(option) && parser->group_option == NULL)
        parser->group_option = begin;
    bit = UINT64_C(1) << (option - lk__options);
    if ((*seen & bit) != 0)
        return lk__url_refuse(parser, begin, "an option for the second time");
    *seen |= bit;
    return LK_OK;
}

/* Reads key=value&..., from begin to the end of the text. */
static lk_status parse_query(lk__url_parser *parser, char *begin)
{
    char *last = begin + strlen(begin);
    uint64_t seen = 0;

    for (;;) {
        char *end = begin + strcspn(begin, "&");
        lk_status status = parse_option(parser, begin, end, &seen);

        if (status != LK_OK || end == last)
            return status;
        begin = end + 1;
    }
}

/* ---- the whole ---------------------------------------------------------- */

/* Refuses what has to be encoded wherever it stands. */
static lk_status check_bytes(const lk__url_parser *parser, const char *at)
{
    for (; *at != '\0'; at++) {
        if (lk__url_is_control(*at) || *at == ' ')
            return lk__url_refuse(parser, at, "a space or control character");
        if (*at == '#')
            return lk__url_refuse(parser, at, "a # has to be written %23");
    }
    return LK_OK;
}

/* Takes #master from the end, where the scheme has it there. */
static lk_status cut_master(lk__url_parser *parser)
{
    char *hash =
        parser->scheme->master_last ? strrchr(parser->url->text, '#') : NULL;
    lk_status status;

    if (hash == NULL)
        return LK_OK;
    if (strpbrk(hash, "@/?") != NULL) /* it may be in a password */
        return lk__url_refuse(parser, hash, "a # has to be written %23");
    *hash = '\0';
    status = check_bytes(parser, hash + 1);
    if (status == LK_OK)
        status = lk__url_decode(parser, hash + 1, hash + 1 + strlen(hash + 1));
    return status == LK_OK ? name_master(parser, hash + 1) : status;
}

/* go-redis has before the @ what the sentinels are told, and tells the servers only
   what is named as an option. An option beats what stands before the @. */
static void give_to_sentinels(const lk__url_parser *parser)
{
    lk_client_options *options = &parser->url->options;
    bool names_own =
        options->sentinel_user != NULL || options->sentinel_password != NULL;

    if (!names_own) {
        options->sentinel_user = parser->user;
        options->sentinel_password = parser->password;
    }
    if (options->user == parser->user)
        options->user = NULL;
    if (options->password == parser->password)
        options->password = NULL;
}

/* Whether the hosts are sentinels, now that all is read. */
static lk_status settle_group(lk__url_parser *parser)
{
    lk__url *url = parser->url;
    const char *at = url->text + parser->authority_end;

    if (is_group(parser->scheme->kind))
        return url->master != NULL
                   ? LK_OK
                   : lk__url_refuse(
                         parser, at,
                         "the master's name has to stand at the "
                         "end: redis-sentinel://host,host/db#master");
    if (url->master == NULL && url->sentinel_count > 1)
        return lk__url_refuse(parser, at,
                              "addr names a sentinel, and master_name is "
                              "missing");
    if (url->master == NULL && parser->group_option != NULL)
        return lk__url_refuse(parser, parser->group_option,
                              "an option of Sentinel, and the URL is without; "
                              "write redis+sentinel://host,host/master");
    if (url->master == NULL) {
        url->sentinel_count = 0;
        return LK_OK;
    }
    if (!parser->wrote_port)
        return lk__url_refuse(parser, at,
                              "the sentinel's port has to stand here");
    give_to_sentinels(parser);
    url->host = NULL;
    url->port = 0;
    return LK_OK;
}

/* Reads user, password, host and port, from begin to end. */
static lk_status parse_authority(lk__url_parser *parser, lk__scheme_kind kind,
                                 char *begin, char *end)
{
    char *at = memrchr(begin, '@', (size_t)(end - begin));
    lk_status status = LK_OK;

    if (at != NULL) {
        status = parse_user_info(parser, begin, at);
        begin = at + 1;
    }
    if (status != LK_OK)
        return status;
    if (is_group(kind))
        return parse_sentinels(parser, begin, end);
    if (has_hosts(kind))
        return parse_one(parser, begin, end);
    if (begin < end)
        return lk__url_refuse(parser, begin,
                              "a socket has no host; write three slashes: "
                              "unix:///path");
    return LK_OK;
}

/*
 * Reads what follows the scheme and its ':'. The parts are cut first and read
 * from left to right, since the NUL that ends one may lie on the first byte
 * of the next: on a '/' before a database or a '?', which have been seen.
 */
static lk_status
parse_rest(lk__url_parser *parser, lk__scheme_kind kind, char *rest)
{
    bool has_authority = strncmp(rest, "//", 2) == 0;
    char *begin = has_authority ? rest + 2 : rest;
    char *path = has_authority ? begin + strcspn(begin, "/?") : begin;
    char *path_end = path + strcspn(path, "?");
    bool has_query = *path_end == '?';
    lk_status status;

    parser->authority_end = (size_t)(path - parser->url->text);
    if (has_hosts(kind) && !has_authority)
        return lk__url_refuse(parser, rest,
                              "two slashes have to follow the scheme");
    status = parse_authority(parser, kind, begin, path);
    if (status != LK_OK)
        return status;
    if (is_group(kind) && !parser->scheme->master_last)
        status = parse_master(parser, path, path_end);
    else if (has_hosts(kind))
        status = parse_db(parser, path, path_end);
    else
        status = parse_path(parser, path, path_end);
    if (status == LK_OK && has_query)
        status = parse_query(parser, path_end + 1);
    return status == LK_OK ? settle_group(parser) : status;
}

lk_status lk__url_parse(lk__url *ret_url, const char *text)
{
    lk__url url = {.options = {LK_CLIENT_OPTIONS_INIT}};
    size_t scheme_size = strcspn(text, ":/?#@[");
    const lk__scheme *scheme = lk__scheme_find(text, scheme_size);
    lk__url_parser parser = {.text = text, .url = &url, .scheme = scheme};
    lk_status status;

    if (scheme == NULL || text[scheme_size] != ':')
        return lk__scheme_unknown(text, scheme_size);
    status = lk__scheme_check(scheme);
    if (status != LK_OK)
        return status;
    url.tls = scheme->kind == LK__SCHEME_TLS ||
              scheme->kind == LK__SCHEME_SENTINEL_TLS;

    url.size = strlen(text);
    url.text = lk__strdup(text);
    if (url.text == NULL)
        return lk__fail(LK_ENOMEM, "out of memory");
    status = cut_master(&parser);
    if (status == LK_OK)
        status = check_bytes(&parser, url.text);
    if (status == LK_OK)
        status = parse_rest(&parser, scheme->kind, url.text + scheme_size + 1);
    if (status != LK_OK)
        lk__url_done(&url);
    else
        *ret_url = url;
    return status;
}

void lk__url_done(lk__url *url)
{
    if (url->text != NULL)
        explicit_bzero(url->text, url->size);
    lk__free(url->text);
    memset(url, 0, sizeof(*url));
}
