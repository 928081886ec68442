//! A picture as SVG. Colours are classes, so that the place that shows it (a page, a file by itself) defines them for
//! light and dark; texts are in one language, or in both with a class each.
//!
//! Knows nothing of experiments: only lines, bars, axes and what they are called.

mod axis;
mod bars;
mod frame;
mod legend;
mod lines;
mod pen;

use super::{Language, Spoken};
use axis::Axis;
use pen::Pen;

pub(super) use axis::number;
pub(super) use pen::escaped;

const WIDTH: f64 = 480.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const PLOT: f64 = 200.0;
const BELOW: f64 = 46.0;
/// A value axis is logarithmic where the greatest is so many times the least.
const LOG_FROM: f64 = 30.0;

/// A value with how much it varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) deviation: f64,
}

/// One line, or the bars of one colour.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: Spoken,
    /// The class that gives its colour.
    pub(super) class: String,
    /// Which of several lines of that colour.
    pub(super) nth: usize,
    pub(super) values: Vec<Value>,
    /// Whether each value is marked.
    pub(super) marked: bool,
}

/// What the horizontal axis is.
#[derive(Clone, Debug)]
pub(super) enum Across {
    Linear,
    Log,
    /// Bars at these; a value's `x` is its index.
    Words(Vec<(Spoken, Spoken)>),
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: Spoken,
    pub(super) x: Spoken,
    pub(super) y: Spoken,
    pub(super) across: Across,
    /// Whether values that lie far apart make the vertical axis logarithmic.
    pub(super) may_be_log: bool,
    pub(super) lines: Vec<Line>,
}

impl Chart {
    /// The picture; in one language as a file of its own with `style`, or in both for a page that has one.
    pub(super) fn svg(&self, alone: Option<(Language, &str)>) -> String {
        let mut pen = Pen::new(alone);
        let across = self.horizontal();
        let up = self.vertical();
        self.frame(&mut pen, &across, &up);
        match &self.across {
            Across::Words(words) => self.bars(&mut pen, &up, words),
            Across::Linear | Across::Log => {
                self.lines.iter().for_each(|line| lines::draw_line(&mut pen, line, &across, &up));
            }
        }
        let rows = self.legend(&mut pen);
        let body = pen.drawn();
        let height = TOP + PLOT + BELOW + rows as f64 * legend::ROW + 4.0;
        let label = match alone {
            Some((language, _)) => self.title.of(language).to_owned(),
            None => self.title.of(Language::English).to_owned(),
        };
        let style = alone.map_or_else(String::new, |(_, style)| format!("<style>{style}</style>"));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" class=\"chart\" role=\"img\" aria-label=\"{}\">{style}<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>{body}</svg>",
            escaped(&label)
        )
    }

    fn horizontal(&self) -> Axis {
        let values = self.lines.iter().flat_map(|line| &line.values).map(|value| value.x);
        let log = matches!(self.across, Across::Log);
        let values: Vec<f64> = values.filter(|value| !log || *value > 0.0).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low.is_finite() { (low, high) } else { (0.0, 1.0) };
        let (low, high) = match (low < high, log) {
            (true, _) => (low, high),
            (false, true) => (low / 2.0, high * 2.0),
            (false, false) => (low - 1.0, high + 1.0),
        };
        Axis { low, high, log, from: LEFT + 8.0, to: WIDTH - RIGHT - 8.0 }
    }

    fn vertical(&self) -> Axis {
        let values = self.lines.iter().flat_map(|line| &line.values).map(|value| value.y);
        let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max).max(1e-6);
        let log = self.may_be_log && least.is_finite() && most / least > LOG_FROM;
        let (low, high) = match log {
            true => (10f64.powf(least.log10().floor()), 10f64.powf((most * 1.1).log10().ceil())),
            false => (0.0, most * 1.1),
        };
        Axis { low, high, log, from: TOP + PLOT, to: TOP }
    }
}
