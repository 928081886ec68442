//! Why two members do not come together, in words that tell an operator what to mend; and how often that is said.
//!
//! The TLS library names the rule of its protocol that was broken. Here each such error becomes what it means between
//! members: which of the two has to change something, and what.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use node_threads::calendar::short_date;
use parking_lot::Mutex;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use crate::refusal::Refusal;
use crate::tls::OwnCertificate;

/// How often the same is said of the same member.
const REPEAT: Duration = Duration::from_secs(60);
/// Different things said of one member within that time.
const SAYINGS_MAX: usize = 4;
/// Members and addresses of which is remembered what was said.
const SUBJECTS_MAX: usize = 512;

/// The refusal that a broken handshake is. `own` is this member's certificate, where members speak TLS.
pub(crate) fn broken(error: &io::Error, own: Option<&OwnCertificate>) -> Refusal {
    Refusal::Broken { kind: error.kind(), explanation: explain(error, own) }
}

/// What a broken handshake means. `own` is this member's certificate, where members speak TLS.
pub(crate) fn explain(error: &io::Error, own: Option<&OwnCertificate>) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    if let Some(tls) = tls {
        return explain_tls(tls, own);
    }
    String::from(match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "it did not answer in time",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            match own {
                Some(_) => {
                    "it ended the connection before both knew each other; hint: it may speak plain text \
                     (`sslQuorum` differs), or its log says why"
                }
                None => "it ended the connection before both knew each other; hint: its log says why",
            }
        }
        _ => return error.to_string(),
    })
}

fn explain_tls(error: &Error, own: Option<&OwnCertificate>) -> String {
    match error {
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => String::from(
            "it speaks plain text or another protocol, and this member TLS; hint: `sslQuorum` differs between the two",
        ),
        Error::InvalidCertificate(error) => explain_certificate(error),
        Error::NoCertificatesPresented => {
            String::from("it shows no certificate; hint: every member needs `ssl.quorum.keyStore.location`")
        }
        Error::AlertReceived(alert) => explain_alert(*alert, own),
        Error::PeerIncompatible(why) => format!(
            "the two have no version or cipher suite of TLS in common ({why:?}); hint: see `ssl.quorum.enabledProtocols` \
             and `ssl.quorum.ciphersuites` of both"
        ),
        other => format!("TLS failed: {other}"),
    }
}

fn explain_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => String::from(
            "its certificate comes from an authority that this member does not trust; hint: all members need \
             certificates of one authority, and that authority in `ssl.quorum.trustStore.location`",
        ),
        CertificateError::ExpiredContext { not_after, .. } => format!(
            "its certificate expired on {}; hint: renew the certificate of that member",
            short_date(not_after.as_secs().cast_signed())
        ),
        CertificateError::Expired => {
            String::from("its certificate has expired; hint: renew the certificate of that member")
        }
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "its certificate holds from {} on; hint: see the clocks of both machines",
            short_date(not_before.as_secs().cast_signed())
        ),
        CertificateError::Revoked => String::from("its certificate was revoked"),
        CertificateError::ExpiredRevocationListContext { .. } | CertificateError::ExpiredRevocationList => {
            String::from("the revocation list for its certificate has expired; hint: fetch a new list")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => String::from(
            "its certificate is not meant for this side of a connection; hint: a member's certificate needs the uses \
             `serverAuth` and `clientAuth`, or none",
        ),
        other => format!("its certificate is refused: {other}"),
    }
}

/// What the other side says before it hangs up: mostly of this member's certificate.
fn explain_alert(alert: AlertDescription, own: Option<&OwnCertificate>) -> String {
    let file = own.map_or_else(String::new, |own| format!(" `{}`", own.path.display()));
    match alert {
        AlertDescription::CertificateExpired => match own.and_then(|own| own.not_after) {
            Some(end) => format!(
                "it refuses this member's certificate{file}, which holds until {}; hint: renew it, or see the clocks of \
                 both machines",
                short_date(end)
            ),
            None => format!("it refuses this member's certificate{file}, which has expired; hint: renew it"),
        },
        AlertDescription::UnknownCA | AlertDescription::DecryptError | AlertDescription::BadCertificate => {
            format!(
                "it does not trust the authority of this member's certificate{file}; hint: all members need \
                 certificates of one authority, and that authority in `ssl.quorum.trustStore.location`"
            )
        }
        AlertDescription::CertificateRevoked => format!("this member's certificate{file} was revoked"),
        AlertDescription::UnsupportedCertificate => format!(
            "this member's certificate{file} is not meant for this side of a connection; hint: it needs the uses \
             `serverAuth` and `clientAuth`, or none"
        ),
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => String::from(
            "the two have no version or cipher suite of TLS in common; hint: see `ssl.quorum.enabledProtocols` and \
             `ssl.quorum.ciphersuites` of both",
        ),
        other => format!("it ended the TLS handshake ({other:?}); hint: its log says why"),
    }
}

