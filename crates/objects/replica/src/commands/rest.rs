//! Calls of expensive objects, which wait here until others have had their turn.
//!
//! A command is applied by one thread, at every member at the same time. A call that burns its fuel takes as long as tens of
//! thousands of others, and a caller who sends a hundred of them at once would have everybody wait for all. So each member gives
//! the leader one call at a time of the objects whose calls were expensive lately, and rests behind it for several times as
//! long as it took. Whoever calls another object waits for one such call of each member at the most.
//!
//! The calls have no numbers yet while they wait here, so they may be given in another order than they came; those of one
//! object keep theirs, and objects take turns. When the last calls of an object were cheap again, all of its calls that wait here
//! go at once: with one at a time there would always be more of them, as long as its callers ask for more than that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::MonoTime;
use objects_state::limits::USER_TYPE_MIN;
use objects_state::{Command, ObjectName, Origin};

/// What a call takes that is expensive, in about bytes: some 0.2 ms.
const EXPENSIVE: u64 = 200_000;
/// What takes a millisecond, in about bytes.
const PER_MS: u64 = 1_000_000;
/// For how many times as long as a call took nothing follows.
const RESTS: u64 = 4;
/// The longest rest, milliseconds.
const REST_MS_MAX: u64 = 1_000;
/// Objects that are remembered as expensive.
const OBJECTS_MAX: usize = 1_000;

/// A call that waits.
#[derive(Debug)]
pub(crate) struct Held {
    /// As the log is to have it, but for its number.
    pub(crate) encoded: Vec<u8>,
    pub(crate) origin: Origin,
    pub(crate) repeatable: bool,
    pub(crate) since: MonoTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// What calls took lately, of objects of which that was much.
    expensive: BTreeMap<ObjectName, u64>,
    queues: BTreeMap<ObjectName, VecDeque<Held>>,
    /// Objects with a queue whose calls have become cheap.
    cheap: BTreeSet<ObjectName>,
    /// Whose call was given last.
    last: Option<ObjectName>,
    len: usize,
    bytes: usize,
    under_way: Option<Origin>,
    next_at: MonoTime,
}

/// The object that a command calls, if its type is a user's: what others take is bounded by their bytes.
fn object_of(command: &Command) -> Option<&ObjectName> {
    let object = match command {
        Command::Call(call) => &call.object,
        Command::Batch(batch) => &batch.object,
        _ => return None,
    };
    (object.kind.0 >= USER_TYPE_MIN).then_some(object)
}

