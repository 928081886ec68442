//! What a configuration's text means for its type.

use crate::java_double;

/// What a text means.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of type boolean.
    Boolean(bool),
    /// Of type int, short or long.
    Whole(i64),
    /// Of type double.
    Double(f64),
    /// Of type string, class or password.
    Text(String),
    /// Of type list.
    List(Vec<String>),
}

/// As DescribeConfigs shows it.
impl core::fmt::Display for Value {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Boolean(value) => write!(out, "{value}"),
            Self::Whole(value) => write!(out, "{value}"),
            Self::Double(value) => out.write_str(&java_double::write(*value)),
            Self::Text(value) => out.write_str(value),
            Self::List(values) => out.write_str(&values.join(",")),
        }
    }
}
