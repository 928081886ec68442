//! How many connections were refused, and why: for metrics, and for an operator who asks whether somebody tries.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::hello::HelloRefusal;
use crate::refusal::{HandshakeRefusal, Refusal};

/// See the module. Of connections that this member answered, and of those that it dialled.
#[derive(Debug, Default)]
pub struct Refusals {
    secret: AtomicU64,
    group: AtomicU64,
    foreign: AtomicU64,
    outdated: AtomicU64,
    late: AtomicU64,
    other: AtomicU64,
}

/// [`Refusals`] of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// The other side does not know the secret, or has none, or its certificate is not that of the member.
    pub secret: u64,
    /// It belongs to another group.
    pub group: u64,
    /// It speaks something else: bytes that are no handshake, or another version of it.
    pub foreign: u64,
    /// It is a process of a member of which a later one is known.
    pub outdated: u64,
    /// It did not say in time who it is, or had to go because too many waited.
    pub late: u64,
    /// Anything else: it is not named, wants another member, refuses this one, or the connection broke meanwhile.
    pub other: u64,
}

impl Refusals {
    /// All of them.
    #[must_use]
    pub fn counts(&self) -> RefusalCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RefusalCounts {
            secret: of(&self.secret),
            group: of(&self.group),
            foreign: of(&self.foreign),
            outdated: of(&self.outdated),
            late: of(&self.late),
            other: of(&self.other),
        }
    }

    /// One was refused.
    pub(crate) fn count(&self, why: &Refusal) {
        let counter = match why {
            Refusal::Handshake(
                HandshakeRefusal::WrongProof
                | HandshakeRefusal::WithoutSecret { .. }
                | HandshakeRefusal::SecretAskedFor { .. },
            )
            | Refusal::Certificate(_) => &self.secret,
            Refusal::Handshake(
                HandshakeRefusal::OtherVersion { .. }
                | HandshakeRefusal::SpeaksTls
                | HandshakeRefusal::OtherProtocol { .. },
            ) => &self.foreign,
            Refusal::Hello(HelloRefusal::OtherEnsemble { .. }) => &self.group,
            Refusal::StartedEarlier(_) => &self.outdated,
            _ => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// One was late, or had to go.
    pub(crate) fn count_late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }
}
