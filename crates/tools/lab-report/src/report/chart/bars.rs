//! Bars side by side at each place; lines without marks go across them.

use super::axis::{Axis, number};
use super::lines::deviation;
use super::pen::Pen;
use super::{Chart, LEFT, Line, PLOT, RIGHT, Spoken, TOP, WIDTH};

impl Chart {
    pub(super) fn bars(&self, pen: &mut Pen<'_>, up: &Axis, words: &[(Spoken, Spoken)]) {
        let room = (WIDTH - LEFT - RIGHT) / words.len().max(1) as f64;
        let drawn: Vec<&Line> = self.lines.iter().filter(|line| line.marked).collect();
        let each = (room * 0.8 / drawn.len().max(1) as f64).min(44.0);
        let bottom = TOP + PLOT;
        for (place, (first, second)) in words.iter().enumerate() {
            let middle = LEFT + room * (place as f64 + 0.5);
            pen.say(first, (middle, bottom + 14.0), "small", "middle");
            pen.say(second, (middle, bottom + 27.0), "small", "middle");
            let from = middle - each * drawn.len() as f64 / 2.0;
            for (nth, line) in drawn.iter().enumerate() {
                let Some(value) = line.values.iter().find(|value| value.x == place as f64) else { continue };
                let (x, y) = (from + each * nth as f64, up.place(value.y));
                let (wide, high, class) = (each * 0.92, (bottom - y).max(0.5), &line.class);
                pen.put(format_args!(
                    "<rect class=\"bar {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>"
                ));
                deviation(pen, value, x + wide / 2.0, up);
                if each >= 20.0 {
                    let (x, y, text) = (x + wide / 2.0, y - 4.0, number(value.y));
                    pen.put(format_args!(
                        "<text class=\"small\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>"
                    ));
                }
            }
            for line in self.lines.iter().filter(|line| !line.marked) {
                for value in line.values.iter().filter(|value| value.x == place as f64) {
                    let (y, class) = (up.place(value.y), &line.class);
                    let (x1, x2) = (middle - room * 0.44, middle + room * 0.44);
                    pen.put(format_args!(
                        "<line class=\"line {class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke-dasharray=\"4 3\"/>"
                    ));
                }
            }
        }
    }
}
