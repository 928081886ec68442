//! Members are ended on purpose and started again under load.

use std::thread;
use std::time::{Duration, Instant};

use tools_testbed::Ensemble;

use super::{CALM, addresses, ensembles, milliseconds, settled};
use crate::bench::patient::{Patient, Write};
use crate::bench::scenario::{Row, at_most};
use crate::bench::{Bench, Failure, Sheet, Spec};

/// Clients, equally many at each member.
const WRITERS: usize = 6;

pub(in crate::bench::scenario) const HANDOVER: Row = Row {
    name: "three-handover",
    about: "`SIGTERM` of the leader of three under six writers; the clients reconnect at once",
    floor: None,
    figures: FIGURES,
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 1),
};

pub(in crate::bench::scenario) const ROLLING: Row = Row {
    name: "three-rolling-restart",
    about: "each of three members ended by `SIGTERM` and started again in turn, the leader first, under six writers",
    floor: None,
    figures: FIGURES,
    servers: 3,
    large: false,
    run: |bench, sheet| run(bench, sheet, 3),
};

const FIGURES: &[Spec] = &[
    Spec::held("slowest write", "ms", at_most(100.0), at_most(20.0)),
    Spec::held("writes that failed twice or were refused", "", at_most(0.0), at_most(0.0)),
    Spec::held("sessions lost", "", at_most(0.0), at_most(0.0)),
    Spec::told("writes sent again", ""),
    Spec::told("slowest write before", "ms"),
];

/// Ends so many members in turn, the leader first.
fn run(bench: &Bench, sheet: &mut Sheet, members: usize) -> Result<(), Failure> {
    let mut all = ensembles(bench)?;
    bench.in_turn(&mut all, |(who, ensemble)| {
        for _ in 0..bench.scale().deaths {
            let order = settled(ensemble)?;
            let writers = start_writers(ensemble, &order)?;
            let calm = Instant::now();
            thread::sleep(CALM);
            let since = Instant::now();
            for number in &order[..members] {
                ensemble.stop(*number)?;
                ensemble.start(*number)?;
                let now = Instant::now();
                writers.iter().try_for_each(|writer| writer.next_write(now).map(drop))?;
                thread::sleep(CALM);
            }
            let before = writers.iter().flat_map(|writer| writer.writes(calm));
            let before = before.filter(|write| write.done < since).map(|write| write.took());
            sheet.add("slowest write before", *who, milliseconds(before.max().unwrap_or_default()));
            let writes: Vec<Write> = writers.iter().flat_map(|writer| writer.writes(since)).collect();
            let slowest: Duration = writes.iter().map(Write::took).max().unwrap_or_default();
            let failed = writes.iter().filter(|write| write.sent > 2).count();
            let refused: usize = writers.iter().map(Patient::refused).sum();
            sheet.add("slowest write", *who, milliseconds(slowest));
            sheet.add("writes that failed twice or were refused", *who, (failed + refused) as f64);
            sheet.add("sessions lost", *who, writers.iter().map(|writer| writer.expired() as f64).sum());
            let again = writes.iter().filter(|write| write.sent > 1).count();
            sheet.add("writes sent again", *who, again as f64);
        }
        Ok(())
    })
}

fn start_writers(ensemble: &Ensemble, order: &[usize]) -> Result<Vec<Patient>, Failure> {
    let now = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let mut order = order.to_vec();
            let members = order.len();
            order.rotate_left(number % members);
            Patient::start(addresses(ensemble, &order), number as u32)
        })
        .collect();
    writers.iter().try_for_each(|writer| writer.next_write(now).map(drop))?;
    Ok(writers)
}
