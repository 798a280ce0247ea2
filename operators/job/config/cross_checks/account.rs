//! The budget account that the tables of a job file state together, and the costs that it counts.

use super::Tables;
use crate::accounting::{BudgetUnits, Omega, PrivacyCost, Promise, ReleaseCost};
use crate::decimal::Decimal;
use crate::invalid::Invalid;
use crate::job::config::every::{self, Every};
use crate::job::config::node::{ConfigNode, TableNode};
use crate::job::config::privacy::{Accounting, BudgetSpec, Protected};
use crate::job::config::release::{CostSpec, ReleaseSpec};
use crate::job::release_plan::largest_fitting_cost;
use crate::ledger::AccountSpec;

/// Returns the budget account that all tables state together.
pub(super) fn stated(
    root: &TableNode<'_>,
    tables: &Tables<'_>,
    nodes: &[ConfigNode<'_>],
) -> Option<AccountSpec> {
    let windows = largest_window_bound(tables, nodes)?;
    let privacy = tables.privacy;
    let place = root.node("privacy")?;
    let charged = tables.releases.iter().any(ReleaseSpec::charges_delta) || !tables.asks.is_empty();
    let accounting = accounting(&place, tables)?;
    let is_zero = |part: &Decimal| part.to_f64() == 0.0;
    if charged && privacy.budget.delta_for_keys.as_ref().is_some_and(is_zero) {
        return place.descendant(&["budget", "delta_for_keys"]).conflict(
            "zero beside a release that discovers keys, a stable mean or questions",
            "a part of delta, or leave it out, which is three tenths of delta, or half with accounting = \"zcdp\"",
        );
    }
    let cap = place.descendant(&["budget"]).accept(privacy.budget.cap(accounting, charged))?;
    let promise = windows.map_or(privacy.promise, Promise::Windows);
    let stated = AccountSpec::new(privacy.account.clone(), privacy.privacy_unit.adjacency(), promise, cap);
    place.accept(stated.and_then(|account| match privacy.privacy_unit.person_identity() {
        Some(person) => account.with_person(&person),
        None => Ok(account),
    }))
}

/// Returns the accounting of the budget account: the stated one, or else Gaussian where the budget is an epsilon
/// and a delta and each release has a price in it, so that an edit of the noise does not change it. Answers to
/// questions cost less in zCDP.
fn accounting(place: &ConfigNode<'_>, tables: &Tables<'_>) -> Option<Accounting> {
    let obstacle = obstacle(&tables.privacy.budget, tables.releases);
    match (tables.privacy.accounting, obstacle) {
        (Some(_), _) if tables.privacy.budget.is_pure() => place
            .descendant(&["accounting"])
            .conflict("an accounting beside pure epsilon", "epsilon and delta, or no accounting"),
        (Some(Accounting::Gaussian), Some((found, remedy))) => {
            place.descendant(&["accounting"]).conflict(found, remedy)
        }
        (Some(stated), _) => Some(stated),
        (None, None) if tables.asks.is_empty() => Some(Accounting::Gaussian),
        (None, _) => Some(Accounting::Zcdp),
    }
}

/// Returns the reason for which a job has no Gaussian accounting, and the remedy.
pub(in crate::job::config) fn obstacle(
    budget: &BudgetSpec,
    releases: &[ReleaseSpec],
) -> Option<(&'static str, &'static str)> {
    if budget.epsilon.is_none() || budget.delta.is_none() {
        let found = "Gaussian accounting of a budget without epsilon and delta";
        return Some((found, "epsilon and delta, or no accounting"));
    }
    if budget.omega != Omega::EVERY {
        return Some(("Gaussian accounting beside an omega", "\"zcdp\", or no omega"));
    }
    let is_stable = |release: &ReleaseSpec| release.statistic.as_statistic().has_delta();
    let found = "Gaussian accounting of a stable mean, whose price is in zCDP alone";
    releases.iter().any(is_stable).then_some((found, "\"zcdp\""))
}

/// Returns the largest number of windows in which a release counts a person, if they state one; the outer
/// `None` means that the releases disagree.
///
/// A ledger has one budget account for the job: with a number of windows it holds reservations, each for all
/// windows of a release, and without one it holds the windows themselves. So either every release reserves,
/// or none does. Each reserves for its own number, and the account promises no more than the largest.
#[expect(
    clippy::option_option,
    reason = "whether there is a number, and whether the releases agree, are two things"
)]
fn largest_window_bound(tables: &Tables<'_>, nodes: &[ConfigNode<'_>]) -> Option<Option<u32>> {
    let of_windows = |release: &ReleaseSpec| release.bound.windows.filter(|_| !release.pays_once());
    let largest = tables.releases.iter().filter_map(of_windows).max();
    let Some(largest) = largest else { return Some(None) };
    let mut agree = true;
    for (node, release) in nodes.iter().zip(tables.releases) {
        let place = node.descendant(&["bound", "windows"]);
        if release.pays_once() {
            every::refuse_window_bounds(node, release);
            agree = false;
            continue;
        }
        match release.bound.windows {
            Some(_) if tables.privacy.privacy_unit == Protected::Record => {
                place.conflict::<()>(
                    "windows of a person beside unit = \"record\"",
                    "no windows: a record is in those that hold its time",
                );
                agree = false;
            }
            Some(_) if tables.privacy.promise != Promise::Lifetime => {
                let remedy = "no windows: under this promise each span of time pays for itself";
                place.conflict::<()>("windows beside a promise about spans of time", remedy);
                agree = false;
            }
            // A release that states a number is refused above.
            None if tables.privacy.promise != Promise::Lifetime
                || tables.privacy.privacy_unit == Protected::Record => {}
            // A release with a single window reserves that one.
            None if release.every == Every::All => {}
            Some(_) => {}
            None => {
                let remedy = format!(
                    "a number, such as windows = {largest}: beside a release that bounds them, each reserves its own"
                );
                place.conflict::<()>("no number of windows", remedy);
                agree = false;
            }
        }
    }
    agree.then_some(Some(largest))
}

