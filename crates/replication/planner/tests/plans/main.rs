//! Plans for whole clusters: scenarios by name, and random clusters. An oracle that shares nothing with the
//! planner but its public types checks each step.

mod automatic;
mod oracle;
mod scenarios;
mod size;
mod walk;
mod world;
