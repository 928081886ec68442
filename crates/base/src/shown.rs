//! How ids, numbers, terms and indexes are shown.

/// They are shown as the bare number, also by `{:?}`.
macro_rules! shown_as_number {
    ($($name:ident),+) => {$(
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }
    )+};
}

pub(crate) use shown_as_number;
