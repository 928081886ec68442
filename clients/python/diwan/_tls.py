"""How connections are encrypted."""

import ssl

# Words in the names of OpenSSL's errors when two sides do not agree on encryption: asking again changes nothing.
_DISAGREEMENTS = ("CERT", "ALERT", "VERSION", "HTTP_REQUEST")


def context(tls, ca, cert):
    """The context of the options, or none for plain text."""
    if isinstance(tls, ssl.SSLContext):
        return tls
    if not tls and ca is None and cert is None:
        return None
    made = ssl.create_default_context(cafile=ca)
    if cert is not None:
        made.load_cert_chain(*((cert,) if isinstance(cert, str) or hasattr(cert, "__fspath__") else cert))
    return made


def is_refused(error):
    """Whether one side refuses the other's certificate or encryption: nothing of a request was looked at then."""
    if not isinstance(error, ssl.SSLError):
        return False
    reason = error.reason or ""
    if "BAD_RECORD_MAC" in reason:
        # Not of a handshake: something on the way changed what was sent.
        return False
    return isinstance(error, ssl.SSLCertVerificationError) or any(word in reason for word in _DISAGREEMENTS)
