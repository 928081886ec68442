//! Where a member is reached. Each member that serves names says so in an object of type `names`, so that all of them can
//! answer for all.

use core::fmt::Write as _;
use core::net::IpAddr;

use base::MemberNumber;
use objects_state::{Invocation, NameData, NameRecord, ObjectName, State, type_named};

/// The object that holds all announcements.
const OBJECT: &str = "diwan-members";
/// The most addresses: a name has at most 16 records.
const ADDRESSES_MAX: usize = 15;
const TTL_SECONDS: u32 = 30;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The port at which its council serves clients.
    pub council: Option<u16>,
    /// The port at which its objects are served.
    pub objects: Option<u16>,
    /// The version of its program: letters, digits, dots and hyphens.
    pub version: String,
}

impl Announcement {
    /// What that member has announced.
    #[must_use]
    pub fn of(state: &State, member: MemberNumber) -> Option<Self> {
        let records = state.name_records(OBJECT, &name(member));
        let mut found = Self::default();
        for record in &records {
            match &record.data {
                NameData::A(address) => found.addresses.push((*address).into()),
                NameData::Aaaa(address) => found.addresses.push((*address).into()),
                NameData::Txt(text) => found.read(text),
                NameData::Cname(_) | NameData::Srv { .. } => {}
            }
        }
        (!records.is_empty()).then_some(found)
    }

    /// Whether the state says the same of that member.
    #[must_use]
    pub fn is_known(&self, state: &State, member: MemberNumber) -> bool {
        state.name_records(OBJECT, &name(member)) == self.records()
    }

    /// The object that is to be called.
    ///
    /// # Panics
    /// Never: the type is built in.
    #[must_use]
    pub fn object() -> ObjectName {
        let kind = type_named("names").expect("the type is built in");
        ObjectName { kind, name: OBJECT.into() }
    }

    /// The calls that say so of that member, in one batch.
    #[must_use]
    pub fn invocations(&self, member: MemberNumber) -> Vec<Invocation> {
        let name = name(member);
        let invocation = |(index, record): (usize, &NameRecord)| {
            let method = String::from(if index == 0 { "set" } else { "add" });
            let args = format!(r#"{{"name":"{name}","record":{}}}"#, shown(record));
            Invocation { method, args: args.into_bytes() }
        };
        self.records().iter().enumerate().map(invocation).collect()
    }

    fn records(&self) -> Vec<NameRecord> {
        let addresses = self.addresses.iter().take(ADDRESSES_MAX).map(|address| match address {
            IpAddr::V4(address) => NameData::A(*address),
            IpAddr::V6(address) => NameData::Aaaa(*address),
        });
        let all = core::iter::once(NameData::Txt(self.text())).chain(addresses);
        all.map(|data| NameRecord { ttl: TTL_SECONDS, data }).collect()
    }

    fn text(&self) -> String {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let version: String = self.version.chars().filter(is_plain).take(64).collect();
        let mut text = format!("version={version}");
        for (key, port) in [("council", self.council), ("objects", self.objects)] {
            if let Some(port) = port {
                write!(text, " {key}={port}").expect("a string takes all that is written");
            }
        }
        text
    }

    fn read(&mut self, text: &str) {
        for (key, value) in text.split(' ').filter_map(|part| part.split_once('=')) {
            match key {
                "version" => self.version = value.into(),
                "council" => self.council = value.parse().ok(),
                "objects" => self.objects = value.parse().ok(),
                _ => {}
            }
        }
    }
}

fn name(member: MemberNumber) -> String {
    format!("m{}", member.0)
}

/// As JSON. Nothing in these texts needs to be escaped.
fn shown(record: &NameRecord) -> String {
    let ttl = record.ttl;
    let (kind, key, value) = match &record.data {
        NameData::A(address) => ("A", "address", address.to_string()),
        NameData::Aaaa(address) => ("AAAA", "address", address.to_string()),
        NameData::Txt(text) => ("TXT", "text", text.clone()),
        NameData::Cname(_) | NameData::Srv { .. } => unreachable!("no announcement has these"),
    };
    format!(r#"{{"type":"{kind}","{key}":"{value}","ttl":{ttl}}}"#)
}
