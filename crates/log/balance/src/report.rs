//! What balance without a person has done and not done, and why: as a text of lines, which a broker tells to who asks, and which is read
//! here again.
//!
//! A line is a word and values, between tabs. A line that is not understood is left out: it is of a newer broker.

use core::fmt::Write as _;

use replication_planner::Outcome;

use crate::balancer::Look;
use crate::proposal::{Change, Level};

/// So many changes are named.
const CHANGES_MAX: usize = 40;

/// See the module. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What may change: `off`, `propose`, `leaders`, `all`.
    pub mode: String,
    /// The last look.
    pub looked_ms: i64,
    /// The next one.
    pub next_look_ms: i64,
    /// What the last look came to, as a sentence.
    pub outcome: String,
    /// How many leaders were changed, and replicas moved, since this broker is the controller.
    pub changed: (u64, u64),
    /// How many partitions are being changed.
    pub under_way: u64,
    /// When something was begun last; nothing if nothing was.
    pub begun_ms: Option<i64>,
    /// What that was.
    pub begun: Vec<ReportedChange>,
    /// What is planned and was not begun at the last look.
    pub planned: Vec<ReportedChange>,
    /// How resources are used, if that was looked at: of the last plan.
    pub levels: Vec<ReportedLevel>,
    /// What cannot be done.
    pub problems: Vec<String>,
}

/// Other replicas, or another leader, of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedChange {
    /// Its topic.
    pub topic: String,
    /// Its number in the topic.
    pub index: i32,
    /// Its replicas then.
    pub before: Vec<i32>,
    /// Its replicas afterwards; the first one leads.
    pub after: Vec<i32>,
    /// Why.
    pub why: String,
}

/// How a resource is used, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedLevel {
    /// The resource.
    pub resource: String,
    /// The broker that uses most of it; empty if there is none.
    pub broker: String,
    /// How much that is.
    pub highest: String,
    /// How much each broker would use if nothing was to be improved.
    pub even: String,
    /// The highest after all that is planned.
    pub afterwards: String,
}

impl Report {
    /// A look has come to its end, and so much of it was begun.
    pub fn looked(&mut self, look: &Look, now_ms: i64) {
        self.outcome = sentence(look);
        self.problems.clone_from(&look.problems);
        if !look.levels.is_empty() {
            self.levels = look.levels.iter().map(level).collect();
        }
        let left = look.planned.iter().filter(|change| !look.begin.contains(change));
        self.planned = left.take(CHANGES_MAX).map(change).collect();
        if !look.begin.is_empty() {
            self.begun_ms = Some(now_ms);
            self.begun = look.begin.iter().take(CHANGES_MAX).map(change).collect();
            let moves = look.begin.iter().filter(|change| change.is_move()).count() as u64;
            self.changed.0 += look.begin.len() as u64 - moves;
            self.changed.1 += moves;
        }
    }

    /// Nothing was looked at, for a reason.
    pub fn held(&mut self, why: &str) {
        self.outcome = format!("nothing is moved: {why}");
        self.planned.clear();
        self.problems.clear();
    }

    /// The text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |words: &[&dyn core::fmt::Display]| {
            let words: Vec<String> =
                words.iter().map(|word| word.to_string().replace(['\t', '\n'], " ")).collect();
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{}", words.join("\t"));
        };
        line(&[&"mode", &self.mode]);
        line(&[&"looked", &self.looked_ms, &self.next_look_ms]);
        line(&[&"outcome", &self.outcome]);
        line(&[&"changed", &self.changed.0, &self.changed.1]);
        line(&[&"under-way", &self.under_way]);
        self.begun_ms.iter().for_each(|at| line(&[&"begun-at", at]));
        for (word, changes) in [("begun", &self.begun), ("planned", &self.planned)] {
            for of in changes {
                let (before, after) = (numbers(&of.before), numbers(&of.after));
                line(&[&word, &of.topic, &of.index, &before, &after, &of.why]);
            }
        }
        for of in &self.levels {
            line(&[&"level", &of.resource, &of.broker, &of.highest, &of.even, &of.afterwards]);
        }
        self.problems.iter().for_each(|problem| line(&[&"problem", problem]));
        text
    }

    /// What a text says.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut report = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            // One that is not understood is left out.
            let _ = report.read_line(&words);
        }
        report
    }

    fn read_line(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["mode", mode] => self.mode = mode.into(),
            ["looked", at, next] => (self.looked_ms, self.next_look_ms) = (number(at)?, number(next)?),
            ["outcome", outcome] => self.outcome = outcome.into(),
            ["changed", leaders, moves] => self.changed = (number(leaders)?, number(moves)?),
            ["under-way", count] => self.under_way = number(count)?,
            ["begun-at", at] => self.begun_ms = Some(number(at)?),
            ["begun", ref of @ ..] => self.begun.push(read_change(of)?),
            ["planned", ref of @ ..] => self.planned.push(read_change(of)?),
            ["level", resource, broker, highest, even, afterwards] => {
                let [resource, broker, highest, even, afterwards] =
                    [resource, broker, highest, even, afterwards].map(String::from);
                self.levels.push(ReportedLevel { resource, broker, highest, even, afterwards });
            }
            ["problem", problem] => self.problems.push(problem.into()),
            _ => {}
        }
        Some(())
    }
}

