//! Stale queries of a counter that nobody changes meanwhile: a member answers them by itself.

use std::io;
use std::time::Instant;

use super::{Asker, Crowd, Heard, Order, Recipe, Tally, own, result};

/// What the counter is at.
const VALUE: u64 = 7;

pub(super) struct Query {
    path: String,
    outstanding: usize,
}

impl Query {
    /// Sets a counter, and waits until every member has it.
    pub(super) fn new(order: &Order<'_>) -> io::Result<Self> {
        let Order { task, endpoints, patience } = *order;
        let counter = own("counter");
        let path = format!("{counter}/get?consistency=stale");
        let set = format!("{{\"value\":{VALUE}}}");
        Asker::new(endpoints, 0, patience).must(|wire| wire.post(&format!("{counter}/set"), &set))?;
        for endpoint in endpoints.chunks(1) {
            let (mut asker, began) = (Asker::new(endpoint, 0, patience), Instant::now());
            while asker.must(|wire| wire.get(&path))?.number("value") != Some(VALUE) {
                if began.elapsed() > patience.silence {
                    return Err(io::Error::other(format!("{} never had what was set", endpoint[0])));
                }
            }
        }
        Ok(Self { path, outstanding: task.outstanding })
    }
}

impl Recipe for Query {
    const NAME: &'static str = "query";

    fn begin(&mut self, crowd: &mut Crowd<'_>) -> io::Result<()> {
        for place in 0..crowd.len() {
            (0..self.outstanding).for_each(|_| crowd.query(place, &self.path));
        }
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()> {
        tally.record(heard.asked.elapsed());
        let answer = result(heard, "a query")?;
        if answer.number("value") != Some(VALUE) {
            tally.outcome.tell(|| format!("a query was answered with {}", answer.in_words()));
        }
        tally.outcome.checked.reads += 1;
        if !tally.is_ending {
            crowd.query(heard.place, &self.path);
        }
        Ok(())
    }

    fn end(&mut self, _asker: &mut Asker<'_>, _tally: &mut Tally) -> io::Result<()> {
        Ok(())
    }
}
