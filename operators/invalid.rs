//! The refusal of a parameter: the field, the kind of value that was found there, and the value to give
//! instead.
//!
//! Parameters are public (they come from configuration and code, never from a record), so the message may
//! name their kind. It still never repeats a long text: the found value is described, not quoted.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

/// The refusal of a parameter.
///
/// Programs branch on [`Invalid::kind`] and [`Invalid::field`]; people read the `Display` form, which also
/// names the remedy, as in `sigma: found NaN; give a number above 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    field: Cow<'static, str>,
    kind: InvalidKind,
    remedy: Cow<'static, str>,
    /// The value that was found, where the words of its kind say too little.
    found: Option<&'static str>,
}

/// The kind of value that was found in the refused field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidKind {
    /// The number zero, where only positive numbers are meaningful.
    Zero,
    /// A number below zero.
    Negative,
    /// Not a number, NaN.
    Nan,
    /// Positive or negative infinity.
    Infinite,
    /// A float so close to zero that it has lost precision.
    Subnormal,
    /// A number above the stated limit.
    TooLarge,
    /// A number below the stated limit.
    TooSmall,
    /// An arithmetic result that does not fit its type.
    Overflow,
    /// Text outside of the stated grammar.
    Malformed,
    /// Nothing, where a value is needed.
    Missing,
    /// An empty list.
    Empty,
    /// Two values that must not be combined, such as two privacy units.
    Mixed,
}

impl InvalidKind {
    pub(crate) fn found(self) -> &'static str {
        match self {
            InvalidKind::Zero => "zero",
            InvalidKind::Negative => "a negative number",
            InvalidKind::Nan => "NaN",
            InvalidKind::Infinite => "an infinite number",
            InvalidKind::Subnormal => "a subnormal number",
            InvalidKind::TooLarge => "a number that is too large",
            InvalidKind::TooSmall => "a number that is too small",
            InvalidKind::Overflow => "numbers whose result overflows",
            InvalidKind::Malformed => "text that is not understood",
            InvalidKind::Missing => "nothing",
            InvalidKind::Empty => "an empty list",
            InvalidKind::Mixed => "things that must not be mixed",
        }
    }
}

impl Invalid {
    /// Creates a refusal of `field`, in which `kind` was found; `remedy` completes "give ...".
    pub(crate) fn new(
        field: impl Into<Cow<'static, str>>,
        kind: InvalidKind,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Invalid { field: field.into(), kind, remedy: remedy.into(), found: None }
    }

    /// Describes the value that was found in other words than those of its kind.
    pub(crate) fn with_found(self, found: &'static str) -> Self {
        Invalid { found: Some(found), ..self }
    }

    /// Returns the description of the value that was found.
    pub(crate) fn found(&self) -> &'static str {
        self.found.unwrap_or_else(|| self.kind.found())
    }

    /// Returns the name of the refused parameter.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the kind of the value that was found.
    pub fn kind(&self) -> InvalidKind {
        self.kind
    }

    /// Returns the value to give instead, with the limits.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}; give {}", self.field, self.found(), self.remedy)
    }
}

impl std::error::Error for Invalid {}

/// Allows a parameter that is already of its type in the place of one that is still to be read.
impl From<Infallible> for Invalid {
    fn from(never: Infallible) -> Invalid {
        match never {}
    }
}

/// Describes the error with which the opening of a file failed.
#[cfg(feature = "cli")]
pub(crate) fn found_by(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::IsADirectory => "a directory".to_owned(),
        ErrorKind::NotADirectory => "a file where its path has a directory".to_owned(),
        ErrorKind::PermissionDenied => "a file that this user may not open".to_owned(),
        ErrorKind::InvalidData => "bytes that are no UTF-8 text".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "a disk that is mounted for reading alone".to_owned(),
        kind => format!("an error of the system ({kind})"),
    }
}

/// Accepts a finite float above zero that is not subnormal; every other value is refused as its own kind.
pub(crate) fn positive(field: &'static str, value: f64) -> Result<f64, Invalid> {
    let kind = if value.is_nan() {
        InvalidKind::Nan
    } else if value == 0.0 {
        InvalidKind::Zero
    } else if value < 0.0 {
        InvalidKind::Negative
    } else if value.is_infinite() {
        InvalidKind::Infinite
    } else if value.is_subnormal() {
        InvalidKind::Subnormal
    } else {
        return Ok(value);
    };
    Err(Invalid::new(field, kind, "a number above 0"))
}
