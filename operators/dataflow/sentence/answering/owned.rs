//! How a record is held where each person's are settled by themselves, whenever one of them changes.

use crate::dataflow::bounding::{Cap, ContributionSelector, Rule, Values, held, share};
use crate::dataflow::engine::Travels;
use crate::dataflow::sentence::naming::{Changing, Named, Naming, Once, Unnamed};
use crate::dataflow::sentence::unit::{People, Person, ProtectedUnit, Records};
use crate::mechanisms::answers::QueryRow;
use crate::time::Time;

/// Records that questions can be asked of.
pub trait Owned<D>: ProtectedUnit<D> {
    /// Whose records count together: a person's, or one record's.
    type Owner: Ord + Clone + 'static;
    /// A record of theirs.
    type Held: Ord + Clone + 'static;
    /// Whether a record may be taken back.
    const TAKES_BACK: bool;

    /// A record with its owner. What tells records apart is the same in all windows; what is kept is chosen `within` one
    /// where they lie side by side.
    fn own(
        &self,
        chooser: &ContributionSelector,
        within: &ContributionSelector,
        item: &Self::Item,
        time: Time,
        row: QueryRow,
    ) -> (Self::Owner, Self::Held);

    /// What counts of all that one owner has, each with its copies.
    fn count<'a>(
        cap: Cap,
        owner: &Self::Owner,
        held: impl Iterator<Item = (&'a Self::Held, isize)>,
    ) -> Vec<QueryRow>
    where
        Self::Held: 'a;
}

/// Whether records that are told apart in this way may be taken back.
pub trait TakesBack {
    /// Whether they may.
    const TAKES_BACK: bool;
}

impl TakesBack for Unnamed {
    const TAKES_BACK: bool = false;
}

impl<I, G> TakesBack for Named<I, G> {
    const TAKES_BACK: bool = false;
}

impl TakesBack for Once {
    const TAKES_BACK: bool = false;
}

impl TakesBack for Changing {
    const TAKES_BACK: bool = true;
}

type RowsRule<D, N> = <N as Naming<D>>::Rule<Values<QueryRow>>;

impl<D, P, F, N> Owned<D> for People<P, F, N>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: Naming<D> + TakesBack,
    RowsRule<D, N>: Rule<Held: Ord + 'static>,
{
    type Owner = P;
    type Held = <RowsRule<D, N> as Rule>::Held;
    const TAKES_BACK: bool = N::TAKES_BACK;

    fn own(
        &self,
        chooser: &ContributionSelector,
        within: &ContributionSelector,
        item: &N::Item,
        time: Time,
        row: QueryRow,
    ) -> (P, Self::Held) {
        let person = (self.person)(N::record(item));
        let value = self.naming.bring::<Values<QueryRow>>(chooser, item, time, row);
        let held = held(&N::rule(&Values::new()), within, &person, value);
        (person, held)
    }

    fn count<'a>(cap: Cap, _: &P, held: impl Iterator<Item = (&'a Self::Held, isize)>) -> Vec<QueryRow>
    where
        Self::Held: 'a,
    {
        // What counts is at most the cap, but changes of one record, which are added up, may be any number.
        let copies = held.flat_map(|(held, copies)| std::iter::repeat_n(held, copies.max(0).unsigned_abs()));
        share(&N::rule(&Values::new()), cap, copies.cloned()).unwrap_or_default().into_vec()
    }
}

/// Each record counts by itself.
impl<D: Travels + Clone> Owned<D> for Records {
    type Owner = QueryRow;
    type Held = ();
    const TAKES_BACK: bool = false;

    fn own(
        &self,
        _: &ContributionSelector,
        _: &ContributionSelector,
        _: &D,
        _: Time,
        row: QueryRow,
    ) -> (QueryRow, ()) {
        (row, ())
    }

    fn count<'a>(_: Cap, row: &QueryRow, held: impl Iterator<Item = (&'a (), isize)>) -> Vec<QueryRow> {
        let copies: isize = held.map(|(_, copies)| copies).sum();
        vec![row.clone(); copies.max(0).unsigned_abs()]
    }
}
