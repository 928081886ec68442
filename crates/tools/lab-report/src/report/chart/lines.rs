//! Lines through values, with marks and deviations.

use super::axis::Axis;
use super::pen::Pen;
use super::{Line, Value};

/// Dashes that distinguish series of one system.
const DASHES: [&str; 6] = ["", "6 3", "2 2", "9 3 2 3", "1 3", "12 4"];

pub(super) fn dash(line: &Line) -> String {
    match DASHES[line.nth % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

pub(super) fn draw_line(pen: &mut Pen<'_>, line: &Line, across: &Axis, up: &Axis) {
    let places = line.values.iter().map(|value| (across.place(value.x), up.place(value.y)));
    let places: Vec<_> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (class, dash) = (&line.class, dash(line));
    pen.put(format_args!("<polyline class=\"line {class}\" points=\"{}\"{dash}/>", places.join(" ")));
    if line.marked {
        for value in &line.values {
            let (x, y) = (across.place(value.x), up.place(value.y));
            deviation(pen, value, x, up);
            mark(pen, line, x, y);
        }
    }
}

/// A circle, a square, a diamond: what a line is shows without its colour, too.
pub(super) fn mark(pen: &mut Pen<'_>, line: &Line, x: f64, y: f64) {
    let class = &line.class;
    match line.nth % 3 {
        0 => pen.put(format_args!("<circle class=\"mark {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>")),
        1 => pen.put(format_args!(
            "<rect class=\"mark {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>",
            x - 3.0,
            y - 3.0
        )),
        _ => pen
            .put(format_args!("<path class=\"mark {class}\" d=\"M{x:.1} {:.1}l4 4l-4 4l-4 -4z\"/>", y - 4.0)),
    }
}

pub(super) fn deviation(pen: &mut Pen<'_>, value: &Value, x: f64, up: &Axis) {
    if value.deviation > 0.0 {
        let (low, high) = (up.place(value.y - value.deviation), up.place(value.y + value.deviation));
        pen.put(format_args!(
            "<line class=\"deviation\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
        ));
    }
}
