//! What a write will cost to apply, estimated before it is given to the log.
//!
//! A write that is in the log is applied by every member, and again at every start: one that costs too much has to be
//! refused before. Its length is bounded by `jute.maxbuffer`, so only what grows faster than its length is counted
//! here: ACLs that are stored or judged, quotas that are counted anew, and what a session leaves to be removed at once
//! when it ends. The estimate uses the current tree, which may have changed when the write is applied. So it bounds
//! what a client can do on purpose, but is not exact to the last step.

use alloc::collections::BTreeSet;
use core::fmt;

use council_wire::{AclList, Create, MultiOperation, OpCode, Request, permission};

use crate::acl::{AclId, EPHEMERAL_ENTRY_BYTES};
use crate::node::Owner;
use crate::work::FREED_ENTRY_STEPS;
use crate::{Identities, Policy, Session, Tree, path, quota, scheme, weight};

/// Steps that one entry of an ACL takes to be checked and stored.
const STORED_ENTRY_STEPS: u64 = 10;
/// Bytes that a stored entry takes beside its scheme and id.
const STORED_ENTRY_BYTES: usize = 112;
/// With no more entries than this in all ACLs of the tree, judging each of them is cheaper than finding out which are
/// judged.
const ENTRIES_FEW: usize = 4096;
/// Bytes that `auth` may add to one ACL beyond what one entry of it stands for. One entry always passes; more of them,
/// with other ids or permissions, multiply what a connection has shown once.
const AUTH_AGAIN_BYTES_MAX: usize = 4096;
/// By so many levels the stats node of a quota lies deeper than what the quota is for.
const STATS_LEVELS: u64 = 3;
/// Digits of a sequence number.
const SEQUENCE_BYTES: usize = 10;

/// What one write may cost. See [`Cost::excess`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostLimits {
    /// Bytes of the path of a node that is created: deep paths and long names cost again whenever an event names the
    /// node, it expires, or it is watched from above.
    pub path_bytes_max: usize,
    /// Entries of one ACL, those included that `auth` stands for.
    pub acl_entries_max: usize,
    /// Bytes of the text of a `zookeeper_limits` or `zookeeper_stats` node.
    pub quota_text_bytes_max: usize,
    /// Ephemeral nodes of one session.
    pub ephemerals_max: usize,
    /// Bytes of the paths of these, and 64 for each entry of their ACLs.
    pub ephemeral_bytes_max: usize,
    /// Steps, of about ten nanoseconds each, beyond those that grow with the length of the request.
    pub steps_max: u64,
    /// Bytes of memory beyond those that grow with the length of the request.
    pub memory_bytes_max: usize,
}

impl Default for CostLimits {
    fn default() -> Self {
        Self {
            path_bytes_max: 8192,
            acl_entries_max: 1000,
            quota_text_bytes_max: 1024,
            ephemerals_max: 200_000,
            ephemeral_bytes_max: 64 << 20,
            steps_max: 1_000_000,
            memory_bytes_max: 64 << 20,
        }
    }
}

/// What a write is estimated to cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps, as [`CostLimits::steps_max`] counts them.
    pub steps: u64,
    /// Bytes of memory, as [`CostLimits::memory_bytes_max`] counts them.
    pub memory_bytes: usize,
    /// Bytes of the longest path that it creates, without the number of a sequential node.
    pub path_bytes: usize,
    /// Entries of its longest ACL.
    pub acl_entries: usize,
    /// Bytes that `auth` adds to one of its ACLs beyond what one entry of `auth` stands for.
    pub auth_again_bytes: usize,
    /// Bytes of its longest quota text.
    pub quota_text_bytes: usize,
    /// Ephemeral nodes that it creates.
    pub ephemerals: usize,
    /// Bytes of their paths, and 64 for each entry of their ACLs.
    pub ephemeral_bytes: usize,
    /// Such bytes that the owner of an ephemeral node will have once this write has made the node's ACL longer.
    pub owner_bytes: usize,
}

