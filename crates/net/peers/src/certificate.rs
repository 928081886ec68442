//! What a certificate says: which member it is made out for, at which hosts, and until when it holds.
//!
//! A certificate that `diwan certificates` makes names its member by a URI among its alternative names, `diwan:member:N`.
//! Such a certificate is good for that number and for no other, wherever the member is. A certificate from elsewhere,
//! such as one of an ensemble that ran here before, names hosts; it is good for the members that the configuration or the roster
//! has at one of them: by the host's name, by an address that it is written as or resolves to, or, where the certificate
//! has no alternative names of hosts, by its common name. Knows no socket and does not look at signatures: the TLS
//! library has done that.

use std::net::IpAddr;

use net_peer_pairs::PeerNumber;
use rustls::pki_types::{CertificateDer, ServerName};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// What the URI begins with that names a member.
const MEMBER_URI: &str = "diwan:member:";

/// Why a certificate is not that of a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateRefusal {
    /// The other side shows none.
    #[error("it shows no certificate")]
    Missing,
    /// It is no certificate.
    #[error("its certificate cannot be read")]
    Unreadable,
    /// It is made out for other members.
    #[error(
        "it says that it is member {number}, and its certificate is made out for {}; hint: each member has a \
         `member-N.pem` of its own",
        numbers(.members)
    )]
    OtherMember {
        /// The member that its holder says it is.
        number: PeerNumber,
        /// The numbers that it names; nothing for a name that is no number.
        members: Vec<Option<u64>>,
    },
    /// It names neither the member nor a host where the member is said to be.
    #[error(
        "its certificate names neither member {number} nor `{}`; hint: make one with `diwan certificates --member \
         {number}={}`",
        .hosts.join("`, `"),
        .hosts.first().map_or("HOST", String::as_str)
    )]
    OtherHost {
        /// The member that its holder says it is.
        number: PeerNumber,
        /// Where that member is said to be.
        hosts: Vec<String>,
    },
}

/// Whether a certificate is made out for a member. `hosts` are the hosts at which it is said to be, each with its
/// addresses; no host counts unless `by_host`.
///
/// # Errors
/// Why it is not, with what to do.
pub(crate) fn check(
    certificate: &CertificateDer<'_>,
    number: PeerNumber,
    hosts: &[(String, Vec<IpAddr>)],
    by_host: bool,
) -> Result<(), CertificateRefusal> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateRefusal::Unreadable)?;
    let members = members(&parsed);
    if members.contains(&Some(number.into())) {
        return Ok(());
    }
    if !members.is_empty() {
        return Err(CertificateRefusal::OtherMember { number, members });
    }
    if !by_host || hosts.iter().any(|(host, addresses)| names(certificate, &parsed, host, addresses)) {
        return Ok(());
    }
    let hosts = hosts.iter().map(|(host, _)| host.clone()).collect();
    Err(CertificateRefusal::OtherHost { number, hosts })
}

/// The members that a certificate names; nothing for a name that is no number.
fn members(parsed: &X509Certificate<'_>) -> Vec<Option<u64>> {
    let number = |name: &GeneralName<'_>| match name {
        GeneralName::URI(uri) => uri.strip_prefix(MEMBER_URI).map(|number| number.parse().ok()),
        _ => None,
    };
    alternative_names(parsed).iter().filter_map(number).collect()
}

fn numbers(members: &[Option<u64>]) -> String {
    let number = |member: &Option<u64>| {
        member.map_or_else(|| String::from("no number"), |number| format!("member {number}"))
    };
    members.iter().map(number).collect::<Vec<_>>().join(" and ")
}

fn alternative_names<'a>(parsed: &'a X509Certificate<'_>) -> &'a [GeneralName<'a>] {
    match parsed.subject_alternative_name() {
        Ok(Some(extension)) => &extension.value.general_names,
        _ => &[],
    }
}

