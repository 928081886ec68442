//! What one client knows, and what must hold of everything that it is shown. Knows no client and no server: histories
//! that break each rule are told to it in tests.
//!
//! A client's register is a node that it alone writes: the number `n` is put there under the version `n - 1`, so that
//! data and version are the same number for ever, and a write that takes effect twice, late or not at all shows.

use council_client::Stat;

/// A creation in the common queue: its number, and whether it was acknowledged.
pub(super) type Queued = (u64, bool);

/// See the module. Errors say what does not hold.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) name: usize,
    /// The session that it was given first, and is to keep.
    pub(super) session: i64,
    /// What its register holds: everything up to here was acknowledged.
    pub(super) register: u64,
    pub(super) queued: Vec<Queued>,
    /// By client: the highest number that was read in its register.
    seen: Vec<u64>,
}

impl Ledger {
    /// Of one of so many clients.
    pub(super) fn new(name: usize, clients: usize) -> Self {
        Self { name, session: 0, register: 0, queued: Vec::new(), seen: vec![0; clients] }
    }

    /// The highest number that it read in this client's register.
    pub(super) fn seen(&self, of: usize) -> u64 {
        self.seen[of]
    }

    pub(super) fn clients(&self) -> usize {
        self.seen.len()
    }

    /// Its write of the next number was acknowledged with this version.
    pub(super) fn written(&mut self, version: i32) -> Result<(), String> {
        let next = self.register + 1;
        if i64::from(version) != i64::try_from(next).unwrap_or(i64::MAX) {
            return Err(format!("{next} was written as version {version}"));
        }
        self.register = next;
        Ok(())
    }

    /// A write whose answer was lost has taken effect once or not at all; whether it has.
    pub(super) fn settle(&mut self, found: u64) -> Result<bool, String> {
        if found != self.register && found != self.register + 1 {
            return Err(format!("its register held {}, and now {found}", self.register));
        }
        let took_effect = found > self.register;
        self.register = found;
        Ok(took_effect)
    }

    /// A register's data and version are one number, which never falls.
    pub(super) fn shown(&mut self, of: usize, data: Option<&[u8]>, version: i32) -> Result<u64, String> {
        let text = String::from_utf8_lossy(data.unwrap_or_default());
        let path = register(of);
        if text != version.to_string() {
            return Err(format!("{path} holds `{text}` as version {version}"));
        }
        let (shown, before) = (u64::try_from(version).unwrap_or(0), self.seen[of]);
        if shown < before {
            return Err(format!("{path} went back from {before} to {shown}"));
        }
        self.seen[of] = shown;
        Ok(shown)
    }

    /// After a sync a read shows everything that was acknowledged before the sync began: `least`.
    pub(super) fn shown_behind_sync(
        &mut self,
        of: usize,
        data: Option<&[u8]>,
        version: i32,
        least: u64,
    ) -> Result<(), String> {
        let shown = self.shown(of, data, version)?;
        if shown < least {
            return Err(format!(
                "behind a sync it read {shown} in {}, where {least} was acknowledged before",
                register(of)
            ));
        }
        Ok(())
    }

    /// Its ephemeral node is there for as long as its session, which is never lost.
    pub(super) fn ephemeral(&self, found: Option<&Stat>) -> Result<(), String> {
        match found {
            Some(stat) if stat.ephemeral_owner == self.session => Ok(()),
            _ => Err(format!("its ephemeral node is {found:?}, its session {:#x}", self.session)),
        }
    }
}

pub(super) fn register(name: usize) -> String {
    format!("/register-{name}")
}

pub(super) fn ephemeral(name: usize) -> String {
    format!("/ephemeral-{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client 0 of two, which wrote 1 to 5 and has read 3 in the register of client 1.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(0, 2);
        ledger.session = 7;
        (1..=5).for_each(|version| ledger.written(version).unwrap());
        ledger.shown(1, Some(b"3"), 3).unwrap();
        ledger
    }

    fn owned_by(session: i64) -> Stat {
        Stat { ephemeral_owner: session, ..Stat::default() }
    }

    #[test]
    fn what_is_as_it_should_be_is_taken() {
        let mut ledger = ledger();
        assert_eq!(ledger.settle(5), Ok(false));
        assert_eq!(ledger.settle(6), Ok(true));
        assert_eq!(ledger.shown(1, Some(b"3"), 3), Ok(3));
        assert_eq!(ledger.shown_behind_sync(1, Some(b"4"), 4, 4), Ok(()));
        assert_eq!(ledger.ephemeral(Some(&owned_by(7))), Ok(()));
    }

    #[test]
    fn a_lost_write_is_refused() {
        let refusal = ledger().settle(4).unwrap_err();
        assert_eq!(refusal, "its register held 5, and now 4");
    }

    #[test]
    fn a_write_that_took_effect_twice_is_refused() {
        assert_eq!(ledger().written(7).unwrap_err(), "6 was written as version 7");
        assert_eq!(ledger().settle(7).unwrap_err(), "its register held 5, and now 7");
    }

    #[test]
    fn data_of_another_write_than_the_version_is_refused() {
        let refusal = ledger().shown(1, Some(b"3"), 4).unwrap_err();
        assert_eq!(refusal, "/register-1 holds `3` as version 4");
    }

    #[test]
    fn a_read_that_goes_back_is_refused() {
        let refusal = ledger().shown(1, Some(b"2"), 2).unwrap_err();
        assert_eq!(refusal, "/register-1 went back from 3 to 2");
    }

    #[test]
    fn a_stale_read_behind_a_sync_is_refused() {
        let refusal = ledger().shown_behind_sync(1, Some(b"4"), 4, 5).unwrap_err();
        assert_eq!(refusal, "behind a sync it read 4 in /register-1, where 5 was acknowledged before");
    }

    #[test]
    fn an_ephemeral_that_is_gone_or_another_sessions_is_refused() {
        assert!(ledger().ephemeral(None).unwrap_err().starts_with("its ephemeral node is None"));
        assert!(ledger().ephemeral(Some(&owned_by(8))).is_err());
    }
}
