//! What Kafka's keys say of listeners, of who connects there, and of what each may do, as the broker takes it.

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use base::Secret;
use log_access::Windows;
use log_access::quota::QuotaWindows;
use log_access::{AuthorizerConfig, ConnectionLimits, ListenerLimits, Principal};
use log_broker::SecurityProtocol;
use log_config::{
    Authorizer, ClientAuth, Given, Listener, ListenerSecurity, NetworkLimits, Protocol, QuotaWindow, Sasl,
    Store, Tls, Values,
};
use log_service::{ListenerConfig, ListenerSasl, ListenerTls, OauthConfig, PeerTlsConfig};
use net_tls::{Framing, KeyStore, KeyStoreKind, TlsConfig, TlsProtocol};

use super::address;
use node_config::Problem;

/// What security brokers of this program have. What a file asks for besides refuses the start.
pub(super) const GIVEN: Given<'static> = Given {
    tls: true,
    sasl_mechanisms: &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"],
    acls: true,
};

/// How long a TLS handshake may take, milliseconds.
const HANDSHAKE_TIMEOUT_MS: u32 = 10_000;

/// The listeners, each with its security.
///
/// # Errors
/// A host has no address, or what is asked of TLS or of tokens is not there.
pub(super) fn listeners(
    values: &impl Values,
    listeners: &[Listener],
    security: &[ListenerSecurity],
) -> Result<Vec<ListenerConfig>, Vec<Problem>> {
    let each = listeners.iter().zip(security).map(|(own, security)| listener(values, own, security));
    let (good, bad): (Vec<_>, Vec<_>) = each.partition(Result::is_ok);
    let problems: Vec<Problem> = bad.into_iter().filter_map(Result::err).collect();
    if problems.is_empty() { Ok(good.into_iter().filter_map(Result::ok).collect()) } else { Err(problems) }
}

fn listener(
    values: &impl Values,
    own: &Listener,
    security: &ListenerSecurity,
) -> Result<ListenerConfig, Problem> {
    let address = address::of(own.host.as_deref(), own.port).map_err(|error| {
        let host = own.host.as_deref().unwrap_or_default();
        Problem::new(format!("`listeners` names `{host}`, which has no address here: {error}"))
            .hint("name an address of this machine, or none for all of them")
    })?;
    let told = own.advertised.as_ref();
    let host = told.and_then(|told| told.host.clone()).unwrap_or_else(address::own_name);
    let prefix = format!("listener.name.{}.", own.name.to_ascii_lowercase());
    let limit = |key: &str| limit(values.whole(&format!("{prefix}{key}")));
    Ok(ListenerConfig {
        name: own.name.clone(),
        address,
        advertised: Some((host, told.and_then(|told| told.port).unwrap_or(0))),
        protocol: match own.protocol {
            Protocol::Plaintext => SecurityProtocol::Plaintext,
            Protocol::Ssl => SecurityProtocol::Ssl,
            Protocol::SaslPlaintext => SecurityProtocol::SaslPlaintext,
            Protocol::SaslSsl => SecurityProtocol::SaslSsl,
        },
        tls: security.tls.as_ref().map(|tls| listener_tls(&own.name, tls)).transpose()?,
        sasl: security.sasl.as_ref().map(|sasl| listener_sasl(values, &prefix, sasl)).transpose()?,
        limits: ListenerLimits {
            connections_max: limit("max.connections"),
            creation_rate: limit("max.connection.creation.rate"),
            is_open: false,
        },
    })
}

/// Kafka's largest number stands for no limit.
fn limit(value: Option<i64>) -> Option<u32> {
    value.filter(|value| *value < i64::from(i32::MAX)).and_then(|value| u32::try_from(value).ok())
}

