//! What tests of several modules share.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use net_peer_pairs::{PeerNumber, Timing};
use tempfile::TempDir;

use crate::channel::{Channel, ChannelNumber, Channels};
use crate::credentials::{Credentials, Settings};
use crate::hints::Hints;
use crate::numbering::Numbering;
use crate::roster::{MemberAddress, Roster};
use crate::secret::EnsembleSecret;

/// What member 1 of three knows, without TLS. Nothing listens at the members' ports.
pub(crate) fn credentials_of_three(
    host: impl Fn(u8) -> Ipv4Addr,
    secret: Option<EnsembleSecret>,
) -> Credentials {
    let member = |number: u8| MemberAddress {
        number: PeerNumber(number.into()),
        host: host(number).to_string(),
        port: 1,
    };
    let settings = Settings {
        number: PeerNumber(1),
        numbering: Numbering::OneByte,
        timing: Timing::DEFAULT,
        process: 77,
        level: 1,
        roster: Roster::new((1..=3).map(member), 0),
        read_roster,
        tls: None,
        secret,
        hints: Hints::PLAIN,
    };
    Credentials::new(settings).expect("no keys to read")
}

/// A roster from lines `number=host:port`, and one `version=hexadecimal`.
pub(crate) fn read_roster(text: &[u8]) -> Option<Roster> {
    let (mut members, mut version) = (Vec::new(), 0);
    for line in std::str::from_utf8(text).ok()?.lines() {
        let (key, value) = line.split_once('=')?;
        if key == "version" {
            version = i64::from_str_radix(value, 16).ok()?;
            continue;
        }
        let (host, port) = value.rsplit_once(':')?;
        let (number, port) = (PeerNumber(key.parse().ok()?), port.parse().ok()?);
        members.push(MemberAddress { number, host: String::from(host), port });
    }
    (!members.is_empty()).then(|| Roster::new(members, version))
}

/// Channel 0 alone, whose messages may have a megabyte, or 64 bytes if they begin with 1.
pub(crate) fn channels() -> Channels {
    let message_bytes_max =
        |beginning: &[u8], requests: usize| if beginning.first() == Some(&1) { 64 } else { requests };
    Channels::new(&[Channel { number: ChannelNumber::ZERO, message_bytes_max, request_bytes_max: 1 << 20 }])
}

/// A directory of one test, removed behind it.
pub(crate) struct Directory(pub(crate) TempDir);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, contents).expect("written");
        path
    }
}
