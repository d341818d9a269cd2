/* SPDX-License-Identifier: MIT */

/* A part of a URL: decoded where it stands, or refused; and a host. */

#include "settings/url_part.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"

enum { PORT_MAX = 65535, HOST_MAX = 255 };

/* ---- errors ------------------------------------------------------------- */

bool lk__url_has_late_at(const lk__url_parser *parser)
{
    return strchr(parser->text + parser->authority_end, '@') != NULL;
}

lk_status
lk__url_refuse(const lk__url_parser *parser, const char *at, const char *what)
{
    return lk__fail(LK_EURL, "in the URL, at byte %zu: %s%s",
                    (size_t)(at - parser->url->text) + 1, what,
                    lk__url_has_late_at(parser)
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

bool lk__url_is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

lk_status
lk__url_decode(const lk__url_parser *parser, char *begin, const char *end)
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
            return lk__url_refuse(parser, from,
                                  "two hexadecimal digits have to "
                                  "follow a %");
        *to = (char)(unsigned char)(high * 16 + low);
        if (lk__url_is_control(*to))
            return lk__url_refuse(parser, from, "a control character");
        from += 2;
    }
    *to = '\0';
    return LK_OK;
}

/* Refuses what has to be encoded wherever it stands. */
lk_status lk__url_check_bytes(const lk__url_parser *parser, const char *at)
{
    for (; *at != '\0'; at++) {
        if (lk__url_is_control(*at) || *at == ' ')
            return lk__url_refuse(parser, at, "a space or control character");
        if (*at == '#')
            return lk__url_refuse(parser, at, "a # has to be written %23");
    }
    return LK_OK;
}

/* ---- a host and its port -------------------------------------------------- */

static lk_status parse_port(const lk__url_parser *parser, const char *begin,
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
        return lk__url_refuse(parser, begin, "the port has to be 1 to 65535");
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
parse_ipv6(const lk__url_parser *parser, char *begin, char *end, char **ret_end)
{
    char *close = memchr(begin, ']', (size_t)(end - begin));
    lk_status status;

    if (close == NULL)
        return lk__url_refuse(parser, begin, "a [ without its ]");
    status = lk__url_decode(parser, begin + 1, close);
    if (status != LK_OK)
        return status;
    if (!is_ipv6(begin + 1))
        return lk__url_refuse(parser, begin, "not an IPv6 address");
    *ret_end = close + 1;
    return LK_OK;
}

/* Reads a name or an IPv4 address, from begin to end. Empty: the default. */
static lk_status parse_name(const lk__url_parser *parser, char *begin,
                            const char *end, const char **ret_host)
{
    lk_status status;

    if (begin == end) {
        *ret_host = "127.0.0.1";
        return LK_OK;
    }
    status = lk__url_decode(parser, begin, end);
    if (status != LK_OK)
        return status;
    if (!is_host(begin))
        return lk__url_refuse(parser, begin,
                              "not the name or address of a host");
    *ret_host = begin;
    return LK_OK;
}

/* Reads what follows the host: nothing, or a ':' and the port, up to end. */
static lk_status parse_port_part(const lk__url_parser *parser,
                                 const char *colon, const char *end,
                                 uint16_t *port)
{
    if (colon == end)
        return LK_OK;
    if (*colon != ':')
        return lk__url_refuse(parser, colon,
                              "a : and the port have to follow the ]");
    if (memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL)
        return lk__url_refuse(parser, colon,
                              "one : too many; an IPv6 address stands in [ ]");
    return parse_port(parser, colon + 1, end, port);
}

lk_status lk__url_read_server(const lk__url_parser *parser, char *begin,
                              char *end, lk__url_server *server)
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
