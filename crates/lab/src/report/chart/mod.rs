//! A picture as SVG. Colours are classes, so that whoever shows it (a page, a file by itself) says what they are in
//! light and in dark; texts stand in one language, or in both with a class each.
//!
//! Knows nothing of experiments: only lines, bars, axes and what they are called.

use std::fmt::Write as _;

use super::{Language, Spoken};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const PLOT: f64 = 200.0;
const BELOW: f64 = 46.0;
const LEGEND_ROW: f64 = 18.0;
/// A value axis is logarithmic where the greatest is so many times the least.
const LOG_FROM: f64 = 30.0;
/// Dashes that tell series of one system apart.
const DASHES: [&str; 6] = ["", "6 3", "2 2", "9 3 2 3", "1 3", "12 4"];

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
    pub(super) lines: Vec<Line>,
}

/// From values to places in the picture.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let part = match self.log {
            true => (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values to write on it.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
            let tens: Vec<f64> = powers.clone().map(|power| 10f64.powi(power)).filter(within).collect();
            if tens.len() >= 3 {
                return tens;
            }
            let of = |power| [1.0, 2.0, 5.0].map(|first| first * 10f64.powi(power));
            return powers.flat_map(of).filter(within).collect();
        }
        let step = nice((self.high - self.low) / 5.0);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|number| number as f64 * step).take_while(|value| *value <= self.high * 1.001).collect()
    }
}

/// The next of 1, 2, 5, 10, ..
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-12).log10().floor());
    let first = value / power;
    let rounded = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| first <= step * 1.0001).unwrap_or(10.0);
    rounded * power
}

/// A number as a reader wants it.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if value == 0.0 => return String::from("0"),
        _ if size >= 1_000_000.0 => format!("{:.1}M", value / 1e6),
        _ if size >= 10_000.0 => format!("{:.0}k", value / 1e3),
        _ if size >= 1000.0 => format!("{:.1}k", value / 1e3),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ if size >= 0.01 => format!("{value:.3}"),
        _ if size >= 0.0001 => format!("{value:.4}"),
        _ => format!("{value:.0e}"),
    };
    match text.split_once('.') {
        // `1.0k` is `1k`.
        Some((whole, rest)) if !rest.contains('e') => {
            let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let digits = rest[..rest.len() - unit.len()].trim_end_matches('0');
            if digits.is_empty() { format!("{whole}{unit}") } else { format!("{whole}.{digits}{unit}") }
        }
        _ => text,
    }
}

/// What may not stand in XML as it is.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Chart {
    /// The picture; in one language as a file of its own with `style`, or in both for a page that has one.
    pub(super) fn svg(&self, alone: Option<(Language, &str)>) -> String {
        let mut body = String::new();
        let across = self.horizontal();
        let up = self.vertical();
        self.frame(&mut body, &across, &up, alone);
        match &self.across {
            Across::Words(words) => self.bars(&mut body, &up, words, alone),
            Across::Linear | Across::Log => {
                self.lines.iter().for_each(|line| draw_line(&mut body, line, &across, &up));
            }
        }
        let rows = self.legend(&mut body, alone);
        let height = TOP + PLOT + BELOW + rows as f64 * LEGEND_ROW + 4.0;
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
        let log = least.is_finite() && most / least > LOG_FROM;
        let (low, high) = match log {
            true => (10f64.powf(least.log10().floor()), 10f64.powf((most * 1.1).log10().ceil())),
            false => (0.0, most * 1.1),
        };
        Axis { low, high, log, from: TOP + PLOT, to: TOP }
    }

    fn frame(&self, out: &mut String, across: &Axis, up: &Axis, alone: Option<(Language, &str)>) {
        say(out, &self.title, (WIDTH / 2.0, 18.0), "title", "middle", alone);
        let (bottom, right) = (TOP + PLOT, WIDTH - RIGHT);
        for tick in up.ticks() {
            let y = up.place(tick);
            put(
                out,
                format_args!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
                ),
            );
            let (x, y, text) = (LEFT - 5.0, y + 4.0, number(tick));
            put(out, format_args!("<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"));
        }
        put(
            out,
            format_args!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>"
            ),
        );
        if !matches!(self.across, Across::Words(_)) {
            for tick in across.ticks() {
                let (x, y, text) = (across.place(tick), bottom + 15.0, number(tick));
                put(out, format_args!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"));
            }
            say(out, &self.x, (f64::midpoint(LEFT, right), bottom + 34.0), "", "middle", alone);
        }
        let middle = TOP + PLOT / 2.0;
        for (class, text) in self.y.shown(alone.map(|(language, _)| language)) {
            put(
                out,
                format_args!(
                    "<text class=\"{class}\" transform=\"translate(13 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                    escaped(text)
                ),
            );
        }
    }

    fn bars(&self, out: &mut String, up: &Axis, words: &[(Spoken, Spoken)], alone: Option<(Language, &str)>) {
        let room = (WIDTH - LEFT - RIGHT) / words.len().max(1) as f64;
        let drawn: Vec<&Line> = self.lines.iter().filter(|line| line.marked).collect();
        let each = (room * 0.8 / drawn.len().max(1) as f64).min(44.0);
        let bottom = TOP + PLOT;
        for (place, (first, second)) in words.iter().enumerate() {
            let middle = LEFT + room * (place as f64 + 0.5);
            say(out, first, (middle, bottom + 14.0), "small", "middle", alone);
            say(out, second, (middle, bottom + 27.0), "small", "middle", alone);
            let from = middle - each * drawn.len() as f64 / 2.0;
            for (nth, line) in drawn.iter().enumerate() {
                let Some(value) = line.values.iter().find(|value| value.x == place as f64) else { continue };
                let (x, y) = (from + each * nth as f64, up.place(value.y));
                let (wide, high, class) = (each * 0.92, (bottom - y).max(0.5), &line.class);
                put(
                    out,
                    format_args!(
                        "<rect class=\"bar {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>"
                    ),
                );
                deviation(out, value, x + wide / 2.0, up);
                if each >= 20.0 {
                    let (x, y, text) = (x + wide / 2.0, y - 4.0, number(value.y));
                    put(
                        out,
                        format_args!(
                            "<text class=\"small\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>"
                        ),
                    );
                }
            }
            for line in self.lines.iter().filter(|line| !line.marked) {
                for value in line.values.iter().filter(|value| value.x == place as f64) {
                    let (y, class) = (up.place(value.y), &line.class);
                    let (x1, x2) = (middle - room * 0.44, middle + room * 0.44);
                    put(
                        out,
                        format_args!(
                            "<line class=\"line {class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke-dasharray=\"4 3\"/>"
                        ),
                    );
                }
            }
        }
    }

    /// What each line is, below the picture; how many rows that takes.
    fn legend(&self, out: &mut String, alone: Option<(Language, &str)>) -> usize {
        let (mut x, mut row) = (LEFT - 40.0, 0);
        for line in &self.lines {
            let letters = [Language::English, Language::Arabic].map(|one| line.name.of(one).chars().count());
            let wide = 30.0 + *letters.iter().max().unwrap_or(&0) as f64 * 6.3;
            if x + wide > WIDTH && x > LEFT {
                (x, row) = (LEFT - 40.0, row + 1);
            }
            let y = TOP + PLOT + BELOW + row as f64 * LEGEND_ROW + 6.0;
            let (class, dash, to) = (&line.class, dash(line), x + 18.0);
            let is_bar = matches!(self.across, Across::Words(_)) && line.marked;
            match is_bar {
                true => put(
                    out,
                    format_args!(
                        "<rect class=\"bar {class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"10\"/>",
                        y - 5.0
                    ),
                ),
                false => put(
                    out,
                    format_args!(
                        "<line class=\"line {class}\" x1=\"{x:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"{dash}/>"
                    ),
                ),
            }
            if line.marked && !is_bar {
                mark(out, line, x + 9.0, y);
            }
            say(out, &line.name, (to + 5.0, y + 4.0), "", "start", alone);
            x += wide;
        }
        row + 1
    }
}

