//! A member that asks the others, before there is a core: what comes over the connections is handed to its
//! [`MemberLifecycle`] until that has a command. Knows no rule of who joins what.

use base::MemberNumber;
use node_threads::Clock;
use std::time::Duration;

use consensus_replica::lifecycle::{Command, Event, MemberLifecycle, Reminder};
use council_replica::PeerMessage;

use crate::core_loop::CoreLinks;
use crate::error::StartError;
use crate::messages::CoreMail;
use crate::peers::CHANNEL;
use net_peers::{Message, News, PeerConnections};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Asks until there is a next command.
pub(crate) fn ask_others(
    lifecycle: &mut MemberLifecycle,
    switchboard: &mut PeerConnections,
    links: &CoreLinks,
    clock: Clock,
) -> Result<Command, StartError> {
    let poll = |source| StartError::System { action: "poll the members' connections", source };
    loop {
        let now = clock.now().mono();
        let mut messages = Vec::new();
        links.mail.take_all(&mut messages);
        for message in messages {
            match message {
                CoreMail::Stop => return Ok(lifecycle.step(Event::Stopped)),
                // No core is there yet that could answer.
                CoreMail::Ask(_) | CoreMail::Restore(_) => {}
            }
        }
        let mut established = Vec::new();
        links.established.take_all(&mut established);
        for connection in established {
            switchboard.take(connection, now);
        }
        switchboard.turn(now).map_err(poll)?;
        while let Some(news) = switchboard.next_news() {
            match news {
                News::Message(message) => hear(message, lifecycle, switchboard),
                News::Down(id) => lifecycle.disconnected(id),
                News::Up(id, ..) => lifecycle.connected(id),
                News::Lost(..) => {}
            }
        }
        let next = lifecycle.tick(now);
        for (to, message) in lifecycle.take_outgoing() {
            let message = PeerMessage::Founding(message);
            switchboard.send_to_number(to.into(), CHANNEL, |out| message.encode(out));
        }
        switchboard.flush();
        if let Some(command) = next {
            return Ok(command);
        }
        if let Some(reminder) = lifecycle.reminder(now) {
            remind(&reminder);
        }
        switchboard.sleep(TICK, || !links.mail.is_empty() || !links.established.is_empty()).map_err(poll)?;
    }
}

/// Takes in what another member says.
fn hear(message: Message, lifecycle: &mut MemberLifecycle, switchboard: &mut PeerConnections) {
    let Message { from, pair, bytes, .. } = message;
    match PeerMessage::decode(bytes) {
        Ok(PeerMessage::Founding(message)) => lifecycle.hear(from, message),
        // It is for a core.
        Ok(_) => {}
        Err(error) => switchboard.refuse(pair, error.0),
    }
}

/// Says what this member waits for, and what to do about it.
fn remind(Reminder { heard, ensembles }: &Reminder) {
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
