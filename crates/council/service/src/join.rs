//! What a member that asks the others hears from this process meanwhile, and what it tells an operator.

use base::MemberNumber;
use consensus_replica::lifecycle::Reminder;
use net_peers::Established;
use node_group::Inbox;
use node_threads::Mailbox;

use crate::core_loop::CoreLinks;
use crate::messages::CoreMail;

/// See the module.
pub(crate) struct CoreInbox<'a>(pub(crate) &'a CoreLinks);

impl Inbox for CoreInbox<'_> {
    fn take(&mut self) -> bool {
        let mut messages = Vec::new();
        self.0.mail.take_all(&mut messages);
        // No core is there yet that could answer anything else.
        messages.iter().any(|message| matches!(message, CoreMail::Stop))
    }

    fn is_empty(&self) -> bool {
        self.0.mail.is_empty()
    }

    fn established(&self) -> &Mailbox<Established> {
        &self.0.established
    }
}

/// Says what this member waits for, and what to do about it.
pub(crate) fn remind(Reminder { heard, ensembles }: &Reminder) {
    let listed = |(number, is_member): &(MemberNumber, bool)| {
        format!("{number} ({})", if *is_member { "has data" } else { "empty" })
    };
    let members = heard.iter().map(listed).collect::<Vec<_>>().join(", ");
    if ensembles.len() > 1 {
        let groups: Vec<_> = ensembles.iter().map(|numbers| format!("{numbers:?}")).collect();
        tracing::error!(
            ensembles = groups.join(" "),
            "the other members have data of different ensembles, and this member joins none while they contradict each \
             other; hint: stop the members that do not belong to it, or empty their data directories"
        );
    } else if heard.iter().any(|(_, is_member)| *is_member) {
        tracing::warn!(
            heard = members,
            "this member waits to join the ensemble: no leader has let it in yet; hint: `diwan member list` shows \
             whether the ensemble names it, and `diwan member add` names it; `diwan status` shows whether there is a \
             leader"
        );
    } else {
        tracing::warn!(
            heard = members,
            "this member waits for others: an ensemble begins with a majority of empty members whose configurations \
             name the same voters; hint: start the other members of the `server.` lines"
        );
    }
}
