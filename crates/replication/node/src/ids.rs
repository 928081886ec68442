//! The number that a controller is known by.

/// A controller that the node is or was connected to. The owner numbers them: by connections, or by processes of controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(pub u64);
