//! What is administered besides tokens, in some of the runs: quotas of a namespace and of principals, and roles. And who looks at it.

use base::Random;
use objects_state::{QuotaLimits, QuotaOf};
use serde_json::{Value, json};

use super::asks::of;
use super::{bare, tokens};
use crate::members::edge::HttpCall;
use crate::members::history::{About, Call, Change};
use crate::members::node::Modules;
use crate::quotas::{self, NAMESPACE};
use crate::told::Object;

/// Draws apart from everything else: runs without it take the steps that they took.
const ADMIN_SEED: u64 = 0x6164_6d69_6e00;
/// How often, of a hundred objects of a run with quotas, one is in the namespace.
const IN_NAMESPACE: u64 = 70;
/// How often, of a hundred times that a client begins something, it looks at rights and quotas.
const LOOKS: u64 = 4;
/// How often, of a hundred times that the client which administers begins something, it changes some.
const CHANGES: u64 = 20;
/// Calls that a member lets in within a second, at the most.
const RATE_MAX: u64 = 8;
/// The roles of a run, and one that is none.
const ROLES: [&str; 4] = ["deployers", "readers", "readers", "a b"];

/// What a run is about besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Run {
    /// Neither tokens nor types of users.
    Plain,
    /// Tokens and rights.
    Tokens,
    /// Types of users: their models know no quota but that of calls per second, which no command in the log shows.
    Types,
}

impl Run {
    pub(in super::super) fn of(modules: Modules, has_access: bool) -> Self {
        match modules {
            Modules::None if has_access => Self::Tokens,
            Modules::None => Self::Plain,
            _ => Self::Types,
        }
    }
}

/// See the module.
pub(in super::super) struct Admin {
    random: Random,
    has_quotas: bool,
    has_bytes: bool,
    has_rates_alone: bool,
    has_roles: bool,
}

impl Admin {
    /// Roles are about tokens and rights; quotas need none, for while access is open everybody may set them.
    pub(in super::super) fn of(seed: u64, run: Run) -> Self {
        let mut random = Random::new(seed ^ ADMIN_SEED);
        let (has_quotas, roles) = (random.chance(45), random.chance(60));
        let has_bytes = random.chance(40);
        let has_rates_alone = run == Run::Types;
        // Where clients may ask for little, little happens to their types.
        let has_quotas = has_quotas && (!has_rates_alone || random.chance(40));
        Self { random, has_quotas, has_bytes, has_rates_alone, has_roles: roles && run == Run::Tokens }
    }

    pub(in super::super) const fn has_quotas(&self) -> bool {
        self.has_quotas
    }

    pub(super) fn setting(&self) -> String {
        format!("quotas {}, roles {}", self.has_quotas, self.has_roles)
    }

    /// Some of the objects of the run are in the namespace.
    pub(super) fn rename(&mut self, objects: &mut [Object]) {
        for object in objects.iter_mut().filter(|_| self.has_quotas) {
            if !self.has_rates_alone && self.random.chance(IN_NAMESPACE) {
                object.name = format!("{NAMESPACE}/{}", object.name);
            }
        }
    }

    /// What a client asks for that administers, now and then.
    pub(super) fn change(&mut self, client: usize) -> Option<Call> {
        let is_due = (self.has_quotas || self.has_roles) && self.random.chance(CHANGES);
        if !is_due {
            return None;
        }
        let (target, body) = match self.has_quotas && !(self.has_roles && self.random.chance(60)) {
            true => ("/v1/access/quota", self.quota()),
            false if self.random.chance(50) => ("/v1/access/role", self.role()),
            false => ("/v1/access/role", self.roles()),
        };
        let http =
            HttpCall { body: body.to_string().into_bytes(), ..bare("POST", target.into(), Vec::new()) };
        let about = About::Command { object: None, method: None };
        Some(Call { is_repeatable: true, change: Some(Change::Else), ..of(client, about, http, None) })
    }

    /// Now and then a client looks at its rights; whoever administers sees those of all, and the quotas.
    pub(super) fn look(&mut self, client: usize) -> Option<Call> {
        let is_due = (self.has_quotas || self.has_roles) && self.random.chance(LOOKS);
        is_due.then(|| {
            let is_stale = self.random.chance(40);
            let consistency = if is_stale { "stale" } else { "linearizable" };
            let target = format!("/v1/access?consistency={consistency}");
            let http = bare("GET", target, Vec::new());
            Call { is_repeatable: true, ..of(client, About::Access { is_stale }, http, None) }
        })
    }

    fn quota(&mut self) -> Value {
        if self.has_rates_alone {
            let rate = self.random.chance(70).then(|| 1 + self.random.below(3 * RATE_MAX));
            return json!({ "principal": tokens::NOBODY, "calls_per_second": rate });
        }
        let (word, quota_of) = match self.random.below(10) {
            0..5 => ("namespace", QuotaOf::Namespace(NAMESPACE.into())),
            _ => ("principal", QuotaOf::Principal(tokens::principal(&mut self.random).into())),
        };
        let limits = quotas::limits(&mut self.random, &quota_of, self.has_bytes);
        let rate = self.random.chance(60).then(|| 1 + self.random.below(RATE_MAX));
        let QuotaLimits { objects, bytes, waiters, sessions, .. } = limits;
        let mut body =
            json!({ "objects": objects, "bytes": bytes, "waiters": waiters, "sessions": sessions });
        // One without any limit is taken away.
        body["calls_per_second"] = json!(rate.filter(|_| !limits.is_empty()));
        body[word] = json!(quota_of.name());
        body
    }

    fn role_name(&mut self) -> &'static str {
        let known = if self.random.chance(95) { 3 } else { ROLES.len() as u64 };
        ROLES[self.random.below(known) as usize]
    }

    /// All rights of a role; without any it is gone.
    fn role(&mut self) -> Value {
        let allow = if self.random.chance(20) { Vec::new() } else { tokens::rights(&mut self.random) };
        json!({ "role": self.role_name(), "allow": allow })
    }

    /// All roles of a principal.
    fn roles(&mut self) -> Value {
        let count = self.random.below(3) as usize;
        let roles = [self.role_name(), self.role_name()];
        json!({ "principal": tokens::principal(&mut self.random), "roles": &roles[..count] })
    }
}