fn listener_tls(listener: &str, tls: &Tls) -> Result<ListenerTls, Problem> {
    let problem = |what: String| Problem::new(format!("the listener `{listener}`: {what}"));
    if tls.key.is_some() || tls.certificates.is_some() || tls.trusted.is_some() {
        let what = "keys and certificates are taken from files, and not from the configuration".into();
        return Err(problem(what).hint("write them to a file, and name it with `ssl.keystore.location`"));
    }
    let key_store = key_store(&tls.key_store, tls.key_password.as_ref()).map_err(problem)?;
    let key_store = key_store.ok_or_else(|| {
        problem("there is no key for TLS".into()).hint("set `ssl.keystore.location` and `ssl.keystore.type`")
    })?;
    let trust_store = self::key_store(&tls.trust_store, None).map_err(problem)?;
    if trust_store.is_none() && tls.client_auth != ClientAuth::None {
        let what = "clients show certificates, and nobody is trusted to have signed them".into();
        return Err(problem(what).hint("set `ssl.truststore.location` and `ssl.truststore.type`"));
    }
    let protocol = |name: &String| {
        TlsProtocol::named(name).ok_or_else(|| {
            problem(format!("`{name}` is not served"))
                .hint("`ssl.enabled.protocols` may name TLSv1.2 and TLSv1.3")
        })
    };
    let rules = tls.principal_rules.trim();
    Ok(ListenerTls {
        config: TlsConfig {
            key_store,
            trust_store,
            client_auth: match tls.client_auth {
                ClientAuth::None => net_tls::ClientAuth::None,
                ClientAuth::Requested => net_tls::ClientAuth::Want,
                ClientAuth::Required => net_tls::ClientAuth::Need,
            },
            protocols: tls.protocols.iter().map(protocol).collect::<Result<_, _>>()?,
            cipher_suites: (!tls.cipher_suites.is_empty()).then(|| tls.cipher_suites.clone()),
            verify_client_hostname: false,
            revocation_lists: Vec::new(),
            reload: true,
            handshake_timeout_ms: HANDSHAKE_TIMEOUT_MS,
            framing: Framing::None,
        },
        principal_rules: if rules.is_empty() { "DEFAULT".into() } else { rules.into() },
    })
}

/// TLS between brokers is that of the listener that the file names for it: its own keys, and whom it trusts.
///
/// # Errors
/// Nobody is trusted to have signed the certificates of other brokers.
pub(super) fn between_brokers(
    named: &Listener,
    security: &ListenerSecurity,
    listener: &ListenerConfig,
) -> Result<Option<PeerTlsConfig>, Problem> {
    let (Some(of), Some(ListenerTls { config, .. })) = (&security.tls, &listener.tls) else {
        return Ok(None);
    };
    let trust_store = config.trust_store.clone().ok_or_else(|| {
        let name = &named.name;
        let what = format!("brokers show each other certificates, as at `{name}`, and it has no trust store");
        Problem::new(what).hint("set `ssl.truststore.location` and `ssl.truststore.type`")
    })?;
    Ok(Some(PeerTlsConfig {
        key_store: config.key_store.clone(),
        trust_store,
        verify_hostname: of.verifies_hosts,
        verify_client_hostname: of.verifies_hosts,
        protocols: config.protocols.clone(),
        cipher_suites: config.cipher_suites.clone(),
        revocation_lists: Vec::new(),
    }))
}

/// The store that Kafka's keys name, of a broker or of a client.
///
/// # Errors
/// Its type is not known, or its key has a password of its own.
pub(crate) fn key_store(store: &Store, key_password: Option<&Secret>) -> Result<Option<KeyStore>, String> {
    let Some(location) = &store.location else { return Ok(None) };
    let kind = match store.kind.to_ascii_uppercase().as_str() {
        "JKS" => KeyStoreKind::Jks,
        "PKCS12" => KeyStoreKind::Pkcs12,
        "PEM" => KeyStoreKind::Pem,
        other => {
            return Err(format!("there are no stores of the type `{other}`: JKS, PKCS12 and PEM are known"));
        }
    };
    let own = store.password.as_ref();
    let password = match (kind, own, key_password) {
        (KeyStoreKind::Pem, _, Some(key)) => key.clone(),
        (_, Some(own), Some(key)) if own.0 != key.0 => {
            return Err("`ssl.key.password` has to be that of the store".into());
        }
        (_, Some(password), _) | (_, None, Some(password)) => password.clone(),
        (_, None, None) => Secret::default(),
    };
    Ok(Some(KeyStore { path: PathBuf::from(location), password, kind }))
}

