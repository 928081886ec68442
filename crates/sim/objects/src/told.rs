//! How clients name an object, and what they are answered.

/// An object, as clients name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) type_name: String,
    pub(crate) name: String,
}

impl Object {
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.type_name, self.name.replace('/', "%2F"))
    }
}

/// What a client was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The position that it names.
    pub(crate) position: Option<u64>,
}
