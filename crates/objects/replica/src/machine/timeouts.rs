//! What has waited for too long is answered. Nobody waits for ever, and what is said of an effect is true: what no leader
//! was given has none, and of the rest it is not known.

use base::Now;
use objects_state::{Problem, Slug};

use super::ObjectsMachine;
use super::apply::unknown;
use super::receive::no_leader;

impl ObjectsMachine {
    /// Time has passed.
    pub(crate) fn pass_time(&mut self, now: Now) {
        self.long_queries.answer_ended(&mut self.out);
        let now = now.mono();
        self.backups.pass_time(now, &mut self.out);
        for pending in self.commands.take_ungiven(now.minus_ms(self.config.leaderless_ms)) {
            let problem = Problem::new(Slug::NoLeader, "no leader took the command");
            pending.origin.into_iter().for_each(|origin| self.out.refuse(origin, problem.clone()));
        }
        for origin in self.commands.take_resting(now.minus_ms(self.config.leaderless_ms)) {
            let detail = "the object's calls take long, and too many of them wait";
            let problem = Problem::new(Slug::Rate, detail);
            self.out.refuse(origin, Problem { retry_after_ms: Some(1_000), ..problem });
        }
        for origin in self.commands.take_unanswered(now.minus_ms(self.config.unknown_ms)) {
            self.out.refuse(origin, unknown(0));
        }
        for request in self.waiting.take_old(now.minus_ms(self.config.query_ms)) {
            let problem = self.readiness.waits_for().unwrap_or_else(no_leader);
            self.refuse(&request, problem);
        }
    }
}
