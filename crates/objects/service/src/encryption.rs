//! Encryption of clients' connections: what they are offered, kept up with its files, and what is counted of it.

use std::sync::Arc;

use net_http_server::HttpTls;
use net_reactor::{NetworkMetrics, TlsHints};
use net_tls::{TlsContext, TlsError};
use node_metrics::Sample;
use node_pages::Source;

/// How log lines call the settings of encryption.
pub(crate) const TLS_HINTS: TlsHints = TlsHints {
    plain_at_tls: "name this server as `https://HOST:PORT`, or serve plain text: remove `objects.tls.key-store`",
    tls_at_plain: "name this server as `http://HOST:PORT`, or give it a key: `objects.tls.key-store`",
    client_auth: "objects.tls.client-auth",
    trust_store: "objects.tls.trust-store",
};

/// Handshakes under way, of all threads. One that has sent the most that it may holds about 100 KiB.
const HANDSHAKES_MAX: u64 = 4_096;

/// What a client is told that speaks plain text where TLS is wanted. It has sent nothing that was looked at.
const PLAIN_REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
Content-Type: application/problem+json\r\n\
Connection: close\r\n\
Content-Length: 142\r\n\
\r\n\
{\"type\":\"urn:diwan:problem:tls-required\",\"status\":400,\
\"detail\":\"this port speaks TLS only: name it as https://\",\"effect\":\"none\",\"retry\":\"no\"}\n";

/// The same for the HTTP server.
pub(crate) fn of_http(context: Arc<TlsContext>) -> HttpTls {
    HttpTls { context, handshakes_max: HANDSHAKES_MAX, plain_refusal: PLAIN_REFUSAL }
}

/// Says what became of reading keys and certificates again.
pub(crate) fn told(context: &TlsContext, reloaded: Result<bool, TlsError>) {
    let path = context.path().display();
    match reloaded {
        Ok(false) => {}
        Ok(true) => {
            tracing::info!(%path, "keys and certificates for clients of objects were read again: new connections use them");
        }
        Err(error) => tracing::error!(
            %error,
            "keys and certificates for clients of objects cannot be used; those read before stay in force"
        ),
    }
}

/// Figures of encryption on a page.
pub(crate) struct EncryptionFigures {
    pub(crate) context: Arc<TlsContext>,
    pub(crate) network: Arc<NetworkMetrics>,
}

impl Source for EncryptionFigures {
    fn samples(&self) -> Vec<Sample> {
        let under_way = i64::try_from(self.network.handshakes()).unwrap_or(i64::MAX);
        let mut samples = vec![
            Sample::gauge("diwan_objects_tls_handshakes", "TLS handshakes of clients under way", under_way),
            Sample::counter(
                "diwan_objects_tls_handshakes_failed_total",
                "TLS handshakes of clients that came to nothing",
                self.network.handshakes_failed(),
            ),
        ];
        let help = "When the certificate ends that clients are shown, seconds since 1970";
        let end = self.context.not_after();
        samples.extend(end.map(|end| Sample::gauge("diwan_objects_certificate_expiry_seconds", help, end)));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::PLAIN_REFUSAL;

    #[test]
    fn refusal_of_plain_text_is_a_whole_response() {
        let text = std::str::from_utf8(PLAIN_REFUSAL).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head} {}", body.len());
        let quotes = body.matches('"').count();
        assert!(body.starts_with('{') && body.ends_with("}\n") && quotes % 2 == 0, "{body}");
    }
}
