//! The records of a place: of one type, or its alias.
//!
//! | place | records | seconds |
//! |---|---|---|
//! | the zone; a member | SOA, NS; A, AAAA, TXT of version and role | 60; 30 |
//! | `_council._tcp`, `_objects._tcp` | SRV of the members, voters first | 5 |
//! | `leader` | A, AAAA | 1 |
//! | an object | SRV of the members, the leader first; TXT of group, version, position | 5 |
//! | a membership; an election | A, AAAA, SRV by data; TXT of epoch; of term | 2; 1 |
//! | a name that was set | as set | as set |

use core::net::IpAddr;

use base::MemberNumber;
use hickory_proto::rr::rdata::{A, AAAA, CNAME, NS, SOA, SRV, TXT};
use hickory_proto::rr::{Name, RData, RecordType};
use objects_state::{Endpoint, Host, NameData, NameRecord, ObjectName};

use crate::announcement::Announcement;
use crate::place::{Place, address_labels};
use crate::view::{Seat, View};
use crate::zone::Zone;

/// A name has at most so many records of a type in an answer.
pub const RECORDS_MAX: usize = 16;

/// For how long it may be kept that a name is not there, or has nothing of a type, seconds.
pub(crate) const NEGATIVE_TTL: u32 = 1;
const ZONE_TTL: u32 = 60;
const MEMBER_TTL: u32 = 30;
const SERVICE_TTL: u32 = 5;
const LEADER_TTL: u32 = 1;
const OBJECT_TTL: u32 = 5;
const MEMBERSHIP_TTL: u32 = 2;
const ELECTION_TTL: u32 = 1;
/// An address does not change under the name that is made of it.
const ADDRESS_TTL: u32 = 60;

/// Those who do not vote serve as well, but follow more slowly.
const OBSERVER_PRIORITY: u16 = 10;

/// A record without its name: seconds, and data.
pub(crate) type Part = (u32, RData);

/// What records are made of.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) zone: &'a Zone,
    pub(crate) view: &'a View<'a>,
    pub(crate) rotation: u32,
}

/// Which port of a member.
#[derive(Clone, Copy)]
enum Service {
    Council,
    Objects,
}

