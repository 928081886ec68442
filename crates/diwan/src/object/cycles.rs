//! Sessions that wait for each other, found in what is said of who waits for whom.
//!
//! A session is *stuck* if it waits for a lock that a stuck session holds, or for a semaphore that stuck sessions alone hold. It
//! is found from the other side: a session that waits for nothing is free, and so is whoever waits for what only free sessions
//! hold. Who is left is stuck, and a walk from one to one that it waits for comes back to itself. All of that costs as
//! much as there are pairs of a waiting call and a holder.
//!
//! Not taken for a wait for holders: an election, in which candidates stand by for as long as they like; a queue, into which
//! anybody may put an item; a session that waits for itself, for it may have several threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pairs of a waiting call and a holder beyond which no cycles are looked for.
const PAIRS_MAX: usize = 2_000_000;

/// What is waited for, by whom, and who holds it.
#[derive(Clone, Debug, Default)]
pub(super) struct Contended {
    /// `TYPE/NAME`.
    pub(super) object: String,
    /// Whether it goes on when one of several holders gives something back; otherwise all have to.
    pub(super) one_is_enough: bool,
    /// Sessions whose calls wait for holders, and the calls' tickets.
    pub(super) waiting: Vec<(String, u64)>,
    /// Sessions that hold it.
    pub(super) holders: Vec<String>,
    /// Whether more sessions hold it than are known.
    pub(super) has_more_holders: bool,
}

/// One session in a cycle: it waits for what the next one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) session: String,
    /// The ticket of its call.
    pub(super) ticket: u64,
    /// What it waits for.
    pub(super) waits_for: String,
    pub(super) held_by: String,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// No session is in two of them.
    pub(super) cycles: Vec<Vec<Step>>,
    /// Sessions that are in none of them, and wait for sessions that are in one.
    pub(super) behind: usize,
    /// There is too much to be looked at.
    pub(super) is_too_much: bool,
}

/// Whether calls that wait for objects of a type in this way count here, and whether one of several holders is enough.
pub(super) fn counts(kind: &str) -> Option<bool> {
    match kind {
        "lock" | "rwlock" => Some(false),
        "semaphore" => Some(true),
        _ => None,
    }
}

/// A waiting call.
struct Wait<'a> {
    session: &'a str,
    ticket: u64,
    object: &'a str,
    holders: BTreeSet<&'a str>,
    /// Of how many holders it has to be known that they are free until it is.
    left: usize,
}

/// Finds sessions that wait for each other.
pub(super) fn find(contended: &[Contended]) -> Found {
    let pairs = |one: &Contended| one.waiting.len().saturating_mul(one.holders.len());
    if contended.iter().map(pairs).fold(0, usize::saturating_add) > PAIRS_MAX {
        return Found { is_too_much: true, ..Found::default() };
    }
    let waits: Vec<_> = contended.iter().flat_map(waits_for).collect();
    let stuck = stuck(&waits);
    walk(&waits, &stuck)
}

fn waits_for(one: &Contended) -> impl Iterator<Item = Wait<'_>> {
    one.waiting.iter().filter_map(|(session, ticket)| {
        let holders: BTreeSet<_> =
            one.holders.iter().map(String::as_str).filter(|holder| holder != session).collect();
        let left = match holders.len() {
            // It waits for itself, for a delay, or for holders that nobody knows.
            0 => return None,
            // One of them may be free.
            _ if one.one_is_enough && one.has_more_holders => return None,
            _ if one.one_is_enough => 1,
            count => count,
        };
        Some(Wait { session, ticket: *ticket, object: &one.object, holders, left })
    })
}

/// The calls of sessions that are stuck which keep them so, by session.
fn stuck<'a>(waits: &[Wait<'a>]) -> BTreeMap<&'a str, BTreeSet<usize>> {
    let (mut stuck, mut behind) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, Vec<_>>::new());
    for (number, wait) in waits.iter().enumerate() {
        stuck.entry(wait.session).or_default().insert(number);
        wait.holders.iter().for_each(|holder| behind.entry(*holder).or_default().push(number));
    }
    let mut left: Vec<_> = waits.iter().map(|wait| wait.left).collect();
    let mut free: VecDeque<_> = behind.keys().copied().filter(|own| !stuck.contains_key(own)).collect();
    while let Some(session) = free.pop_front() {
        for number in behind.get(session).into_iter().flatten() {
            left[*number] = left[*number].saturating_sub(1);
            let own = waits[*number].session;
            if left[*number] == 0
                && let Some(calls) = stuck.get_mut(own)
            {
                calls.remove(number);
                if calls.is_empty() {
                    stuck.remove(own);
                    free.push_back(own);
                }
            }
        }
    }
    stuck
}

