//! Names of objects beside a server: its port, and what it says of itself.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use council_service::{Server, ServerConfig};
use objects_service::{Announcement, NamesConfig, Prepared, PreparedNames};

use crate::config::ObjectsPlan;

/// Takes the port for names, if they are to be served.
///
/// # Errors
/// It cannot be had, in words.
pub(crate) fn listen(prepared: Prepared, plan: &ObjectsPlan) -> Result<Prepared, String> {
    let Some(names) = &plan.names else { return Ok(prepared) };
    let taken = PreparedNames::new(names.listen).map_err(|error| names.refused(&error).to_string())?;
    Ok(prepared.with_names(taken))
}

/// What a server of names answers, and where this member says that it is.
pub(crate) fn config(
    plan: &ObjectsPlan,
    port: u16,
    config: Option<&ServerConfig>,
    council: &Server,
) -> Option<NamesConfig> {
    let names = plan.names.as_ref()?;
    let addresses = match names.announce {
        Some(address) => vec![address],
        None => addresses(plan, config),
    };
    if addresses.is_empty() {
        tracing::warn!("this member announces no address; hint: name one with `dns.announce`");
    }
    let announcement = Announcement {
        addresses,
        council: council.client_addr().map(|address| address.port()),
        objects: Some(port),
        version: String::from(env!("CARGO_PKG_VERSION")),
    };
    Some(NamesConfig { zone: names.zone.clone(), announcement })
}

/// Says to a person where names are answered: there, and from this machine at `here`.
pub(crate) fn show(out: &mut impl Write, address: SocketAddr, here: SocketAddr) -> io::Result<()> {
    let (host, port) = (here.ip(), here.port());
    writeln!(out, "  names     {address}, with any resolver or `dig @{host} -p {port} leader.ZONE`")
}

/// Of this member's own line among the members, otherwise where its objects are served.
fn addresses(plan: &ObjectsPlan, config: Option<&ServerConfig>) -> Vec<IpAddr> {
    let ensemble = config.and_then(|config| config.ensemble.as_ref());
    let own = ensemble.and_then(|ensemble| ensemble.own());
    let hosts = own.map(|own| (own.host.as_str(), 0_u16).to_socket_addrs());
    let resolved = hosts.into_iter().flatten().flatten().map(|address| address.ip());
    let mut known: Vec<IpAddr> = resolved.filter(|address| !address.is_unspecified()).collect();
    known.dedup();
    if known.is_empty() && !plan.listen.ip().is_unspecified() {
        known.push(plan.listen.ip());
    }
    known
}
