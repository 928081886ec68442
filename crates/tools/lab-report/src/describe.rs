//! How the measuring crate describes its experiments to a reader: their pictures, and the published figures in them.
//! Does not know how they are drawn.

use crate::record::Run;

/// A sentence in both languages of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Arabic.
    pub ar: &'static str,
}

impl Text {
    /// A sentence in English and in Arabic.
    #[must_use]
    pub const fn of(en: &'static str, ar: &'static str) -> Self {
        Self { en, ar }
    }
}

/// What a report shows besides a run's records.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    /// What the experiments are, below the title.
    pub subtitle: Text,
    /// What a reader must know before figures are compared.
    pub fairness: Text,
    /// All experiments, in the order of the report.
    pub experiments: &'static [&'static Description],
    /// How servers were set up in an experiment of a run, each way once.
    pub servers: fn(&Run, &Description) -> Vec<Servers>,
}

/// An experiment.
#[derive(Debug)]
pub struct Description {
    /// As `Z1`.
    pub id: &'static str,
    /// What it is about.
    pub title: Text,
    /// The publisher.
    pub source: Text,
    /// What was set up and varied when it was published.
    pub setup: Text,
    /// What was published.
    pub published: Text,
    /// Published figures that a picture can show.
    pub references: &'static [Reference],
    /// The pictures.
    pub panels: &'static [Panel],
    /// The figures whose ratios to the peers stand first.
    pub ratios: &'static [&'static str],
    /// How repetitions of a point become one figure.
    pub middle: Middle,
}

/// One figure for all repetitions of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middle {
    /// Their mean.
    Mean,
    /// Their median: one turn that was disturbed does not move it.
    Median,
}

/// How servers were set up, as far as it matters to a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// All of them.
    pub members: usize,
    /// Those that have no vote.
    pub observers: usize,
    /// The heap limit of each that is a JVM, MiB.
    pub heap_mb: u32,
    /// After how many transactions a snapshot is taken, if not as each system does by default.
    pub snapshot_every: Option<u32>,
}

/// A picture.
#[derive(Debug)]
pub struct Panel {
    /// What it shows.
    pub title: Text,
    /// What is on the horizontal axis.
    pub x: Text,
    /// The figure, or the curve, on the vertical one.
    pub figure: &'static str,
    /// How it is drawn.
    pub shape: Shape,
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line through the points of each series.
    Lines,
    /// As [`Shape::Lines`], with a logarithmic horizontal axis.
    LinesOverLog,
    /// Bars for each place; places are words.
    Bars,
    /// The curve that each point has, of that series or of all.
    Curves(Option<&'static str>),
}

impl Panel {
    /// A line for each series.
    #[must_use]
    pub const fn lines(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::Lines }
    }

    /// As [`Panel::lines`], with a logarithmic horizontal axis.
    #[must_use]
    pub const fn lines_over_log(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::LinesOverLog }
    }

    /// Bars for each place; places are words.
    #[must_use]
    pub const fn bars(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::Bars }
    }

    /// The curve of each point, of that series or of all.
    #[must_use]
    pub const fn curves(title: Text, x: Text, figure: &'static str, of: Option<&'static str>) -> Self {
        Self { title, x, figure, shape: Shape::Curves(of) }
    }
}

/// Published figures, of their time and machines.
#[derive(Debug)]
pub struct Reference {
    /// Which line.
    pub series: &'static str,
    /// Which figure.
    pub figure: &'static str,
    /// Places and values.
    pub points: &'static [(f64, f64)],
}

impl Reference {
    /// Published points of a figure on a line.
    #[must_use]
    pub const fn of(series: &'static str, figure: &'static str, points: &'static [(f64, f64)]) -> Self {
        Self { series, figure, points }
    }
}
