//! What stands around a picture: its title, its axes and what is written on them.

use super::axis::{Axis, number};
use super::pen::{Pen, escaped};
use super::{Across, Chart, LEFT, PLOT, RIGHT, TOP, WIDTH};

impl Chart {
    pub(super) fn frame(&self, pen: &mut Pen<'_>, across: &Axis, up: &Axis) {
        pen.say(&self.title, (WIDTH / 2.0, 18.0), "title", "middle");
        let (bottom, right) = (TOP + PLOT, WIDTH - RIGHT);
        for tick in up.ticks() {
            let y = up.place(tick);
            pen.put(format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            ));
            let (x, y, text) = (LEFT - 5.0, y + 4.0, number(tick));
            pen.put(format_args!("<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"));
        }
        pen.put(format_args!(
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>"
        ));
        if !matches!(self.across, Across::Words(_)) {
            for tick in across.ticks() {
                let (x, y, text) = (across.place(tick), bottom + 15.0, number(tick));
                pen.put(format_args!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"));
            }
            pen.say(&self.x, (f64::midpoint(LEFT, right), bottom + 34.0), "", "middle");
        }
        let middle = TOP + PLOT / 2.0;
        for (class, text) in pen.shown(&self.y) {
            pen.put(format_args!(
                    "<text class=\"{class}\" transform=\"translate(13 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                    escaped(text)
                ),
            );
        }
    }
}
