//! At which pace a ledger is being spent: read from its rows.

use std::collections::BTreeMap;

use rusqlite::Row as Record;

use super::forecast::{Forecast, Pace, foretell};
use super::name::Name;
use super::records::read_entry;
use super::rows::{Domain, decode};
use super::schema::before_commit;
use super::sqlite::Ledger;
use super::trouble::Trouble;
use crate::accounting::{Account, Amount, Interval, Promise};
use crate::time::LIMIT;

impl Ledger {
    /// How many more windows a domain has room for, and when the last of them ends, if every statistic goes on at its
    /// newest price and pace. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Refused`](super::TroubleKind::Refused) for an unknown domain, and if the ledger cannot be read.
    pub fn forecast(&self, domain: &Name) -> Result<Forecast, Trouble> {
        // Rows and account as one commit left them.
        let transaction = self.connection.unchecked_transaction().map_err(before_commit)?;
        let domain =
            self.domains()?.into_iter().find(|known| known.name == *domain).ok_or_else(|| {
                Trouble::refused(format!("domain {domain}: this ledger has none of that name"))
            })?;
        let mut statement = transaction
            .prepare("SELECT place, spent FROM account WHERE domain = ?1")
            .map_err(before_commit)?;
        let entries = statement
            .query_map([domain.name.as_str()], read_entry)
            .and_then(|entries| entries.collect::<Result<_, _>>())
            .map_err(before_commit)?;
        let account = Account::resume(domain.promise, domain.neighbours, domain.cap.clone(), entries)?;
        let mut rows = transaction
            .prepare(
                "SELECT job, name, window_start, window_end, cost, prepaid IS NOT NULL FROM release WHERE domain = ?1",
            )
            .map_err(before_commit)?;
        let mut seen: BTreeMap<(Name, Name), Seen> = BTreeMap::new();
        for row in rows.query_map([domain.name.as_str()], read).map_err(before_commit)? {
            let (job, name, start, end, cost, prepaid) = row.map_err(before_commit)?;
            let window = Interval::new(start, end)?;
            let cost =
                cost.map(|bytes| decode(&bytes).ok_or_else(|| Trouble::doubt("ledger: a cost that is none")));
            let key = (Name::new("job", &job)?, Name::new("release", &name)?);
            seen.entry(key).or_default().row(window, cost.transpose()?, prepaid);
        }
        let paces = seen.into_iter().filter_map(|(key, seen)| seen.pace(key, &domain)).collect();
        foretell(&domain, account, paces)
    }
}

type Columns = (String, String, i64, i64, Option<Vec<u8>>, bool);

fn read(row: &Record<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

/// The newest of a statistic's rows.
#[derive(Debug, Default)]
struct Seen {
    /// The newest window, whatever became of it.
    newest: Option<Interval>,
    /// The newest that starts before it.
    before: Option<Interval>,
    /// The newest window that was paid for, and how: by a charge, or by an earlier one.
    paid: Option<(Interval, Option<Amount>)>,
}

impl Seen {
    fn row(&mut self, window: Interval, cost: Option<Amount>, prepaid: bool) {
        // What lasts for ever has no next one.
        if window.end() > LIMIT {
            return;
        }
        let order = |window: Interval| (window.start(), window.end());
        match self.newest {
            Some(newest) if window.start() == newest.start() || order(window) < order(newest) => {
                if window.start() < newest.start()
                    && self.before.is_none_or(|before| order(before) < order(window))
                {
                    self.before = Some(window);
                } else if window.start() == newest.start() && window.end() > newest.end() {
                    self.newest = Some(window);
                }
            }
            newest => (self.before, self.newest) = (newest, Some(window)),
        }
        let newer = self.paid.as_ref().is_none_or(|(paid, _)| order(*paid) <= order(window));
        if (cost.is_some() || prepaid) && newer {
            self.paid = Some((window, cost));
        }
    }

    /// `None` where nothing was paid yet.
    fn pace(self, (job, release): (Name, Name), domain: &Domain) -> Option<Pace> {
        let (newest, (_, price)) = (self.newest?, self.paid?);
        // A window without one before it is taken to be followed at once.
        let before = self.before.map_or(i128::from(newest.end()), |_| i128::from(newest.start()));
        let since = self.before.unwrap_or(newest).start();
        // Above zero: a window is not empty, and the one before starts earlier. Below 2^64, as all times are.
        let step = (before - i128::from(since)) as u64;
        let shifted = |time: i64| i64::try_from(i128::from(time) + i128::from(step)).ok();
        let next = Interval::new(shifted(newest.start())?, shifted(newest.end())?).ok()?;
        // A statistic that counts so many windows of a person has paid for all of them with its first.
        let price = if let Promise::Windows(_) = domain.promise { None } else { price };
        Some(Pace { job, release, next, step, price })
    }
}
