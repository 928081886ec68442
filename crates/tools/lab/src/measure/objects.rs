//! Members whose live objects are measured: how they are started, when they are ready, and which of them leads.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tools_testbed::{Ensemble, Place, Setting, Software};

use super::{StandError, ensemble};

const PORT: u16 = 21_820;
/// Where a member tells whether it leads.
const METRICS_PORT: u16 = 21_821;
/// How long members may take to be ready, or to have a leader.
const PATIENCE: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(1);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Members, none of them started, and where each one's objects are called.
pub(super) fn ensemble_with_objects(
    program: &Path,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> (Ensemble, Vec<SocketAddr>) {
    let software = Software::Diwan(program.to_owned());
    let mut ensemble = ensemble(software, setting, folder, place, &[("minSessionTimeout", "4000")]);
    let mut clients = Vec::new();
    for number in ensemble.all() {
        let address = |port| SocketAddr::new(ensemble.host(number), port);
        let (objects, metrics) = (address(PORT), address(METRICS_PORT));
        let keys = [format!("objects.listen={objects}"), format!("metrics.listen={metrics}")];
        ensemble.add_flags(number, keys.into_iter().flat_map(|key| [String::from("-D"), key]));
        clients.push(objects);
    }
    (ensemble, clients)
}

/// Waits until each of them serves.
pub(super) fn wait_until_ready(clients: &[SocketAddr]) -> Result<(), StandError> {
    let is_ready = |client: &SocketAddr| get(*client, "/v1/ready").starts_with("HTTP/1.1 200");
    until(|| clients.iter().all(is_ready).then_some(()), "live objects are not ready")
}

/// The member that leads them, by its number.
pub(super) fn leader(ensemble: &Ensemble) -> Result<usize, StandError> {
    let leads = |number: &usize| {
        let metrics = get(SocketAddr::new(ensemble.host(*number), METRICS_PORT), "/metrics");
        ensemble.is_up(*number) && metrics.lines().any(|line| line == "diwan_objects_leading 1")
    };
    until(|| ensemble.all().into_iter().find(leads), "no member leads the objects")
}

fn until<T>(mut look: impl FnMut() -> Option<T>, complaint: &str) -> Result<T, StandError> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if began.elapsed() > PATIENCE {
            return Err(StandError::Members(format!("{complaint} after {PATIENCE:?}")));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// All that comes back, and nothing if nobody answers.
fn get(address: SocketAddr, path: &str) -> String {
    let ask = || {
        let mut socket = TcpStream::connect_timeout(&address, ANSWER)?;
        socket.set_read_timeout(Some(ANSWER))?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).map(|_| answer)
    };
    ask().unwrap_or_default()
}