/// The limit that a write would break: what it needs, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// [`CostLimits::path_bytes_max`].
    Path(usize, usize),
    /// [`CostLimits::acl_entries_max`].
    AclEntries(usize, usize),
    /// Bytes that several `auth` entries of one ACL expand to: all expand to the same identities.
    AuthAgain(usize, usize),
    /// [`CostLimits::quota_text_bytes_max`].
    QuotaText(usize, usize),
    /// [`CostLimits::ephemerals_max`].
    Ephemerals(usize, usize),
    /// [`CostLimits::ephemeral_bytes_max`].
    EphemeralBytes(usize, usize),
    /// [`CostLimits::steps_max`].
    Steps(u64, u64),
    /// [`CostLimits::memory_bytes_max`].
    Memory(usize, usize),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(has, max) => {
                write!(f, "a path of {has} bytes; `council.limits.path-bytes` allows {max}")
            }
            Self::AclEntries(has, max) => {
                write!(f, "an ACL of {has} entries; `council.limits.acl-entries` allows {max}")
            }
            Self::AuthAgain(has, max) => {
                write!(f, "`auth` more than once in an ACL, which adds {has} bytes; {max} are allowed")
            }
            Self::QuotaText(has, max) => {
                write!(f, "a quota text of {has} bytes; `council.limits.quota-text-bytes` allows {max}")
            }
            Self::Ephemerals(has, max) => {
                write!(
                    f,
                    "{has} ephemeral nodes of one session; `council.limits.ephemerals-per-session` allows {max}"
                )
            }
            Self::EphemeralBytes(has, max) => write!(
                f,
                "{has} bytes of paths and ACLs of one session's ephemeral nodes; \
                 `council.limits.ephemeral-bytes-per-session` allows {max}"
            ),
            Self::Steps(has, max) => {
                write!(f, "{has} steps of work; `council.limits.command-steps` allows {max}")
            }
            Self::Memory(has, max) => {
                write!(f, "{has} bytes of memory; `council.limits.command-bytes` allows {max}")
            }
        }
    }
}

impl Cost {
    /// The first limit that the write breaks, if any; `session` is the one that sends it.
    #[must_use]
    pub fn excess(&self, limits: &CostLimits, session: Option<&Session>) -> Option<Excess> {
        let owned = |count: fn(&Session) -> usize| session.map_or(0, count);
        let (mut ephemerals, mut ephemeral_bytes) = (0, 0);
        if self.ephemerals > 0 {
            ephemerals = self.ephemerals + owned(Session::ephemeral_count);
            ephemeral_bytes = self.ephemeral_bytes + owned(Session::ephemeral_bytes);
        }
        let beyond = |has: usize, max: usize, excess: fn(usize, usize) -> Excess| {
            (has > max).then(|| excess(has, max))
        };
        beyond(self.path_bytes, limits.path_bytes_max, Excess::Path)
            .or_else(|| beyond(self.acl_entries, limits.acl_entries_max, Excess::AclEntries))
            .or_else(|| beyond(self.auth_again_bytes, AUTH_AGAIN_BYTES_MAX, Excess::AuthAgain))
            .or_else(|| beyond(self.quota_text_bytes, limits.quota_text_bytes_max, Excess::QuotaText))
            .or_else(|| beyond(ephemerals, limits.ephemerals_max, Excess::Ephemerals))
            .or_else(|| beyond(ephemeral_bytes, limits.ephemeral_bytes_max, Excess::EphemeralBytes))
            .or_else(|| beyond(self.owner_bytes, limits.ephemeral_bytes_max, Excess::EphemeralBytes))
            .or_else(|| beyond(self.memory_bytes, limits.memory_bytes_max, Excess::Memory))
            .or_else(|| {
                (self.steps > limits.steps_max).then_some(Excess::Steps(self.steps, limits.steps_max))
            })
    }
}

