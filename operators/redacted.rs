//! `Debug` of values that hold records of people, or tallies of them.

/// Implements `Debug` as `<private>`: neither a log nor a panic may show such a value. Generic parameters
/// come first, in brackets.
macro_rules! redacted {
    ([$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("<private>")
            }
        }
    };
    ($type:ty) => {
        redacted!([] $type);
    };
}