/// What was said lately, so that a member that tries twice a second does not fill the log.
#[derive(Default)]
pub(crate) struct Complaints {
    said: Mutex<BTreeMap<String, Vec<(Instant, String)>>>,
}

impl Complaints {
    /// Warns of something about a member or an address, unless that was said a moment ago.
    pub(crate) fn warn(&self, subject: &str, what: &str) {
        if self.is_news(subject, what, Instant::now()) {
            tracing::warn!("{subject}: {what}");
        }
    }

    /// The next trouble with it is news.
    pub(crate) fn forget(&self, subject: &str) {
        self.said.lock().remove(subject);
    }

    fn is_news(&self, subject: &str, what: &str, now: Instant) -> bool {
        let mut said = self.said.lock();
        let recent = |when: Instant| now.saturating_duration_since(when) < REPEAT;
        if said.len() >= SUBJECTS_MAX && !said.contains_key(subject) {
            said.retain(|_, sayings| sayings.iter().any(|(when, _)| recent(*when)));
            if said.len() >= SUBJECTS_MAX {
                return false;
            }
        }
        let sayings = said.entry(String::from(subject)).or_default();
        sayings.retain(|(when, _)| recent(*when));
        if sayings.len() >= SAYINGS_MAX || sayings.iter().any(|(_, saying)| saying == what) {
            return false;
        }
        sayings.push((now, String::from(what)));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustls::pki_types::UnixTime;

    use super::*;

    fn said(error: Error) -> String {
        let own = OwnCertificate {
            path: PathBuf::from("member-1.pem"),
            not_after: Some(1_770_841_080),
            doubt: None,
        };
        explain(&io::Error::new(io::ErrorKind::InvalidData, error), Some(&own))
    }

    #[test]
    fn tls_errors_say_what_to_mend() {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(1_770_841_080));
        for (error, expected) in [
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "`sslQuorum` differs"),
            (CertificateError::UnknownIssuer.into(), "`ssl.quorum.trustStore.location`"),
            (CertificateError::BadSignature.into(), "authority"),
            (
                CertificateError::ExpiredContext { time, not_after: time }.into(),
                "expired on 2026-02-11 20:18",
            ),
            (Error::NoCertificatesPresented, "`ssl.quorum.keyStore.location`"),
            (
                Error::AlertReceived(AlertDescription::CertificateExpired),
                "`member-1.pem`, which holds until 2026-02-11 20:18",
            ),
            (Error::AlertReceived(AlertDescription::DecryptError), "does not trust the authority"),
            (Error::AlertReceived(AlertDescription::ProtocolVersion), "`ssl.quorum.enabledProtocols`"),
        ] {
            let told = said(error);
            assert!(told.contains(expected) && !told.contains("received fatal alert"), "{told}");
        }
        let cut = explain(&io::ErrorKind::UnexpectedEof.into(), None);
        assert!(cut.contains("ended the connection") && !cut.contains("TLS"), "{cut}");
    }

    #[test]
    fn complaint_is_said_once_a_minute_and_four_of_one_member() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        let news = |subject: &str, what: &str, seconds| {
            complaints.is_news(subject, what, start + Duration::from_secs(seconds))
        };
        assert!(news("member 2", "a", 0) && news("member 2", "b", 0) && news("member 3", "a", 0));
        assert!(!news("member 2", "a", 59) && !news("member 2", "b", 59));
        assert!(news("member 2", "a", 60));
        assert!(news("member 2", "c", 61) && news("member 2", "d", 61) && news("member 2", "e", 61));
        assert!(!news("member 2", "f", 62), "four in a minute");
        complaints.forget("member 2");
        assert!(news("member 2", "a", 63));
    }

    #[test]
    fn complaints_about_many_strangers_are_bounded() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        let told =
            (0..SUBJECTS_MAX + 100).filter(|number| complaints.is_news(&number.to_string(), "x", start));
        assert_eq!(told.count(), SUBJECTS_MAX);
        assert!(complaints.is_news("later", "x", start + REPEAT));
    }
}
