//! What a node does for controllers, leaders and followers, told through logs in memory and a clock.

mod bench;
mod entries;
mod fences;
mod many;
mod records;
mod reports;
mod tasks;
