//! What a run is asked for: rows, repeats, sizes, contestants.

use std::path::PathBuf;
use std::time::Duration;

use super::{ROWS, Row};

/// How to use it.
pub const USAGE: &str = "\
bench: Diwan beside a real Apache ZooKeeper 3.9 and a bare floor, in one run, in turn

  --only ROW,...       only these rows (see --rows); given again, these too
  --servers N          only rows with so many servers to a contestant: 1, or 3 for ensembles
  --rows               list the rows and measure nothing
  --repeats N          how often each contestant takes its turn (default 3)
  --short              each row small, once: whether it works, not how fast it is
  --large              also the rows that need gigabytes of disk and memory, or root
  --zookeeper yes|no   whether the real ZooKeeper takes part (default yes)
  --diwan PATH|no      Diwan's binary (default: the one beside this program)
  --rate N             operations a second offered in the rows `mix` and `three-writes` when there is no ZooKeeper (default 10000)
  --data PATH          where the servers keep their data (default: the system's folder for temporary files)
  --cache PATH         where the real ZooKeeper is kept (default: `peers` in the build folder)
  --json PATH          also write the figures as lines of JSON
  --markdown PATH      also write the report to a file
  --help               this text

Exit status 0: all rows were measured, with any figures; 1: one could not be; 2: wrong usage; 77: something is missing here.";

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rows to measure.
    pub rows: Vec<&'static Row>,
    /// How often each contestant takes its turn.
    pub repeats: usize,
    /// How much of everything.
    pub scale: Scale,
    /// Whether the real ZooKeeper takes part.
    pub zookeeper: bool,
    /// Whether Diwan does, ...
    pub diwan: bool,
    /// ... and its binary if not the one beside this program.
    pub diwan_path: Option<PathBuf>,
    /// Operations a second offered when there is no ZooKeeper to derive them from.
    pub rate: f64,
    /// Where servers keep their data.
    pub data: Option<PathBuf>,
    /// Where the real ZooKeeper is kept.
    pub cache: Option<PathBuf>,
    /// Where to write lines of JSON.
    pub json: Option<PathBuf>,
    /// Where to write the report.
    pub markdown: Option<PathBuf>,
    /// Whether only to list the rows.
    pub list: bool,
    /// Whether only to show the usage.
    pub help: bool,
    /// The arguments as they were given.
    pub arguments: String,
}

/// How much of everything a row takes.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Whether this is a small run: its figures mean nothing.
    pub short: bool,
    /// How long a load is measured.
    pub measure: Duration,
    /// How long it runs before that, each time.
    pub warm_up: Duration,
    /// How long a fresh server is warmed up once.
    pub first_warm_up: Duration,
    /// Nodes of a small tree.
    pub few: u32,
    /// Nodes of a large tree.
    pub many: u32,
    /// Nodes of 100 KiB that make 2 GB.
    pub heavy: u32,
    /// Sessions of a crowd.
    pub sessions: usize,
    /// Transactions between two snapshots, for rows that take some.
    pub snapshot_every: u32,
    /// Writes a second while they are.
    pub paced_writes: f64,
    /// How often a leader is killed or transfers leadership, each repeat.
    pub deaths: usize,
    /// How long a process or a disk hangs.
    pub pause: Duration,
    /// Nodes of 100 KiB that a joining member receives.
    pub joined: u32,
    /// Writes that lie in the log behind the last snapshot when a start is measured.
    pub writes_behind: u32,
}

