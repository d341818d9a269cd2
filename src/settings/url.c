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
#include "settings/url_hosts.h"
#include "settings/url_part.h"
#include "settings/url_scheme.h"

enum { SOCKET_PATH_MAX = 107 /* sockaddr_un has 108 bytes with the NUL */ };

/* Hosts stand behind two slashes; a socket has none. */
static bool has_hosts(lk__scheme_kind kind)
{
    return kind != LK__SCHEME_UNIX;
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

/* Reads the number of the database; slash is the '/' before it. */
static lk_status parse_db(lk__url_parser *parser, char *slash, char *end)
{
    lk_status status;

    if (end - slash < 2)
        return LK_OK;
    status = lk__url_decode(parser, slash + 1, end);
    if (status != LK_OK)
        return status;
    parser->db = slash + 1;
    if (lk__options_set(&parser->url->options, "db", slash + 1, LK_EURL) !=
        LK_OK)
        return lk__url_refuse(
            parser, slash + 1,
            "the database has to be a number, 0 to 2147483647");
    return LK_OK;
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

    if (lk__url_take_host(parser, begin, equals + 1, &status))
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
        return lk__url_refuse_tls(parser, begin);
    if (option->offset == offsetof(lk_client_options, db))
        parser->db = begin;
    if (option->offset == offsetof(lk_client_options, failover))
        parser->failover = begin;
    else if (lk__option_is_sentinel(option) && parser->group_option == NULL)
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
    if (has_hosts(kind))
        return lk__url_read_hosts(parser, begin, end);
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
    if (lk__url_has_master(parser))
        status = lk__url_read_master(parser, path, path_end, &path);
    if (status == LK_OK && has_hosts(kind))
        status = parse_db(parser, path, path_end);
    else if (status == LK_OK)
        status = parse_path(parser, path, path_end);
    if (status == LK_OK && has_query)
        status = parse_query(parser, path_end + 1);
    return status == LK_OK ? lk__url_settle_hosts(parser) : status;
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
    url.tls = scheme->tls;

    url.size = strlen(text);
    url.text = lk__strdup(text);
    if (url.text == NULL)
        return lk__fail(LK_ENOMEM, "out of memory");
    status = lk__url_cut_master(&parser);
    if (status == LK_OK)
        status = lk__url_check_bytes(&parser, url.text);
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
