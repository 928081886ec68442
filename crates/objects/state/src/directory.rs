//! What a server of names reads of a state, typed: records that were set, who is in a membership, who leads an election.
//!
//! Data of members and candidates is the user's. What is no address or port in it is left out, not refused.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::builtin::{Builtin, Election, Membership, Names, type_named};
use crate::command::ObjectName;
use crate::json::Json;
use crate::object::{self, Live, View};
use crate::state::State;

/// A record of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRecord {
    /// For how long it may be kept elsewhere, seconds.
    pub ttl: u32,
    /// What it says.
    pub data: NameData,
}

/// What a record says. Targets are as they were set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the domain name system calls them")]
pub enum NameData {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    Cname(String),
    Txt(String),
    Srv { target: String, priority: u16, weight: u16, port: u16 },
}

/// Where somebody can be reached, by `{"address","port"}` in data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Where.
    pub host: Option<Host>,
    /// At which port.
    pub port: Option<u16>,
}

/// A host, as data names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By an address.
    Address(IpAddr),
    /// By a name.
    Name(String),
}

/// A membership of one moment.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    view: View<'a>,
    /// Rises with every change.
    pub epoch: u64,
    /// How many members there are.
    pub size: usize,
}

impl State {
    /// The records of a name in an object of type `names`. The name is in lower case.
    #[must_use]
    pub fn name_records(&self, object: &str, name: &str) -> Vec<NameRecord> {
        let texts = self.opened::<Names, _>("names", object, |_, view| Names::records(&view, name));
        texts.iter().flatten().filter_map(|text| record(&parsed(text)?)).collect()
    }

    /// Whether an object of type `names` has records of names below that one.
    #[must_use]
    pub fn has_names_below(&self, object: &str, name: &str) -> bool {
        self.opened::<Names, _>("names", object, |_, view| Names::has_below(&view, name)).unwrap_or(false)
    }

    /// A membership, if there is one of that name.
    #[must_use]
    pub fn members(&self, name: &str) -> Option<Members<'_>> {
        self.opened::<Membership, _>("membership", name, |live, view| {
            let (epoch, size) = Membership::extent(live);
            Members { view, epoch, size }
        })
    }

    /// The term and the endpoint of an election's leader, if there is one.
    #[must_use]
    pub fn elected(&self, name: &str) -> Option<(u64, Endpoint)> {
        let (term, data) = self.opened::<Election, _>("election", name, Election::leading)??;
        Some((term, endpoint(&data)))
    }

    fn opened<'a, K: Builtin, T>(
        &'a self,
        kind: &str,
        name: &str,
        read: impl FnOnce(&Live<K>, View<'a>) -> T,
    ) -> Option<T> {
        let object = ObjectName { kind: type_named(kind)?, name: name.into() };
        let opened = object::open::<K>(&self.core, &object)?;
        let view =
            View { core: &self.core, space: opened.header.incarnation, tickets: opened.header.tickets };
        Some(read(&opened.live, view))
    }
}

impl<'a> Members<'a> {
    /// Where the members can be reached, in the order of their names, beginning with that one and ending before it.
    pub fn endpoints(&self, first: usize) -> impl Iterator<Item = Endpoint> + use<'a> {
        let behind = Membership::data(&self.view).skip(first);
        let before = Membership::data(&self.view).take(first);
        behind.chain(before).map(|data| endpoint(&data))
    }
}

impl core::fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Members")
            .field("epoch", &self.epoch)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

fn parsed(text: &str) -> Option<Vec<(String, Json)>> {
    match Json::parse(text.as_bytes()) {
        Ok(Json::Object(fields)) => Some(fields),
        _ => None,
    }
}

fn field<'a>(fields: &'a [(String, Json)], name: &str) -> Option<&'a Json> {
    fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn text<'a>(fields: &'a [(String, Json)], name: &str) -> Option<&'a str> {
    match field(fields, name)? {
        Json::Text(text) => Some(text),
        _ => None,
    }
}

fn number<N: TryFrom<i64>>(fields: &[(String, Json)], name: &str) -> Option<N> {
    N::try_from(field(fields, name)?.integer()?).ok()
}

fn record(fields: &[(String, Json)]) -> Option<NameRecord> {
    let data = match text(fields, "type")? {
        "A" => NameData::A(text(fields, "address")?.parse().ok()?),
        "AAAA" => NameData::Aaaa(text(fields, "address")?.parse().ok()?),
        "CNAME" => NameData::Cname(text(fields, "target")?.into()),
        "TXT" => NameData::Txt(text(fields, "text")?.into()),
        "SRV" => NameData::Srv {
            target: text(fields, "target")?.into(),
            priority: number(fields, "priority")?,
            weight: number(fields, "weight")?,
            port: number(fields, "port")?,
        },
        _ => return None,
    };
    Some(NameRecord { ttl: number(fields, "ttl")?, data })
}

fn endpoint(data: &str) -> Endpoint {
    let Some(fields) = parsed(data) else { return Endpoint::default() };
    let host = text(&fields, "address").map(|host| match host.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(host.into()),
    });
    Endpoint { host, port: number(&fields, "port").filter(|port| *port != 0) }
}
