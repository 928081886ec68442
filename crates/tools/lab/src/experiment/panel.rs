//! The pictures of an experiment, and the published figures in them. Knows not how they are drawn.

use super::Text;

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
    /// Bars for each place, which is a word.
    Bars,
    /// The curve that each point has, of that series or of all.
    Curves(Option<&'static str>),
}

impl Panel {
    pub(super) const fn lines(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::Lines }
    }

    pub(super) const fn lines_over_log(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::LinesOverLog }
    }

    pub(super) const fn bars(title: Text, x: Text, figure: &'static str) -> Self {
        Self { title, x, figure, shape: Shape::Bars }
    }

    pub(super) const fn curves(title: Text, x: Text, figure: &'static str, of: Option<&'static str>) -> Self {
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
    pub(super) const fn of(
        series: &'static str,
        figure: &'static str,
        points: &'static [(f64, f64)],
    ) -> Self {
        Self { series, figure, points }
    }
}
