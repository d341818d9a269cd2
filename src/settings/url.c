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

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "settings/options.h"
#include "settings/url_alias.h"
#include "settings/url_scheme.h"

enum {
    PORT_MAX = 65535,
    HOST_MAX = 255,
    MASTER_MAX = 255,
    SOCKET_PATH_MAX = 107 /* sockaddr_un has 108 bytes with the NUL */
};

/* ---- errors ------------------------------------------------------------- */

/* Under construction. text is the caller's, url->text the copy of it. */
typedef struct url_parser {
    const char *text;
    lk__url *url;
    size_t authority_end; /* where user, host and port end */
} url_parser;

/*
 * Tells whether an '@' comes so late that it may end a password which was
 * not encoded.
 */
static bool has_late_at(const url_parser *parser)
{
    return strchr(parser->text + parser->authority_end, '@') != NULL;
}

/* Hosts stand behind two slashes; a socket has none. */
static bool has_hosts(lk__scheme_kind kind)
{
    return kind != LK__SCHEME_UNIX;
}

static bool is_group(lk__scheme_kind kind)
{
    return kind == LK__SCHEME_SENTINEL || kind == LK__SCHEME_SENTINEL_TLS;
}

/* Refuses what stands at a place in the copy. what: "the port is not ...". */
static lk_status
refuse(const url_parser *parser, const char *at, const char *what)
{
    return lk__fail(LK_EURL, "in the URL, at byte %zu: %s%s",
                    (size_t)(at - parser->url->text) + 1, what,
                    has_late_at(parser)
                        ? "; in a user or password write / ? # @ as %2F %3F "
                          "%23 %40"
                        : "");
}

/* ---- percent-decoding --------------------------------------------------- */

/* Returns the value of a hexadecimal digit, or -1. */
static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

/*
 * Decodes the part from begin up to end, in place, and ends it with a NUL,
 * which overwrites *end when nothing was encoded.
 */
static lk_status decode(const url_parser *parser, char *begin, const char *end)
{
    char *to = begin;

    for (const char *from = begin; from < end; from++, to++) {
        int high = -1;
        int low = -1;

        *to = *from;
        if (*from != '%')
            continue;
        if (end - from > 2) {
            high = hex_value(from[1]);
            low = hex_value(from[2]);
        }
        if (high < 0 || low < 0)
            return refuse(parser, from,
                          "two hexadecimal digits have to "
                          "follow a %");
        *to = (char)(unsigned char)(high * 16 + low);
        if (is_control(*to))
            return refuse(parser, from, "a control character");
        from += 2;
    }
    *to = '\0';
    return LK_OK;
}

/* ---- parts -------------------------------------------------------------- */

/* Reads user:password, which ends at the '@'. */
static lk_status parse_user_info(url_parser *parser, char *begin, char *end)
{
    lk_client_options *options = &parser->url->options;
    char *colon = memchr(begin, ':', (size_t)(end - begin));
    lk_status status;

    if (begin == end)
        return LK_OK;
    if (colon == NULL)
        return refuse(parser, begin,
                      "user or password? write user:@ or :password@");
    if (memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL ||
        memchr(begin, '@', (size_t)(end - begin)) != NULL)
        return refuse(parser, begin,
                      "in a user or password write : as %3A and @ as %40");

    status = decode(parser, begin, colon);
    if (status == LK_OK)
        status = decode(parser, colon + 1, end);
    if (status != LK_OK)
        return status;
    if (begin[0] != '\0')
        options->user = begin;
    if (begin[0] != '\0' || colon[1] != '\0')
        options->password = colon + 1;
    return LK_OK;
}

static lk_status parse_port(const url_parser *parser, const char *begin,
                            const char *end, uint16_t *ret_port)
{
    unsigned port = 0;

    for (const char *at = begin; at < end; at++) {
        if (*at < '0' || *at > '9' || port > PORT_MAX)
            port = PORT_MAX + 1;
        else
            port = port * 10 + (unsigned)(*at - '0');
    }
    if (port == 0 || port > PORT_MAX)
        return refuse(parser, begin, "the port has to be 1 to 65535");
    *ret_port = (uint16_t)port;
    return LK_OK;
}

