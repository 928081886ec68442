//! What was measured, kept and shown: a run on disk ([`record`]), two runs against each other ([`compare`]), the report with
//! its pictures ([`report`]), and the tables of a benchmark ([`sheet`]).
//!
//! Knows no server, and not how points were measured: the measuring crate describes its experiments ([`describe`]) and
//! names figures as [`figure`] does.
//!
//! **Not done, and what that costs.** Names of systems, series and reasons have their Arabic here (`report/words.rs`), so a new
//! experiment adds its words there.

pub mod compare;
pub mod describe;
pub mod figure;
pub mod record;
pub mod report;
pub mod sheet;
pub mod statistics;
