//! Who the members are and where: whom this member lets in, and whom it dials.
//!
//! Three sources, of which each may know members that the others do not:
//!
//! - the configuration, which does not change while the process runs;
//! - the ensemble's roster as this member's own log has it, which may be old: the member may have been down;
//! - the newest roster that another member has told on a connection ([`crate::channel::ROSTER`]), so that a member that
//!   was down while others joined can hear the leader, who may be one of those.
//!
//! A member without key and secret tells members from strangers by their addresses alone. Names are resolved on a
//! thread of their own, when an address that is not known shows up and at most once a second: the door must not wait
//! for a name server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use net_peer_pairs::PeerNumber;
use parking_lot::{Mutex, RwLock};

use crate::roster::{ReadRoster, Roster};

/// How often names are resolved at the most.
const RESOLVE_PAUSE: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Names {
    own: PeerNumber,
    configured: Roster,
    read_roster: ReadRoster,
    known: RwLock<Known>,
    /// By host, without those that are addresses themselves.
    resolved: RwLock<BTreeMap<String, Vec<IpAddr>>>,
    resolver: Mutex<Resolver>,
}

#[derive(Default)]
struct Known {
    /// As this member's log has it.
    roster: Option<Roster>,
    /// As another member told it, if that is newer.
    told: Option<Roster>,
}

#[derive(Default)]
struct Resolver {
    began: Option<Instant>,
    runs: bool,
}

impl Names {
    pub(crate) fn new(own: PeerNumber, configured: Roster, read_roster: ReadRoster) -> Arc<Self> {
        Arc::new(Self {
            own,
            configured,
            read_roster,
            known: RwLock::default(),
            resolved: RwLock::default(),
            resolver: Mutex::default(),
        })
    }

    /// The roster that this member's log has now.
    pub(crate) fn know(&self, roster: Roster) {
        let mut known = self.known.write();
        // Version 0 is what a file says: of two files neither is the newer one.
        known.told.take_if(|told| {
            told.version < roster.version || (told.version == roster.version && told.version != 0)
        });
        known.roster = Some(roster);
    }

    /// What another member says the roster is; whether that is news.
    pub(crate) fn hear(&self, text: &[u8]) -> bool {
        let Some(roster) = (self.read_roster)(text) else { return false };
        let mut known = self.known.write();
        let newest = known.roster.iter().chain(&known.told).map(|roster| roster.version).max();
        let told = match newest {
            Some(newest) if newest > roster.version => return false,
            Some(newest) if newest == roster.version && newest != 0 => return false,
            Some(0) if roster.version == 0 => {
                let before = known.told.iter().flat_map(Roster::members);
                Some(Roster::new(before.chain(roster.members()).cloned(), 0))
            }
            _ => Some(roster),
        };
        let news = told != known.told;
        known.told = told;
        news
    }

    /// Whom to dial: the members of the roster, with those that a newer one names, or else those of the configuration.
    pub(crate) fn to_dial(&self) -> Roster {
        let known = self.known.read();
        let own = known.roster.as_ref().unwrap_or(&self.configured);
        let told = known.told.iter().flat_map(Roster::members);
        Roster::new(own.members().chain(told).cloned(), 0)
    }

    /// Whether any source names a member of this number.
    pub(crate) fn is_named(&self, number: PeerNumber) -> bool {
        number != self.own && self.hosts(number).next().is_some()
    }

    /// The hosts by which a member is known: a certificate or an address that is theirs is the member's. What another
    /// member has told counts for those alone that neither the configuration nor the log names: otherwise each member
    /// could say that its own host is that of any other.
    pub(crate) fn hosts(&self, number: PeerNumber) -> impl Iterator<Item = String> {
        let known = self.known.read();
        let of = |roster: &Roster| roster.member(number).map(|member| member.host.clone());
        let own = std::iter::once(&self.configured).chain(&known.roster);
        let mut hosts: BTreeSet<_> = own.filter_map(of).collect();
        if hosts.is_empty() {
            hosts.extend(known.told.as_ref().and_then(of));
        }
        hosts.into_iter()
    }

    /// The addresses of a host, as far as they are known.
    pub(crate) fn addresses(&self, host: &str) -> Vec<IpAddr> {
        match host.parse::<IpAddr>() {
            Ok(address) => vec![address.to_canonical()],
            Err(_) => self.resolved.read().get(host).cloned().unwrap_or_default(),
        }
    }

    /// Whether a named member other than this one is at that address. Unless it is, names are resolved anew, soon.
    pub(crate) fn is_members(self: &Arc<Self>, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let found = self.all_hosts().iter().any(|host| self.addresses(host).contains(&address));
        if !found {
            self.resolve(Instant::now());
        }
        found
    }

    /// Whether the member of that number is said to be at that address. Unless it is, names are resolved anew, soon.
    pub(crate) fn is_at(self: &Arc<Self>, number: PeerNumber, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let found = self.hosts(number).any(|host| self.addresses(&host).contains(&address));
        if !found {
            self.resolve(Instant::now());
        }
        found
    }

    fn all_hosts(&self) -> BTreeSet<String> {
        let known = self.known.read();
        std::iter::once(&self.configured)
            .chain(&known.roster)
            .chain(&known.told)
            .flat_map(Roster::members)
            .filter(|member| member.number != self.own)
            .map(|member| member.host.clone())
            .collect()
    }

