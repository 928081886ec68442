//! Tells the crate when it was built, in the form that ZooKeeper's version line has.

use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let seconds =
        std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
        });
    println!("cargo::rustc-env=DIWAN_BUILT_SECONDS={seconds}");
}