impl Rest {
    /// Whether a command is to wait here, and behind the calls of which object.
    pub(crate) fn wants<'a>(&self, command: &'a Command) -> Option<&'a ObjectName> {
        let object = object_of(command)?;
        (self.expensive.contains_key(object) || self.queues.contains_key(object)).then_some(object)
    }

    pub(crate) fn hold(&mut self, object: &ObjectName, held: Held) {
        self.len += 1;
        self.bytes += held.encoded.len();
        self.queues.entry(object.clone()).or_default().push_back(held);
    }

    /// The call that goes next, if one may go now.
    pub(crate) fn next(&mut self, now: MonoTime) -> Option<Held> {
        while let Some(object) = self.cheap.first().cloned() {
            match self.take(&object) {
                Some(held) => return Some(held),
                None => _ = self.cheap.remove(&object),
            }
        }
        if self.under_way.is_some() || self.len == 0 || now < self.next_at {
            return None;
        }
        let behind = self.last.take().and_then(|last| {
            let behind = (core::ops::Bound::Excluded(last), core::ops::Bound::Unbounded);
            self.queues.range(behind).next().map(|(object, _)| object.clone())
        });
        let object = behind.or_else(|| self.queues.keys().next().cloned())?;
        let held = self.take(&object)?;
        (self.last, self.under_way) = (Some(object), Some(held.origin));
        Some(held)
    }

    /// The first call of an object that waits.
    fn take(&mut self, object: &ObjectName) -> Option<Held> {
        let queue = self.queues.get_mut(object)?;
        let held = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(object);
        }
        self.taken(&held);
        Some(held)
    }

    fn taken(&mut self, held: &Held) {
        self.len -= 1;
        self.bytes -= held.encoded.len();
    }

    /// A command of this member is under way no more.
    pub(crate) fn ended(&mut self, origin: Option<Origin>) {
        self.under_way.take_if(|under_way| Some(*under_way) == origin);
    }

    /// A command was applied that took so much, in about bytes. `is_own`: this member gave it.
    pub(crate) fn learn(&mut self, command: &Command, cost: usize, is_own: bool, now: MonoTime) {
        let Some(object) = object_of(command) else { return };
        let cost = cost as u64;
        let known = self.expensive.get(object).copied().unwrap_or(0);
        // One cheap call does not make it cheap: its next one may burn again.
        let lately = cost.max(known / 2);
        if lately >= EXPENSIVE {
            if self.expensive.len() >= OBJECTS_MAX && known == 0 {
                self.forget_cheapest();
            }
            self.expensive.insert(object.clone(), lately);
            self.cheap.remove(object);
        } else if known > 0 {
            self.is_cheap(object);
        }
        if is_own && lately >= EXPENSIVE {
            let rest_ms = (RESTS * cost / PER_MS).min(REST_MS_MAX);
            self.next_at = self.next_at.max(now.plus_ms(rest_ms));
        }
    }

    fn forget_cheapest(&mut self) {
        let cheapest = self.expensive.iter().min_by_key(|(_, cost)| **cost).map(|(object, _)| object.clone());
        cheapest.iter().for_each(|object| self.is_cheap(object));
    }

    /// An object is expensive no longer.
    fn is_cheap(&mut self, object: &ObjectName) {
        self.expensive.remove(object);
        if self.queues.contains_key(object) {
            self.cheap.insert(object.clone());
        }
    }

    /// Takes out those that came before that time: they have no effect.
    pub(crate) fn take_old(&mut self, before: MonoTime) -> Vec<Origin> {
        let mut old = Vec::new();
        for queue in self.queues.values_mut() {
            while let Some(held) = queue.pop_front_if(|held| held.since < before) {
                self.len -= 1;
                self.bytes -= held.encoded.len();
                old.push(held.origin);
            }
        }
        self.queues.retain(|_, queue| !queue.is_empty());
        old
    }

    /// The caller of a request has gone. Whether it waited here: then it has no effect.
    pub(crate) fn drop_of(&mut self, origin: Origin) -> bool {
        let is_its = |queue: &VecDeque<Held>| queue.iter().position(|held| held.origin == origin);
        let found = self.queues.values_mut().find_map(|queue| queue.remove(is_its(queue)?));
        if let Some(held) = &found {
            self.taken(held);
            self.queues.retain(|_, queue| !queue.is_empty());
        }
        found.is_some()
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the next call may go, if one waits and none is under way.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        (self.len > 0 && self.under_way.is_none()).then_some(self.next_at)
    }
}

#[cfg(test)]
mod tests {
    use objects_state::{Call, Caller, Identity, Invocation, TypeId};

    use super::*;

    const MS: usize = PER_MS as usize;

    fn name(name: &str) -> ObjectName {
        ObjectName { kind: TypeId(64), name: name.into() }
    }

    const fn origin(number: u64) -> Origin {
        Origin { member: 1, number }
    }

    fn call(object: &str, number: u64) -> Command {
        let caller =
            Caller { origin: origin(number), principal: "ada".into(), identity: Identity::Anonymous };
        let invocation = Invocation { method: "burn".into(), args: Vec::new() };
        let (incarnation, wait_ms, opens) = (None, None, None);
        Command::Call(Call {
            caller,
            object: name(object),
            incarnation,
            create: false,
            wait_ms,
            opens,
            invocation,
        })
    }

    fn hold(rest: &mut Rest, object: &str, number: u64, since_ms: u64) {
        let since = MonoTime::of_ms(since_ms);
        let held = Held { encoded: vec![0; 10], origin: origin(number), repeatable: false, since };
        rest.hold(&name(object), held);
    }

    fn next(rest: &mut Rest, at_ms: u64) -> Option<u64> {
        rest.next(MonoTime::of_ms(at_ms)).map(|held| held.origin.number)
    }