/// Refuses a cost that the budget account cannot count, or that does not fit under its cap even once.
pub(super) fn check_cost(
    place: &ConfigNode<'_>,
    words: &CostSpec,
    windows: Option<u32>,
    account: &AccountSpec,
) -> Option<()> {
    let amount = place.accept(cost_in_account_currency(words, account))?;
    let cost = ReleaseCost::new(account.neighbours(), amount.clone());
    place.accept(account.counts(&cost))?;
    let times = windows.unwrap_or(1).into();
    if amount.times(times).is_ok_and(|all| all.within(account.cap())) {
        return Some(());
    }
    let found = match times {
        1 => "a cost above the whole budget".to_owned(),
        windows => format!("a cost of which {windows} windows are above the whole budget"),
    };
    let fits = largest_fitting_cost(words, &amount, times, account.cap());
    place.conflict(found, fits.map_or("a larger budget".to_owned(), |fits| format!("at most {{ {fits} }}")))
}

/// Returns the cost in the account's currency, rounded up.
pub(in crate::job::config) fn cost_in_account_currency(
    words: &CostSpec,
    account: &AccountSpec,
) -> Result<PrivacyCost, Invalid> {
    let delta =
        words.delta.as_ref().map_or(Ok(BudgetUnits::ZERO), |delta| BudgetUnits::at_least("delta", delta))?;
    let own = match (&words.epsilon, &words.rho) {
        (Some(epsilon), _) => PrivacyCost::Pure { epsilon: BudgetUnits::at_least("epsilon", epsilon)? },
        (None, rho) => {
            let rho = rho.as_ref().map_or(Ok(BudgetUnits::ZERO), |rho| BudgetUnits::at_least("rho", rho))?;
            account.cap().alike(rho, BudgetUnits::ZERO)
        }
    };
    // The noise has its own cost, and partition selection charges its delta beside it.
    let own = own.in_currency_of(account.cap())?;
    // The noise that is priced here satisfies zCDP at every order.
    Ok(own.rho_and_delta().map_or_else(|| own.clone(), |(rho, _)| own.alike(rho, delta)))
}
