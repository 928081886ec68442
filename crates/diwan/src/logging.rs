//! The program's log: where it goes, in which form, and how its level is changed while the program runs.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};

/// The running log.
pub(crate) struct Log {
    level: LevelFilter,
    set: Box<dyn Fn(LevelFilter) -> Result<(), reload::Error> + Send>,
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
        Self { level: config.level, set: Box::new(move |level| handle.reload(level)) }
    }

    /// Logs from this level on from now on.
    pub(crate) fn set_level(&mut self, level: LevelFilter) {
        if level == self.level {
            return;
        }
        match (self.set)(level) {
            Ok(()) => {
                // Of `off` and `error` nothing would be seen.
                tracing::info!(from = %self.level, to = %level, "the log level is changed");
                self.level = level;
            }
            Err(error) => tracing::error!(%error, "the log level cannot be changed"),
        }
    }
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
    fn a_log_whose_reader_is_gone_does_not_fail() {
        let mut writer = Unbroken(Gone);
        assert!(writer.write_all(b"a line").is_ok() && writer.flush().is_ok());
    }
}
