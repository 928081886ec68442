//! What stands above a run: the machine, the versions, the command.

use serde_json::{Map, Value};
use tools_lab_report::record::Header;
use tools_testbed::meter::Machine;

use super::Options;
use super::systems::Found;

/// Looks at the machine, and asks each system what it is.
pub(super) fn header(options: &Options, found: &Found) -> Header {
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
        versions: found.versions(),
    }
}
