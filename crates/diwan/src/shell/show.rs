//! Stats, ACLs, data and quotas as zkCli writes them.

use std::fmt::Write as _;
use std::io::{self, Write};

use council_client::{Acl, Stat, permission};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Prints a Stat, a field a line.
pub(super) fn stat(out: &mut dyn Write, stat: &Stat) -> io::Result<()> {
    writeln!(out, "cZxid = {:#x}", stat.czxid)?;
    writeln!(out, "ctime = {}", date(stat.ctime))?;
    writeln!(out, "mZxid = {:#x}", stat.mzxid)?;
    writeln!(out, "mtime = {}", date(stat.mtime))?;
    writeln!(out, "pZxid = {:#x}", stat.pzxid)?;
    writeln!(out, "cversion = {}", stat.cversion)?;
    writeln!(out, "dataVersion = {}", stat.version)?;
    writeln!(out, "aclVersion = {}", stat.aversion)?;
    writeln!(out, "ephemeralOwner = {:#x}", stat.ephemeral_owner)?;
    writeln!(out, "dataLength = {}", stat.data_length)?;
    writeln!(out, "numChildren = {}", stat.num_children)
}

/// A moment in the machine's own time zone, as Java's `Date` prints it.
fn date(millis: i64) -> String {
    date_in(millis, TimeZone::system())
}

fn date_in(millis: i64, zone: TimeZone) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(moment) => moment.to_zoned(zone).strftime("%a %b %d %H:%M:%S %Z %Y").to_string(),
        Err(_) => format!("{millis} ms"),
    }
}

/// Prints an ACL, two lines an entry.
pub(super) fn acl(out: &mut dyn Write, acl: &[Acl]) -> io::Result<()> {
    for entry in acl {
        writeln!(out, "'{},'{}\n: {}", entry.scheme, entry.id, permissions(entry.permissions))?;
    }
    Ok(())
}

const LETTERS: [(i32, char); 5] = [
    (permission::CREATE, 'c'),
    (permission::DELETE, 'd'),
    (permission::READ, 'r'),
    (permission::WRITE, 'w'),
    (permission::ADMIN, 'a'),
];

fn permissions(bits: i32) -> String {
    LETTERS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, letter)| *letter).collect()
}

/// Reads `scheme:id:permissions,..`; the id may have colons.
pub(super) fn parse_acl(text: &str) -> Result<Vec<Acl>, String> {
    text.split(',')
        .map(|entry| {
            let wrong = || format!("{entry} does not have the form scheme:id:perm");
            let (scheme, rest) = entry.split_once(':').ok_or_else(wrong)?;
            let (id, letters) = rest.rsplit_once(':').ok_or_else(wrong)?;
            let mut permissions = 0;
            for letter in letters.chars() {
                let known = LETTERS.iter().find(|(_, known)| *known == letter);
                permissions |= known.ok_or_else(|| format!("Unknown perm type: {letter}"))?.0;
            }
            Ok(Acl { permissions, scheme: scheme.into(), id: id.into() })
        })
        .collect()
}

/// Bytes in hexadecimal, sixteen a line, with the text beside them.
pub(super) fn hex_dump(bytes: &[u8]) -> String {
    const RULE: &str = "+--------+-------------------------------------------------+----------------+";
    let mut dump = String::from("         +-------------------------------------------------+\n");
    dump.push_str("         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n");
    dump.push_str(RULE);
    for (index, line) in bytes.chunks(16).enumerate() {
        let hex: String = line.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, " {byte:02x}");
            hex
        });
        let text: String =
            line.iter().map(|byte| if (32..127).contains(byte) { *byte as char } else { '.' }).collect();
        let _ = write!(dump, "\n|{:08x}|{hex:<48} |{text:<16}|", index * 16);
    }
    dump.push('\n');
    dump.push_str(RULE);
    dump
}

/// Limits or counts of a quota, as the nodes below `/zookeeper/quota` hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) count: i64,
    pub(super) bytes: i64,
    pub(super) byte_hard_limit: Option<i64>,
    pub(super) count_hard_limit: Option<i64>,
}

impl Quota {
    /// No limit at all, as a fresh quota spells it.
    pub(super) const NONE: Self =
        Self { count: -1, bytes: -1, byte_hard_limit: Some(-1), count_hard_limit: Some(-1) };
    /// Nothing counted yet.
    pub(super) const ZERO: Self = Self { count: 0, bytes: 0, byte_hard_limit: None, count_hard_limit: None };

    /// Reads the text of a node; what is missing or no number is no limit.
    pub(super) fn parse(data: &[u8]) -> Self {
        let text = String::from_utf8_lossy(data);
        let value = |name: &str| {
            let mut pairs = text.split([',', ';']).filter_map(|pair| pair.split_once('='));
            let value = pairs.find(|(key, _)| *key == name)?.1;
            value.trim_end_matches('=').parse().ok()
        };
        Self {
            count: value("count").unwrap_or(-1),
            bytes: value("bytes").unwrap_or(-1),
            byte_hard_limit: value("byteHardLimit"),
            count_hard_limit: value("countHardLimit"),
        }
    }
}

impl std::fmt::Display for Quota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "count={},bytes={}", self.count, self.bytes)?;
        if self.byte_hard_limit.is_some() || self.count_hard_limit.is_some() {
            // The lone `=` makes servers before 3.7 overlook the hard limits.
            f.write_char('=')?;
        }
        for (name, limit) in
            [("byteHardLimit", self.byte_hard_limit), ("countHardLimit", self.count_hard_limit)]
        {
            if let Some(limit) = limit {
                write!(f, ";{name}={limit}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_java_s() {
        assert_eq!(date_in(1_700_000_000_123, TimeZone::UTC), "Tue Nov 14 22:13:20 UTC 2023");
        assert_eq!(date_in(0, TimeZone::UTC), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(date_in(i64::MAX, TimeZone::UTC), "9223372036854775807 ms");
    }

    #[test]
    fn acls_go_both_ways() {
        let acl = parse_acl("world:anyone:r,digest:bob:x=:cdrwa").unwrap();
        assert_eq!(acl[0], Acl::world(permission::READ));
        assert_eq!((acl[1].id.as_str(), acl[1].permissions), ("bob:x=", permission::ALL));
        let mut out = Vec::new();
        super::acl(&mut out, &acl).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "'world,'anyone\n: r\n'digest,'bob:x=\n: cdrwa\n");
        assert_eq!(parse_acl("bogus").unwrap_err(), "bogus does not have the form scheme:id:perm");
        assert_eq!(parse_acl("world:anyone:rx").unwrap_err(), "Unknown perm type: x");
    }

    #[test]
    fn a_hex_dump_is_netty_s() {
        let expected = "         +-------------------------------------------------+\n         \
                        |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n\
                        +--------+-------------------------------------------------+----------------+\n\
                        |00000000| 62 61 72                                        |bar             |\n\
                        +--------+-------------------------------------------------+----------------+";
        assert_eq!(hex_dump(b"bar"), expected);
    }

    #[test]
    fn quotas_keep_their_text() {
        for text in [
            "count=10,bytes=-1=;byteHardLimit=100;countHardLimit=-1",
            "count=4,bytes=5",
            "count=1,bytes=2=;countHardLimit=3",
        ] {
            assert_eq!(Quota::parse(text.as_bytes()).to_string(), text);
        }
        assert_eq!(Quota::parse(b"nonsense").to_string(), "count=-1,bytes=-1");
        assert_eq!(Quota::NONE.to_string(), "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=-1");
    }
}
