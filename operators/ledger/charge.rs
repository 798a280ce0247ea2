//! The one place where budget is spent: inside the transaction that writes what it is spent on.

use rusqlite::{Connection, params};

use super::canonical::Digest;
use super::lines;
use super::name::Name;
use super::records::{amended_domain, find, read_entry};
use super::rows::{Charge, Domain, Fate, Release, Row, encode};
use super::schema::before_commit;
use super::sqlite::{Claim, Sealing};
use super::trouble::Trouble;
use crate::accounting::{Account, Interval, Refused};

/// The row that this release gets, with its charge made: sealed as asked if it fits, refused if not.
pub(super) fn charged(connection: &Connection, claim: &Claim, sealing: &Sealing) -> Result<Row, Trouble> {
    let release = &sealing.release;
    if release.job != *claim.job() {
        let message = format!("job {}: the claim is for {}", release.job, claim.job());
        return Err(Trouble::refused(message));
    }
    let domain = amended_domain(connection, &release.domain).map_err(before_commit)?;
    let domain = domain.ok_or_else(|| unknown_domain(&release.domain))?;
    let mut row = Row {
        sequence: 0,
        release: release.clone(),
        generation: claim.generation(),
        fate: sealing.fate,
        cost: None,
        prepaid: None,
        line: sealing.line.clone(),
        delivered: false,
        chain: Digest::NONE,
    };
    let cost = match (sealing.fate, &sealing.charge) {
        (Fate::Skipped, _) => return Ok(row),
        (Fate::Sealed | Fate::Lost, Some(Charge::Cost(cost))) => cost,
        (Fate::Sealed | Fate::Lost, Some(Charge::Prepaid { by })) => {
            row.prepaid = Some(reservation(connection, release, by)?);
            return Ok(row);
        }
        (Fate::Sealed | Fate::Lost, None) | (Fate::Refused, _) => {
            let message =
                "charge: found nothing; give a cost, or what was reserved: nothing is released for free";
            return Err(Trouble::refused(message));
        }
    };
    let mut account = fetch(connection, &domain, release.window)?;
    let before = account.entries();
    match account.charge(release.window, cost) {
        Ok(()) => {
            row.cost = Some(cost.amount().in_currency_of(&domain.cap)?);
            for (place, spent) in
                account.entries().iter().filter(|(place, spent)| before.get(place) != Some(spent))
            {
                let mut statement = connection
                    .prepare_cached(
                        "INSERT INTO account VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET spent = excluded.spent",
                    )
                    .map_err(before_commit)?;
                statement
                    .execute(params![domain.name.as_str(), place, encode(spent)])
                    .map_err(before_commit)?;
            }
        }
        Err(Refused::Budget { spent, asked, limit }) => {
            row.fate = Fate::Refused;
            row.line = lines::refusal(release, &spent, &asked, &limit);
        }
        Err(Refused::Uncountable(invalid)) => return Err(invalid.into()),
    }
    Ok(row)
}

/// The name of a row that pays for `release` too: of the same statistic, with a charge of its own.
fn reservation(connection: &Connection, release: &Release, by: &Release) -> Result<Digest, Trouble> {
    let alike = Release { window: release.window, ..by.clone() } == *release;
    let row = find(connection, by).map_err(before_commit)?;
    if alike && row.is_some_and(|row| row.cost.is_some()) {
        return Ok(by.id());
    }
    Err(Trouble::refused("charge: found a reservation that was never paid for, or is another statistic's"))
}

/// As much of a domain's account as a charge for the window can touch.
pub(super) fn fetch(connection: &Connection, domain: &Domain, window: Interval) -> Result<Account, Trouble> {
    let empty = Account::new(domain.promise, domain.neighbours, domain.cap.clone())?;
    let (floors, range) = empty.places(window);
    let mut statement = connection
        .prepare_cached(
            "SELECT place, spent FROM (SELECT * FROM account WHERE domain = ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1)
             UNION SELECT place, spent FROM (SELECT * FROM account WHERE domain = ?1 AND place <= ?3 ORDER BY place DESC LIMIT 1)
             UNION SELECT place, spent FROM account WHERE domain = ?1 AND place BETWEEN ?4 AND ?5",
        )
        .map_err(before_commit)?;
    let entries = statement
        .query_map(
            params![domain.name.as_str(), floors[0], floors[1], range.start(), range.end()],
            read_entry,
        )
        .and_then(|entries| entries.collect::<Result<_, _>>())
        .map_err(before_commit)?;
    Ok(Account::resume(domain.promise, domain.neighbours, domain.cap.clone(), entries)?)
}

pub(super) fn unknown_domain(name: &Name) -> Trouble {
    Trouble::refused(format!(
        "domain {name}: this ledger has none of that name; state it with `discreet ledger init`"
    ))
}