    #[test]
    fn object_is_expensive_while_its_calls_were_lately() {
        let mut rest = Rest::default();
        let burns = call("a", 1);
        assert!(rest.wants(&burns).is_none());
        rest.learn(&burns, 20 * MS, false, MonoTime::ZERO);
        assert_eq!(rest.wants(&burns), Some(&name("a")));
        assert!(rest.wants(&call("b", 1)).is_none() && rest.wants(&Command::Tick).is_none());
        for cheap in 0..6 {
            rest.learn(&burns, 500, false, MonoTime::ZERO);
            assert!(rest.wants(&burns).is_some(), "{cheap}");
        }
        rest.learn(&burns, 500, false, MonoTime::ZERO);
        assert!(rest.wants(&burns).is_none());
    }

    #[test]
    fn expensive_calls_go_one_at_a_time_with_a_rest_behind_each_and_objects_take_turns() {
        let mut rest = Rest::default();
        for (object, number) in [("a", 1), ("a", 2), ("b", 3), ("a", 4)] {
            hold(&mut rest, object, number, 0);
        }
        assert_eq!((next(&mut rest, 10), next(&mut rest, 10)), (Some(1), None));
        rest.ended(Some(origin(9)));
        assert_eq!(next(&mut rest, 10), None, "another one ended");
        rest.ended(Some(origin(1)));
        rest.learn(&call("a", 1), 20 * MS, true, MonoTime::of_ms(10));
        assert_eq!(rest.due(), Some(MonoTime::of_ms(90)));
        assert_eq!((next(&mut rest, 89), next(&mut rest, 90)), (None, Some(3)));
        rest.ended(Some(origin(3)));
        assert_eq!(next(&mut rest, 100), Some(2));
        rest.ended(Some(origin(2)));
        assert_eq!((next(&mut rest, 100), rest.len(), rest.bytes()), (Some(4), 0, 0));
        assert_eq!(rest.due(), None);
    }

    #[test]
    fn calls_of_an_object_that_is_cheap_again_go_at_once_in_their_order() {
        let mut rest = Rest::default();
        rest.learn(&call("a", 1), MS, true, MonoTime::ZERO);
        rest.learn(&call("b", 2), MS, true, MonoTime::ZERO);
        for (object, number) in [("a", 3), ("b", 4), ("a", 5), ("a", 6), ("b", 7)] {
            hold(&mut rest, object, number, 0);
        }
        assert_eq!((next(&mut rest, 10), next(&mut rest, 10)), (Some(3), None));
        for _ in 0..3 {
            rest.learn(&call("a", 3), 500, true, MonoTime::of_ms(11));
        }
        assert_eq!((next(&mut rest, 11), next(&mut rest, 11)), (Some(5), Some(6)));
        assert_eq!((next(&mut rest, 11), rest.due()), (None, None), "3 is under way");
        assert!(rest.wants(&call("a", 8)).is_none() && rest.wants(&call("b", 8)).is_some());
        rest.ended(Some(origin(3)));
        assert_eq!((next(&mut rest, 12), next(&mut rest, 12)), (Some(4), None));
        // It is expensive again before they have gone.
        hold(&mut rest, "b", 8, 0);
        for _ in 0..3 {
            rest.learn(&call("b", 4), 500, true, MonoTime::of_ms(13));
        }
        rest.learn(&call("b", 4), MS, true, MonoTime::of_ms(13));
        rest.ended(Some(origin(4)));
        assert_eq!((next(&mut rest, 13), next(&mut rest, 17), next(&mut rest, 17)), (None, Some(7), None));
    }

    #[test]
    fn call_that_waits_too_long_or_whose_caller_has_gone_leaves() {
        let mut rest = Rest::default();
        for (number, since) in [(1, 10), (2, 20), (3, 30)] {
            hold(&mut rest, "a", number, since);
        }
        assert!(rest.drop_of(origin(2)) && !rest.drop_of(origin(2)));
        assert_eq!(rest.take_old(MonoTime::of_ms(30)), [origin(1)]);
        assert_eq!((rest.len(), rest.bytes()), (1, 10));
        assert!(rest.drop_of(origin(3)) && rest.queues.is_empty());
    }

    #[test]
    fn expensive_objects_are_bounded() {
        let mut rest = Rest::default();
        for number in 0..OBJECTS_MAX + 10 {
            let cost = if number == 0 { EXPENSIVE as usize } else { MS };
            rest.learn(&call(&number.to_string(), 1), cost, false, MonoTime::ZERO);
        }
        assert_eq!(rest.expensive.len(), OBJECTS_MAX);
        assert!(rest.wants(&call("0", 1)).is_none(), "the cheapest is forgotten");
    }
}
