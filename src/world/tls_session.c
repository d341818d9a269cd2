/* SPDX-License-Identifier: MIT */

/*
 * One stream's TLS. OpenSSL reads what was fed from where it lies, and what it
 * writes is joined in a buffer, so that it leaves in one send().
 *
 * SSL_get_error() looks at the errors that the thread has kept, which may be
 * another's; and SSL_want() says after an alert in a handshake that it wants to
 * read. So what a call came to is seen by whether it last asked for bytes that
 * there were none of.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "world/tls_openssl.h"

/* More than a client sends at a time. What OpenSSL has to say beside that, to one
   that changes keys again and again and reads nothing, would grow for ever. */
enum { OUT_MAX = 1024 * 1024 };

/* ---- the bytes of OpenSSL ------------------------------------------------ */

int lk__tls_bio_read(BIO *bio, char *bytes, int size)
{
    lk__tls_session *session = lk__openssl.BIO_get_data(bio);
    size_t take = (size_t)size;

    lk__openssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    session->starves = session->in_size == 0;
    if (session->starves) {
        lk__openssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    if (take > session->in_size)
        take = session->in_size;
    memcpy(bytes, session->in, take);
    session->in += take;
    session->in_size -= take;
    return (int)take;
}

int lk__tls_bio_write(BIO *bio, const char *bytes, int size)
{
    lk__tls_session *session = lk__openssl.BIO_get_data(bio);

    lk_status status = lk__buffer_append(&session->out, bytes, (size_t)size);

    lk__openssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (status == LK_OK)
        return size;
    session->error = status == LK_EFULL ? -ENOBUFS : -ENOMEM;
    return -1;
}

long lk__tls_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* ---- life ---------------------------------------------------------------- */

static bool ssl_make(lk__tls_session *session)
{
    lk__tls *tls = session->tls;
    BIO *bio = lk__openssl.BIO_new(tls->method);

    session->ssl = lk__openssl.SSL_new(tls->context);
    if (bio == NULL || session->ssl == NULL) {
        (void)lk__openssl.BIO_free(bio);
        return false;
    }
    lk__openssl.BIO_set_data(bio, session);
    lk__openssl.BIO_set_init(bio, 1);
    lk__openssl.SSL_set_bio(session->ssl, bio, bio);
    (void)lk__openssl.SSL_set_ex_data(session->ssl, 0, session);
    lk__openssl.SSL_set_connect_state(session->ssl);
    return true;
}

/* The name without the zone of an address or the dot at its end, which no
   certificate has. */
static bool name_set(lk__tls_session *session, const char *name)
{
    unsigned char number[sizeof(struct in6_addr)];
    size_t size = strcspn(name, "%");

    if (lk__tls_check_name(name) != LK_OK)
        return false;
    if (name[size - 1] == '.')
        size--;
    memcpy(session->name, name, size);
    session->is_address = inet_pton(AF_INET, session->name, number) == 1 ||
                          inet_pton(AF_INET6, session->name, number) == 1;
    return true;
}

/* Whom the certificate has to name, and whom the server is asked for. */
static bool ssl_name(lk__tls_session *session)
{
    const lk__tls *tls = session->tls;
    X509_VERIFY_PARAM *param = lk__openssl.SSL_get0_param(session->ssl);
    char *name = session->name;

    if (!name_set(session, tls->name != NULL ? tls->name : session->host))
        return false;

    lk__openssl
        .X509_VERIFY_PARAM_set_hostflags(param,
                                         X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!session->is_address &&
        !lk__openssl.SSL_ctrl(session->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                              TLSEXT_NAMETYPE_host_name, name))
        return false;
    if (tls->verify != LK_TLS_FULL)
        return true;
    if (session->is_address)
        return lk__openssl.X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    return lk__openssl.X509_VERIFY_PARAM_set1_host(param, name, 0) == 1;
}

lk__tls_session *
lk__tls_session_new(lk__tls *tls, const char *host, uint16_t port)
{
    lk__tls_session *session = lk__alloc(sizeof(*session));
    bool made;

    if (session == NULL)
        return NULL;
    session->tls = tls;
    (void)snprintf(session->host, sizeof(session->host), "%s", host);
    session->port = port;
    session->out.cap = OUT_MAX;
    (void)lk__openssl.ERR_set_mark();
    made = ssl_make(session) && ssl_name(session);
    if (made)
        lk__tls_resume(session);
    (void)lk__openssl.ERR_pop_to_mark();
    if (made)
        return session;
    lk__tls_session_free(session);
    return NULL;
}

/* It was begun, and did not come to an end. */
static bool handshake_hangs(const lk__tls_session *session)
{
    return session->begun && !session->stands && session->error == 0;
}

/* OpenSSL gives up the session of a stream that ends without a goodbye: it is
   told that there was one. */
void lk__tls_session_free(lk__tls_session *session)
{
    if (session == NULL)
        return;
    if (session->resumes && handshake_hangs(session))
        lk__tls_note(session, false); /* it may hang for what it resumed */
    if (session->ssl != NULL && session->stands && session->error == 0)
        lk__openssl.SSL_set_shutdown(session->ssl,
                                     SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    lk__openssl.SSL_free(session->ssl);
    lk__buffer_done(&session->out);
    lk__free(session);
}

/* ---- bytes --------------------------------------------------------------- */

void lk__tls_feed(lk__tls_session *session, const char *bytes, size_t size)
{
    session->in = bytes;
    session->in_size = size;
}

bool lk__tls_is_idle(const lk__tls_session *session)
{
    return session->in_size == 0 && lk__buffer_size(&session->out) == 0;
}

static void call_begin(lk__tls_session *session)
{
    session->starves = false;
    (void)lk__openssl.ERR_set_mark();
}

/* What a call that did not succeed came to. */
static int outcome(lk__tls_session *session)
{
    if (session->error == 0 && session->starves)
        return -EAGAIN;
    lk__tls_explain(session);
    return session->error;
}

int lk__tls_handshake(lk__tls_session *session)
{
    int result;

    if (session->error != 0)
        return session->error;
    call_begin(session);
    session->begun = true;
    result =
        lk__openssl.SSL_do_handshake(session->ssl) == 1 ? 0 : outcome(session);
    session->stands = result == 0;
    if (result != -EAGAIN)
        lk__tls_note(session, result == 0);
    (void)lk__openssl.ERR_pop_to_mark();
    return result;
}

/* A fatal alert is noted as an end as well, but sets OpenSSL back to before a
   handshake. */
static bool has_goodbye(const lk__tls_session *session)
{
    return (lk__openssl.SSL_get_shutdown(session->ssl) &
            SSL_RECEIVED_SHUTDOWN) != 0 &&
           !lk__openssl.SSL_in_init(session->ssl);
}

ssize_t lk__tls_read(lk__tls_session *session, char *bytes, size_t size)
{
    ssize_t result;

    if (session->error != 0)
        return session->error;
    if (session->in_size == 0)
        return -EAGAIN;
    call_begin(session);
    result = lk__openssl.SSL_read(session->ssl, bytes, (int)size);
    if (result <= 0 && has_goodbye(session))
        result = 0;
    else if (result <= 0)
        result = outcome(session);
    (void)lk__openssl.ERR_pop_to_mark();
    return result;
}

int lk__tls_write(lk__tls_session *session, const char *bytes, size_t size)
{
    int result;

    if (session->error != 0)
        return session->error;
    call_begin(session);
    result = lk__openssl.SSL_write(session->ssl, bytes, (int)size) == (int)size
                 ? 0
                 : outcome(session);
    (void)lk__openssl.ERR_pop_to_mark();
    return result;
}

size_t lk__tls_pending(const lk__tls_session *session, const char **ret_bytes)
{
    *ret_bytes = lk__buffer_bytes(&session->out);
    return lk__buffer_size(&session->out);
}

void lk__tls_sent(lk__tls_session *session, size_t size)
{
    lk__buffer_consume(&session->out, size);
}
