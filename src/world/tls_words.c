/* SPDX-License-Identifier: MIT */

/* What went wrong, in words that say what to do. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "world/tls_openssl.h"

const char *lk__tls_reason(void)
{
    unsigned long error = lk__openssl.ERR_peek_last_error();
    const char *reason = lk__openssl.ERR_reason_error_string(error);

    if (reason != NULL)
        return reason;
    return ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error))
                                   : "no reason is given";
}

/* What OpenSSL found wrong with the server's certificate. */
static const struct {
    long code;
    const char *advice;
} verdicts[] = {
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
     "its CA is not trusted: name the CA's file with tls_ca_file"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
     "its CA is not trusted: name the CA's file with tls_ca_file"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
     "its CA is not trusted: name the CA's file with tls_ca_file"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
     "it is its own CA: name its file with tls_ca_file to trust it"},
    {X509_V_ERR_CERT_HAS_EXPIRED,
     "renew it at the server, or set this machine's clock"},
    {X509_V_ERR_CERT_NOT_YET_VALID,
     "set this machine's clock, or wait until it begins"},
};

static void explain_name(lk__tls_session *session, const char *what)
{
    (void)
        snprintf(session->words, sizeof(session->words),
                 "the certificate is not for the %s %.60s: use a name that it "
                 "has, or tls_server_name",
                 what, session->name);
}

static void explain_verdict(lk__tls_session *session, long verdict)
{
    const char *advice = "verify it with `openssl verify`";

    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH) {
        explain_name(session, "name");
        return;
    }
    if (verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        explain_name(session, "address");
        return;
    }
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        if (verdicts[i].code == verdict)
            advice = verdicts[i].advice;
    }
    (void)snprintf(session->words, sizeof(session->words),
                   "the server's certificate: %s; %s",
                   lk__openssl.X509_verify_cert_error_string(verdict), advice);
}

/* What OpenSSL says of the rest, or the server with an alert. */
static const struct {
    int reason;
    int error;
    const char *words;
} reasons[] = {
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, -EKEYREJECTED,
     "the server wants a certificate of the client: say tls_cert_file and "
     "tls_key_file"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, -EKEYREJECTED,
     "the server refuses the TLS handshake: perhaps it wants a certificate of "
     "the client (tls_cert_file), or has no cipher in common"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, -EKEYREJECTED,
     "the server does not trust the CA of the client's certificate "
     "(tls_cert_file), or lacks that CA's list of revoked ones (CRL)"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, -EKEYREJECTED,
     "the server refuses the client's certificate (tls_cert_file): its key is "
     "too short, or it or the server's CRL is not valid yet"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, -EKEYREJECTED,
     "the server refuses the client's certificate (tls_cert_file): perhaps it "
     "is not for clients, but for servers alone"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, -EKEYREJECTED,
     "the client's certificate (tls_cert_file) was revoked"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, -EKEYREJECTED,
     "the client's certificate (tls_cert_file) has expired, or the server's "
     "list of revoked ones (CRL) has: renew that one"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, -EKEYREJECTED,
     "the server refuses the client's certificate (tls_cert_file); its log may "
     "say why"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, -EPROTO,
     "client and server have no version of TLS in common; 1.2 is the least"},
    {SSL_R_UNSUPPORTED_PROTOCOL, -EPROTO,
     "client and server have no version of TLS in common; 1.2 is the least"},
    {SSL_R_WRONG_VERSION_NUMBER, -EPROTO,
     "the server's answer is not TLS; perhaps its port is a plain one: "
     "redis://"},
};

static void explain_reason(lk__tls_session *session, int reason)
{
    session->error = -EPROTO;
    (void)snprintf(session->words, sizeof(session->words), "TLS: %s",
                   lk__tls_reason());
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].reason != reason)
            continue;
        session->error = reasons[i].error;
        (void)snprintf(session->words, sizeof(session->words), "%s",
                       reasons[i].words);
    }
}

void lk__tls_explain(lk__tls_session *session)
{
    long verdict = lk__openssl.SSL_get_verify_result(session->ssl);

    if (session->error == -ENOMEM) {
        (void)snprintf(session->words, sizeof(session->words), "out of memory");
    } else if (session->error == -ENOBUFS) {
        (void)snprintf(session->words, sizeof(session->words),
                       "the server has TLS answer it, and reads no answer");
    } else if (verdict != X509_V_OK && session->tls->verify != LK_TLS_NONE) {
        session->error = -EKEYREJECTED;
        explain_verdict(session, verdict);
    } else {
        explain_reason(session,
                       ERR_GET_REASON(lk__openssl.ERR_peek_last_error()));
    }
}

void lk__tls_words(const lk__tls_session *session, char *words, size_t size)
{
    (void)snprintf(words, size, "%s", session->words);
}
