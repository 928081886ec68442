//! Thousands of sessions that do nothing but ping.

use council_client::load::Crowd;

use super::{Row, at_most};
use crate::bench::{Bench, Failure, Sheet, Spec};

pub(super) const IDLE: Row = Row {
    name: "idle",
    about: "10,000 idle sessions, each pinged once: resident memory they add",
    floor: None,
    figures: &[
        Spec::held("resident", "KB/session", at_most(6.0), at_most(2.0)),
        Spec::told("connecting", "µs/session"),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let sessions = bench.scale().sessions;
    bench.in_turn(&mut bench.servers(), |who| {
        let server = bench.fresh(*who, &[])?;
        // The first session makes what all share.
        Crowd::connect(server.address(), 1)?.close()?;
        let before = server.resident_bytes()?;
        let began = std::time::Instant::now();
        let mut crowd = Crowd::connect(server.address(), sessions)?;
        let each = began.elapsed().as_secs_f64() * 1e6 / sessions as f64;
        crowd.ping()?;
        let added = server.resident_bytes()?.saturating_sub(before);
        sheet.add("resident", *who, added as f64 / 1e3 / sessions as f64);
        sheet.add("connecting", *who, each);
        Ok(())
    })
}
