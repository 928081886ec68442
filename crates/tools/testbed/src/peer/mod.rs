//! Where each system comes from: found, fetched or built once, into a folder that is kept.

pub mod concoord;
mod debian;
pub mod diwan;
pub mod etcd;
pub mod hazelcast;
pub mod kafka;
mod maven;
mod others;
mod queues;
mod rabbitmq;
mod recipes;
pub mod redis;
pub mod zookeeper;

use std::path::PathBuf;

pub use others::{LoadProgram, Others};
pub use queues::Queues;
pub use rabbitmq::Package as RabbitMq;
pub use recipes::Recipes;

/// The folder for fetched peers: beside the build's other output if this program lies in a build folder, otherwise the user's.
#[must_use]
pub fn default_cache() -> PathBuf {
    if let Ok(folder) = diwan::build_folder() {
        return folder.join("peers");
    }
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("diwan").join("lab")
}
