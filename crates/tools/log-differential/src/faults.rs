//! Faults of ours that are known and still open: the differences that are not on purpose and not mended yet.
//!
//! Each is taken out when it is mended; a run of all scenes that does not meet one any more says so. The worst come first.

use crate::difference::Difference;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What is wrong.
    pub what: &'static str,
    /// The kinds of differences that it shows as, by how their text begins.
    pub kinds: &'static [&'static str],
}

/// All of them: none is known.
pub const OPEN: &[Fault] = &[];

/// The one of these faults that a difference belongs to.
#[must_use]
pub fn of(faults: &[Fault], difference: &Difference) -> Option<&'static str> {
    let kind = difference.kind();
    let is_it = |fault: &&Fault| fault.kinds.iter().any(|start| kind.starts_with(start));
    faults.iter().find(is_it).map(|fault| fault.what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn difference_belongs_to_the_first_fault_whose_kind_begins_its_text() {
        let faults = [
            Fault { what: "one", kinds: &["Fetch Responses[].Topic"] },
            Fault { what: "two", kinds: &["Produce", "Fetch Responses"] },
        ];
        let field = String::from("Responses[].Topic");
        let difference = |api: &str| Difference {
            api: api.into(),
            version: 4,
            field: field.clone(),
            kafka: json!(1),
            ours: json!(2),
        };
        assert_eq!(of(&faults, &difference("Fetch")), Some("one"));
        assert_eq!(of(&faults, &difference("Produce")), Some("two"));
        assert_eq!(of(&faults, &difference("Metadata")), None);
    }
}
