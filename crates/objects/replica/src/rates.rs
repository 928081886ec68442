//! How many calls this member lets in: those of a principal, and those about the objects of a namespace, if a quota bounds them.
//! Each has a bucket that holds one second's calls and is filled all the time, in integers.
//!
//! A call is counted where it comes in, before it enters the log or is evaluated. What gives back, keeps alive or collects is
//! none, and neither is what administers access: nobody is kept from raising a quota. Knows nothing of other members: each lets in
//! as many.

use std::collections::BTreeMap;

use base::MonoTime;
use objects_state::limits::QUOTAS_MAX;
use objects_state::{Command, ObjectName, Problem, QuotaOf, Slug, State};

use crate::edge::{Question, Request};

/// A call, in the parts of which a bucket is full.
const PARTS: u64 = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    buckets: BTreeMap<QuotaOf, Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Thousandths of calls.
    parts: u64,
    filled: MonoTime,
}

impl Rates {
    /// Lets a request in. One that is refused takes nothing out.
    ///
    /// # Errors
    /// There were too many.
    pub(crate) fn take(&mut self, request: &Request, state: &State, now: MonoTime) -> Result<(), Problem> {
        if !state.has_rates() {
            return Ok(());
        }
        let (calls, object) = counted(request);
        let Some(principal) = request.principal().filter(|_| calls > 0) else { return Ok(()) };
        let name = object.map(|object| &*object.name);
        let rates: Vec<_> = state.rates(&principal.name, name).collect();
        for (of, rate) in &rates {
            self.fill(of, *rate, state, now).check(of, (*rate, calls))?;
        }
        for (of, rate) in &rates {
            let bucket = self.fill(of, *rate, state, now);
            bucket.parts = bucket.parts.saturating_sub(cost(*rate, calls));
        }
        Ok(())
    }

    /// The bucket as it is now: of one that is new, or whose rate has changed, no more than the rate's.
    fn fill(&mut self, of: &QuotaOf, rate: u64, state: &State, now: MonoTime) -> &mut Bucket {
        if self.buckets.len() >= QUOTAS_MAX && !self.buckets.contains_key(of) {
            self.buckets.retain(|of, _| state.rate_of(of).is_some());
        }
        let full = rate * PARTS;
        let bucket = self.buckets.entry(of.clone()).or_insert(Bucket { parts: full, filled: now });
        let more = rate.saturating_mul(now.since(bucket.filled));
        bucket.parts = bucket.parts.saturating_add(more).min(full);
        bucket.filled = now;
        bucket
    }
}

/// What calls take out. A batch of more than a second's takes all of them.
fn cost(rate: u64, calls: u64) -> u64 {
    calls.min(rate) * PARTS
}

impl Bucket {
    fn check(&self, of: &QuotaOf, (rate, calls): (u64, u64)) -> Result<(), Problem> {
        let missing = cost(rate, calls).saturating_sub(self.parts);
        if missing == 0 {
            return Ok(());
        }
        let detail = format!(
            "the quota of {} `{}` is {rate} calls a second at each member: come again later",
            of.word(),
            of.name()
        );
        let retry_after_ms = Some(missing.div_ceil(rate));
        Err(Problem { retry_after_ms, ..Problem::new(Slug::Rate, detail) })
    }
}

/// How many calls a request is, and about which object.
const fn counted(request: &Request) -> (u64, Option<&ObjectName>) {
    match request {
        Request::Command { command, .. } => of_command(command),
        Request::Query { question, .. } => of_question(question),
        _ => (0, None),
    }
}

const fn of_command(command: &Command) -> (u64, Option<&ObjectName>) {
    match command {
        Command::Call(call) => (1, Some(&call.object)),
        Command::Batch(batch) => (batch.invocations.len() as u64, Some(&batch.object)),
        Command::Create { object, .. }
        | Command::Delete { object, .. }
        | Command::Import { object, .. }
        | Command::Migrate { object, .. }
        | Command::Rollback { object, .. }
        | Command::Quarantine { object, .. } => (1, Some(object)),
        // An upload is one call, however many pieces it has: who may make one call a second gets any module through.
        Command::OpenSession { .. } | Command::TypePut { .. } | Command::TypeDelete { .. } => (1, None),
        _ => (0, None),
    }
}

const fn of_question(question: &Question) -> (u64, Option<&ObjectName>) {
    match question {
        Question::Method { object, .. }
        | Question::Describe(object)
        | Question::Export { object, .. }
        | Question::History { object, .. }
        | Question::TryMigration { object, .. } => (1, Some(object)),
        // Whoever uploads a version asks for it until it is ready.
        Question::Ready
        | Question::Access { .. }
        | Question::Tokens
        | Question::Session(_)
        | Question::Version(..) => (0, None),
        _ => (1, None),
    }
}

#[cfg(test)]
mod tests {
    use objects_state::guest::VersionHash;
    use objects_state::{Caller, Identity, Origin};

    use super::*;

    fn bucket(rates: &mut Rates, rate: u64, now_ms: u64) -> u64 {
        let of = QuotaOf::Principal("ann".into());
        rates.fill(&of, rate, &State::new(), MonoTime::of_ms(now_ms)).parts
    }

    #[test]
    fn bucket_holds_a_seconds_calls_and_is_filled_by_the_millisecond() {
        let mut rates = Rates::default();
        let of = QuotaOf::Principal("ann".into());
        assert_eq!(bucket(&mut rates, 3, 0), 3_000);
        rates.buckets.get_mut(&of).into_iter().for_each(|bucket| bucket.parts = 0);
        assert_eq!(bucket(&mut rates, 3, 1), 3);
        assert_eq!(bucket(&mut rates, 3, 334), 1_002);
        // A clock that stands still, or goes back, gives nothing.
        assert_eq!(bucket(&mut rates, 3, 334), 1_002);
        assert_eq!(bucket(&mut rates, 3, 100_000), 3_000);
        // Another rate.
        assert_eq!(bucket(&mut rates, 1, 100_000), 1_000);
        assert_eq!(bucket(&mut rates, u64::from(u32::MAX), u64::MAX), 4_294_967_295_000);
    }

    #[test]
    fn upload_is_one_call_however_many_pieces_it_has() {
        let caller = || Caller {
            origin: Origin { member: 1, number: 1 },
            principal: "ann".into(),
            identity: Identity::Anonymous,
        };
        let (hash, bytes, name) = ([0; 32], Vec::new(), String::from("hits"));
        let piece = Command::TypePiece { caller: caller(), hash, size: 9, offset: 0, bytes };
        let put = Command::TypePut {
            caller: caller(),
            name: name.clone(),
            module: hash,
            source: None,
            description: String::new(),
        };
        let version = Question::Version(name, VersionHash::of(hash, None, b""));
        assert_eq!([of_command(&piece).0, of_command(&put).0, of_question(&version).0], [0, 1, 0]);
    }

    #[test]
    fn refusal_says_when_to_come_again() {
        let of = QuotaOf::Namespace("team".into());
        let bucket = Bucket { parts: 500, filled: MonoTime::ZERO };
        assert_eq!(bucket.check(&of, (3, 1)).map_err(|problem| problem.retry_after_ms), Err(Some(167)));
        assert!(bucket.check(&of, (3, 0)).is_ok());
        // A batch of more than a second's calls waits for a full bucket.
        assert_eq!(bucket.check(&of, (3, 100)).map_err(|problem| problem.retry_after_ms), Err(Some(834)));
        assert!(Bucket { parts: 3_000, ..bucket }.check(&of, (3, 100)).is_ok());
    }
}