/// Goes from each stuck session to one that it waits for, until it comes to one where somebody was.
fn walk(waits: &[Wait<'_>], stuck: &BTreeMap<&str, BTreeSet<usize>>) -> Found {
    let (mut found, mut seen) = (Found::default(), BTreeSet::new());
    for first in stuck.keys().copied() {
        let (mut way, mut session) = (Vec::<Step>::new(), first);
        while seen.insert(session) {
            let Some((wait, holder)) = next(waits, stuck, session) else { break };
            let (waits_for, held_by) = (String::from(wait.object), String::from(holder));
            way.push(Step { session: session.into(), ticket: wait.ticket, waits_for, held_by });
            session = holder;
        }
        match way.iter().position(|step| step.session == session) {
            Some(begin) => {
                found.cycles.push(way.split_off(begin));
                found.behind += way.len();
            }
            None => found.behind += way.len(),
        }
    }
    found
}

/// A call of a stuck session, and a stuck session that holds what it waits for.
fn next<'a>(
    waits: &'a [Wait<'a>],
    stuck: &BTreeMap<&str, BTreeSet<usize>>,
    session: &str,
) -> Option<(&'a Wait<'a>, &'a str)> {
    let calls = stuck.get(session)?.iter().filter_map(|number| waits.get(*number));
    let held = |wait: &'a Wait<'a>| {
        wait.holders.iter().find(|holder| stuck.contains_key(*holder)).map(|holder| (wait, *holder))
    };
    calls.filter_map(held).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind/name held by a b: c d wait`.
    fn contended(object: &str, holders: &str, waiting: &str) -> Contended {
        let kind = object.split('/').next().expect("a type");
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        Contended {
            object: object.into(),
            one_is_enough: counts(kind).expect("it counts"),
            waiting: (1..).zip(words(waiting)).map(|(ticket, session)| (session, ticket)).collect(),
            holders: words(holders),
            has_more_holders: false,
        }
    }

    /// Each cycle as `a>x>b>y`: a waits for x, which b holds, which waits for y.
    fn shown(contended: &[Contended]) -> (Vec<String>, usize) {
        let found = find(contended);
        let steps = |cycle: &Vec<Step>| {
            for (one, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                assert_eq!(one.held_by, next.session, "{cycle:?}");
            }
            let name = |step: &Step| format!("{}>{}", step.session, step.waits_for);
            cycle.iter().map(name).collect::<Vec<_>>().join(">")
        };
        (found.cycles.iter().map(steps).collect(), found.behind)
    }

    #[test]
    fn two_sessions_that_hold_what_the_other_one_waits_for_are_a_cycle() {
        let all = [contended("lock/x", "a", "b"), contended("lock/y", "b", "a")];
        assert_eq!(shown(&all), (vec!["a>lock/y>b>lock/x".into()], 0));
        assert_eq!(find(&all).cycles[0][0].ticket, 1);
    }

    #[test]
    fn chain_that_ends_at_a_session_that_waits_for_nothing_is_none() {
        let all = [contended("lock/x", "a", "b c"), contended("lock/y", "b", "c d")];
        assert_eq!(shown(&all), (Vec::new(), 0));
        assert_eq!(find(&[]), Found::default());
    }

    #[test]
    fn sessions_behind_a_cycle_are_counted() {
        let all = [
            contended("lock/x", "a", "b e"),
            contended("lock/y", "b", "c"),
            contended("lock/z", "c", "a"),
            contended("lock/w", "e", "f"),
            contended("lock/v", "g", "h"),
        ];
        assert_eq!(shown(&all), (vec!["a>lock/z>c>lock/y>b>lock/x".into()], 2));
    }

    #[test]
    fn each_cycle_is_found_once() {
        let all = [
            contended("lock/x", "a", "b"),
            contended("lock/y", "b", "a"),
            contended("rwlock/x", "c", "d"),
            contended("rwlock/y", "d", "c"),
        ];
        let both = vec![String::from("a>lock/y>b>lock/x"), String::from("c>rwlock/y>d>rwlock/x")];
        assert_eq!(shown(&all), (both, 0));
    }

    #[test]
    fn writer_waits_for_all_readers_and_one_that_is_stuck_keeps_it() {
        let all = [contended("rwlock/x", "a b", "c"), contended("lock/y", "c", "a")];
        assert_eq!(shown(&all), (vec!["a>lock/y>c>rwlock/x".into()], 0));
    }

    #[test]
    fn semaphore_is_free_if_one_of_its_holders_is() {
        let mut all = vec![contended("semaphore/s", "a b", "c"), contended("lock/y", "c", "a")];
        assert_eq!(shown(&all), (Vec::new(), 0), "b may give a permit back");
        all[1].waiting.push((String::from("b"), 2));
        assert_eq!(shown(&all), (vec!["a>lock/y>c>semaphore/s".into()], 1));
        all[0].has_more_holders = true;
        assert_eq!(shown(&all), (Vec::new(), 0), "nobody knows of the others");
    }

    #[test]
    fn permits_of_each_other_are_a_cycle() {
        assert_eq!(
            shown(&[contended("semaphore/s", "a b", "a b")]),
            (vec!["a>semaphore/s>b>semaphore/s".into()], 0)
        );
    }

    #[test]
    fn session_that_waits_for_itself_is_none() {
        assert_eq!(shown(&[contended("lock/x", "a", "a")]), (Vec::new(), 0));
    }

    #[test]
    fn call_that_somebody_will_answer_does_not_free_a_session_with_another_one_that_is_stuck() {
        let all = [
            contended("lock/x", "a", "b"),
            contended("lock/y", "b", "a"),
            contended("lock/z", "free", "a b"),
        ];
        assert_eq!(shown(&all), (vec!["a>lock/y>b>lock/x".into()], 0));
    }

    #[test]
    fn long_chains_and_large_cycles_end() {
        let count = 20_000;
        let one = |number: usize| {
            contended(&format!("lock/{number}"), &format!("s{number}"), &format!("s{}", (number + 1) % count))
        };
        let ring: Vec<_> = (0..count).map(one).collect();
        assert_eq!(find(&ring).cycles.iter().map(Vec::len).collect::<Vec<_>>(), [count]);
        assert_eq!(find(&ring[1..]), Found::default());
        let many = (0..1_500).map(|number| format!("s{number} ")).collect::<String>();
        assert!(find(&[contended("semaphore/s", &many, &many)]).is_too_much);
    }
}
