//! The progress bar: what is running, and how long it will take. Without a terminal, a line for each thing that is begun.

use std::io::{self, IsTerminal};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use tools_lab::conduct::News;

/// Steps of the bar.
const STEPS: u64 = 1000;

pub(super) struct Bar {
    bar: Option<ProgressBar>,
    failures: usize,
}

impl Bar {
    pub(super) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {prefix}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, failures: 0 }
    }

    pub(super) fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Doing(what) => match &self.bar {
                Some(bar) => bar.set_message((*what).to_owned()),
                None => eprintln!("{what}"),
            },
            News::Left { done, left } => {
                if let Some(bar) = &self.bar {
                    bar.set_position((done * STEPS as f64) as u64);
                    bar.set_prefix(format!("{} left", HumanDuration(*left)));
                }
            }
            News::Skipped { experiment, system, reason } => {
                self.print(&format!("{experiment} {system}: skipped: {reason}"));
            }
            News::Failed { experiment, system, at, reason } => {
                self.failures += 1;
                self.print(&format!("{experiment} {system} {at}: failed: {reason}"));
            }
        }
    }

    /// How many points could not be measured.
    pub(super) const fn failures(&self) -> usize {
        self.failures
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }
}
