//! `KEY=VALUE` on a command line.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    key: String,
    value: String,
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().into(), value: value.into() })
            }
            _ => Err("expected KEY=VALUE"),
        }
    }
}

/// All of them; the last of a key counts.
pub(super) fn pairs(settings: &[Setting]) -> BTreeMap<String, String> {
    settings.iter().map(|Setting { key, value }| (key.clone(), value.clone())).collect()
}

/// All of them in their order.
pub(super) fn list(settings: &[Setting]) -> Vec<(String, Vec<u8>)> {
    settings.iter().map(|Setting { key, value }| (key.clone(), value.clone().into_bytes())).collect()
}
