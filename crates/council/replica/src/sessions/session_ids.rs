//! Session ids and passwords.

use base::WallTime;
use council_wire::SessionId;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use subtle::ConstantTimeEq as _;

/// Hands out session ids as ZooKeeper shapes them, and passwords that cannot be guessed from them.
///
/// ZooKeeper derives a session's password from its id by a fixed rule, so that whoever sees an id (in a log, in
/// `cons`) can take the session over. Ours come from a generator that the driver seeds from the machine's entropy.
#[derive(Debug)]
pub(crate) struct SessionIds {
    next: i64,
    random: ChaCha20Rng,
}

impl SessionIds {
    /// `member` fills the high byte of each id; the wall clock fills the middle, so that ids differ between lives.
    pub(crate) fn new(member: u8, wall: WallTime, seed: [u8; 32]) -> Self {
        let clock = (((wall.ms() as u64) << 24) >> 8) & 0x00ff_ffff_ffff_ffff;
        let next = (u64::from(member) << 56 | clock) as i64;
        Self { next, random: ChaCha20Rng::from_seed(seed) }
    }

    /// All ids from now on are above this one, also if the clock was set back: a lower one would be taken for a session
    /// that was opened, and perhaps closed, before.
    pub(crate) fn go_on_behind(&mut self, latest: SessionId) {
        self.next = self.next.max(latest.0.wrapping_add(1));
    }

    /// The next id for which `is_free` holds. 0 means "none" on the wire and `i64::MIN` marks containers.
    pub(crate) fn session(&mut self, is_free: impl Fn(SessionId) -> bool) -> SessionId {
        loop {
            let session = SessionId(self.next);
            self.next = self.next.wrapping_add(1);
            if session.0 != 0 && session.0 != i64::MIN && is_free(session) {
                return session;
            }
        }
    }

    /// A fresh password.
    pub(crate) fn password(&mut self) -> [u8; 16] {
        let mut password = [0; 16];
        self.random.fill_bytes(&mut password);
        password
    }
}

/// Whether two passwords are equal, in a time that does not tell where they differ.
pub(crate) fn same_password(left: &[u8; 16], right: &[u8; 16]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_carry_the_member_and_skip_what_is_taken() {
        let mut ids = SessionIds::new(3, WallTime::of_ms(0x1234_5678), [0; 32]);
        let first = ids.session(|_| true);
        assert_eq!(first.0 >> 56, 3);
        assert_eq!(ids.session(|id| id.0 != first.0 + 1).0, first.0 + 2);
        assert_eq!(SessionIds::new(0, WallTime::default(), [0; 32]).session(|_| true), SessionId(1));
    }

    #[test]
    fn passwords_differ_and_follow_the_seed_alone() {
        let mut one = SessionIds::new(1, WallTime::of_ms(1), [7; 32]);
        let mut other = SessionIds::new(2, WallTime::of_ms(2), [7; 32]);
        let (a, b) = (one.password(), one.password());
        assert!(!same_password(&a, &b));
        assert!(same_password(&a, &other.password()));
    }
}
