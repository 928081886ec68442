//! Links with TLS: a certificate and the secret, both.

use std::path::Path;

use base::Secret;
use log_links::{Lane, LinkSettings, PeerTlsConfig};
use net_tls::{KeyStore, KeyStoreKind, TlsProtocol};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};

use crate::broker::{Broker, listener, number_of, numbered, settings, until};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().expect("a key")).expect("an authority")
}

/// The settings of a broker whose certificate is made out for `named`.
fn config(authority: &Authority, directory: &Path, named: u32) -> PeerTlsConfig {
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    let uri = format!("diwan:member:{named}");
    parameters.subject_alt_names.push(SanType::URI(uri.as_str().try_into().expect("a URI")));
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, authority).expect("a certificate");
    let store = |name: String, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("written");
        KeyStore { path, password: Secret::default(), kind: KeyStoreKind::Pem }
    };
    PeerTlsConfig {
        key_store: store(format!("{named}.pem"), certificate.pem() + &key.serialize_pem()),
        trust_store: store(format!("ca-{named}.pem"), authority.pem()),
        verify_hostname: true,
        verify_client_hostname: true,
        protocols: vec![TlsProtocol::Tls13],
        cipher_suites: None,
        revocation_lists: Vec::new(),
    }
}

#[test]
fn brokers_with_certificates_of_one_authority_are_linked_and_others_are_not() {
    let (directory, ours, theirs) = (tempfile::tempdir().expect("a directory"), authority(), authority());
    let broker = |id, authority: &Authority| {
        let tls = Some(config(authority, directory.path(), id));
        Broker::with(LinkSettings { tls, ..settings(id, 1) }, listener(0))
    };
    let (mut one, mut two) = (broker(1, &ours), broker(2, &ours));
    let (foreign, plain) = (broker(3, &theirs), Broker::new(4, 1));
    for other in [&two, &foreign, &plain] {
        other.knows(&[&one]);
    }
    one.knows(&[&two, &foreign, &plain]);
    one.connected_to(&two);
    two.connected_to(&one);
    for number in 0..50 {
        one.send(&two, Lane::Bulk, numbered(number, 300_000)).expect("sent");
        assert_eq!(number_of(&two.message_of(&one)), number);
    }
    until("the others are refused", || one.links.refusals().other > 3);
    assert_eq!(
        [&foreign, &plain].map(|other| other.send(&one, Lane::Bulk, numbered(1, 10)).is_ok()),
        [false; 2]
    );
}
