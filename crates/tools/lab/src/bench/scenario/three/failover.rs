//! The leader is killed or stopped: the time until the next write.

use std::time::Instant;

use super::{ensembles, milliseconds, settled, two_writers};
use crate::bench::scenario::{Row, at_most};
use crate::bench::{Bench, Failure, Sheet, Spec};

pub(in crate::bench::scenario) const KILLED: Row = Row {
    name: "three-leader-killed",
    about: "`kill -9` of the leader of three until the first new acknowledged write, default settings; the clients reconnect at once",
    floor: None,
    figures: &[
        Spec::held("client of a follower", "ms", at_most(250.0), at_most(50.0)),
        Spec::held("client of the leader", "ms", at_most(250.0), at_most(50.0)),
        Spec::held("sessions lost", "", at_most(0.0), at_most(0.0)),
    ],
    servers: 3,
    large: false,
    run: killed,
};

pub(in crate::bench::scenario) const STOPPED: Row = Row {
    name: "three-leader-stopped",
    about: "`SIGSTOP` of the leader of three until the first new acknowledged write, default settings, sessions of 6 s",
    floor: None,
    figures: &[
        Spec::held("client of a follower", "ms", at_most(1500.0), at_most(500.0)),
        Spec::told("client of the leader, which gives up after 4 s", "ms"),
        Spec::held("sessions lost", "", at_most(0.0), at_most(0.0)),
    ],
    servers: 3,
    large: false,
    run: stopped,
};

fn killed(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let mut all = ensembles(bench)?;
    let times = bench.scale().deaths;
    sheet.notes.push(format!("{} deaths each", times * bench.options.repeats));
    bench.in_turn(&mut all, |(who, ensemble)| {
        for _ in 0..times {
            let order = settled(ensemble)?;
            let writers = two_writers(ensemble, &order)?;
            let since = Instant::now();
            ensemble.kill(order[0])?;
            // What was sent before may have been answered by the dying.
            let gone = Instant::now();
            sheet.add("client of a follower", *who, milliseconds(writers[1].next_write(gone)? - since));
            sheet.add("client of the leader", *who, milliseconds(writers[0].next_write(gone)? - since));
            sheet.add("sessions lost", *who, writers.iter().map(|writer| writer.expired() as f64).sum());
            ensemble.launch([order[0]])?;
        }
        Ok(())
    })
}

fn stopped(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let mut all = ensembles(bench)?;
    bench.in_turn(&mut all, |(who, ensemble)| {
        let order = settled(ensemble)?;
        let writers = two_writers(ensemble, &order)?;
        let since = Instant::now();
        ensemble.pause(order[0])?;
        let still = Instant::now();
        let felt =
            writers[1].next_write(still).and_then(|follower| Ok((follower, writers[0].next_write(still)?)));
        ensemble.resume(order[0])?;
        let (follower, leader) = felt?;
        sheet.add("client of a follower", *who, milliseconds(follower - since));
        sheet.add("client of the leader, which gives up after 4 s", *who, milliseconds(leader - since));
        settled(ensemble)?;
        let now = Instant::now();
        writers.iter().try_for_each(|writer| writer.next_write(now).map(drop))?;
        sheet.add("sessions lost", *who, writers.iter().map(|writer| writer.expired() as f64).sum());
        Ok(())
    })
}