impl Tree {
    /// What a write would cost on this tree, sent by a connection with these identities.
    #[must_use]
    pub fn cost(&self, request: &Request<'_>, identities: Identities<'_>, policy: Policy) -> Cost {
        let mut estimate = Estimate { cost: Cost::default(), identities, policy, authenticated: None };
        match request {
            Request::Create(create) | Request::CreateTtl(create, _) => {
                estimate.create(OpCode::Create, create);
            }
            Request::SetData { path, data, .. } => estimate.text(path, *data),
            Request::SetAcl { path, acl, .. } => {
                let entries = estimate.acl(acl);
                if !scheme::is_open(acl) {
                    let bytes = entries * EPHEMERAL_ENTRY_BYTES;
                    estimate.cost.owner_bytes = self.owner_bytes(path, bytes).unwrap_or(0);
                }
            }
            Request::Multi(multi) => {
                for operation in &multi.operations {
                    match operation {
                        MultiOperation::Create(opcode, create, _) => estimate.create(*opcode, create),
                        MultiOperation::SetData { path, data, .. } => estimate.text(path, *data),
                        _ => {}
                    }
                }
                estimate.cost.steps += self.cost_of_checks(&multi.operations, identities);
                estimate.cost.steps += self.cost_of_releases(&multi.operations);
                estimate.cost.steps += self.cost_of_recounts(&multi.operations);
            }
            _ => {}
        }
        estimate.cost
    }

    /// The ephemeral bytes of a node's owner, if an ACL that counts so much makes them more.
    fn owner_bytes(&self, path: &str, of_acl: usize) -> Option<usize> {
        let node = self.arena.node(self.find(path, self.key_of(path)?)?);
        let Owner::Session(id) = node.owner() else { return None };
        let more = of_acl.checked_sub(self.acls.ephemeral_bytes(node.stat.acl)).filter(|more| *more > 0)?;
        Some(self.session(id)?.ephemeral_bytes().saturating_add(more))
    }

