//! The folder of a run.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Key, Point};

/// The form of the files: raised when older builds cannot read what newer ones write.
const FORM: u32 = 1;

/// Why a run cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("`{}` is no run of the lab: {what}; hint: name the folder that `diwan lab run` wrote", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// There is a run already.
    #[error("`{}` holds a run already; hint: go on with it by `--resume`, or name another folder", .0.display())]
    Exists(PathBuf),
    /// It was begun otherwise.
    #[error("`{}` was begun with {what}; hint: go on with the same, or name another folder", path.display())]
    Differs {
        /// Which.
        path: PathBuf,
        /// With what.
        what: String,
    },
}

/// What stands above all points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The form of the files: raised when older builds cannot read what newer ones write.
    pub form: u32,
    /// When it was begun, RFC 3339.
    pub begun: String,
    /// The exact command.
    pub command: String,
    /// `small` or `paper`.
    pub scale: String,
    /// How long a point is measured.
    pub seconds: f64,
    /// What everything random is drawn from.
    pub seed: u64,
    /// How often each point is measured.
    pub repetitions: u32,
    /// The machine's properties, by name.
    pub machine: serde_json::Map<String, serde_json::Value>,
    /// The version of each system that took part.
    pub versions: Vec<(String, String)>,
}

/// A system that did not take part in an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Which experiment.
    pub experiment: String,
    /// Which system.
    pub system: String,
    /// Why.
    pub reason: String,
}

/// A point that was not measured, or with figures that do not count because something was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Which experiment.
    pub experiment: String,
    /// Which system.
    pub system: String,
    /// Which points, in words.
    pub at: String,
    /// What was wrong.
    pub reason: String,
    /// The points that are missing for it: once a later attempt has measured them all, nothing failed.
    #[serde(default)]
    pub missing: Vec<Key>,
}

/// A run that is being written, or was.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    /// What stands above it.
    pub header: Header,
    /// What was measured, in the order in which it was.
    pub points: Vec<Point>,
    /// A system that did not take part.
    pub skipped: Vec<Skipped>,
    /// What failed.
    pub failed: Vec<Failed>,
    have: BTreeSet<Key>,
}

/// A line of `points.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Point {
        origin: Origin,
        #[serde(flatten)]
        point: Point,
    },
    Skipped {
        skipped: Skipped,
    },
    Failed {
        failed: Failed,
    },
}

/// Where the figures of a line come from.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    /// From servers that ran.
    Measured,
    /// From a simulator, in the runs of older builds. Such a line is read and ignored.
    Predicted,
}

impl Run {
    /// Begins a run in a folder that has none.
    ///
    /// # Errors
    /// There is one, or the folder cannot be written.
    pub fn begin(folder: &Path, header: Header) -> Result<Self, StoreError> {
        let path = folder.join("run.json");
        if path.exists() {
            return Err(StoreError::Exists(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(io_error(folder))?;
        let header = Header { form: FORM, ..header };
        let text = serde_json::to_string_pretty(&header).map_err(|error| foreign(&path, &error))?;
        fs::write(&path, text + "\n").map_err(io_error(&path))?;
        Ok(Self {
            folder: folder.to_owned(),
            header,
            points: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
            have: BTreeSet::new(),
        })
    }

    /// Reads a run, whole or broken off: a last line that was cut short was never measured. Points that an older build
    /// predicted are ignored.
    ///
    /// # Errors
    /// There is none, or it is of another form.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("run.json");
        let text = fs::read_to_string(&path).map_err(io_error(&path))?;
        let header: Header = serde_json::from_str(&text).map_err(|error| foreign(&path, &error))?;
        if header.form > FORM {
            return Err(foreign(&path, &format!("its form is {}, and this build knows {FORM}", header.form)));
        }
        let mut run = Self {
            folder: folder.to_owned(),
            header,
            points: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
            have: BTreeSet::new(),
        };
        let path = run.lines();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(run),
            other => other.map_err(io_error(&path))?,
        };
        let mut lines = BufReader::new(file).lines().peekable();
        while let Some(line) = lines.next() {
            let line = line.map_err(io_error(&path))?;
            match serde_json::from_str(&line) {
                Ok(Line::Point { origin: Origin::Measured, point }) => run.keep(point),
                Ok(Line::Point { origin: Origin::Predicted, .. }) => {}
                Ok(Line::Skipped { skipped }) => run.skipped.push(skipped),
                Ok(Line::Failed { failed }) => run.failed.push(failed),
                Err(_) if lines.peek().is_none() => {}
                Err(error) => return Err(foreign(&path, &error)),
            }
        }
        Ok(run)
    }

    /// Goes on with a run that was broken off: what is left of a line that was cut short goes.
    ///
    /// # Errors
    /// There is none, it was begun otherwise, or it cannot be written.
    pub fn go_on(folder: &Path, header: &Header) -> Result<Self, StoreError> {
        let run = Self::read(folder)?;
        let told = |header: &Header| {
            let Header { scale, seconds, seed, repetitions, .. } = header;
            format!("scale {scale}, {seconds} s, seed {seed} and {repetitions} repetitions")
        };
        if told(&run.header) != told(header) {
            return Err(StoreError::Differs { path: folder.to_owned(), what: told(&run.header) });
        }
        let path = run.lines();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(run),
            other => other.map_err(io_error(&path))?,
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().write(true).open(&path).map_err(io_error(&path))?;
        file.set_len(whole as u64).map_err(io_error(&path))?;
        Ok(run)
    }

    /// Whether that point was measured.
    #[must_use]
    pub fn has(&self, key: &Key) -> bool {
        self.have.contains(key)
    }

    /// A point was measured.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, point: Point) -> Result<(), StoreError> {
        self.append(&Line::Point { origin: Origin::Measured, point: point.clone() })?;
        self.keep(point);
        Ok(())
    }

