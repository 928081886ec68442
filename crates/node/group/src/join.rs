//! A member that asks the others, before there is a core: what comes over the connections is handed to its
//! [`MemberLifecycle`] until that has a command. Knows no rule of who joins what.

use std::io;
use std::time::Duration;

use consensus_replica::lifecycle::{Command, Event, MemberLifecycle, Reminder};
use consensus_replica::{MachineMessage, PeerMessage};
use net_peers::{ChannelNumber, Established, Message, News, PeerConnections};
use node_threads::{Clock, Mailbox};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(20);

/// What comes from this process meanwhile.
pub trait Inbox {
    /// Takes what was put in; whether the process is told to stop. Nobody is there yet who could answer anything else.
    fn take(&mut self) -> bool;
    /// Whether anything waits.
    fn is_empty(&self) -> bool;
    /// Where connections come from on which both sides have said who they are.
    fn established(&self) -> &Mailbox<Established>;
}

/// Asks until there is a next command. `X` is what machines of the group's members say to each other; `remind` is told
/// now and then what this member waits for.
///
/// # Errors
/// The system refuses to poll.
pub fn ask_others<X: MachineMessage>(
    lifecycle: &mut MemberLifecycle,
    (connections, channel): (&mut PeerConnections, ChannelNumber),
    inbox: &mut impl Inbox,
    clock: Clock,
    remind: impl Fn(&Reminder),
) -> io::Result<Command> {
    loop {
        let now = clock.now().mono();
        if inbox.take() {
            return Ok(lifecycle.step(Event::Stopped));
        }
        let mut established = Vec::new();
        inbox.established().take_all(&mut established);
        for connection in established {
            connections.take(connection, now);
        }
        connections.turn(now)?;
        while let Some(news) = connections.next_news() {
            match news {
                News::Message(message) => hear::<X>(message, lifecycle, connections),
                News::Down(id) => lifecycle.disconnected(id),
                News::Up(id, ..) => lifecycle.connected(id),
                News::Lost(..) => {}
            }
        }
        let next = lifecycle.tick(now);
        for (to, message) in lifecycle.take_outgoing() {
            let message = PeerMessage::<X>::Founding(message);
            connections.send_to_number(to.into(), channel, |out| message.encode(out));
        }
        connections.flush();
        if let Some(command) = next {
            return Ok(command);
        }
        if let Some(reminder) = lifecycle.reminder(now) {
            remind(&reminder);
        }
        connections.sleep(TICK, || !inbox.is_empty() || !inbox.established().is_empty())?;
    }
}

/// Takes in what another member says.
fn hear<X: MachineMessage>(
    message: Message,
    lifecycle: &mut MemberLifecycle,
    connections: &mut PeerConnections,
) {
    let Message { from, pair, bytes, .. } = message;
    match PeerMessage::<X>::decode(bytes) {
        Ok(PeerMessage::Founding(message)) => lifecycle.hear(from, message),
        // It is for a core.
        Ok(_) => {}
        Err(error) => connections.refuse(pair, error.0),
    }
}
