//! Before there is a core: a member whose disk is blank waits for others to found an ensemble with, or to be admitted
//! to one that is there.

use node_threads::{Clock, Mailbox};
use std::sync::Arc;
use std::time::Duration;

use council_replica::PeerMessage;
use council_replica::founding::{Cluster, Founding, NUMBERS, Outcome};

use super::switchboard::{News, Switchboard};
use crate::config::EnsembleConfig;
use crate::core_loop::CoreMail;
use crate::error::StartError;

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How often it is said what is waited for.
const REMIND_MS: u64 = 10_000;

/// What a member may say of its disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Claim {
    /// It never had a seat: it may found an ensemble.
    Blank,
    /// It had a seat once: it founds none, and waits to be let into one.
    Had,
    /// It has one in this ensemble, of which nothing has come.
    Holds(Cluster),
}

/// Waits until there is a seat to be taken, which the caller writes down; nothing when the server is stopped.
pub(crate) fn wait(
    switchboard: &mut Switchboard,
    mail: &Arc<Mailbox<CoreMail>>,
    ensemble: &EnsembleConfig,
    claim: Claim,
    random: [u8; 32],
    clock: Clock,
) -> Result<Option<Outcome>, StartError> {
    let (incarnation, cluster) = random.split_at(16);
    let bytes = |half: &[u8]| half.try_into().unwrap_or_default();
    let participants = ensemble.roster().participants();
    let founds = matches!(claim, Claim::Blank);
    let founding =
        Founding::new(ensemble.number, participants.clone(), founds, bytes(incarnation), bytes(cluster));
    let mut founding = match claim {
        Claim::Holds(cluster) => founding.holding(cluster),
        Claim::Blank | Claim::Had => {
            tracing::info!(
                member = ensemble.number,
                voters = ?participants,
                "the data directory is empty: waiting for the other members"
            );
            founding
        }
    };
    let mut reminded_ms = clock.now().mono_ms();
    loop {
        let now_ms = clock.now().mono_ms();
        let mut letters = Vec::new();
        mail.take_all(&mut letters);
        for letter in letters {
            match letter {
                CoreMail::Peer(established) => switchboard.take(*established, now_ms),
                CoreMail::Stop => return Ok(None),
                // There is nobody yet who could answer.
                CoreMail::Ask(_) | CoreMail::Restore(_) => {}
            }
        }
        let poll = |source| StartError::System { action: "poll the members' connections", source };
        for news in switchboard.turn(now_ms).map_err(poll)? {
            match news {
                News::Message(from, PeerMessage::Founding(message)) => founding.hear(from, message),
                News::Down(from) => founding.lost(from % NUMBERS),
                News::Up(from, ..) => founding.meet(from % NUMBERS),
                News::Lost(_) | News::Message(..) => {}
            }
        }
        founding.tick(now_ms);
        for (to, message) in founding.take_outgoing() {
            switchboard.send_founding(to, message);
        }
        switchboard.flush();
        if let Some(outcome) = founding.outcome() {
            return Ok(Some(outcome.clone()));
        }
        if now_ms >= reminded_ms + REMIND_MS {
            reminded_ms = now_ms;
            remind(&founding);
        }
        switchboard.sleep(TICK, || !mail.is_empty()).map_err(poll)?;
    }
}

/// Says what this member waits for, and what to do about it.
fn remind(founding: &Founding) {
    let heard: Vec<_> = founding.heard().collect();
    let listed =
        |(number, seated): &(u64, bool)| format!("{number} ({})", if *seated { "has data" } else { "empty" });
    let members = heard.iter().map(listed).collect::<Vec<_>>().join(", ");
    let ensembles = founding.ensembles();
    if ensembles.len() > 1 {
        let groups: Vec<_> = ensembles.values().map(|numbers| format!("{numbers:?}")).collect();
        tracing::error!(
            ensembles = groups.join(" "),
            "the other members have data of different ensembles, and this member joins none while they contradict each \
             other; hint: stop the members that do not belong to it, or empty their data directories"
        );
    } else if heard.iter().any(|(_, seated)| *seated) {
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
