//! The program's log: where it goes, in which form, and how its level is changed while the program runs.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use log_service::SetLogLevel;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};

/// The running log. A copy is the same log.
#[derive(Clone)]
pub(crate) struct Log {
    level: Arc<Mutex<LevelFilter>>,
    set: Arc<dyn Fn(LevelFilter) -> Result<(), reload::Error> + Send + Sync>,
}

impl Log {
    /// Begins to log to the standard error.
    pub(crate) fn start(config: LogConfig) -> Self {
        let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let layer =
            fmt::layer().with_writer(|| Unbroken(io::stderr())).with_ansi(colours).log_internal_errors(false);
        let layer = match config.format {
            LogFormat::Text => layer.with_target(false).boxed(),
            LogFormat::Json => layer.json().flatten_event(true).boxed(),
        };
        let (filter, handle) = reload::Layer::new(config.level);
        tracing_subscriber::registry().with(filter).with(layer).init();
        let level = Arc::new(Mutex::new(config.level));
        Self { level, set: Arc::new(move |level| handle.reload(level)) }
    }

    /// Logs from this level on from now on.
    pub(crate) fn set_level(&self, level: LevelFilter) {
        let mut current = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if level == *current {
            return;
        }
        match (self.set)(level) {
            Ok(()) => {
                // Of `off` and `error` nothing would be seen.
                tracing::info!(from = %current, to = %level, "the log level is changed");
                *current = level;
            }
            Err(error) => tracing::error!(%error, "the log level cannot be changed"),
        }
    }

    /// A broker of this log: its root logger has the log's level, and who sets that sets this.
    pub(crate) fn of_broker(&self, config: &mut log_service::LogConfig) {
        let level = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        config.broker.log_level = kafka_name(level).into();
        let log = self.clone();
        config.set_log_level = SetLogLevel(Arc::new(move |name| log.set_level(level_of(name))));
    }
}

/// The level of that name of Kafka's. Nothing here is worse than an error.
fn level_of(name: &str) -> LevelFilter {
    name.parse().unwrap_or(LevelFilter::ERROR)
}

/// Kafka has no name for a log that is off.
fn kafka_name(level: LevelFilter) -> &'static str {
    level.into_level().map_or("FATAL", |level| level.as_str())
}

/// A writer that never fails: the terminal or the pipe behind it may be gone, which is no reason for a server to end.
struct Unbroken<W>(W);

impl<W: Write> Write for Unbroken<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn levels_have_kafkas_names() {
        for name in ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"] {
            assert_eq!(kafka_name(level_of(name)), name);
        }
        assert_eq!((level_of("FATAL"), kafka_name(LevelFilter::OFF)), (LevelFilter::ERROR, "FATAL"));
    }

    #[test]
    fn a_log_whose_reader_is_gone_does_not_fail() {
        let mut writer = Unbroken(Gone);
        assert!(writer.write_all(b"a line").is_ok() && writer.flush().is_ok());
    }
}
