//! A double barrier: all enter, all leave, round after round.

use std::io;
use std::time::Instant;

use super::{Asker, Crowd, Heard, Order, Recipe, Tally, own, result};

pub(super) struct Barrier {
    path: String,
    parties: u64,
    clients: Vec<Client>,
    /// Of all rounds together, who came and who asked to leave.
    came: u64,
    gone: u64,
    /// The last round that any client has begun.
    begun: u64,
}

#[derive(Clone, Copy)]
struct Client {
    /// Counted from 0.
    round: u64,
    leaves: bool,
    since: Instant,
}

impl Barrier {
    pub(super) fn new(order: &Order<'_>) -> io::Result<Self> {
        let path = own("barrier");
        let parties = order.task.clients as u64;
        let body = format!("{{\"parties\":{parties},\"double\":true}}");
        Asker::new(order.endpoints, 0, order.patience).must(|wire| wire.put(&path, &body))?;
        Ok(Self { path, parties, clients: Vec::new(), came: 0, gone: 0, begun: 0 })
    }

    fn enter(&mut self, place: usize, round: u64, crowd: &mut Crowd<'_>) {
        self.clients[place] = Client { round, leaves: false, since: Instant::now() };
        self.came += 1;
        self.begun = self.begun.max(round);
        crowd.command(place, &format!("{}/enter", self.path), "{}");
    }

    /// Nobody can have come to the next round, or left it, before the client whose answer this is.
    fn judge(&self, round: u64, leaves: bool) -> Result<(), String> {
        let (what, there) = if leaves { ("left", self.gone) } else { ("entered", self.came) };
        let whole = (round + 1) * self.parties;
        match there == whole {
            true => Ok(()),
            false => {
                Err(format!("round {round} was {what} when {there} of {whole} clients had come to that"))
            }
        }
    }
}

impl Recipe for Barrier {
    const NAME: &'static str = "round";

    fn begin(&mut self, crowd: &mut Crowd<'_>) -> io::Result<()> {
        self.clients = vec![Client { round: 0, leaves: false, since: Instant::now() }; crowd.len()];
        (0..crowd.len()).for_each(|place| self.enter(place, 0, crowd));
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()> {
        let place = heard.place;
        result(heard, "a barrier")?;
        let Client { round, leaves, since } = self.clients[place];
        tally.hold(self.judge(round, leaves));
        if !leaves {
            self.clients[place].leaves = true;
            self.gone += 1;
            crowd.command(place, &format!("{}/leave", self.path), "{}");
            return Ok(());
        }
        // A round is one operation, as its first client sees it.
        if place == 0 {
            tally.record(since.elapsed());
            tally.outcome.checked.barriers += 1;
        }
        // Who has begun a round waits for all others.
        if !tally.is_ending || round < self.begun {
            self.enter(place, round + 1, crowd);
        }
        Ok(())
    }

    fn end(&mut self, asker: &mut Asker<'_>, tally: &mut Tally) -> io::Result<()> {
        let path = format!("{}/state", self.path);
        let answer = asker.must(|wire| wire.get(&path))?;
        if answer.number("inside") != Some(0) {
            tally.outcome.tell(|| format!("all have left the barrier, and it has {}", answer.in_words()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_that_is_not_whole_is_found_out() {
        let of = |came, gone| Barrier {
            path: String::new(),
            parties: 3,
            clients: Vec::new(),
            came,
            gone,
            begun: 1,
        };
        of(6, 3).judge(1, false).expect("all have come to the second round");
        assert!(of(5, 3).judge(1, false).is_err());
        of(6, 6).judge(1, true).expect("all have asked to leave it");
        assert!(of(6, 5).judge(1, true).is_err());
    }
}