    /// Resolves all names on a thread of its own, unless that was done a moment ago or is being done.
    pub(crate) fn resolve(self: &Arc<Self>, now: Instant) {
        let hosts: Vec<_> =
            self.all_hosts().into_iter().filter(|host| host.parse::<IpAddr>().is_err()).collect();
        if hosts.is_empty() || !self.may_resolve(now) {
            return;
        }
        let names = Arc::clone(self);
        let resolve = move || {
            let resolved = hosts.into_iter().filter_map(|host| {
                let found = (host.as_str(), 0).to_socket_addrs().ok()?;
                let addresses = found.map(|address| address.ip().to_canonical()).collect();
                Some((host, addresses))
            });
            let resolved = resolved.collect();
            *names.resolved.write() = resolved;
            names.resolver.lock().runs = false;
        };
        if thread::Builder::new().name(String::from("diwan-names")).spawn(resolve).is_err() {
            self.resolver.lock().runs = false;
        }
    }

    fn may_resolve(&self, now: Instant) -> bool {
        let mut resolver = self.resolver.lock();
        let recent = |began: Instant| now.saturating_duration_since(began) < RESOLVE_PAUSE;
        if resolver.runs || resolver.began.is_some_and(recent) {
            return false;
        }
        *resolver = Resolver { began: Some(now), runs: true };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_roster;

    fn roster(text: &str) -> Roster {
        read_roster(text.as_bytes()).expect("a roster")
    }

    fn three() -> Arc<Names> {
        Names::new(PeerNumber(1), roster("1=10.0.0.1:1\n2=10.0.0.2:1\n3=10.0.0.3:1"), read_roster)
    }

    #[test]
    fn member_is_named_by_configuration_log_or_another_member() {
        let names = three();
        let is_named = |number| names.is_named(PeerNumber(number));
        assert!(is_named(2) && !is_named(4) && !is_named(0));
        assert!(!is_named(1), "nobody else is this member");
        names.know(roster("1=10.0.0.1:1\n4=10.0.0.4:1\nversion=10"));
        assert!(is_named(2) && is_named(4));
        assert!(!names.hear(b"5=10.0.0.5:1\nversion=f"), "older than what is known");
        assert!(!names.hear(b"nonsense") && !is_named(5));
        assert!(names.hear(b"5=10.0.0.5:1\nversion=11") && is_named(5));
        let dialled =
            |names: &Names| names.to_dial().members().map(|member| member.number.0).collect::<Vec<_>>();
        assert_eq!(dialled(&names), [1, 4, 5]);
        names.know(roster("1=10.0.0.1:1\n2=10.0.0.2:1\nversion=12"));
        assert!(!is_named(5) && !is_named(4));
        assert_eq!(dialled(&names), [1, 2]);
    }

    #[test]
    fn roster_told_by_another_member_moves_none_that_is_known_to_its_own_host() {
        let names = three();
        let hosts = |number| names.hosts(PeerNumber(number)).collect::<Vec<_>>();
        assert!(names.hear(b"3=10.0.0.2:1\n5=10.0.0.5:1\nversion=7fffffff"));
        assert_eq!((hosts(3), hosts(5)), (vec![String::from("10.0.0.3")], vec![String::from("10.0.0.5")]));
        assert!(!names.is_at(PeerNumber(3), "10.0.0.2".parse().expect("an address")));
        let dialled = names.to_dial();
        assert_eq!(
            dialled.member(PeerNumber(3)).map(|member| &*member.host),
            Some("10.0.0.2"),
            "it may have moved there"
        );
    }

    #[test]
    fn files_that_differ_add_up_until_the_log_says_who_the_members_are() {
        let names = three();
        let is_named = |number| names.is_named(PeerNumber(number));
        names.know(roster("1=10.0.0.1:1\nversion=0"));
        assert!(names.hear(b"4=10.0.0.4:1\nversion=0") && is_named(4));
        assert!(!names.hear(b"4=10.0.0.4:1\nversion=0"), "no news");
        assert!(names.hear(b"5=10.0.0.5:1\nversion=0"));
        names.know(roster("1=10.0.0.1:1\nversion=0"));
        assert!(is_named(4) && is_named(5), "a file is no newer than another");
        names.know(roster("1=10.0.0.1:1\nversion=1"));
        assert!(!is_named(4) && !is_named(5));
    }

    #[test]
    fn address_of_any_named_member_is_known_in_either_form() {
        let names = three();
        let at = |text: &str| names.is_members(text.parse().expect("an address"));
        assert!(at("10.0.0.2") && at("::ffff:10.0.0.3"));
        assert!(!at("10.0.0.4") && !at("10.0.0.1"), "this member does not dial itself");
        names.know(roster("2=10.0.0.9:1\nversion=1"));
        assert!(at("10.0.0.9") && at("10.0.0.2"));
        assert_eq!(names.hosts(PeerNumber(2)).collect::<Vec<_>>(), ["10.0.0.2", "10.0.0.9"]);
        let is_at = |number, text: &str| names.is_at(PeerNumber(number), text.parse().expect("an address"));
        assert!(is_at(2, "10.0.0.9") && is_at(2, "::ffff:10.0.0.2") && is_at(3, "10.0.0.3"));
        assert!(!is_at(3, "10.0.0.2"), "that is another member's");
    }

    #[test]
    fn names_are_resolved_once_a_second_at_the_most() {
        let names = Names::new(PeerNumber(1), roster("2=localhost:1"), read_roster);
        let began = Instant::now();
        assert!(names.may_resolve(began));
        names.resolver.lock().runs = false;
        assert!(!names.may_resolve(began + Duration::from_millis(999)));
        assert!(names.may_resolve(began + RESOLVE_PAUSE));
        assert!(!names.may_resolve(began + RESOLVE_PAUSE * 9), "it still runs");
    }
}
