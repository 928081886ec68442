//! What each line is, below the picture.

use super::lines::{dash, mark};
use super::pen::Pen;
use super::{Across, BELOW, Chart, LEFT, Language, PLOT, TOP, WIDTH};

pub(super) const ROW: f64 = 18.0;
/// What a letter takes on average, on phones, too, where texts are larger.
const LETTER: f64 = 6.6;

impl Chart {
    /// What each line is, below the picture; how many rows that takes.
    pub(super) fn legend(&self, pen: &mut Pen<'_>) -> usize {
        let (mut x, mut row) = (LEFT - 40.0, 0);
        for line in &self.lines {
            let letters = [Language::English, Language::Arabic].map(|one| line.name.of(one).chars().count());
            let wide = 38.0 + *letters.iter().max().unwrap_or(&0) as f64 * LETTER;
            if x + wide > WIDTH && x > LEFT {
                (x, row) = (LEFT - 40.0, row + 1);
            }
            let y = TOP + PLOT + BELOW + row as f64 * ROW + 6.0;
            let (class, dash, to) = (&line.class, dash(line), x + 18.0);
            let is_bar = matches!(self.across, Across::Words(_)) && line.marked;
            match is_bar {
                true => pen.put(format_args!(
                    "<rect class=\"bar {class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"10\"/>",
                    y - 5.0
                )),
                false => pen.put(format_args!(
                    "<line class=\"line {class}\" x1=\"{x:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"{dash}/>"
                )),
            }
            if line.marked && !is_bar {
                mark(pen, line, x + 9.0, y);
            }
            pen.say(&line.name, (to + 5.0, y + 4.0), "", "start");
            x += wide;
        }
        row + 1
    }
}