    /// Each ACL is judged once for each permission that the operations ask for.
    fn cost_of_checks(&self, operations: &[MultiOperation<'_>], identities: Identities<'_>) -> u64 {
        let entries = match self.acls.entries() {
            few if few <= ENTRIES_FEW => few,
            _ => {
                let judged: BTreeSet<_> =
                    operations.iter().filter_map(|operation| self.judged_by(operation)).collect();
                judged.into_iter().map(|(acl, _)| self.acls.list(acl).len()).sum()
            }
        };
        entries as u64 * steps_per_entry(identities)
    }

    /// The ACL that decides about an operation, and for which permission.
    fn judged_by(&self, operation: &MultiOperation<'_>) -> Option<(AclId, i32)> {
        let above = |path| path::split(path).map(|(above, _)| above);
        let (path, required) = match *operation {
            MultiOperation::Create(_, ref create, _) => (above(create.path)?, permission::CREATE),
            MultiOperation::Delete { path, .. } => (above(path)?, permission::DELETE),
            MultiOperation::SetData { path, .. } => (path, permission::WRITE),
            MultiOperation::Check { path, .. } => (path, permission::READ),
            _ => return None,
        };
        let slot = self.find(path, self.key_of(path)?)?;
        let acl = self.arena.node(slot).stat.acl;
        (self.acls.everyone(acl) & required == 0).then_some((acl, required))
    }

    /// Each ACL of a node that goes is freed with the last such node.
    fn cost_of_releases(&self, operations: &[MultiOperation<'_>]) -> u64 {
        if self.acls.entries() <= ENTRIES_FEW {
            return 0;
        }
        let freed: BTreeSet<_> = operations.iter().filter_map(|operation| self.freed_by(operation)).collect();
        freed.into_iter().map(|acl| self.acls.list(acl).len() as u64 * FREED_ENTRY_STEPS).sum()
    }

    /// The ACL that an operation frees, if no other node has it.
    fn freed_by(&self, operation: &MultiOperation<'_>) -> Option<AclId> {
        let MultiOperation::Delete { path, .. } = *operation else { return None };
        let slot = self.find(path, self.key_of(path)?)?;
        Some(self.arena.node(slot).stat.acl)
    }

    /// One command may count all nodes below a quota once; every further time is counted here. What is counted may have
    /// been created by the command itself. Below `/zookeeper` it also looks for all quotas below which the command has
    /// changed something.
    fn cost_of_recounts(&self, operations: &[MultiOperation<'_>]) -> u64 {
        let (mut creates, mut recounts, mut searches, mut levels) = (0_u64, 0_u64, 0_u64, 0_u64);
        for operation in operations {
            let path = match operation {
                MultiOperation::Create(_, create, _) => create.path,
                MultiOperation::Delete { path, .. } | MultiOperation::SetData { path, .. } => path,
                _ => continue,
            };
            levels += STATS_LEVELS + path.bytes().filter(|byte| *byte == b'/').count() as u64;
            if let MultiOperation::Create(..) = operation {
                creates += 1;
                let counted = quota::counted_path(path);
                recounts += u64::from(counted.is_some());
                searches += u64::from(counted.is_some_and(|counted| counted.starts_with(path::ZOOKEEPER)));
            }
        }
        let nodes = (self.arena.len() as u64 + creates).min(weight::VISITED_MAX);
        recounts.saturating_sub(1) * nodes + searches * levels
    }
}

/// Steps that it takes to hold one entry of an ACL against identities.
fn steps_per_entry(identities: Identities<'_>) -> u64 {
    1 + u64::from((identities.iter().count() + 1).ilog2())
}

/// A cost while it is added up.
struct Estimate<'a> {
    cost: Cost,
    identities: Identities<'a>,
    policy: Policy,
    /// How many entries `auth` stands for, and their bytes, once that is known.
    authenticated: Option<(usize, usize)>,
}

impl Estimate<'_> {
    fn create(&mut self, opcode: OpCode, create: &Create<'_>) {
        self.cost.path_bytes = self.cost.path_bytes.max(create.path.len());
        self.text(create.path, create.data);
        let entries = self.acl(&create.acl);
        let plain = matches!(opcode, OpCode::Create | OpCode::Create2 | OpCode::CreateTtl);
        if plain && matches!(create.flags, 1 | 3) {
            self.cost.ephemerals += 1;
            let of_acl = if scheme::is_open(&create.acl) { 0 } else { entries * EPHEMERAL_ENTRY_BYTES };
            self.cost.ephemeral_bytes += create.path.len() + SEQUENCE_BYTES + of_acl;
        }
    }

    fn text(&mut self, path: &str, data: Option<&[u8]>) {
        let bytes = data.map_or(0, <[u8]>::len);
        if bytes > self.cost.quota_text_bytes
            && (quota::limited_path(path).is_some() || quota::counted_path(path).is_some())
        {
            self.cost.quota_text_bytes = bytes;
        }
    }

    /// Adds an ACL; gives the number of its entries.
    fn acl(&mut self, acl: &AclList<'_>) -> usize {
        let (mut entries, mut bytes, mut auth_entries) = (0, 0, 0_usize);
        for entry in acl.iter() {
            let (more, of_text) = match entry.scheme {
                Some("auth") => {
                    auth_entries += 1;
                    self.authenticated()
                }
                scheme => (1, scheme.map_or(0, str::len) + entry.id.map_or(0, str::len)),
            };
            entries += more;
            bytes += of_text + more * STORED_ENTRY_BYTES;
        }
        if auth_entries > 1 {
            let (more, of_text) = self.authenticated();
            let again = (auth_entries - 1) * (of_text + more * STORED_ENTRY_BYTES);
            self.cost.auth_again_bytes = self.cost.auth_again_bytes.max(again);
        }
        self.cost.acl_entries = self.cost.acl_entries.max(entries);
        self.cost.steps += entries as u64 * STORED_ENTRY_STEPS;
        self.cost.memory_bytes = self.cost.memory_bytes.saturating_add(bytes);
        entries
    }

    fn authenticated(&mut self) -> (usize, usize) {
        *self.authenticated.get_or_insert_with(|| {
            let meant =
                self.identities.iter().filter(|one| scheme::is_authenticated(one.scheme, self.policy));
            meant.fold((0, 0), |(count, bytes), one| (count + 1, bytes + one.scheme.len() + one.id.len()))
        })
    }
}