impl Scale {
    const FULL: Self = Self {
        short: false,
        measure: Duration::from_secs(5),
        warm_up: Duration::from_secs(1),
        first_warm_up: Duration::from_secs(10),
        few: 1_000,
        many: 1_000_000,
        heavy: 20_000,
        sessions: 10_000,
        snapshot_every: 8_000,
        paced_writes: 2_000.0,
        deaths: 4,
        pause: Duration::from_secs(10),
        joined: 1_000,
        writes_behind: 100_000,
    };
    const SHORT: Self = Self {
        short: true,
        measure: Duration::from_millis(200),
        warm_up: Duration::from_millis(50),
        first_warm_up: Duration::from_millis(100),
        few: 100,
        many: 2_000,
        heavy: 20,
        sessions: 50,
        snapshot_every: 60,
        paced_writes: 300.0,
        deaths: 1,
        pause: Duration::from_secs(1),
        joined: 40,
        writes_behind: 500,
    };
}

impl Options {
    /// Reads a command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments.collect();
        let mut options = Self { arguments: arguments.join(" "), ..Self::default() };
        let (mut only, mut large, mut repeats, mut servers) = (Vec::new(), false, None, None);
        let mut rest = arguments.into_iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("`{flag}` wants a value"));
            match flag.as_str() {
                "--only" => add_rows(&mut only, &value()?)?,
                "--rows" => options.list = true,
                "--help" | "-h" => options.help = true,
                "--repeats" => repeats = Some(number(&value()?)?),
                "--short" => options.scale = Scale::SHORT,
                "--large" => large = true,
                "--servers" => servers = Some(number(&value()?)?),
                "--zookeeper" => options.zookeeper = yes(&value()?)?,
                "--diwan" => match value()?.as_str() {
                    "no" => options.diwan = false,
                    path => options.diwan_path = Some(path.into()),
                },
                "--rate" => options.rate = number(&value()?)? as f64,
                "--data" => options.data = Some(value()?.into()),
                "--cache" => options.cache = Some(value()?.into()),
                "--json" => options.json = Some(value()?.into()),
                "--markdown" => options.markdown = Some(value()?.into()),
                _ => return Err(format!("unknown argument `{flag}`")),
            }
        }
        options.repeats = repeats.unwrap_or(if options.scale.short { 1 } else { 3 }).max(1);
        options.rows =
            if only.is_empty() { ROWS.iter().filter(|row| large || !row.large).collect() } else { only };
        options.rows.retain(|row| servers.is_none_or(|servers| servers == row.servers));
        if options.rows.is_empty() {
            return Err("no row has so many servers: `--rows` lists them".into());
        }
        Ok(options)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rows: ROWS.iter().filter(|row| !row.large).collect(),
            repeats: 3,
            scale: Scale::FULL,
            zookeeper: true,
            diwan: true,
            diwan_path: None,
            rate: 10_000.0,
            data: None,
            cache: None,
            json: None,
            markdown: None,
            list: false,
            help: false,
            arguments: String::new(),
        }
    }
}

/// Adds rows by their names, those that are not there yet.
fn add_rows(rows: &mut Vec<&'static Row>, names: &str) -> Result<(), String> {
    for name in names.split(',') {
        let row = row(name)?;
        if rows.iter().all(|there| there.name != row.name) {
            rows.push(row);
        }
    }
    Ok(())
}

fn row(name: &str) -> Result<&'static Row, String> {
    ROWS.iter()
        .find(|row| row.name == name)
        .ok_or_else(|| format!("there is no row `{name}`: `--rows` lists them"))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn yes(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("`{text}` is neither `yes` nor `no`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn rows_are_chosen_by_name_and_large_ones_only_on_request() {
        let chosen = read("--only disk,memory --short").unwrap();
        assert_eq!(chosen.rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["disk", "memory"]);
        assert_eq!(chosen.repeats, 1);
        let all = read("--large").unwrap().rows.len();
        assert!(read("").unwrap().rows.len() < all && all == ROWS.len());
        let both = read("--only disk --only disk,memory").unwrap();
        assert_eq!(both.rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["disk", "memory"]);
        assert!(read("--help").unwrap().help);
        assert!(read("--only nothing").is_err_and(|text| text.contains("`nothing`")));
        assert!(read("--zookeeper maybe").is_err());
    }
}
