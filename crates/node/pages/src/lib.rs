//! The pages of a server over HTTP: `/metrics`, the probes `/livez` and `/readyz`, and what each service adds.
//!
//! Services register: figures with the [`Registry`], whether they are ready with [`Pages::ready`], pages of their own with
//! [`Pages::section`]. One address may serve all of it, or metrics and sections apart.

mod pages;
mod registry;

pub use pages::{Pages, Section};
pub use registry::{Registry, Source};