static bool is_host(const char *host)
{
    size_t size = strlen(host);

    return size <= HOST_MAX &&
           strspn(host, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == size;
}

/* Tells whether it is an IPv6 address, with a %zone or without. */
static bool is_ipv6(const char *host)
{
    char number[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t size = strcspn(host, "%");

    if (size >= sizeof(number) || strlen(host) > HOST_MAX ||
        strcmp(host + size, "%") == 0)
        return false;
    memcpy(number, host, size);
    number[size] = '\0';
    return inet_pton(AF_INET6, number, &address) == 1;
}

/* Reads [address], whose first byte is at begin; *ret_end is after the ']'. */
static lk_status
parse_ipv6(const url_parser *parser, char *begin, char *end, char **ret_end)
{
    char *close = memchr(begin, ']', (size_t)(end - begin));
    lk_status status;

    if (close == NULL)
        return refuse(parser, begin, "a [ without its ]");
    status = decode(parser, begin + 1, close);
    if (status != LK_OK)
        return status;
    if (!is_ipv6(begin + 1))
        return refuse(parser, begin, "not an IPv6 address");
    *ret_end = close + 1;
    return LK_OK;
}

/* Reads a name or an IPv4 address, from begin to end. Empty: the default. */
static lk_status parse_name(const url_parser *parser, char *begin,
                            const char *end, const char **ret_host)
{
    lk_status status;

    if (begin == end) {
        *ret_host = "127.0.0.1";
        return LK_OK;
    }
    status = decode(parser, begin, end);
    if (status != LK_OK)
        return status;
    if (!is_host(begin))
        return refuse(parser, begin, "not the name or address of a host");
    *ret_host = begin;
    return LK_OK;
}

/* Reads what follows the host: nothing, or a ':' and the port, up to end. */
static lk_status parse_port_part(const url_parser *parser, const char *colon,
                                 const char *end, uint16_t *port)
{
    if (colon == end)
        return LK_OK;
    if (*colon != ':')
        return refuse(parser, colon, "a : and the port have to follow the ]");
    if (memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL)
        return refuse(parser, colon,
                      "one : too many; an IPv6 address stands in [ ]");
    return parse_port(parser, colon + 1, end, port);
}

/* Reads host and port, from begin to end; a port that is left out stays. */
static lk_status parse_server(const url_parser *parser, char *begin, char *end,
                              lk__url_server *server)
{
    bool is_bracketed = begin < end && *begin == '[';
    char *stop = begin; /* where the host ends */
    lk_status status = LK_OK;

    if (is_bracketed) {
        status = parse_ipv6(parser, begin, end, &stop);
        server->host = begin + 1;
    } else {
        stop = memchr(begin, ':', (size_t)(end - begin));
        stop = stop != NULL ? stop : end;
    }
    if (status == LK_OK)
        status = parse_port_part(parser, stop, end, &server->port);
    /* Last, since the NUL that ends the name stands at stop. */
    if (status == LK_OK && !is_bracketed)
        status = parse_name(parser, begin, stop, &server->host);
    return status;
}

static lk_status parse_one(url_parser *parser, char *begin, char *end)
{
    lk__url_server server = {NULL, LK__URL_PORT};
    lk_status status;

    if (memchr(begin, ',', (size_t)(end - begin)) != NULL)
        return lk__fail(LK_ENOTSUP,
                        "the URL names several hosts: for those of a Sentinel "
                        "group write redis+sentinel://host,host/master; "
                        "anything else is not supported");
    status = parse_server(parser, begin, end, &server);
    parser->url->host = server.host;
    parser->url->port = server.port;
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

/* Reads the sentinels, with a comma between. */
static lk_status parse_sentinels(url_parser *parser, char *begin, char *end)
{
    lk__url *url = parser->url;

    for (;;) {
        char *comma = memchr(begin, ',', (size_t)(end - begin));
        char *stop = comma != NULL ? comma : end;
        lk__url_server *server = &url->sentinels[url->sentinel_count];
        lk_status status;

        if (begin == stop)
            return refuse(parser, begin, "the host of a sentinel is missing");
        if (url->sentinel_count == LK__SENTINELS_MOST)
            return refuse(parser, begin, "more than 15 sentinels");
        url->sentinel_count++;
        server->port = LK__URL_SENTINEL_PORT;
        status = parse_server(parser, begin, stop, server);
        if (status == LK_OK && is_named_before(url))
            return refuse(parser, begin, "a sentinel is named twice");
        if (status != LK_OK || comma == NULL)
            return status;
        begin = comma + 1;
    }
}

/* Reads the number of the database; slash is the '/' before it. */
static lk_status parse_db(url_parser *parser, char *slash, char *end)
{
    lk_status status;

    if (end - slash < 2)
        return LK_OK;
    status = decode(parser, slash + 1, end);
    if (status != LK_OK)
        return status;
    if (lk__options_set(&parser->url->options, "db", slash + 1, LK_EURL) !=
        LK_OK)
        return refuse(parser, slash + 1,
                      "the database has to be a number, 0 to 2147483647");
    return LK_OK;
}

/* Reads /master[/db], from begin to end. */
static lk_status parse_master(url_parser *parser, char *begin, char *end)
{
    char *stop = end - begin < 2 ? NULL : begin + 1 + strcspn(begin + 1, "/?");
    lk_status status;

    if (stop == NULL || stop == begin + 1)
        return refuse(parser, begin,
                      "the master's name has to stand here: "
                      "redis+sentinel://host,host/master");
    status = decode(parser, begin + 1, stop);
    if (status != LK_OK)
        return status;
    if (strlen(begin + 1) > MASTER_MAX)
        return refuse(parser, begin,
                      "the name of a master has at most 255 bytes");
    parser->url->master = begin + 1;
    return parse_db(parser, stop, end);
}

/* Reads the path of a socket, from begin to end. */
static lk_status parse_path(url_parser *parser, char *begin, char *end)
{
    lk_status status;

    if (end - begin < 2 || *begin != '/')
        return refuse(parser, begin,
                      "a whole path has to stand here: unix:/path");
    status = decode(parser, begin, end);
    if (status != LK_OK)
        return status;
    if (strlen(begin) > SOCKET_PATH_MAX)
        return refuse(parser, begin,
                      "the path of a socket has at most 107 bytes");
    parser->url->path = begin;
    return LK_OK;
}

/* Reads one key=value, from begin to end. *seen has a bit for each option. */
static lk_status
parse_option(url_parser *parser, char *begin, char *end, uint64_t *seen)
{
    char *equals = memchr(begin, '=', (size_t)(end - begin));
    const char *key = begin;
    const char *value;
    const lk__option *option;
    uint64_t bit;
    lk_status status;

    if (equals == NULL || equals == begin)
        return refuse(parser, begin, "an option has to be written key=value");
    status = decode(parser, begin, equals);
    if (status == LK_OK)
        status = decode(parser, equals + 1, end);
    if (status != LK_OK)
        return status;

    value = equals + 1;
    lk__url_alias(&key, &value);
    status = lk__options_set(&parser->url->options, key, value, LK_EURL);
    if (status != LK_OK)
        return refuse(parser, begin,
                      has_late_at(parser) ? "not an option that is understood"
                                          : lk_last_error());
    option = lk__option_find(key);
    if (lk__option_is_tls(option) && !parser->url->tls)
        return refuse(parser, begin,
                      parser->url->master == NULL
                          ? "an option of TLS, and the URL is without; write "
                            "rediss://"
                          : "an option of TLS, and the URL is without; write "
                            "rediss+sentinel://");
    if (lk__option_is_sentinel(option) && parser->url->master == NULL)
        return refuse(parser, begin,
                      "an option of Sentinel, and the URL is without; write "
                      "redis+sentinel://host,host/master");
    bit = UINT64_C(1) << (option - lk__options);
    if ((*seen & bit) != 0)
        return refuse(parser, begin, "an option for the second time");
    *seen |= bit;
    return LK_OK;
}

/* Reads key=value&..., from begin to the end of the text. */
static lk_status parse_query(url_parser *parser, char *begin)
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
static lk_status check_bytes(const url_parser *parser)
{
    for (const char *at = parser->url->text; *at != '\0'; at++) {
        if (is_control(*at) || *at == ' ')
            return refuse(parser, at, "a space or control character");
        if (*at == '#')
            return refuse(parser, at, "a # has to be written %23");
    }
    return LK_OK;
}

/* Reads user, password, host and port, from begin to end. */
static lk_status parse_authority(url_parser *parser, lk__scheme_kind kind,
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
        return refuse(parser, begin,
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
parse_rest(url_parser *parser, lk__scheme_kind kind, char *rest)
{
    bool has_authority = strncmp(rest, "//", 2) == 0;
    char *begin = has_authority ? rest + 2 : rest;
    char *path = has_authority ? begin + strcspn(begin, "/?") : begin;
    char *path_end = path + strcspn(path, "?");
    bool has_query = *path_end == '?';
    lk_status status;

    parser->authority_end = (size_t)(path - parser->url->text);
    if (has_hosts(kind) && !has_authority)
        return refuse(parser, rest, "two slashes have to follow the scheme");
    status = parse_authority(parser, kind, begin, path);
    if (status != LK_OK)
        return status;
    if (is_group(kind))
        status = parse_master(parser, path, path_end);
    else if (has_hosts(kind))
        status = parse_db(parser, path, path_end);
    else
        status = parse_path(parser, path, path_end);
    if (status == LK_OK && has_query)
        status = parse_query(parser, path_end + 1);
    return status;
}

lk_status lk__url_parse(lk__url *ret_url, const char *text)
{
    lk__url url = {.options = {LK_CLIENT_OPTIONS_INIT}};
    url_parser parser = {.text = text, .url = &url};
    size_t scheme_size = strcspn(text, ":/?#@[");
    const lk__scheme *scheme = lk__scheme_find(text, scheme_size);
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
    status = check_bytes(&parser);
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
