//! From records of people to what may be released: protect, window, bound, count.

pub mod bounding;
