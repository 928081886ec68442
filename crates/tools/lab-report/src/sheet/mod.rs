//! Figures of Diwan beside one peer and a floor: each with its values, one a repetition, compared with a bar and an
//! aim; and their report as tables for people and lines of JSON for programs.
//!
//! Knows neither the peer nor what was measured: the measuring crate names both.

mod figure;
mod limit;
mod report;
mod who;

pub use figure::{Figure, Sheet, Spec};
pub use limit::Limit;
pub use report::{Heading, Row, json_lines, markdown};
pub use who::Who;