fn dash(line: &Line) -> String {
    match DASHES[line.nth % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

fn draw_line(out: &mut String, line: &Line, across: &Axis, up: &Axis) {
    let places = line.values.iter().map(|value| (across.place(value.x), up.place(value.y)));
    let places: Vec<_> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (class, dash) = (&line.class, dash(line));
    put(out, format_args!("<polyline class=\"line {class}\" points=\"{}\"{dash}/>", places.join(" ")));
    if line.marked {
        for value in &line.values {
            let (x, y) = (across.place(value.x), up.place(value.y));
            deviation(out, value, x, up);
            mark(out, line, x, y);
        }
    }
}

/// A circle, a square, a diamond: what a line is shows without its colour, too.
fn mark(out: &mut String, line: &Line, x: f64, y: f64) {
    let class = &line.class;
    match line.nth % 3 {
        0 => put(out, format_args!("<circle class=\"mark {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>")),
        1 => put(
            out,
            format_args!(
                "<rect class=\"mark {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>",
                x - 3.0,
                y - 3.0
            ),
        ),
        _ => put(
            out,
            format_args!("<path class=\"mark {class}\" d=\"M{x:.1} {:.1}l4 4l-4 4l-4 -4z\"/>", y - 4.0),
        ),
    }
}

fn deviation(out: &mut String, value: &Value, x: f64, up: &Axis) {
    if value.deviation > 0.0 {
        let (low, high) = (up.place(value.y - value.deviation), up.place(value.y + value.deviation));
        put(
            out,
            format_args!(
                "<line class=\"deviation\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
            ),
        );
    }
}

fn say(
    out: &mut String,
    text: &Spoken,
    (x, y): (f64, f64),
    class: &str,
    anchor: &str,
    alone: Option<(Language, &str)>,
) {
    for (language, text) in text.shown(alone.map(|(language, _)| language)) {
        let text = escaped(text);
        put(
            out,
            format_args!(
                "<text class=\"{class} {language}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
            ),
        );
    }
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [(0.0, "0"), (1000.0, "1k"), (1500.0, "1.5k"), (412_345.0, "412k"), (2.5e6, "2.5M")];
        for (value, text) in
            numbers.into_iter().chain([(0.7, "0.7"), (12.0, "12"), (100.0, "100"), (3.25, "3.25")])
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_are_round_and_within() {
        let axis = |low, high, log| Axis { low, high, log, from: 0.0, to: 100.0 };
        assert_eq!(axis(0.0, 44.0, false).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(axis(1.0, 1000.0, true).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(axis(20.0, 80.0, true).ticks(), [20.0, 50.0]);
        assert_eq!(axis(1.0, 100.0, true).place(10.0), 50.0);
    }
}
