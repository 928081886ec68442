//! What `server.properties` says of security: TLS and SASL of each listener, and the authorizer. What the program does not have
//! is refused here, before anything is served without it.

use base::Secret;

use crate::definitions::LISTENER_PREFIX;
use crate::file::listeners::Listener;
use crate::file::other_names::{ALLOW_EVERYONE, SUPER_USERS};
use crate::file::problem::Problem;
use crate::layers::{Overrides, Values};

/// What security the program has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given<'g> {
    /// TLS for clients.
    pub tls: bool,
    /// The mechanisms of SASL, as `sasl.enabled.mechanisms` names them.
    pub sasl_mechanisms: &'g [&'g str],
    /// Access control lists.
    pub acls: bool,
}

/// The security of one listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSecurity {
    /// Its name, in upper case.
    pub listener: String,
    /// TLS, if it has it.
    pub tls: Option<Tls>,
    /// SASL, if it has it.
    pub sasl: Option<Sasl>,
}

/// TLS of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The broker's key and certificates.
    pub key_store: Store,
    /// The password of the key: `ssl.key.password`.
    pub key_password: Option<Secret>,
    /// The key as PEM, instead of the store: `ssl.keystore.key`.
    pub key: Option<Secret>,
    /// The certificates as PEM, with the key: `ssl.keystore.certificate.chain`.
    pub certificates: Option<Secret>,
    /// The certificates that clients' certificates are signed with.
    pub trust_store: Store,
    /// The same as PEM, instead of the store: `ssl.truststore.certificates`.
    pub trusted: Option<Secret>,
    /// Whether clients show a certificate.
    pub client_auth: ClientAuth,
    /// `ssl.enabled.protocols`.
    pub protocols: Vec<String>,
    /// `ssl.cipher.suites`; empty for the program's choice.
    pub cipher_suites: Vec<String>,
    /// `ssl.principal.mapping.rules`.
    pub principal_rules: String,
    /// Whether a certificate of another broker has to name its host: `ssl.endpoint.identification.algorithm`.
    pub verifies_hosts: bool,
}

/// A file of keys or certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Where it is.
    pub location: Option<String>,
    /// Its kind: `JKS`, `PKCS12` or `PEM`.
    pub kind: String,
    /// Its password.
    pub password: Option<Secret>,
}

/// `ssl.client.auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Clients are not asked for a certificate.
    None,
    /// They may show one.
    Requested,
    /// They have to show one.
    Required,
}

/// SASL of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sasl {
    /// The mechanisms, as `sasl.enabled.mechanisms` names them, each with its JAAS text.
    pub mechanisms: Vec<(String, Option<Secret>)>,
    /// `sasl.server.max.receive.size`: of one message of an authentication, in bytes.
    pub receive_bytes_max: usize,
    /// `connections.max.reauth.ms`; nothing if a client stays authenticated for ever.
    pub reauthentication_ms: Option<u64>,
}

/// Access control lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorizer {
    /// `super.users`: who may do everything, as `User:NAME`.
    pub super_users: Vec<String>,
    /// `allow.everyone.if.no.acl.found`.
    pub allows_what_no_acl_names: bool,
}

/// Names of the class that decides by access control lists, of this version of Kafka and of the one before.
const AUTHORIZERS: [&str; 2] =
    ["org.apache.kafka.metadata.authorizer.StandardAuthorizer", "kafka.security.authorizer.AclAuthorizer"];
const AUTHORIZER: &str = "authorizer.class.name";
const MECHANISMS: &str = "sasl.enabled.mechanisms";

/// Values that one listener may set otherwise than the others.
struct OfListener<'v, V> {
    values: &'v V,
    prefix: String,
}

impl<V: Values> OfListener<'_, V> {
    fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.values.text(&self.name(key)).or_else(|| self.values.text(key))
    }

    fn secret(&self, key: &str) -> Option<Secret> {
        self.text(key).map(Secret)
    }

    fn list(&self, key: &str) -> Vec<String> {
        let own = self.values.value(&self.name(key)).is_some();
        if own { self.values.list(&self.name(key)) } else { self.values.list(key) }
    }

    fn whole(&self, key: &str) -> Option<i64> {
        self.values.whole(&self.name(key)).or_else(|| self.values.whole(key))
    }
}

/// What is said of the security of a listener.
///
/// # Errors
/// It asks for something that the program does not have.
pub(crate) fn of_listener(
    values: &impl Values,
    listener: &Listener,
    given: &Given<'_>,
    line: impl Fn(&str) -> usize,
) -> Result<ListenerSecurity, Problem> {
    let prefix = format!("{LISTENER_PREFIX}{}.", listener.name.to_ascii_lowercase());
    let own = OfListener { values, prefix };
    let name = &listener.name;
    if listener.protocol.has_tls() && !given.tls {
        let what = format!("has `{name}` with TLS, which this broker does not serve");
        let hint = "without TLS, everything is readable on the way: use PLAINTEXT only where that is no harm";
        return Err(Problem::of("listeners", line("listeners"), what).hint(hint));
    }
    let tls = if listener.protocol.has_tls() { Some(tls(&own)) } else { None };
    if let Some(tls) = &tls
        && tls.key_store.location.is_none()
        && tls.key.is_none()
    {
        let what = format!("has `{name}` with TLS, and there is no key for it");
        let hint = "set `ssl.keystore.location` and `ssl.keystore.type`, or `ssl.keystore.key`";
        return Err(Problem::of("listeners", line("listeners"), what).hint(hint));
    }
    let sasl = if listener.protocol.has_sasl() { Some(sasl(&own, name, given, line)?) } else { None };
    Ok(ListenerSecurity { listener: name.clone(), tls, sasl })
}