    /// A system does not take part.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn skip(&mut self, skipped: Skipped) -> Result<(), StoreError> {
        if !self.skipped.contains(&skipped) {
            self.append(&Line::Skipped { skipped: skipped.clone() })?;
            self.skipped.push(skipped);
        }
        Ok(())
    }

    /// A point failed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fail(&mut self, failed: Failed) -> Result<(), StoreError> {
        self.append(&Line::Failed { failed: failed.clone() })?;
        self.failed.push(failed);
        Ok(())
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn keep(&mut self, point: Point) {
        if self.have.insert(point.key.clone()) {
            self.points.push(point);
            let have = &self.have;
            let is_mended = |failed: &Failed| {
                !failed.missing.is_empty() && failed.missing.iter().all(|key| have.contains(key))
            };
            self.failed.retain(|failed| !is_mended(failed));
        }
    }

    fn lines(&self) -> PathBuf {
        self.folder.join("points.jsonl")
    }

    fn append(&self, line: &Line) -> Result<(), StoreError> {
        let path = self.lines();
        let text = serde_json::to_string(line).map_err(|error| foreign(&path, &error))?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| writeln!(file, "{text}")).map_err(io_error(&path))
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, source }
}

fn foreign(path: &Path, what: &impl ToString) -> StoreError {
    StoreError::Foreign { path: path.to_owned(), what: what.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Checked;

    fn header() -> Header {
        Header {
            form: FORM,
            begun: String::from("2026-01-01T00:00:00Z"),
            command: String::from("diwan lab run Z1"),
            scale: String::from("small"),
            seconds: 2.0,
            seed: 1,
            repetitions: 2,
            machine: serde_json::Map::new(),
            versions: vec![(String::from("diwan"), String::from("0.1.0"))],
        }
    }

    fn point(repetition: u32) -> Point {
        Point {
            key: Key {
                experiment: String::from("Z1"),
                system: String::from("diwan"),
                series: String::from("3 servers"),
                at: String::from("50"),
                repetition,
            },
            figures: [(String::from("rate (op/s)"), 1.5)].into(),
            curves: [(String::from("latency (ms)"), vec![(0.5, 1.0)])].into(),
            checked: Checked { reads: 3, ..Checked::default() },
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lab-store-{name}-{}", std::process::id()));
        // Of an earlier test of that number.
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_failed_is_forgotten_once_it_was_measured() {
        let folder = folder("mended");
        let mut run = Run::begin(&folder, header()).unwrap();
        let failed = Failed {
            experiment: String::from("Z1"),
            system: String::from("diwan"),
            at: String::from("50"),
            reason: String::from("it was wrong"),
            missing: vec![point(1).key, point(2).key],
        };
        run.fail(failed).unwrap();
        run.add(point(1)).unwrap();
        assert_eq!(Run::read(&folder).unwrap().failed.len(), 1);
        run.add(point(2)).unwrap();
        assert!(run.failed.is_empty() && Run::read(&folder).unwrap().failed.is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_measured_is_read_back_and_measured_once() {
        let folder = folder("whole");
        let mut run = Run::begin(&folder, header()).unwrap();
        run.add(point(1)).unwrap();
        let skipped = Skipped {
            experiment: String::from("C1"),
            system: String::from("concoord"),
            reason: String::from("there is no Python 2.7"),
        };
        run.skip(skipped.clone()).unwrap();
        run.skip(skipped).unwrap();
        let read = Run::read(&folder).unwrap();
        assert_eq!((&read.header, &read.points, &read.skipped), (&run.header, &run.points, &run.skipped));
        assert!(read.has(&point(1).key) && !read.has(&point(2).key));
        assert!(matches!(Run::begin(&folder, header()), Err(StoreError::Exists(_))));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_line_cut_short_was_never_measured_and_is_not_built_upon() {
        let folder = folder("torn");
        let mut run = Run::begin(&folder, header()).unwrap();
        run.add(point(1)).unwrap();
        run.add(point(2)).unwrap();
        let path = folder.join("points.jsonl");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let mut run = Run::go_on(&folder, &header()).unwrap();
        assert!(!run.has(&point(2).key));
        run.add(point(2)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        let other = Header { repetitions: 3, ..header() };
        assert!(matches!(Run::go_on(&folder, &other), Err(StoreError::Differs { .. })));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn recorded_run_with_predicted_points_is_read_without_them() {
        for name in ["2026-11-22", "2026-11-22-concoord"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/results").join(name);
            let text = fs::read_to_string(folder.join("points.jsonl")).unwrap();
            let lines = |origin: &str| text.matches(&format!("\"origin\":\"{origin}\"")).count();
            assert!(lines("measured") > 0 && lines("predicted") > 0, "{name}");
            let run = Run::read(&folder).unwrap();
            assert_eq!(run.points.len(), lines("measured"), "{name}");
            assert!(run.points.iter().all(|point| point.key.system != "predicted"), "{name}");
        }
    }

    #[test]
    fn what_is_no_run_is_said_to_be_none() {
        let folder = folder("foreign");
        fs::create_dir_all(&folder).unwrap();
        assert!(matches!(Run::read(&folder), Err(StoreError::Io { .. })));
        fs::write(folder.join("run.json"), "{}").unwrap();
        assert!(matches!(Run::read(&folder), Err(StoreError::Foreign { .. })));
        fs::remove_dir_all(&folder).unwrap();
    }
}
