//! Signals of a running server: which of them stop it, which make it read its settings again, and which it ignores.
//!
//! | signal | effect |
//! |---|---|
//! | `SIGTERM`, `SIGINT` | stop in good order; the second one ends the process at once |
//! | `SIGHUP` | read the log level and the certificates again; clients notice nothing |
//! | `SIGQUIT`, `SIGUSR1`, `SIGUSR2` | ignored, with a line in the log |
//!
//! `SIGHUP` also comes when the terminal that the server was started in is closed: the server goes on. `SIGPIPE` is
//! ignored in every program written in Rust.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use crate::config::{self, Sources};
use crate::logging::Log;
use crate::services::Services;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Stop,
    Reload,
    Nothing,
}

impl Wish {
    const fn of(signal: i32) -> Self {
        match signal {
            SIGTERM | SIGINT => Self::Stop,
            SIGHUP => Self::Reload,
            _ => Self::Nothing,
        }
    }
}

/// Signals that are caught. To be made before any thread begins, so that none of them gets a signal.
pub(crate) fn catch() -> io::Result<Signals> {
    Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2])
}

/// Does what signals ask for, on a thread of its own.
pub(crate) fn heed(
    services: &Arc<Services>,
    mut signals: Signals,
    sources: Sources,
    log: Log,
) -> io::Result<()> {
    let services = Arc::downgrade(services);
    std::thread::Builder::new().name(String::from("signals")).spawn(move || {
        let mut stopping = false;
        for signal in signals.forever() {
            let name = signal_name(signal).unwrap_or("a signal");
            match Wish::of(signal) {
                // 128 + signal is what a shell makes of a process that a signal ended.
                Wish::Stop if stopping => std::process::exit(128 + signal),
                Wish::Stop => {
                    stopping = true;
                    tracing::info!(signal = name, "asked to stop");
                    if let Some(services) = services.upgrade() {
                        // On a thread of its own: the second signal must find this one listening.
                        std::thread::spawn(move || services.stop());
                    }
                }
                Wish::Reload => {
                    tracing::info!(signal = name, "asked to read the log level and the certificates again");
                    set_level(&sources, &log);
                    if let Some(services) = services.upgrade() {
                        services.reload();
                    }
                }
                Wish::Nothing => tracing::info!(signal = name, "this signal has no effect here"),
            }
        }
    })?;
    Ok(())
}

/// Takes the log level from the configuration as it is now; every other setting is read at the next start.
fn set_level(sources: &Sources, log: &Log) {
    match config::load(sources).result {
        Ok(next) => log.set_level(next.logging.level),
        Err(problems) => {
            let problems: Vec<_> = problems.into_iter().map(|problem| problem.what).collect();
            tracing::error!(
                problems = problems.join("; "),
                "the configuration has errors now: the log level stays as it is, and a start would fail"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_signals_stop_a_server() {
        let of = |wish| {
            [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2].map(|signal| Wish::of(signal) == wish)
        };
        assert_eq!(of(Wish::Stop), [true, true, false, false, false, false]);
        assert_eq!(of(Wish::Reload), [false, false, true, false, false, false]);
    }
}