fn names(
    certificate: &CertificateDer<'_>,
    parsed: &X509Certificate<'_>,
    host: &str,
    addresses: &[IpAddr],
) -> bool {
    let of_hosts =
        |name: &GeneralName<'_>| matches!(name, GeneralName::DNSName(_) | GeneralName::IPAddress(_));
    if !alternative_names(parsed).iter().any(of_hosts) {
        let mut common = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        return common.any(|name| name.eq_ignore_ascii_case(host));
    }
    let Ok(certificate) = webpki::EndEntityCert::try_from(certificate) else { return false };
    let by_name = ServerName::try_from(host).ok();
    let by_address = addresses.iter().map(|address| ServerName::from(*address));
    by_name
        .into_iter()
        .chain(by_address)
        .any(|name| certificate.verify_is_valid_for_subject_name(&name).is_ok())
}

/// Whether a certificate names any member.
pub(crate) fn names_a_member(certificate: &CertificateDer<'_>) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, parsed)| !members(&parsed).is_empty())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType, date_time_ymd};

    use super::*;

    fn made(names: &[&str], uris: &[&str], common: &str) -> CertificateDer<'static> {
        let names: Vec<_> = names.iter().map(|name| String::from(*name)).collect();
        let mut parameters = CertificateParams::new(names).expect("names");
        for uri in uris {
            parameters.subject_alt_names.push(SanType::URI((*uri).try_into().expect("a URI")));
        }
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, common);
        parameters.not_after = date_time_ymd(2031, 1, 1);
        parameters.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate").der().clone()
    }

    fn hosts(host: &str, address: &str) -> Vec<(String, Vec<IpAddr>)> {
        vec![(String::from(host), vec![address.parse().expect("an address")])]
    }

    #[test]
    fn certificate_that_names_a_member_is_good_for_that_one_wherever_it_is() {
        let two = made(&["zk1"], &["diwan:member:2"], "x");
        assert_eq!(check(&two, PeerNumber(2), &hosts("elsewhere", "10.0.0.9"), true), Ok(()));
        let one = PeerNumber(1);
        let refused = check(&two, one, &hosts("zk1", "10.0.0.1"), false).expect_err("another number");
        assert_eq!(refused, CertificateRefusal::OtherMember { number: one, members: vec![Some(2)] });
        assert!(refused.to_string().contains("made out for member 2"), "{refused}");
        let both = made(&[], &["diwan:member:2", "diwan:member:3"], "x");
        let is_good = |number| check(&both, PeerNumber(number), &[], true).is_ok();
        assert!(is_good(3) && !is_good(4));
        for odd in ["diwan:member:", "diwan:member:x", "diwan:member:01x"] {
            assert!(
                check(&made(&["zk1"], &[odd], "x"), one, &hosts("zk1", "10.0.0.1"), false).is_err(),
                "{odd}"
            );
        }
        assert!(names_a_member(&two) && !names_a_member(&made(&["zk1"], &["https://zk1"], "x")));
    }

    #[test]
    fn certificate_from_elsewhere_must_name_the_members_host() {
        let (at, one) = (hosts("zk1.example.com", "10.0.0.1"), PeerNumber(1));
        for (names, common, good) in [
            (&["zk1.example.com"][..], "x", true),
            (&["*.example.com"], "x", true),
            (&["10.0.0.1"], "x", true),
            (&["10.0.0.2"], "zk1.example.com", false),
            (&["web-frontend-17.example.com"], "zk1.example.com", false),
            (&[], "ZK1.example.com", true),
            (&[], "web-frontend-17", false),
        ] {
            let certificate = made(names, &[], common);
            assert_eq!(check(&certificate, one, &at, true).is_ok(), good, "{names:?} {common}");
            assert_eq!(check(&certificate, one, &at, false), Ok(()), "host names do not count");
        }
        let nowhere = check(&made(&[], &[], "x"), one, &[], true).expect_err("nowhere");
        assert_eq!(nowhere, CertificateRefusal::OtherHost { number: one, hosts: Vec::new() });
        assert!(nowhere.to_string().contains("hint: "));
    }
}
