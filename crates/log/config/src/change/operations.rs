//! The operations of IncrementalAlterConfigs on what is set: set, delete, append, subtract.
//!
//! Append and subtract work on the text as it was written: its pieces between commas, space included. So they do in Kafka.

use log_wire::messages::configs::IncrementalAlterableConfig;

use crate::definition::ValueType;
use crate::layers::Overrides;
use crate::refusal::Refusal;

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets the value.
    Set,
    /// Makes it unset.
    Delete,
    /// Adds elements to a list.
    Append,
    /// Takes elements from a list.
    Subtract,
}

impl Operation {
    pub(super) const DELETE: i8 = 1;

    /// By its number in a request.
    #[must_use]
    pub const fn of(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Set),
            Self::DELETE => Some(Self::Delete),
            2 => Some(Self::Append),
            3 => Some(Self::Subtract),
            _ => None,
        }
    }

    pub(super) const fn is_known(number: i8) -> bool {
        Self::of(number).is_some()
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Append => "append",
            Self::Subtract => "subtract",
        }
    }
}

/// Makes the changes. `in_force` gives the value that elements are added to where the resource does not set it itself.
///
/// # Errors
/// `INVALID_CONFIG`: elements are added to what is no list.
pub(super) fn apply(
    current: &Overrides,
    changes: &[IncrementalAlterableConfig],
    type_of: impl Fn(&str) -> ValueType,
    in_force: impl Fn(&str) -> String,
) -> Result<Overrides, Refusal> {
    for change in changes {
        match Operation::of(change.config_operation) {
            Some(operation @ (Operation::Append | Operation::Subtract))
                if type_of(&change.name) != ValueType::List =>
            {
                let (operation, name) = (operation.name(), &change.name);
                return Err(Refusal::config(format!("`{name}` is no list: it takes no {operation}")));
            }
            _ => {}
        }
    }
    let mut set = current.clone();
    for change in changes {
        let value = change.value.as_deref().unwrap_or_default();
        let before = || current.get(&change.name).cloned().unwrap_or_else(|| in_force(&change.name));
        let after = match Operation::of(change.config_operation) {
            Some(Operation::Set) => value.into(),
            Some(Operation::Append) => append(&before(), value),
            Some(Operation::Subtract) => subtract(&before(), value),
            Some(Operation::Delete) | None => {
                set.remove(&change.name);
                continue;
            }
        };
        set.insert(change.name.clone(), after);
    }
    Ok(set)
}

fn append(before: &str, more: &str) -> String {
    let mut pieces: Vec<&str> = pieces(before).collect();
    for piece in more.split(',') {
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    pieces.join(",")
}

fn subtract(before: &str, less: &str) -> String {
    let kept: Vec<&str> =
        pieces(before).filter(|piece| !less.split(',').any(|taken| taken == *piece)).collect();
    kept.join(",")
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_added_and_taken_as_they_are_written() {
        assert_eq!(append("delete", "compact"), "delete,compact");
        assert_eq!(append("delete", "compact,delete"), "delete,compact");
        assert_eq!(append("", "delete"), "delete");
        assert_eq!(append("delete", ""), "delete,");
        assert_eq!(append(" delete", "delete"), " delete,delete");
        assert_eq!(subtract("delete,compact", "compact, delete"), "delete");
        assert_eq!(subtract("delete,delete", "delete"), "");
        assert_eq!(subtract("", "delete"), "");
    }
}
