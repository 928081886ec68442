//! What the configuration of any service is made of: keys by two names, values as files and flags write them, and why
//! they are refused. The program defines the keys.

mod keys;
mod problem;
mod setting;
mod toml;

pub use keys::{Apply, Keys, Meaning, Names, Row};
pub use problem::{Checked, Problem};
pub use setting::Setting;
pub use toml::{TomlSetting, toml_settings};