fn tls(own: &OfListener<'_, impl Values>) -> Tls {
    let store = |what: &str| Store {
        location: own.text(&format!("ssl.{what}.location")),
        kind: own.text(&format!("ssl.{what}.type")).unwrap_or_default(),
        password: own.secret(&format!("ssl.{what}.password")),
    };
    Tls {
        key_store: store("keystore"),
        key_password: own.secret("ssl.key.password"),
        key: own.secret("ssl.keystore.key"),
        certificates: own.secret("ssl.keystore.certificate.chain"),
        trust_store: store("truststore"),
        trusted: own.secret("ssl.truststore.certificates"),
        client_auth: match own.text("ssl.client.auth").as_deref() {
            Some("required") => ClientAuth::Required,
            Some("requested") => ClientAuth::Requested,
            _ => ClientAuth::None,
        },
        protocols: own.list("ssl.enabled.protocols"),
        cipher_suites: own.list("ssl.cipher.suites"),
        principal_rules: own.text("ssl.principal.mapping.rules").unwrap_or_default(),
        verifies_hosts: own
            .text("ssl.endpoint.identification.algorithm")
            .is_some_and(|algorithm| !algorithm.trim().is_empty()),
    }
}

fn sasl(
    own: &OfListener<'_, impl Values>,
    listener: &str,
    given: &Given<'_>,
    line: impl Fn(&str) -> usize,
) -> Result<Sasl, Problem> {
    let mechanisms = own.list(MECHANISMS);
    let unknown = mechanisms.iter().find(|mechanism| !given.sasl_mechanisms.contains(&mechanism.as_str()));
    let (at, hint) = match given.sasl_mechanisms {
        [] => ("listeners", String::from("this broker serves no SASL")),
        known => (MECHANISMS, format!("this broker serves {}", known.join(", "))),
    };
    if let Some(unknown) = unknown {
        let what = format!("asks for the mechanism `{unknown}` at `{listener}`, which is not served");
        return Err(Problem::of(at, line(at), what).hint(hint));
    }
    if mechanisms.is_empty() {
        let what = format!("is empty, and nobody could authenticate at `{listener}`");
        return Err(Problem::of(MECHANISMS, line(MECHANISMS), what).hint(hint));
    }
    let jaas = |mechanism: &String| {
        let of_mechanism = format!("{}.sasl.jaas.config", mechanism.to_ascii_lowercase());
        own.values.text(&own.name(&of_mechanism)).or_else(|| own.text("sasl.jaas.config")).map(Secret)
    };
    let bytes = own.whole("sasl.server.max.receive.size").unwrap_or_default();
    Ok(Sasl {
        mechanisms: mechanisms.iter().map(|mechanism| (mechanism.clone(), jaas(mechanism))).collect(),
        receive_bytes_max: usize::try_from(bytes).unwrap_or_default(),
        reauthentication_ms: own
            .whole("connections.max.reauth.ms")
            .and_then(|ms| u64::try_from(ms).ok())
            .filter(|ms| *ms > 0),
    })
}

/// What decides who may do what; nothing if everybody may do everything.
///
/// # Errors
/// It asks for something that the program does not have.
pub(crate) fn authorizer(
    values: &impl Values,
    file: &Overrides,
    given: &Given<'_>,
    line: impl Fn(&str) -> usize,
) -> Result<Option<Authorizer>, Problem> {
    let class = values.text(AUTHORIZER).unwrap_or_default();
    let problem = |key: &str, what: String| Problem::of(key, line(key), what);
    match class.as_str() {
        "" => return Ok(None),
        class if !AUTHORIZERS.contains(&class) => {
            let hint = format!("name `{}`, or nothing", AUTHORIZERS[0]);
            return Err(problem(AUTHORIZER, "names a class, and Diwan loads none".into()).hint(hint));
        }
        _ if !given.acls => {
            let what = "asks for access control lists, which this broker does not have".into();
            let hint = "without it, everybody who connects may do everything: leave it out only where that is no harm";
            return Err(problem(AUTHORIZER, what).hint(hint));
        }
        _ => {}
    }
    let users = file.get(SUPER_USERS).map_or("", String::as_str);
    let users: Vec<String> =
        users.split(';').map(str::trim).filter(|user| !user.is_empty()).map(String::from).collect();
    if let Some(user) = users.iter().find(|user| !user.contains(':')) {
        let what = format!("has `{user}`, which is not TYPE:NAME");
        return Err(problem(SUPER_USERS, what).hint("write `User:NAME`, with semicolons between"));
    }
    let allows = file.get(ALLOW_EVERYONE).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    Ok(Some(Authorizer { super_users: users, allows_what_no_acl_names: allows }))
}
