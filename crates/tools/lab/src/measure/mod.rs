//! One framework under the benchmark's rows and the published experiments.
//!
//! 1. A [`System`] is what can be measured; [`Sources`] say where each comes from.
//! 2. A [`Stand`] is one system as running servers: alone, an ensemble, a bare floor, or servers that the lab did not
//!    start. All of them are addressed, metered, given faults and ended in the same way.
//! 3. Servers are configured in one place (`members`), so that a row and an experiment measure the same set-up.
//! 4. A load runs between two edges ([`between_edges`]): what comes before the first is warm-up and counts nowhere.
//! 5. [`Meters`] read at the edges what the kernel says about the servers and this program; [`Spent`] is the difference.
//! 6. What was seen between two edges is a [`Phase`]: operations, errors, time, and every latency.
//! 7. Faults of the servers happen [`beside`] the load, at moments counted from its first edge.
//! 8. Contestants take turns ([`Turns`]), once a repetition; one number a repetition is a value, and values are judged by
//!    `tools_lab_report::statistics`.
//! 9. A row holds its figures against bars (`bench`); an experiment keeps them as points of a run (`conduct`).
//! 10. Knows neither rows nor experiments; of services it knows the council's clients alone (`load`, `stand`).

mod bare;
mod beside;
mod floor_http;
mod load;
mod members;
mod meters;
mod objects;
mod phase;
mod stand;
mod system;
mod turns;

pub use bare::BareServer;
pub use beside::beside;
pub use floor_http::serve_http_floor;
pub use load::between_edges;
pub use meters::{CallsOf, Meters, Spent};
pub use phase::{PERCENTILES, Phase};
pub use stand::{Speaks, Stand, StandError};
pub use system::{Sources, System, named_addresses};
pub use turns::{First, Turns};

pub(crate) use members::{ensemble, keys_of_every_server};
pub(crate) use phase::{histogram, milliseconds};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many open files as the system allows, for this program and the servers it starts: a crowd has thousands.
pub(crate) fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current < maximum || maximum.is_none() {
        // Refused, it fails later with the name of what could not be opened.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}
