//! Steps in the wrong order, to which the compiler answers with the step that is missing.
//!
//! Each method stands where its step would come too early. None of them can be called: nothing implements the condition, whose
//! message the compiler prints. Each returns what the step would return, so that the rest of a pipeline has no errors of its own.

use std::io;

use ndarray::Array1;

use super::aggregation::{CountingByKey, GroupingKey};
use super::bounded::Bounded;
use super::protect::{DistinctRecords, Private, Unplaced};
use super::tallied::Tallied;
use super::unit::{People, ProtectedUnit};
use super::vector_mean::MeanOf;
use super::window::Windowed;
use crate::dataflow::driver::Fed;
use crate::dataflow::release::{Release, Releases};
use crate::gate::Gate;
use crate::mechanisms::Bound;
use crate::time::Time;

/// Defines a condition that nothing meets, with the message of the compiler.
macro_rules! missing {
    ($name:ident, $message:literal, $label:literal) => {
        #[diagnostic::on_unimplemented(message = $message, label = $label)]
        pub trait $name: Sized {
            /// Nothing returns from here.
            fn never<R>(self) -> R;
        }
    };
}

missing!(
    IsProtected,
    "`protect` is missing: whose a record is must be stated before windows are",
    "call `.protect(|record| person)` first, or `.protect_each()` to protect single records"
);
missing!(
    HasWindows,
    "windows are missing: a contribution bound holds for a window",
    "call `.tumbling(size, |record| time)` first, or `.sliding(..)`, `.windows(..)`, `.whole(..)`"
);
missing!(
    HasPeriod,
    "`from` or `between` is missing: which windows exist must be stated before anything is bounded",
    "call `.between(from, until)` first, or `.from(start)` for a stream that goes on"
);
missing!(
    IsBounded,
    "`bound` is missing: how much one person can matter must be stated before a statistic is",
    "call `.bound(Bound::keys(1))` first, or `.one_by_one()` where single records are protected"
);
missing!(
    HasStatistic,
    "a statistic is missing: a bounded stream by itself is not released",
    "call `.count()` first, or `.people_by(..)`, `.sum(..)`, `.mean(..)`, `.max(..)` or another statistic"
);
missing!(
    HasRanges,
    "`within` is missing: what bounds the vectors must be stated before their mean is released",
    "call `.within(ranges)` first, or `.over(domain)`, `.found_within(ranges)`, `.stable(sides)`"
);
missing!(
    IsReleased,
    "`release` is missing: a statistic is delivered once it has noise and is paid for",
    "call `.release(&gate, name, mechanism)` first"
);

/// The key and the value of a count of everything.
type Whole<D> = fn(&D);

/// A person of a stream that is not protected.
type Nobody<D> = People<u64, fn(&D) -> u64, DistinctRecords>;

#[doc(hidden)]
impl<'scope, D: crate::dataflow::Travels + Clone> Fed<'scope, D> {
    pub fn tumbling<S, T>(self, _: S, _: T) -> Unplaced<'scope, D, Nobody<D>, T>
    where
        Self: IsProtected,
    {
        self.never()
    }

    pub fn sliding<S, P, T>(self, _: S, _: P, _: T) -> Unplaced<'scope, D, Nobody<D>, T>
    where
        Self: IsProtected,
    {
        self.never()
    }
}

#[doc(hidden)]
impl<'scope, D, U: ProtectedUnit<D>> Private<'scope, D, U> {
    pub fn bound(self, _: Bound) -> Bounded<'scope, D, U, fn(&D) -> Time>
    where
        Self: HasWindows,
    {
        self.never()
    }
}

#[doc(hidden)]
impl<'scope, D, U: ProtectedUnit<D>, T> Unplaced<'scope, D, U, T> {
    pub fn bound(self, _: Bound) -> Bounded<'scope, D, U, T>
    where
        Self: HasPeriod,
    {
        self.never()
    }
}

/// Defines statistics by key before a bound.
macro_rules! by_key {
    ($($name:ident),*) => {$(
        pub fn $name<K: GroupingKey, G: Fn(&D) -> K, Y>(
            self,
            _: G,
            _: Y,
        ) -> Tallied<'scope, D, U, T, CountingByKey<K>, G, Whole<D>>
        where
            Self: IsBounded,
        {
            self.never()
        }
    )*};
}

#[doc(hidden)]
impl<'scope, D, U: ProtectedUnit<D>, T> Windowed<'scope, D, U, T> {
    pub fn count(self) -> Tallied<'scope, D, U, T, CountingByKey<()>, Whole<D>, Whole<D>>
    where
        Self: IsBounded,
    {
        self.never()
    }

    by_key!(count_by, people_by);
}

#[doc(hidden)]
impl<'scope, D, U: ProtectedUnit<D>, T> Bounded<'scope, D, U, T> {
    pub fn release<X>(self, _: &Gate, _: &str, _: X) -> Releases<'scope, (), i128>
    where
        Self: HasStatistic,
    {
        self.never()
    }
}

#[doc(hidden)]
impl<'scope, D, U: ProtectedUnit<D>, T, K, G, V> MeanOf<'scope, D, U, T, K, G, V> {
    pub fn release<X>(self, _: &Gate, _: &str, _: X) -> Releases<'scope, K, Array1<f64>>
    where
        Self: HasRanges,
    {
        self.never()
    }
}

#[doc(hidden)]
impl<D, U: ProtectedUnit<D>, T, Q, G, V> Tallied<'_, D, U, T, Q, G, V> {
    pub fn deliver(self, _: impl FnMut(&Release<(), i128>) -> io::Result<()>)
    where
        Self: IsReleased,
    {
        self.never()
    }
}
