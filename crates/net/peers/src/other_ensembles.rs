//! Members that have data of another ensemble than this one, and say so at the port between members: one of the two
//! ensembles was given up by `force-new-ensemble`, or was founded apart. Which of them counts, an operator knows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use net_peer_pairs::PeerNumber;
use parking_lot::Mutex;

/// For how long it counts that a member was heard of. One that runs tries again within a second.
const FRESH: Duration = Duration::from_secs(10);
/// How often the log says so of one member.
const REPEAT: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub struct OtherEnsembles {
    /// By number.
    heard: Mutex<BTreeMap<PeerNumber, Heard>>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    last: Instant,
    told: Instant,
}

impl OtherEnsembles {
    /// The member of that number, which is who it says it is, has data of another ensemble.
    pub(crate) fn note(&self, number: PeerNumber, now: Instant) {
        if self.is_news(number, now) {
            tracing::error!(
                member = number.0,
                "member {number} has data of another ensemble than this member: the two refuse each other, and each \
                 ensemble may serve clients; hint: after `force-new-ensemble` stop the members of the old ensemble and \
                 empty their data directories"
            );
        }
    }

    fn is_news(&self, number: PeerNumber, now: Instant) -> bool {
        let mut heard = self.heard.lock();
        let is_over = |since: Instant, span| now.saturating_duration_since(since) >= span;
        let known = heard.get(&number).filter(|known| !is_over(known.last, FRESH));
        let told = known.map(|known| known.told).filter(|told| !is_over(*told, REPEAT));
        heard.insert(number, Heard { last: now, told: told.unwrap_or(now) });
        told.is_none()
    }

    /// The numbers of those that were heard of lately.
    #[must_use]
    pub fn numbers(&self, now: Instant) -> Vec<PeerNumber> {
        let heard = self.heard.lock();
        let fresh = |known: &Heard| now.saturating_duration_since(known.last) < FRESH;
        heard.iter().filter(|(_, known)| fresh(known)).map(|(number, _)| *number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ensembles_member_is_told_once_a_minute_and_counts_while_it_is_heard() {
        let (others, start) = (OtherEnsembles::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let (two, three) = (PeerNumber(2), PeerNumber(3));
        assert!(others.is_news(two, at(0)) && others.is_news(three, at(0)));
        assert!((1..60).all(|seconds| !others.is_news(two, at(seconds))));
        assert!(others.is_news(two, at(60)));
        assert_eq!(others.numbers(at(5)), [two, three]);
        assert_eq!(others.numbers(at(69)), [two]);
        assert!(others.numbers(at(70)).is_empty());
        assert!(others.is_news(three, at(10)), "it was away");
    }
}