fn listener_sasl(values: &impl Values, prefix: &str, sasl: &Sasl) -> Result<ListenerSasl, Problem> {
    let own = |key: &str| values.text(&format!("{prefix}{key}")).or_else(|| values.text(key));
    let keys = match own("sasl.oauthbearer.jwks.endpoint.url").filter(|url| !url.is_empty()) {
        None => None,
        Some(url) => {
            let path = url.strip_prefix("file://").map(PathBuf::from);
            let what = format!("`sasl.oauthbearer.jwks.endpoint.url` is `{url}`: this broker asks no server");
            Some(path.ok_or_else(|| {
                Problem::new(what).hint("keep the keys in a file, and name it as `file:///PATH`")
            })?)
        }
    };
    let standard = OauthConfig::default();
    let skew = own("sasl.oauthbearer.clock.skew.seconds").and_then(|skew| skew.trim().parse().ok());
    let audiences = own("sasl.oauthbearer.expected.audience").unwrap_or_default();
    let audiences = audiences.split(',').map(str::trim).filter(|audience| !audience.is_empty());
    Ok(ListenerSasl {
        mechanisms: sasl.mechanisms.clone(),
        oauth: OauthConfig {
            keys,
            audiences: audiences.map(String::from).collect(),
            issuer: own("sasl.oauthbearer.expected.issuer").filter(|issuer| !issuer.is_empty()),
            subject_claim: own("sasl.oauthbearer.sub.claim.name").unwrap_or(standard.subject_claim),
            clock_skew_seconds: skew.unwrap_or(standard.clock_skew_seconds),
        },
        receive_bytes_max: sasl.receive_bytes_max,
        reauthentication_ms: sasl.reauthentication_ms,
    })
}

/// What decides who may do what.
pub(super) fn authorizer(of: &Authorizer) -> AuthorizerConfig {
    let super_users = of.super_users.iter().filter_map(|user| Principal::parse(user));
    AuthorizerConfig { super_users: super_users.collect(), allow_if_no_rule: of.allows_what_no_acl_names }
}

/// How many connections there may be.
///
/// # Errors
/// A host has no address.
pub(super) fn connections(network: &NetworkLimits, windows: Windows) -> Result<ConnectionLimits, Problem> {
    let count = |count: u64| u32::try_from(count).ok();
    let mut per_ip_overrides = BTreeMap::new();
    for (host, limit) in &network.connections_per_address_overrides {
        let limit = count(*limit).unwrap_or(u32::MAX);
        per_ip_overrides.extend(addresses_of(host)?.into_iter().map(|ip| (ip, limit)));
    }
    Ok(ConnectionLimits {
        connections_max: network.connections_max.and_then(count),
        per_ip_max: network.connections_per_address_max.and_then(count),
        per_ip_overrides,
        creation_rate: network.connections_per_second_max.and_then(count),
        windows,
        ..ConnectionLimits::default()
    })
}

fn addresses_of(host: &str) -> Result<Vec<IpAddr>, Problem> {
    if let Ok(ip) = host.trim_matches(['[', ']']).parse() {
        return Ok(vec![ip]);
    }
    let found = (host, 0).to_socket_addrs().map_err(|error| {
        Problem::new(format!(
            "`max.connections.per.ip.overrides` names `{host}`, which has no address: {error}"
        ))
        .hint("name an address")
    })?;
    Ok(found.map(|address| address.ip()).collect())
}

/// How quotas are measured.
pub(super) fn quota_windows(values: &impl Values) -> QuotaWindows {
    let of = log_config::QuotaWindows::of(values);
    QuotaWindows { rates: windows(of.clients), mutations: windows(of.changes) }
}

fn windows(of: QuotaWindow) -> Windows {
    let count = u32::try_from(of.count).unwrap_or(u32::MAX);
    Windows { count, size_ms: of.seconds.saturating_mul(1_000) }
}