fn number<N: core::str::FromStr>(word: &str) -> Option<N> {
    word.parse().ok()
}

fn numbers(of: &[i32]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn read_change(words: &[&str]) -> Option<ReportedChange> {
    let [topic, index, before, after, why] = *words else { return None };
    let replicas = |word: &str| word.split(',').map(number).collect::<Option<Vec<i32>>>();
    Some(ReportedChange {
        topic: topic.into(),
        index: number(index)?,
        before: replicas(before)?,
        after: replicas(after)?,
        why: why.into(),
    })
}

fn change(of: &Change) -> ReportedChange {
    ReportedChange {
        topic: of.topic.clone(),
        index: of.index,
        before: of.before.clone(),
        after: of.after.clone(),
        why: of.reasons.join("; "),
    }
}

fn level(of: &Level) -> ReportedLevel {
    ReportedLevel {
        resource: of.resource.to_string(),
        broker: of.most_used.map(|id| id.to_string()).unwrap_or_default(),
        highest: of.highest.to_string(),
        even: of.even.to_string(),
        afterwards: of.highest_after.to_string(),
    }
}

fn sentence(look: &Look) -> String {
    let what = match look.outcome {
        Outcome::Balanced => String::from("no broker carries much more than its part"),
        Outcome::Waits => String::from("a broker carries more than its part, not for long enough yet"),
        Outcome::UnderWay(count) => format!("{count} partitions are being changed"),
        Outcome::Measures => String::from("what was changed is being measured"),
        Outcome::NothingHelps => {
            String::from("a broker carries more than its part, and no change is worth what it costs")
        }
        Outcome::Proposed(count) => format!("{count} partitions would be changed"),
        Outcome::Begun(count) => format!("{count} partitions are being changed from now on"),
    };
    match look.resting {
        0 => what,
        resting => format!("{what} ({resting} partitions rest since they were changed)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_read_back_and_lines_of_a_newer_broker_are_left_out() {
        let change = |index| ReportedChange {
            topic: "t.1".into(),
            index,
            before: vec![1, 2, 3],
            after: vec![2, 1, 3],
            why: "outgoing network traffic of broker 1: 60.0 % -> 40.0 %".into(),
        };
        let level = ReportedLevel {
            resource: "disk space".into(),
            broker: "1".into(),
            highest: "3 %".into(),
            even: "2 %".into(),
            afterwards: "2 %".into(),
        };
        let report = Report {
            mode: "leaders".into(),
            looked_ms: 5,
            next_look_ms: 10_005,
            outcome: "3 partitions".into(),
            changed: (7, 2),
            under_way: 1,
            begun_ms: Some(4),
            begun: vec![change(0), change(1)],
            planned: vec![change(2)],
            levels: vec![level],
            problems: vec!["one".into(), "two".into()],
        };
        let text = report.to_text();
        assert_eq!(Report::read(&text), report);
        assert_eq!(Report::read(&format!("{text}mood\tgood\nbegun\tt\tx\n")), report);
        assert_eq!(Report::read(""), Report::default());
    }

    #[test]
    fn changes_are_counted_by_kind_and_what_was_begun_last_is_kept() {
        let change = |after: &[i32], copy_bytes| Change {
            topic: "t".into(),
            index: after[0],
            before: vec![1, 2],
            after: after.to_vec(),
            moves_leader: true,
            reasons: vec!["a".into(), "b".into()],
            copy_bytes,
            stage: 0,
        };
        let (transfer, moved) = (change(&[2, 1], 0), change(&[3, 2], 9));
        let mut look = Look {
            outcome: Outcome::Begun(1),
            begin: vec![transfer.clone()],
            planned: vec![transfer, moved.clone()],
            levels: Vec::new(),
            problems: Vec::new(),
            resting: 0,
        };
        let mut report = Report::default();
        report.looked(&look, 7);
        assert_eq!((report.changed, report.begun_ms, report.planned.len()), ((1, 0), Some(7), 1));
        assert_eq!(report.begun[0].why, "a; b");
        (look.outcome, look.begin, look.resting) = (Outcome::Begun(1), vec![moved], 2);
        report.looked(&look, 8);
        assert_eq!((report.changed, report.begun[0].index), ((1, 1), 3));
        assert!(report.outcome.contains("2 partitions rest"), "{}", report.outcome);
        (look.outcome, look.begin) = (Outcome::Balanced, Vec::new());
        report.looked(&look, 9);
        assert_eq!((report.begun_ms, report.begun.len()), (Some(8), 1));
        report.held("broker 3 is away");
        assert_eq!(report.outcome, "nothing is moved: broker 3 is away");
    }
}
