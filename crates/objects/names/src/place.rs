//! What a name of the zone stands for.
//!
//! | name | stands for |
//! |---|---|
//! | the zone | itself |
//! | `m1` .. `m255` | a member |
//! | `leader` | the leader of the group |
//! | `_council._tcp`, `_objects._tcp` | where the members serve these |
//! | `_concoord._tcp` | the same as `_objects._tcp` |
//! | `NAME.TYPE.o` | an object |
//! | `NAME.g`, `NAME.e` | a membership, an election |
//! | `0a000001.addr`, or 32 digits | the address 10.0.0.1, or one of version 6: what a service record leads to |
//! | everything else | what was set in the zone's object of type `names` |

use core::net::IpAddr;

use objects_state::{TypeId, type_named};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Zone,
    Member(u8),
    Leader,
    Council,
    Objects,
    Concoord,
    /// An object: its type, and its name in lower case and as it was asked for.
    Object(TypeId, [String; 2]),
    Membership([String; 2]),
    Election([String; 2]),
    Address(IpAddr),
    /// It has no records, but names below it.
    Between,
    /// A name that may have been set.
    Own(String),
    /// It cannot be there.
    Nowhere,
}

impl Place {
    /// Of the labels before the zone's.
    pub(crate) fn of(labels: &[&[u8]]) -> Self {
        let Some(asked) = labels.iter().map(|label| core::str::from_utf8(label).ok()).collect() else {
            return Self::Nowhere;
        };
        let asked: Vec<&str> = asked;
        let lower: Vec<String> = asked.iter().map(|label| label.to_ascii_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let named = |behind: usize| {
            [&lower, &asked].map(|labels| labels[..labels.len().saturating_sub(behind)].join("."))
        };
        match lower[..] {
            [] => Self::Zone,
            ["leader"] => Self::Leader,
            ["_council", "_tcp"] => Self::Council,
            ["_objects", "_tcp"] => Self::Objects,
            ["_concoord", "_tcp"] => Self::Concoord,
            ["_tcp" | "o" | "g" | "e" | "addr"] => Self::Between,
            [hex, "addr"] => address(hex).map_or(Self::Nowhere, Self::Address),
            [.., "addr"] => Self::Nowhere,
            [.., "g"] => Self::Membership(named(1)),
            [.., "e"] => Self::Election(named(1)),
            [kind, "o"] => type_named(kind).map_or(Self::Nowhere, |_| Self::Between),
            [.., kind, "o"] => type_named(kind).map_or(Self::Nowhere, |kind| Self::Object(kind, named(2))),
            [label] if let Some(number) = member(label) => Self::Member(number),
            _ if lower.iter().any(|label| label.contains('.')) => Self::Nowhere,
            _ => Self::Own(lower.join(".")),
        }
    }
}

/// The number of a member, as it is written: `m01` is none.
fn member(label: &str) -> Option<u8> {
    let digits = label.strip_prefix('m')?;
    let number: u8 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

fn address(hex: &str) -> Option<IpAddr> {
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hex.len() {
        8 if is_hex => Some(IpAddr::from(u32::from_str_radix(hex, 16).ok()?.to_be_bytes())),
        32 if is_hex => Some(IpAddr::from(u128::from_str_radix(hex, 16).ok()?.to_be_bytes())),
        _ => None,
    }
}

/// The labels under which an address is found.
pub(crate) fn address_labels(address: IpAddr) -> [String; 2] {
    let hex = match address {
        IpAddr::V4(address) => format!("{:08x}", address.to_bits()),
        IpAddr::V6(address) => format!("{:032x}", address.to_bits()),
    };
    [hex, String::from("addr")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        let labels = name.split('.').filter(|label| !label.is_empty()).map(str::as_bytes);
        Place::of(&labels.collect::<Vec<_>>())
    }

    fn names(lower: &str, asked: &str) -> [String; 2] {
        [lower.into(), asked.into()]
    }

    #[test]
    fn each_row_has_its_names() {
        assert_eq!(place(""), Place::Zone);
        assert_eq!(place("LEADER"), Place::Leader);
        assert_eq!(place("M3"), Place::Member(3));
        assert_eq!(place("_Council._TCP"), Place::Council);
        assert_eq!(place("_objects._tcp"), Place::Objects);
        assert_eq!(place("_concoord._tcp"), Place::Concoord);
        let lock = type_named("lock").expect("a type");
        assert_eq!(place("Build.A.Lock.O"), Place::Object(lock, names("build.a", "Build.A")));
        assert_eq!(place("Web.g"), Place::Membership(names("web", "Web")));
        assert_eq!(place("chief.e"), Place::Election(names("chief", "chief")));
        assert_eq!(place("0A000001.addr"), Place::Address(IpAddr::from([10, 0, 0, 1])));
    }

    #[test]
    fn names_on_the_way_have_no_records() {
        for between in ["_tcp", "o", "g", "e", "addr", "lock.o"] {
            assert_eq!(place(between), Place::Between, "{between}");
        }
    }

    #[test]
    fn other_names_are_those_that_were_set_or_nowhere() {
        for own in ["www", "m", "m0x1", "m256", "m01", "_http._tcp", "x.leader", "x.m1"] {
            assert_eq!(place(own), Place::Own(own.into()), "{own}");
        }
        for nowhere in ["x.nothing.o", "nothing.o", "xyz.addr", "+a000001.addr", "1.0a000001.addr"] {
            assert_eq!(place(nowhere), Place::Nowhere, "{nowhere}");
        }
        assert_eq!(Place::of(&[b"\xff", b"g"]), Place::Nowhere);
        // One label with a dot in it is not two.
        assert_eq!(Place::of(&[b"a.b"]), Place::Nowhere);
    }

    #[test]
    fn address_leads_back_to_itself() {
        for address in ["10.0.0.1", "255.255.255.255", "::1", "2001:db8::ff"] {
            let address: IpAddr = address.parse().expect("an address");
            let labels = address_labels(address);
            assert_eq!(Place::of(&[labels[0].as_bytes(), labels[1].as_bytes()]), Place::Address(address));
        }
    }
}