impl Reader<'_> {
    /// The records of that type, or the alias that the place is. `None`: there is no such place.
    pub(crate) fn records(&self, place: &Place, kind: RecordType) -> Option<Vec<Part>> {
        Some(match place {
            Place::Zone => self.of_zone(kind),
            Place::Member(number) => self.of_member(self.view.seat(*number)?, kind),
            Place::Leader => self.turned(self.of_leader(kind)),
            Place::Council => self.turned(self.of_service(Service::Council, kind)),
            Place::Objects => self.turned(self.of_service(Service::Objects, kind)),
            Place::Concoord => self.of_alias(&[b"_objects", b"_tcp"]),
            Place::Object(id, names) => {
                let object = |name: &String| ObjectName { kind: *id, name: name.clone() };
                let known = |name: &String| self.view.state.describe(&object(name)).is_some();
                names.iter().find(|name| known(name))?;
                self.of_object(kind)
            }
            Place::Membership(names) => names.iter().find_map(|name| self.of_membership(name, kind))?,
            Place::Election(names) => {
                let (term, leader) = names.iter().find_map(|name| self.view.state.elected(name))?;
                self.of_election(term, &leader, kind)
            }
            Place::Address(address) => of_address(ADDRESS_TTL, *address, kind).into_iter().collect(),
            Place::Between => Vec::new(),
            Place::Own(name) => self.of_own(name, kind)?,
            Place::Nowhere => return None,
        })
    }

    fn of_zone(&self, kind: RecordType) -> Vec<Part> {
        match kind {
            RecordType::SOA => soa(self).map(|soa| (ZONE_TTL, soa)).into_iter().collect(),
            RecordType::NS => {
                let server = |(seat, _): (Seat, Announcement)| {
                    Some((ZONE_TTL, RData::NS(NS(self.member_name(seat.number)?))))
                };
                self.turned(self.announced().filter_map(server).collect())
            }
            _ => Vec::new(),
        }
    }

    fn of_member(&self, seat: Seat, kind: RecordType) -> Vec<Part> {
        let Some(known) = Announcement::of(self.view.state, seat.number) else { return Vec::new() };
        if kind == RecordType::TXT {
            let role = match seat {
                _ if self.view.leader == Some(seat.number) => "leader",
                Seat { votes: true, .. } => "follower",
                Seat { votes: false, .. } => "observer",
            };
            return vec![(MEMBER_TTL, text([format!("version={}", known.version), format!("role={role}")]))];
        }
        of_addresses(MEMBER_TTL, &known, kind)
    }

    fn of_leader(&self, kind: RecordType) -> Vec<Part> {
        let known = self.view.leader.and_then(|leader| Announcement::of(self.view.state, leader));
        known.map(|known| of_addresses(LEADER_TTL, &known, kind)).unwrap_or_default()
    }

    fn of_service(&self, service: Service, kind: RecordType) -> Vec<Part> {
        if kind != RecordType::SRV {
            return Vec::new();
        }
        let priority = |seat: Seat| if seat.votes { 0 } else { OBSERVER_PRIORITY };
        self.services(service, SERVICE_TTL, priority)
    }

    /// The members of an object's group are all there are.
    fn of_object(&self, kind: RecordType) -> Vec<Part> {
        match kind {
            RecordType::SRV => {
                let priority = |seat: Seat| match seat {
                    _ if self.view.leader == Some(seat.number) => 0,
                    Seat { votes: true, .. } => 1,
                    Seat { votes: false, .. } => OBSERVER_PRIORITY,
                };
                let mut services = self.turned(self.services(Service::Objects, OBJECT_TTL, priority));
                services.sort_by_key(|(_, data)| match data {
                    RData::SRV(service) => service.priority,
                    _ => u16::MAX,
                });
                services
            }
            RecordType::TXT => {
                let position = format!("position={}", self.view.state.position());
                let parts = [String::from("group=0"), String::from("version=builtin"), position];
                vec![(OBJECT_TTL, text(parts))]
            }
            _ => Vec::new(),
        }
    }

    fn of_membership(&self, name: &str, kind: RecordType) -> Option<Vec<Part>> {
        let members = self.view.state.members(name)?;
        if kind == RecordType::TXT {
            return Some(vec![(MEMBERSHIP_TTL, text([format!("epoch={}", members.epoch)]))]);
        }
        if !matches!(kind, RecordType::A | RecordType::AAAA | RecordType::SRV) {
            return Some(Vec::new());
        }
        let mut found: Vec<Part> = Vec::new();
        for endpoint in members.endpoints(self.first_of(members.size)) {
            let part = self.of_endpoint(MEMBERSHIP_TTL, &endpoint, kind);
            found.extend(part.filter(|part| !found.contains(part)));
            if found.len() == RECORDS_MAX {
                break;
            }
        }
        Some(found)
    }

    fn of_election(&self, term: u64, leader: &Endpoint, kind: RecordType) -> Vec<Part> {
        if kind == RecordType::TXT {
            return vec![(ELECTION_TTL, text([format!("term={term}")]))];
        }
        self.of_endpoint(ELECTION_TTL, leader, kind).into_iter().collect()
    }

    fn of_endpoint(&self, ttl: u32, endpoint: &Endpoint, kind: RecordType) -> Option<Part> {
        let host = endpoint.host.as_ref()?;
        if kind != RecordType::SRV {
            let Host::Address(address) = host else { return None };
            return of_address(ttl, *address, kind);
        }
        let target = match host {
            Host::Address(address) => {
                let labels = address_labels(*address);
                self.zone.below(labels.iter().map(|label| label.as_bytes()))?
            }
            Host::Name(name) => self.zone.target(name)?,
        };
        Some((ttl, RData::SRV(SRV::new(0, 1, endpoint.port?, target))))
    }

    /// An alias is all that a name has, whatever else was set.
    fn of_own(&self, name: &str, kind: RecordType) -> Option<Vec<Part>> {
        let known = self.view.state.name_records(self.zone.text(), name);
        if known.is_empty() {
            return self.view.state.has_names_below(self.zone.text(), name).then(Vec::new);
        }
        let parts: Vec<Part> = known.into_iter().filter_map(|record| self.part(record)).collect();
        if let Some(alias) = parts.iter().find(|(_, data)| data.record_type() == RecordType::CNAME) {
            return Some(vec![alias.clone()]);
        }
        Some(self.turned(parts.into_iter().filter(|(_, data)| data.record_type() == kind).collect()))
    }

    fn part(&self, NameRecord { ttl, data }: NameRecord) -> Option<Part> {
        let data = match data {
            NameData::A(address) => RData::A(A(address)),
            NameData::Aaaa(address) => RData::AAAA(AAAA(address)),
            NameData::Cname(target) => RData::CNAME(CNAME(self.zone.target(&target)?)),
            NameData::Txt(line) => text([line]),
            NameData::Srv { target, priority, weight, port } => {
                RData::SRV(SRV::new(priority, weight, port, self.zone.target(&target)?))
            }
        };
        Some((ttl, data))
    }

    fn of_alias(&self, labels: &[&[u8]]) -> Vec<Part> {
        let target = self.zone.below(labels.iter().copied());
        target.map(|target| (SERVICE_TTL, RData::CNAME(CNAME(target)))).into_iter().collect()
    }

    /// Members that serve names, and where they are reached.
    fn announced(&self) -> impl Iterator<Item = (Seat, Announcement)> + '_ {
        let known = |seat: &Seat| Some((*seat, Announcement::of(self.view.state, seat.number)?));
        self.view.members.iter().filter_map(known)
    }

    fn services(&self, service: Service, ttl: u32, priority: impl Fn(Seat) -> u16) -> Vec<Part> {
        let part = |(seat, known): (Seat, Announcement)| {
            let port = match service {
                Service::Council => known.council,
                Service::Objects => known.objects,
            };
            let target = self.member_name(seat.number)?;
            Some((ttl, RData::SRV(SRV::new(priority(seat), 1, port?, target))))
        };
        self.announced().filter_map(part).collect()
    }

    fn member_name(&self, number: MemberNumber) -> Option<Name> {
        self.zone.below([format!("m{}", number.0).as_bytes()])
    }

    fn first_of(&self, count: usize) -> usize {
        self.rotation as usize % count.max(1)
    }

    fn turned(&self, mut parts: Vec<Part>) -> Vec<Part> {
        let first = self.first_of(parts.len());
        parts.rotate_left(first);
        parts.truncate(RECORDS_MAX);
        parts
    }
}

