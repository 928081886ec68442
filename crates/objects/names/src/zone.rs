//! The zone: the name below which everything is served.

use hickory_proto::rr::Name;

/// What is left of the longest name for those below the zone.
const TEXT_BYTES_MAX: usize = 120;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: Name,
    text: String,
}

/// A text that is no zone's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadZone;

impl core::fmt::Display for BadZone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a zone has labels of letters, digits and hyphens, and {TEXT_BYTES_MAX} bytes at the most")
    }
}

impl core::error::Error for BadZone {}

impl Zone {
    /// The zone of that name, with or without the dot at the end.
    ///
    /// # Errors
    /// It is no name of hosts, or too long.
    pub fn new(text: &str) -> Result<Self, BadZone> {
        let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_plain);
        if text.len() > TEXT_BYTES_MAX || !text.split('.').all(is_label) {
            return Err(BadZone);
        }
        let name = from_labels(text.split('.').map(str::as_bytes)).ok_or(BadZone)?;
        Ok(Self { name, text })
    }

    /// Its name in lower case, without the dot at the end. The object of type `names` of this name holds its records.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// The labels of a name before those of the zone; nothing if it is outside.
    pub(crate) fn inside<'a>(&self, name: &'a Name) -> Option<Vec<&'a [u8]>> {
        let mut labels: Vec<&[u8]> = name.iter().collect();
        let behind = labels.split_off(labels.len().checked_sub(self.name.iter().count())?);
        let is_own =
            behind.into_iter().zip(self.name.iter()).all(|(label, own)| label.eq_ignore_ascii_case(own));
        is_own.then_some(labels)
    }

    /// A name of the zone.
    pub(crate) fn below<'a>(&'a self, labels: impl IntoIterator<Item = &'a [u8]>) -> Option<Name> {
        from_labels(labels.into_iter().chain(self.name.iter()))
    }

    /// The name that a user means by a text: one label is a name of this zone, and so is what ends with its name.
    /// Everything else is a whole name.
    pub(crate) fn target(&self, text: &str) -> Option<Name> {
        let is_whole = text.ends_with('.');
        let text = text.strip_suffix('.').unwrap_or(text);
        let labels = text.split('.').map(str::as_bytes);
        if is_whole || text.contains('.') { from_labels(labels) } else { self.below(labels) }
    }
}

fn from_labels<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Option<Name> {
    Name::from_labels(labels).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_is_a_name_of_hosts() {
        assert_eq!(Zone::new("Diwan.Internal.").map(|zone| zone.text), Ok(String::from("diwan.internal")));
        let long = ["a".repeat(63), "b".repeat(63)].join(".");
        for bad in ["", ".", "a..b", "a b", "a\0", "\u{e9}", &"a".repeat(64), &long] {
            assert_eq!(Zone::new(bad), Err(BadZone), "{bad:?}");
        }
    }

    #[test]
    fn target_is_relative_only_with_one_label() {
        let zone = Zone::new("x.y").expect("a zone");
        let target = |text: &str| zone.target(text).map(|name| name.to_ascii());
        assert_eq!(target("db").as_deref(), Some("db.x.y."));
        assert_eq!(target("db.").as_deref(), Some("db."));
        assert_eq!(target("db.x.y").as_deref(), Some("db.x.y."));
        assert_eq!(target("example.com").as_deref(), Some("example.com."));
        assert_eq!(target(""), None);
        assert_eq!(target("a..b"), None);
        assert_eq!(target(&"a".repeat(64)), None);
    }
}
