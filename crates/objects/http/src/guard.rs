//! Requests that a web page made a browser send are refused: the page is a stranger, and the browser may reach a port that the
//! stranger cannot.
//!
//! A browser says with `Origin` whose page sends a request that may change something. A page whose name was made to point here
//! (DNS rebinding) sends none with a query, but its name as `Host`: at a port of this machine alone, `Host` has to name this machine.
//!
//! The console is a page of this server: its `Origin` is the `Host` that it was loaded from. That is believed of an address, which
//! nobody can make point elsewhere, and of a name only over TLS, where the browser has checked whose the name is.

use std::net::IpAddr;

use objects_state::Slug;

use crate::fields::text;
use crate::header::{Fields, Name};
use crate::message::Fault;

/// # Errors
/// It may come from a web page. `any_host`: clients may call this server by any name.
pub(crate) fn check(fields: &Fields<'_>, any_host: bool) -> Result<(), Fault> {
    let host = text(fields, Name::Host)?;
    if text(fields, Name::Origin)?.is_some_and(|origin| !is_own(origin, host)) {
        return Err(Fault::new(Slug::Forbidden, "it comes from a web page (`Origin`): these are refused"));
    }
    match host {
        Some(host) if !any_host && !names_this_machine(host) => Err(Fault::new(
            Slug::Forbidden,
            "this port serves its own machine: `Host` must be `localhost` or an address",
        )),
        _ => Ok(()),
    }
}

/// Whether a page of that origin was loaded from this server.
fn is_own(origin: &str, host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
        (Some(from), _) => from.eq_ignore_ascii_case(host) && names_this_machine(host),
        (_, Some(from)) => from.eq_ignore_ascii_case(host),
        _ => false,
    }
}

fn names_this_machine(host: &str) -> bool {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<IpAddr>().is_ok();
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_server_are_its_own() {
        for (origin, host) in [
            ("http://localhost:7180", "localhost:7180"),
            ("http://10.0.0.7:7180", "10.0.0.7:7180"),
            ("http://[::1]:7180", "[::1]:7180"),
            ("https://node1.example:7180", "node1.example:7180"),
        ] {
            assert!(is_own(origin, Some(host)), "{origin}");
        }
        for (origin, host) in [
            ("http://evil.example:7180", Some("evil.example:7180")),
            ("http://localhost:7181", Some("localhost:7180")),
            ("http://localhost", Some("localhost:7180")),
            ("https://evil.example", Some("node1.example:7180")),
            ("null", Some("localhost:7180")),
            ("http://localhost:7180", None),
            ("http://", Some("")),
            ("ftp://localhost:7180", Some("localhost:7180")),
        ] {
            assert!(!is_own(origin, host), "{origin}");
        }
    }

    #[test]
    fn only_addresses_and_localhost_name_this_machine() {
        for host in [
            "localhost",
            "LocalHost:7180",
            "127.0.0.1",
            "127.0.0.1:7180",
            "[::1]:7180",
            "[::1]",
            "10.0.0.7:1",
        ] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7180",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[evil]:1",
        ] {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