/// Where the zone begins. Its serial follows the state.
pub(crate) fn soa(reader: &Reader<'_>) -> Option<RData> {
    let first = reader.announced().map(|(seat, _)| seat.number).min();
    let server = match first {
        Some(number) => reader.member_name(number)?,
        None => reader.zone.below([&b"leader"[..]])?,
    };
    let mailbox = reader.zone.below([&b"hostmaster"[..]])?;
    let position = reader.view.state.position();
    #[expect(clippy::cast_possible_truncation, reason = "a serial is the position's low bits")]
    let serial = position as u32;
    Some(RData::SOA(SOA::new(server, mailbox, serial, 60, 10, 600, NEGATIVE_TTL)))
}

fn of_addresses(ttl: u32, known: &Announcement, kind: RecordType) -> Vec<Part> {
    known.addresses.iter().filter_map(|address| of_address(ttl, *address, kind)).collect()
}

fn of_address(ttl: u32, address: IpAddr, kind: RecordType) -> Option<Part> {
    match (address, kind) {
        (IpAddr::V4(address), RecordType::A) => Some((ttl, RData::A(A(address)))),
        (IpAddr::V6(address), RecordType::AAAA) => Some((ttl, RData::AAAA(AAAA(address)))),
        _ => None,
    }
}

fn text(parts: impl IntoIterator<Item = String>) -> RData {
    RData::TXT(TXT::new(parts.into_iter().collect()))
}
