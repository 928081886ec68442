//! Where clients connect: `listeners`, `advertised.listeners` and `listener.security.protocol.map`. Listeners of a KRaft
//! controller are left out.
//!
//! Names of listeners are compared without regard to case, as Kafka compares them.

use std::collections::BTreeMap;

use crate::file::problem::Problem;
use crate::layers::Values;

/// A listener for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name, in upper case.
    pub name: String,
    /// How clients speak there.
    pub protocol: Protocol,
    /// The address to listen at; nothing for all of this host.
    pub host: Option<String>,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Where clients that asked here are told to connect; nothing if `advertised.listeners` leaves it out.
    pub advertised: Option<Advertised>,
}

/// All that `listeners` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listeners {
    /// In the order of the file.
    pub(crate) all: Vec<Listener>,
    /// The place of the one whose security holds between brokers, if the file names it.
    pub(crate) between_brokers: Option<usize>,
}

/// Where clients are told to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// The host; nothing for the name of this one.
    pub host: Option<String>,
    /// The port; nothing for the one that is listened at.
    pub port: Option<u16>,
}

/// How clients speak at a listener: `security.protocol` of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// In the clear, without authentication.
    Plaintext,
    /// Over TLS.
    Ssl,
    /// In the clear, with SASL.
    SaslPlaintext,
    /// Over TLS, with SASL.
    SaslSsl,
}

impl Protocol {
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "PLAINTEXT" => Some(Self::Plaintext),
            "SSL" => Some(Self::Ssl),
            "SASL_PLAINTEXT" => Some(Self::SaslPlaintext),
            "SASL_SSL" => Some(Self::SaslSsl),
            _ => None,
        }
    }

    /// Whether connections are encrypted.
    #[must_use]
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether clients authenticate by SASL.
    #[must_use]
    pub const fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

const LISTENERS: &str = "listeners";
const ADVERTISED: &str = "advertised.listeners";
const PROTOCOLS: &str = "listener.security.protocol.map";
const INTER_BROKER_NAME: &str = "inter.broker.listener.name";
const INTER_BROKER_PROTOCOL: &str = "security.inter.broker.protocol";

/// An element of `listeners`: NAME://HOST:PORT.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    name: String,
    host: String,
    port: u16,
}

/// Reads the listeners. `line` gives the line of a key.
///
/// # Errors
/// An element cannot be read, two listeners exclude each other, or there is none for clients.
pub(crate) fn read(
    values: &impl Values,
    is_set: impl Fn(&str) -> bool,
    line: impl Fn(&str) -> usize,
) -> Result<Listeners, Problem> {
    let problem = |key: &str, what: String| Problem::of(key, line(key), what);
    let upper =
        |names: Vec<String>| names.into_iter().map(|name| name.to_ascii_uppercase()).collect::<Vec<_>>();
    let of_controller = upper(values.list("controller.listener.names"));
    let protocols = protocols(values).map_err(|what| problem(PROTOCOLS, what))?;
    let endpoints = endpoints(values, LISTENERS).map_err(|what| problem(LISTENERS, what))?;
    check_ports(&endpoints).map_err(|what| problem(LISTENERS, what))?;
    let advertised = if is_set(ADVERTISED) {
        Some(endpoints_advertised(values, &endpoints).map_err(|what| problem(ADVERTISED, what))?)
    } else {
        None
    };
    let mut listeners = Vec::new();
    for endpoint in endpoints.into_iter().filter(|endpoint| !of_controller.contains(&endpoint.name)) {
        let protocol = protocols.get(&endpoint.name).copied();
        let protocol = protocol.ok_or_else(|| {
            let hint = format!("add `{}:PLAINTEXT` to `{PROTOCOLS}`", endpoint.name);
            problem(LISTENERS, format!("names `{}`, which has no security protocol", endpoint.name))
                .hint(hint)
        })?;
        listeners.push(listener(endpoint, protocol, advertised.as_deref()).map_err(|what| {
            problem(LISTENERS, what).hint("set `advertised.listeners` to an address that clients reach")
        })?);
    }
    if listeners.iter().all(|listener| listener.advertised.is_none()) {
        let hint = "leave one out of `controller.listener.names`, and advertise it";
        return Err(problem(LISTENERS, "has none for clients".into()).hint(hint));
    }
    let named = between_brokers(values, &listeners, &protocols, is_set);
    let named = named.map_err(|(key, what)| problem(key, what))?;
    let place = |name: String| listeners.iter().position(|listener| listener.name == name);
    Ok(Listeners { between_brokers: named.and_then(place), all: listeners })
}

/// Only what no client can reach is refused: Kafka refuses it too.
fn listener(own: Endpoint, protocol: Protocol, advertised: Option<&[Endpoint]>) -> Result<Listener, String> {
    let told = match advertised {
        Some(advertised) => advertised.iter().find(|told| told.name == own.name),
        None if own.host == "0.0.0.0" => {
            return Err("would advertise `0.0.0.0`, where no client connects".into());
        }
        None => Some(&own),
    };
    let some = |host: &str| Some(host.to_owned()).filter(|host| !host.is_empty());
    let advertised = told
        .map(|told| Advertised { host: some(&told.host), port: Some(told.port).filter(|port| *port != 0) });
    Ok(Listener { host: some(&own.host), name: own.name, protocol, port: own.port, advertised })
}

