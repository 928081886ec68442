//! Why a connection between two members does not come about, for the one that answers and the one that dials.
//!
//! Reasons of one kind have an enum of their own: [`HandshakeRefusal`], [`HelloRefusal`], [`CertificateRefusal`]. `Display` gives the text for the log and for the other side. Knows no socket and sends nothing.

use std::io;
use std::net::IpAddr;

use net_peer_pairs::PeerNumber;

use crate::certificate::CertificateRefusal;
use crate::hello::HelloRefusal;
use crate::hints::Hints;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The two sides do not go on with each other, whoever they say they are.
    #[error(transparent)]
    Handshake(#[from] HandshakeRefusal),
    /// What the other side says of itself is not believed.
    #[error(transparent)]
    Hello(#[from] HelloRefusal),
    /// Its certificate is not that of the member that it says it is.
    #[error(transparent)]
    Certificate(#[from] CertificateRefusal),
    /// Members prove nothing here, and it does not come from an address of the member that it says it is.
    #[error(
        "it says that it is member {number}, which is not said to be at {address}; hint: see `server.{number}`, or have \
         members prove who they are: {} or {}",
        .hints.secret,
        .hints.tls
    )]
    OtherAddress {
        /// The member that it says it is.
        number: PeerNumber,
        /// Where it comes from.
        address: IpAddr,
        /// What settings are called.
        hints: Hints,
    },
    /// Members prove nothing here, and only another member says that a member is at the address to dial.
    #[error(
        "another member says that it is there, and neither the configuration nor the log of this one does; hint: if it \
         has moved, correct `server.{0}`, or have members prove who they are"
    )]
    UnconfirmedAddress(PeerNumber),
    /// Another process that says that it is this member started later and is connected.
    #[error(
        "another machine that says that it is member {0} started later and is connected; hint: stop one of the two; if \
         this one was restored or replaced, empty its data directory before it starts again"
    )]
    StartedEarlier(PeerNumber),
    /// The connection failed: the system's error, or that of TLS.
    #[error("{explanation}")]
    Broken {
        /// The kind of the system's error.
        kind: io::ErrorKind,
        /// What it means between members, and what to do.
        explanation: String,
    },
}

impl Refusal {
    /// A connection that cannot be made, or a system without randomness.
    pub(crate) fn system(error: &io::Error) -> Self {
        Self::Broken { kind: error.kind(), explanation: error.to_string() }
    }

    /// A TLS connection that does not give keying material to bind proofs to.
    #[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
    pub(crate) fn no_binding(error: rustls::Error) -> Self {
        Self::Broken { kind: io::ErrorKind::Other, explanation: error.to_string() }
    }
}

/// Why two sides do not go on with each other, whoever they say they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeRefusal {
    /// Its proof is not that of the ensemble's secret.
    #[error("it does not know the ensemble's secret; hint: give all members the same secret file")]
    WrongProof,
    /// This member asks for a secret, and the other side has none.
    #[error("it has no secret, and this member asks for one; hint: give it the file of {setting}")]
    WithoutSecret {
        /// The setting that names the secret's file.
        setting: &'static str,
    },
    /// The other side asks for a secret, and this member has none.
    #[error("it asks for the ensemble's secret, and this member has none; hint: set {setting}")]
    SecretAskedFor {
        /// The setting that names the secret's file.
        setting: &'static str,
    },
    /// It is a build that this one cannot understand.
    #[error(
        "it speaks version {theirs} of the members' protocol, and this member version {own}; hint: run builds that \
         follow one another"
    )]
    OtherVersion {
        /// The version that it speaks.
        theirs: u16,
        /// The version that this member speaks.
        own: u16,
    },
    /// It speaks TLS on a connection that is plain.
    #[error("it speaks TLS, and this member plain text; hint: `sslQuorum` differs between the two")]
    SpeaksTls,
    /// It speaks something else.
    #[error("it speaks another protocol than Diwan's members; hint: {hint}")]
    OtherProtocol {
        /// What it may be.
        hint: &'static str,
    },
    /// The other side refuses this member, and says why.
    #[error("it refuses: {0}")]
    Refused(String),
}
