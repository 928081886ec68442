//! What stands above a run: the machine, the versions, the command.

use serde_json::{Map, Value};
use tools_lab_report::record::Header;
use tools_testbed::meter::Machine;

use super::Options;
use crate::measure::System;

/// Looks at the machine, and asks each system what it is.
#[must_use]
pub fn header(options: &Options, systems: &[System]) -> Header {
    let machine = match Machine::look(&options.data).json() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    Header {
        form: 0,
        begun: options.begun.clone(),
        command: options.command.clone(),
        scale: if options.scale.paper { "paper" } else { "small" }.to_owned(),
        seconds: options.scale.measured.as_secs_f64(),
        seed: options.seed,
        repetitions: options.repetitions,
        machine,
        versions: systems.iter().map(|system| (system.name().to_owned(), system.version())).collect(),
    }
}