fn endpoints(values: &impl Values, key: &str) -> Result<Vec<Endpoint>, String> {
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for element in values.list(key) {
        let endpoint = endpoint(&element)?;
        if endpoints.iter().any(|known| known.name == endpoint.name) {
            return Err(format!("names `{}` twice", endpoint.name));
        }
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}

fn endpoints_advertised(values: &impl Values, listeners: &[Endpoint]) -> Result<Vec<Endpoint>, String> {
    let advertised = endpoints(values, ADVERTISED)?;
    for told in &advertised {
        if !listeners.iter().any(|own| own.name == told.name) {
            return Err(format!("names `{}`, which is none of `listeners`", told.name));
        }
        if told.host == "0.0.0.0" {
            return Err("names `0.0.0.0`, where no client connects".into());
        }
    }
    Ok(advertised)
}

/// NAME://HOST:PORT. An address of IPv6 may stand in brackets.
fn endpoint(element: &str) -> Result<Endpoint, String> {
    let wrong = || format!("has `{element}`, which is not NAME://HOST:PORT");
    let (name, address) = element.split_once("://").ok_or_else(wrong)?;
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._%:".contains(&byte);
    if name.is_empty() || !inner.bytes().all(is_of_host) {
        return Err(wrong());
    }
    Ok(Endpoint { name: name.to_ascii_uppercase(), host: inner.into(), port })
}

/// Two listeners have the same port only if one is for IPv4 and the other for IPv6.
fn check_ports(endpoints: &[Endpoint]) -> Result<(), String> {
    for (place, one) in endpoints.iter().enumerate().filter(|(_, one)| one.port != 0) {
        let others = endpoints.iter().skip(place + 1).filter(|other| other.port == one.port);
        let others: Vec<&Endpoint> = others.collect();
        let is_pair = matches!(others[..], [other] if is_ipv4(&one.host) && is_ipv6(&other.host)
            || is_ipv6(&one.host) && is_ipv4(&other.host));
        if !others.is_empty() && !is_pair {
            return Err(format!("has port {} more than once", one.port));
        }
    }
    Ok(())
}

fn is_ipv4(host: &str) -> bool {
    host.parse::<core::net::Ipv4Addr>().is_ok()
}

fn is_ipv6(host: &str) -> bool {
    host.parse::<core::net::Ipv6Addr>().is_ok()
}

/// NAME:PROTOCOL with commas between. What comes later counts.
fn protocols(values: &impl Values) -> Result<BTreeMap<String, Protocol>, String> {
    let text = values.text(PROTOCOLS).unwrap_or_default();
    let mut protocols = BTreeMap::new();
    for element in text.split(',').map(str::trim).filter(|element| !element.is_empty()) {
        let (name, protocol) =
            element.rsplit_once(':').ok_or_else(|| format!("has `{element}`, which is not NAME:PROTOCOL"))?;
        let protocol = Protocol::of(protocol.trim()).ok_or_else(|| {
            format!("has `{element}`: a protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
        })?;
        protocols.insert(name.trim().to_ascii_uppercase(), protocol);
    }
    Ok(protocols)
}

/// The listener whose security holds between brokers, if the file names one. Brokers have connections of their own and do not
/// speak Kafka's protocol there, but what the file asks for is checked as Kafka checks it.
fn between_brokers(
    values: &impl Values,
    listeners: &[Listener],
    protocols: &BTreeMap<String, Protocol>,
    is_set: impl Fn(&str) -> bool,
) -> Result<Option<String>, (&'static str, String)> {
    let advertised =
        |name: &str| listeners.iter().any(|listener| listener.name == name && listener.advertised.is_some());
    if is_set(INTER_BROKER_NAME) {
        let name = values.text(INTER_BROKER_NAME).unwrap_or_default().to_ascii_uppercase();
        if is_set(INTER_BROKER_PROTOCOL) {
            let what = format!("is set besides `{INTER_BROKER_PROTOCOL}`: one of them is enough");
            return Err((INTER_BROKER_NAME, what));
        }
        if !protocols.contains_key(&name) {
            return Err((INTER_BROKER_NAME, format!("names `{name}`, which is not in `{PROTOCOLS}`")));
        }
        if !advertised(&name) {
            return Err((INTER_BROKER_NAME, format!("names `{name}`, which is not advertised")));
        }
        return Ok(Some(name));
    }
    if !is_set(INTER_BROKER_PROTOCOL) {
        return Ok(None);
    }
    let name = values.text(INTER_BROKER_PROTOCOL).unwrap_or_default();
    if advertised(&name) {
        return Ok(Some(name));
    }
    Err((INTER_BROKER_PROTOCOL, format!("names `{name}`, and no such listener is advertised")))
}
