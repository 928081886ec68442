//! What the leader makes of a client's reconfig before the command enters the log.
//!
//! The leader alone knows which members are connected and have caught up, so it refuses a change that would leave no
//! majority of them, and one that comes while another is under way. It also brings the members that a client names into
//! the form that ZooKeeper's own parser reads ([`council_tree::Member::published`]): the log then carries that form, and builds
//! that do not know it apply the same text.
//!
//! What the tree judges by itself (whether the client may, the version, the syntax) is left to the tree.

use consensus_raft::LogIndex;
use consensus_replica::{LAG_MAX, MemberId, MemberNumber};
use council_tree::{CONFIG, Command, Identities, Operation, Policy, Roster, permits};
use council_wire::{ErrorCode, OpCode, Reader, Reconfig, Request, Writer, permission};

use crate::ensemble_config::EnsembleConfig;
use crate::group::Group;

/// After how many of raft's ticks a member that says nothing counts as absent: as many as for raft.
const HEARD_TICKS: u64 = 10;

/// What becomes of a reconfig.
enum Verdict {
    /// The tree judges it as it is.
    Unchanged,
    /// It keeps its place in its session's sequence, as this refusal.
    Refused(ErrorCode),
    /// It stands in the log with this body.
    Rewritten(Vec<u8>),
}

/// What a leader knows when it judges.
#[derive(Clone, Copy)]
pub(crate) struct ReconfigJudge<'a> {
    pub(crate) ensemble: &'a EnsembleConfig,
    pub(crate) group: &'a Group,
}

impl ReconfigJudge<'_> {
    /// A command that the leader is about to put into the log, encoded.
    pub(crate) fn judge(&self, command: Command<'_>) -> Vec<u8> {
        let verdict = self.verdict(&command);
        let command = match &verdict {
            Verdict::Unchanged => command,
            Verdict::Refused(refusal) => {
                Command { operation: Operation::Refuse(*refusal), identities: Identities::NONE, ..command }
            }
            Verdict::Rewritten(body) => {
                Command { operation: Operation::Client { opcode: OpCode::Reconfig, body }, ..command }
            }
        };
        let mut judged = Vec::new();
        command.encode(&mut judged);
        judged
    }

    fn verdict(&self, command: &Command<'_>) -> Verdict {
        let Operation::Client { opcode: OpCode::Reconfig, body } = command.operation else {
            return Verdict::Unchanged;
        };
        // Where it is disabled that is what the client hears, whichever members are here.
        if !command.policy.contains(Policy::RECONFIG_ENABLED) {
            return Verdict::Unchanged;
        }
        let Ok(Request::Reconfig(change)) = Request::decode(OpCode::Reconfig, body) else {
            return Verdict::Unchanged;
        };
        let Some(Ok(next)) = self.ensemble.roster().map(|roster| roster.changed(&change)) else {
            return Verdict::Unchanged;
        };
        let refusal = if self.group.view().membership.is_changing() || self.is_proposing_config() {
            ErrorCode::ReconfigInProgress
        } else {
            match rewritten(&change) {
                Err(refusal) => refusal,
                Ok(_) if !self.has_majority(&next) => ErrorCode::NewConfigNoQuorum,
                Ok(body) => return body.map_or(Verdict::Unchanged, Verdict::Rewritten),
            }
        };
        // A client that may not change the members hears that and nothing else.
        let acl = self.ensemble.acl();
        let may = acl.is_none_or(|acl| permits(acl, permission::WRITE, command.identities, command.policy));
        Verdict::Refused(if may { refusal } else { ErrorCode::NoAuth })
    }

    /// Whether the text of `/zookeeper/config` is this leader's to write, and it has not done so yet.
    fn is_proposing_config(&self) -> bool {
        !self.group.leads() || self.ensemble.is_proposing()
    }

    /// Whether a member is connected and was heard of lately. What raft says would not do: whenever it looks for a
    /// majority it forgets who was active, until it hears of them again.
    fn is_heard(&self, id: MemberId) -> bool {
        let view = self.group.view();
        let silent_ms = view.now.mono().since(view.heard_at(id));
        view.peers.is_connected(id) && silent_ms <= HEARD_TICKS * view.config.election_tick_ms
    }

    /// Whether a majority of the members that are to vote is here and has caught up.
    fn has_majority(&self, next: &Roster) -> bool {
        let last_index = self.group.last_index();
        let progress = self.group.progress();
        let is_here = |number: &MemberNumber| {
            *number == self.group.view().own().number()
                || progress.iter().any(|one| {
                    let keeps_up = one.matched > LogIndex::ZERO && last_index.since(one.matched) <= LAG_MAX;
                    one.id.number() == *number && self.is_heard(one.id) && keeps_up
                })
        };
        let participants = next.participants();
        let here = participants.iter().filter(|number| is_here(number)).count();
        here > participants.len() / 2
    }
}

/// Whether a command sets the ACL of `/zookeeper/config`.
pub(crate) fn sets_config_acl(operation: &Operation<'_>) -> bool {
    matches!(*operation, Operation::Client { opcode: OpCode::SetAcl, body } if Reader::new(body).text() == Ok(CONFIG))
}

/// The request with its members in the published form; nothing if they are in that form already.
fn rewritten(change: &Reconfig<'_>) -> Result<Option<Vec<u8>>, ErrorCode> {
    let list = |text: Option<&str>| text.map(Roster::published_list).transpose();
    let (joining, members) = match change.members {
        Some(_) => (None, list(change.members)?),
        None => (list(change.joining)?, None),
    };
    if joining.as_deref() == change.joining && members.as_deref() == change.members {
        return Ok(None);
    }
    let change = Reconfig { joining: joining.as_deref(), members: members.as_deref(), ..*change };
    let mut body = Vec::new();
    change.write(&mut Writer::new(&mut body));
    Ok(Some(body))
}
