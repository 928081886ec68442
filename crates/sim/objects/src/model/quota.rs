//! Quotas (rule O31): how much a namespace or a principal may have. Written from `docs/objects.md`: what is used is counted anew
//! whenever somebody asks. Bytes are not known here: of these the state says which calls they refuse, and a rule looks
//! whether it may.

use std::collections::{BTreeMap, VecDeque};

use objects_state::limits::{CALLS_PER_SECOND_MAX, NAMESPACE_BYTES_MAX, QUOTA_MAX};
use objects_state::{QuotaLimits, QuotaOf};
use serde_json::{Value, json};

use super::answer::{Answer, Refusal, bad_argument, refuse};
use super::group::Group;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    all: BTreeMap<QuotaOf, QuotaLimits>,
    /// Of the pieces of work of the command that is carried out, in order: whether the state refuses it for its bytes.
    pub(crate) refused_for_bytes: VecDeque<bool>,
}

/// Objects, waiting calls, sessions.
type Used = [u64; 3];

impl Quotas {
    /// Whether one of them is about bytes.
    pub(crate) fn has_bytes(&self) -> bool {
        self.all.values().any(|limits| limits.bytes.is_some())
    }
}

impl Group {
    fn used(&self, of: &QuotaOf) -> Used {
        let waiters = || {
            self.objects.iter().flat_map(|object| object.waiters.iter().map(move |waiter| (object, waiter)))
        };
        match of {
            QuotaOf::Namespace(name) => {
                let beginning = format!("{name}/");
                let is_in = |object: &&super::group::Object| object.name.name.starts_with(&beginning);
                let waiting = waiters().filter(|(object, _)| is_in(object)).count();
                [self.objects.iter().filter(is_in).count() as u64, waiting as u64, 0]
            }
            QuotaOf::Principal(name) => {
                let sessions = self.sessions.iter().filter(|open| open.principal == *name).count();
                let waiting = waiters().filter(|(_, waiter)| waiter.asker.principal == *name).count();
                [0, waiting as u64, sessions as u64]
            }
        }
    }

    /// A piece of what a client asks for: nobody has more than he may behind it, unless he had before.
    pub(crate) fn within_quotas<R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        if self.quotas.all.is_empty() {
            return work(self);
        }
        let before: Vec<_> = self.quotas.all.keys().map(|of| self.used(of)).collect();
        let saved = (self.objects.clone(), self.sessions.clone(), self.remembered.clone());
        let (told, ended) = (self.told.len(), self.ended.clone());
        let is_full = self.quotas.refused_for_bytes.pop_front().unwrap_or_default();
        let done = work(self)?;
        let is_passed = |((of, limits), before): ((&QuotaOf, &QuotaLimits), &Used)| {
            let limits = [limits.objects, limits.waiters, limits.sessions];
            let after = self.used(of);
            (0..3).any(|at| after[at] > before[at] && limits[at].is_some_and(|most| after[at] > most))
        };
        if !is_full && !self.quotas.all.iter().zip(&before).any(is_passed) {
            return Ok(done);
        }
        (self.objects, self.sessions, self.remembered) = saved;
        self.told.truncate(told);
        self.ended = ended;
        refuse("quota")
    }

    /// A quota is set, or taken away.
    pub(super) fn set_quota(&mut self, of: &QuotaOf, limits: &QuotaLimits) -> Answer {
        let is_fine = match of {
            QuotaOf::Namespace(name) => {
                let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
                (1..=NAMESPACE_BYTES_MAX).contains(&name.len())
                    && name.chars().all(is_sign)
                    && limits.sessions.is_none()
            }
            QuotaOf::Principal(name) => {
                (1..=255).contains(&name.len())
                    && !name.chars().any(char::is_control)
                    && limits.objects.is_none()
                    && limits.bytes.is_none()
            }
        };
        let most = [limits.objects, limits.bytes, limits.waiters, limits.sessions];
        let rates = 1..=CALLS_PER_SECOND_MAX;
        if !is_fine
            || most.into_iter().flatten().any(|most| most > QUOTA_MAX)
            || limits.calls_per_second.is_some_and(|rate| !rates.contains(&rate))
        {
            return bad_argument();
        }
        if limits.is_empty() {
            self.quotas.all.remove(of);
        } else {
            self.quotas.all.insert(of.clone(), *limits);
        }
        Ok(self.shown_quota(of))
    }

    fn shown_quota(&self, of: &QuotaOf) -> Value {
        let mut shown = json!({});
        shown[of.word()] = json!(of.name());
        let Some(limits) = self.quotas.all.get(of) else { return shown };
        let set = [
            ("objects", limits.objects),
            ("bytes", limits.bytes),
            ("waiters", limits.waiters),
            ("sessions", limits.sessions),
            ("calls_per_second", limits.calls_per_second),
        ];
        for (name, limit) in set.into_iter().filter_map(|(name, limit)| Some((name, limit?))) {
            shown[name] = json!(limit);
        }
        let [objects, waiters, sessions] = self.used(of);
        shown["used"] = match of {
            QuotaOf::Namespace(_) => json!({ "objects": objects, "waiters": waiters }),
            QuotaOf::Principal(_) => json!({ "sessions": sessions, "waiters": waiters }),
        };
        shown
    }

    /// All of them, those of principals first.
    pub(super) fn shown_quotas(&self) -> Vec<Value> {
        self.quotas.all.keys().map(|of| self.shown_quota(of)).collect()
    }
}
