//! A member that asks the others, before there is a core: what comes over the connections is handed to its
//! [`MemberLifecycle`] until that has a command. Knows no rule of who joins what.

use node_threads::Clock;
use std::time::Duration;

use council_replica::PeerMessage;
use council_replica::lifecycle::{Command, Event, MemberLifecycle, Reminder};

use crate::core_loop::CoreLinks;
use crate::error::StartError;
use crate::messages::CoreMail;
use crate::peers::switchboard::{News, Switchboard};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Asks until there is a next command.
pub(crate) fn ask_others(
    lifecycle: &mut MemberLifecycle,
    switchboard: &mut Switchboard,
    links: &CoreLinks,
    clock: Clock,
) -> Result<Command, StartError> {
    let poll = |source| StartError::System { action: "poll the members' connections", source };
    loop {
        let now_ms = clock.now().mono_ms();
        let mut letters = Vec::new();
        links.mail.take_all(&mut letters);
        for letter in letters {
            match letter {
                CoreMail::Stop => return Ok(lifecycle.step(Event::Stopped)),
                // No core is there yet that could answer.
                CoreMail::Ask(_) | CoreMail::Restore(_) => {}
            }
        }
        let mut established = Vec::new();
        links.established.take_all(&mut established);
        for connection in established {
            switchboard.take(connection, now_ms);
        }
        for news in switchboard.turn(now_ms).map_err(poll)? {
            match news {
                News::Message(from, PeerMessage::Founding(message)) => lifecycle.hear(from, message),
                News::Down(id) => lifecycle.disconnected(id),
                News::Up(id, ..) => lifecycle.connected(id),
                News::Lost(_) | News::Message(..) => {}
            }
        }
        let next = lifecycle.tick(now_ms);
        for (to, message) in lifecycle.take_outgoing() {
            switchboard.send_founding(to, message);
        }
        switchboard.flush();
        if let Some(command) = next {
            return Ok(command);
        }
        if let Some(reminder) = lifecycle.reminder(now_ms) {
            remind(&reminder);
        }
        switchboard.sleep(TICK, || !links.mail.is_empty() || !links.established.is_empty()).map_err(poll)?;
    }
}

/// Says what this member waits for, and what to do about it.
fn remind(Reminder { heard, ensembles }: &Reminder) {
    let listed = |(number, is_member): &(u64, bool)| {
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
