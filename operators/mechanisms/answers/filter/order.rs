//! The order of a filter's steps: one for each meaning that parentheses do not change.

use super::FilterStep;

/// What joins two conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// Steps in postfix order, as conditions are read.
///
/// A condition that is joined to others by one word is a chain: the first, then each of the others with its join behind it.
/// `a and (b and c)` is the chain of `a and b and c`, and what is denied twice is not denied.
#[derive(Debug, Default)]
pub(super) struct PostfixOrder {
    steps: Vec<FilterStep>,
    /// The conditions that are not joined yet.
    conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug)]
struct Condition {
    /// How it is joined, if it is a chain, whether or not it is denied.
    join: Option<Join>,
    /// Where it begins.
    begins: usize,
    /// Where its first part ends, if it is a chain.
    first: usize,
    denied: bool,
}

impl PostfixOrder {
    /// A condition by itself.
    pub(super) fn add(&mut self, step: FilterStep) {
        let begins = self.steps.len();
        self.conditions.push(Condition { join: None, begins, first: begins, denied: false });
        self.steps.push(step);
    }

    /// Denies the last condition.
    pub(super) fn deny(&mut self) {
        let Some(last) = self.conditions.last_mut() else { return };
        last.denied = !last.denied;
        match last.denied {
            true => self.steps.push(FilterStep::Not),
            false => drop(self.steps.pop()),
        }
    }

    /// Joins the last two conditions.
    pub(super) fn join(&mut self, join: Join) {
        let Some(right) = self.conditions.pop() else { return };
        let Some(left) = self.conditions.last_mut() else { return };
        let chain = |condition: &Condition| condition.join == Some(join) && !condition.denied;
        let step = match join {
            Join::And => FilterStep::And,
            Join::Or => FilterStep::Or,
        };
        // The right one's own joins stay behind its other parts.
        let place = if chain(&right) { right.first } else { self.steps.len() };
        if !chain(left) {
            // It is the first part as a whole.
            *left = Condition { join: Some(join), begins: left.begins, first: right.begins, denied: false };
        }
        self.steps.insert(place, step);
    }

    /// All steps.
    pub(super) fn finish(self) -> Vec<FilterStep> {
        self.steps
    }
}
