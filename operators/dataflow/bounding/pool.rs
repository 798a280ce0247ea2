//! Tables that are used again: 4 MB of fresh pages a window cost more than the counting.

use super::cap::Cap;
use super::chooser::Chooser;
use super::identity::Identity;
use super::rule::Rule;
use super::table::Table;

/// Empty tables of one kind, with the memory of the windows before. It never shrinks, so that memory is that of the
/// largest windows that were open together.
#[derive(Debug)]
pub struct Pool<P, K, R: Rule> {
    cap: Cap,
    rule: R,
    free: Vec<Table<P, K, R>>,
}

impl<P, K, R> Pool<P, K, R>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: Rule,
{
    /// No table yet.
    pub fn new(cap: Cap, rule: R) -> Pool<P, K, R> {
        Pool { cap, rule, free: Vec::new() }
    }

    /// An empty table.
    pub fn take(&mut self, chooser: Chooser) -> Table<P, K, R> {
        match self.free.pop() {
            Some(mut table) => {
                table.choose_by(chooser);
                table
            }
            None => Table::new(chooser, self.cap, self.rule.clone()),
        }
    }

    /// Takes back a table that it gave.
    pub fn give_back(&mut self, mut table: Table<P, K, R>) {
        table.clear();
        self.free.push(table);
    }

    /// How much memory waits here, in bytes.
    pub fn bytes(&self) -> usize {
        self.free.iter().map(Table::bytes).sum()
    }
}
