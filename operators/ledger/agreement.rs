//! The terms of each version of a release, as they were when the ledger first kept something of it.
//!
//! They are recorded in the commit of the first row or resume position after the version was opened: a run that ends
//! before has read nothing that another could rely on, and its version may be edited.
//!
//! This is bookkeeping, and no link of the chain. It guards against a mistake: parameters that were changed
//! under a version that has released already. Each release is compared by itself: a job may add, remove or
//! change one, in a version of its own, and the others go on. Editing it gains nothing: an extra row refuses a job, a missing
//! row lets a change through, and changed parameters give releases other ids, each charged for separately,
//! whatever these rows hold. So a repair keeps the rows that can be read, and nothing recomputes them.
//!
//! The rows hold the fields that the hash was made of, by name, so that a refusal can name the field that
//! changed. They are configuration, and public.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;

use super::book::Ledger;
use super::charge::{keeper, last_repair};
use super::error::LedgerError;
use super::name::Name;
use super::records::encode;
use super::records::{digest, name, number};
use super::seal::Claim;
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use crate::accounting::ReleaseCost;
use crate::canonical::{Canonical, Digest};
use crate::time::Time;

/// The terms that bind a version of a release: a hash of all of them, and their fields by name.
///
/// The hash decides; the fields explain a refusal. Terms made from a digest alone have no named fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionTerms {
    digest: Digest,
    fields: VersionFields,
    causes: Vec<FieldCause>,
}

/// The cause of a change of a field that the job file does not state there, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldCause {
    field: &'static str,
    was: String,
    cause: String,
    remedy: String,
    /// True if a new version is no remedy.
    alone: bool,
}

/// Fields by name, each with its value.
type VersionFields = BTreeMap<String, String>;

/// The length above which a value is stored as its hash: a list of keys may have a hundred thousand.
const LONGEST: usize = 200;

/// The value of a field that is not stated, in a refusal.
const NOTHING: &str = "nothing";

impl VersionTerms {
    /// Creates terms that bind nothing yet.
    pub(crate) fn new() -> VersionTerms {
        VersionTerms { digest: Digest::NONE, fields: VersionFields::new(), causes: Vec::new() }
    }

    /// Binds a field to its value.
    #[must_use]
    pub(crate) fn binding(self, field: &str, value: impl Display) -> VersionTerms {
        let value = value.to_string();
        let digest = Canonical::new("discreet term 1").digest(&self.digest).text(field).text(&value).finish();
        VersionTerms { digest, ..self }.showing(field, value)
    }

    /// Binds a hash, and by it everything that it was made of, under a name.
    #[must_use]
    pub(crate) fn binding_all(self, what: &str, of: &Digest) -> VersionTerms {
        let digest = Canonical::new("discreet terms 1").digest(&self.digest).text(what).digest(of).finish();
        VersionTerms { digest, ..self }
    }

    /// Binds a cost that is charged once for all windows.
    #[must_use]
    pub(crate) fn binding_cost(self, cost: &ReleaseCost) -> VersionTerms {
        // A currency that no ledger counts is refused before it is charged.
        let bytes = encode(cost.amount()).unwrap_or_default();
        self.binding_all("cost", &Digest::of(&bytes))
    }

    /// Binds the cost of a part of a privacy unit's records in a window, if it is known.
    #[must_use]
    pub(crate) fn binding_partial(self, cost: &ReleaseCost) -> VersionTerms {
        match cost.partial() {
            Ok(partial) => {
                let bytes = encode(&partial).unwrap_or_default();
                self.binding_all("partial cost", &Digest::of(&bytes))
            }
            Err(_) => self,
        }
    }

    /// Shows a field that is not bound itself, because a bound value follows from it, such as a cost from a
    /// share.
    #[must_use]
    pub(crate) fn showing(mut self, field: &str, value: impl Display) -> VersionTerms {
        let value = value.to_string();
        let shown = if value.len() > LONGEST {
            let hash = Digest::of(value.as_bytes()).to_string();
            format!("{} bytes, hash {}", value.len(), hash.split_at(16).0)
        } else {
            value
        };
        self.fields.insert(field.to_owned(), shown);
        self
    }

    /// Explains a change of a field from this former value, `nothing` where it had none, for a refusal: its cause, and the
    /// remedy, which is the only one if it is `alone`. Nothing of it is bound or recorded.
    #[must_use]
    #[cfg(feature = "cli")]
    pub(crate) fn explaining(
        mut self,
        (field, was): (&'static str, impl Display),
        cause: &str,
        (remedy, alone): (&str, bool),
    ) -> VersionTerms {
        let (cause, remedy) = (cause.to_owned(), remedy.to_owned());
        self.causes.push(FieldCause { field, was: was.to_string(), cause, remedy, alone });
        self
    }

    /// Returns the explanation of a change, if there is one.
    fn cause(&self, change: &FieldChange<'_>) -> Option<&FieldCause> {
        let was = change.was.unwrap_or(NOTHING);
        self.causes.iter().find(|cause| cause.field == change.name && cause.was == was)
    }

    /// Binds other terms too, and shows their fields.
    #[must_use]
    pub(crate) fn and(mut self, others: &VersionTerms) -> VersionTerms {
        self = self.binding_all("terms", &others.digest);
        self.fields.extend(others.fields.clone());
        self
    }

    /// The hash of everything that is bound.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The names of the fields that a refusal can name.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(|name| &name[..])
    }

    /// The fields whose values differ, each with its former and its present value; an absent field has none.
    fn changed<'t>(&'t self, former: &'t VersionFields) -> Vec<FieldChange<'t>> {
        let names = former.keys().chain(self.fields.keys().filter(|name| !former.contains_key(*name)));
        names
            .map(|name| (&name[..], former.get(name).map(|value| &value[..]), self.fields.get(name)))
            .map(|(name, was, is)| FieldChange { name, was, is: is.map(|value| &value[..]) })
            .filter(|change| change.was != change.is)
            .collect()
    }

    /// Refuses terms that are not the former ones of this version.
    fn must_be(
        &self,
        store: &mut dyn Store,
        (job, version, name): (&Name, u32, &Name),
        (known, former): (&Digest, &VersionFields),
    ) -> Result<(), LedgerError> {
        if *known == self.digest {
            return Ok(());
        }
        Err(self.differ(store, job, (version, name), &self.changed(former))?)
    }

    /// The refusal of changed terms: the changes, as far as they are known, with their causes, and the remedy.
    fn differ(
        &self,
        store: &mut dyn Store,
        job: &Name,
        (version, name): (u32, &Name),
        changes: &[FieldChange<'_>],
    ) -> Result<LedgerError, LedgerError> {
        // Field names that a log contains may be any text.
        let plain = |value: &str| value.replace(char::is_control, " ");
        let value = |value: Option<&str>| value.map_or(NOTHING.to_owned(), plain);
        let in_words = |change: &FieldChange<'_>| {
            let cause = self.cause(change).map_or(String::new(), |known| format!(", {}", known.cause));
            format!("{} (was {}, is {}{cause})", change.name, value(change.was), value(change.is))
        };
        let changed: Vec<String> = changes.iter().map(in_words).collect();
        let changed = match &changed[..] {
            [] => "its windows, statistic, bound, keys, noise or price".to_owned(),
            _ => changed.join(", "),
        };
        let explained: Vec<&FieldCause> = changes.iter().filter_map(|change| self.cause(change)).collect();
        let mut remedies: Vec<&str> = explained.iter().map(|cause| &cause.remedy[..]).collect();
        if explained.len() < changes.len().max(1) {
            remedies.push(if explained.is_empty() {
                "put back what it was"
            } else {
                "put back what the others were"
            });
        }
        let remedies = remedies.join(", and ");
        let again = if explained.iter().any(|cause| cause.alone) {
            String::new()
        } else {
            format!(
                ", or give {name} a new version ({}), which releases its windows and pays for them anew, and begins its totals and \
                 counts of people again",
                new_version(store, job, name)?
            )
        };
        Ok(LedgerError::refused(format!(
            "version: job {job} has opened {name} in version {version} with other parameters: {changed}; {remedies}{again}"
        )))
    }

    fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in self.fields.iter().flat_map(|(name, value)| [name, value]) {
            bytes.extend((text.len() as u64).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }
}

impl From<&Digest> for VersionTerms {
    fn from(digest: &Digest) -> VersionTerms {
        VersionTerms { digest: *digest, fields: VersionFields::new(), causes: Vec::new() }
    }
}

/// A version of a statistic, with the terms that bind it.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// The name of the statistic.
    pub name: Name,
    /// The version of the statistic: its own, or the job's.
    pub version: u32,
    /// Everything that the version binds.
    pub terms: VersionTerms,
}

impl Agreement {
    /// Records the terms where there are none yet; equal terms change nothing, and other terms are refused.
    pub(super) fn record(&self, tables: &mut dyn Store, job: &Name) -> Result<(), LedgerError> {
        let Agreement { name, version, terms } = self;
        match agreed(tables, job, *version, name)? {
            Some((known, former)) => terms.must_be(tables, (job, *version, name), (&known, &former)),
            None => write(tables, (job, (*version).into(), name), &terms.digest, &terms.encoded()),
        }
    }
}

/// A field whose value changed.
struct FieldChange<'t> {
    name: &'t str,
    was: Option<&'t str>,
    is: Option<&'t str>,
}

/// Decodes the stored fields of terms; of damaged bytes as many as can be read, for they only explain.
fn decoded(mut bytes: &[u8]) -> VersionFields {
    let mut text = || {
        let (length, rest) = bytes.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
        bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    };
    let mut fields = VersionFields::new();
    while let (Some(name), Some(value)) = (text(), text()) {
        fields.insert(name, value);
    }
    fields
}

impl Ledger {
    /// Checks a version of a statistic against the terms that it is recorded with. Where there are none yet,
    /// these are recorded; equal terms change nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`](super::LedgerErrorKind::Refused) if the terms differ, with the fields
    /// that changed: other terms need another version.
    /// [`LedgerErrorKind::Fenced`](super::LedgerErrorKind::Fenced) if a later process has the claim; and the
    /// other kinds for a write that did not end.
    pub fn agree(
        &mut self,
        claim: &Claim,
        version: u32,
        name: &Name,
        terms: impl Into<VersionTerms>,
    ) -> Result<(), LedgerError> {
        let agreement = Agreement { name: name.clone(), version, terms: terms.into() };
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        claim.still_stands(tables)?;
        not_replaced(tables, claim.job(), version, name, &agreement.terms)?;
        agreement.record(tables, claim.job())?;
        transaction.commit()
    }

    /// Checks a version as [`agree`](Ledger::agree) does, also against those that wait for their first commit, and
    /// records nothing.
    ///
    /// # Errors
    ///
    /// As for [`agree`](Ledger::agree).
    pub(crate) fn can_agree(
        &mut self,
        claim: &Claim,
        waiting: &[Agreement],
        agreement: &Agreement,
    ) -> Result<(), LedgerError> {
        let Agreement { name, version, terms } = agreement;
        let mut snapshot = Transaction::snapshot(self.store())?;
        let tables = snapshot.store();
        claim.still_stands(tables)?;
        let place = (claim.job(), *version, name);
        let first = waiting.iter().find(|first| (&first.name, first.version) == (name, *version));
        first.map_or(Ok(()), |first| {
            terms.must_be(tables, place, (&first.terms.digest, &first.terms.fields))
        })?;
        compare(tables, place, terms)
    }

    /// Compares terms with those of a version as [`agree`](Ledger::agree) does, and records nothing.
    ///
    /// # Errors
    ///
    /// As for [`agree`](Ledger::agree), without the check of a claim.
    pub fn would_agree(
        &mut self,
        job: &Name,
        version: u32,
        name: &Name,
        terms: impl Into<VersionTerms>,
    ) -> Result<(), LedgerError> {
        compare(self.store(), (job, version, name), &terms.into())
    }

    /// The version that sealed the current state of a statistic, if there is a state.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn keeper(&mut self, job: &Name, name: &Name) -> Result<Option<Digest>, LedgerError> {
        let since = last_repair(self.store())?.map_or(0, |(sequence, _)| sequence);
        keeper(self.store(), job, name, since)
    }

    /// The releases of a job, with their versions, whose terms are recorded.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn opened(&mut self, job: &Name) -> Result<HashSet<(Name, u32)>, LedgerError> {
        let opened = "SELECT name, version FROM agreed WHERE job = ?1";
        let read = |row: &dyn SqlRow| Ok((name(row, 0)?, number(row, 1)?));
        let opened = all(self.store(), opened, &[SqlValue::Text(job.as_str())], read)?;
        Ok(opened
            .into_iter()
            .filter_map(|(name, version)| Some((name, u32::try_from(version).ok()?)))
            .collect())
    }

    /// The end of the last window that was sealed, refused or lost, for each release and version of a job.
    /// Skipped windows are left out, for they settle nothing before them; so are several answers over one
    /// window, which have no order.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn settled(&mut self, job: &Name) -> Result<HashMap<(Name, Digest), Time>, LedgerError> {
        let newest = "SELECT name, version, until FROM settled WHERE job = ?1";
        let read = |row: &dyn SqlRow| Ok(((name(row, 0)?, digest(row, 1)?), number(row, 2)?));
        Ok(all(self.store(), newest, &[SqlValue::Text(job.as_str())], read)?.into_iter().collect())
    }
}

/// Compares terms with the recorded ones of a version, and refuses one that another has replaced.
fn compare(
    store: &mut dyn Store,
    (job, version, name): (&Name, u32, &Name),
    terms: &VersionTerms,
) -> Result<(), LedgerError> {
    if let Some((known, former)) = agreed(store, job, version, name)? {
        terms.must_be(store, (job, version, name), (&known, &former))?;
    }
    not_replaced(store, job, version, name, terms)
}

/// The recorded terms of a version: their hash, and the fields that explain it.
fn agreed(
    store: &mut dyn Store,
    job: &Name,
    version: u32,
    name: &Name,
) -> Result<Option<(Digest, VersionFields)>, LedgerError> {
    let place =
        [SqlValue::Text(job.as_str()), SqlValue::Number(version.into()), SqlValue::Text(name.as_str())];
    let known = "SELECT parameters, fields FROM agreed WHERE job = ?1 AND version = ?2 AND name = ?3";
    let read = |row: &dyn SqlRow| Ok((digest(row, 0)?, decoded(&row.bytes(1)?.unwrap_or_default())));
    first(store, known, &place, read)
}

/// Refuses a version whose state another version has replaced: its reservation would pay for records that are
/// counted anew. A version without state and reservation may return, for each of its windows is paid for
/// separately.
fn not_replaced(
    store: &mut dyn Store,
    job: &Name,
    version: u32,
    name: &Name,
    terms: &VersionTerms,
) -> Result<(), LedgerError> {
    let own = Digest::of_version(version, terms.digest());
    let since = last_repair(store)?.map_or(0, |(sequence, _)| sequence);
    let Some(keeper) = keeper(store, job, name, since)?.filter(|keeper| *keeper != own) else {
        return Ok(());
    };
    let place = [
        SqlValue::Text(job.as_str()),
        SqlValue::Text(name.as_str()),
        SqlValue::Bytes(own.bytes()),
        SqlValue::Number(since),
    ];
    let kept = "SELECT sequence FROM release WHERE job = ?1 AND name = ?2 AND version = ?3 AND sequence > ?4
                AND (state IS NOT NULL OR life_start IS NOT NULL) LIMIT 1";
    if first(store, kept, &place, |row| number(row, 0))?.is_none() {
        return Ok(());
    }
    let known = "SELECT version, parameters FROM agreed WHERE job = ?1 AND name = ?2";
    let read = |row: &dyn SqlRow| Ok((number(row, 0)?, digest(row, 1)?));
    let known = all(store, known, &place[..2], read)?;
    let is_keeper = |(number, parameters): &(i64, Digest)| {
        u32::try_from(*number).is_ok_and(|number| Digest::of_version(number, parameters) == keeper)
    };
    let by = known.iter().find(|known| is_keeper(known));
    let by = by.map_or("another version".to_owned(), |(number, _)| format!("version {number}"));
    let remedy = new_version(store, job, name)?;
    Err(LedgerError::refused(format!(
        "version: version {version} of {name} of job {job} was replaced by {by}, whose totals, keys and counts of people are kept \
         now; go on with {by}, or give {name} a new version ({remedy}), which pays for its windows anew"
    )))
}

/// The words by which a release gets a version that it never had.
fn new_version(store: &mut dyn Store, job: &Name, name: &Name) -> Result<String, LedgerError> {
    let place = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    let newest = "SELECT version FROM agreed WHERE job = ?1 AND name = ?2 ORDER BY version DESC LIMIT 1";
    let newest = first(store, newest, &place, |row| number(row, 0))?.unwrap_or(0);
    if newest >= u32::MAX.into() {
        return Ok("a number below that it never had".to_owned());
    }
    Ok(format!(
        "`version = {}` in its [[release]] or [[ask]], or in [job] for all that state none",
        newest + 1
    ))
}

type VersionPlace<'a> = (&'a Name, i64, &'a Name);

fn write(
    store: &mut dyn Store,
    (job, version, name): VersionPlace<'_>,
    parameters: &Digest,
    fields: &[u8],
) -> Result<(), LedgerError> {
    let agreed = [
        SqlValue::Text(job.as_str()),
        SqlValue::Number(version),
        SqlValue::Text(name.as_str()),
        SqlValue::Bytes(parameters.bytes()),
        SqlValue::Bytes(fields),
    ];
    let insert = "INSERT INTO agreed VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (job, version, name) DO NOTHING";
    store.execute(insert, &agreed).map(drop)
}

/// The versions of releases with one window of everything, after which none comes: of each job and name.
pub(crate) type WholeVersions = HashSet<(Name, Name, Digest)>;

/// Reads the versions with one window of everything.
pub(super) fn whole_versions(store: &mut dyn Store) -> Result<WholeVersions, LedgerError> {
    let agreed = "SELECT job, version, name, parameters, fields FROM agreed";
    let mut whole = WholeVersions::new();
    store.read(agreed, &[], &mut |row| {
        let fields = decoded(&row.bytes(4)?.unwrap_or_default());
        // A version beyond 32 bits is of no release.
        let version = u32::try_from(number(row, 1)?).ok();
        // A job file shows the word in quotes.
        let is_whole = fields.get("every").is_some_and(|every| every.trim_matches('"') == "all");
        if let Some(version) = version.filter(|_| is_whole) {
            whole.insert((name(row, 0)?, name(row, 2)?, Digest::of_version(version, &digest(row, 3)?)));
        }
        Ok(())
    })?;
    Ok(whole)
}

/// Copies from a torn ledger the terms that can be read.
pub(super) fn rescue(torn: &mut dyn Store, tables: &mut dyn Store) -> Result<(), LedgerError> {
    let mut agreed = Vec::new();
    // An error ends the rows that can be read.
    let _ = torn.read("SELECT job, version, name, parameters, fields FROM agreed", &[], &mut |row| {
        let fields = row.bytes(4)?.unwrap_or_default();
        agreed.push((name(row, 0)?, number(row, 1)?, name(row, 2)?, digest(row, 3)?, fields));
        Ok(())
    });
    for (job, version, name, parameters, fields) in agreed {
        write(tables, (&job, version, &name), &parameters, &fields)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes fields that run together, an order that does not matter, and a field that is shown and taken
    // for bound.
    #[test]
    fn terms_are_bound_by_what_is_bound() {
        let digest = |terms: VersionTerms| *terms.digest();
        let one = || VersionTerms::new().binding("a", "bc");
        assert_ne!(digest(one()), digest(VersionTerms::new().binding("ab", "c")));
        assert_ne!(digest(one()), digest(VersionTerms::new().binding("a", "bd")));
        assert_ne!(digest(one()), digest(one().binding("d", "")));
        assert_ne!(digest(one()), digest(one().binding_all("d", &Digest::of(b"x"))));
        assert_ne!(
            digest(one().and(&VersionTerms::new())),
            digest(one().and(&VersionTerms::new().binding("d", "")))
        );
        assert_eq!(digest(one()), digest(one().showing("d", "e")));
        let long = |end: &str| VersionTerms::new().binding("keys", "k".repeat(1_000) + end);
        assert_ne!(digest(long("a")), digest(long("b")));
        assert_ne!(long("a").fields, long("b").fields, "a long value that changed is named too");
    }

    #[test]
    fn what_changed_is_named_with_what_it_was() {
        let former = VersionTerms::new().binding("from", 1).binding("late", 2).binding("over", 3);
        let known = decoded(&former.encoded());
        assert_eq!(known, former.fields);
        let terms = VersionTerms::new().binding("from", 1).binding("late", 20).binding("noise", "laplace");
        let changes: Vec<_> =
            terms.changed(&known).iter().map(|change| (change.name, change.was, change.is)).collect();
        let expected =
            [("late", Some("2"), Some("20")), ("over", Some("3"), None), ("noise", None, Some("laplace"))];
        assert_eq!(changes, expected);
        // Fields before the damage are read.
        let bytes = former.encoded();
        assert_eq!(decoded(&bytes[..bytes.len() - 1]).len(), 2);
        assert_eq!(decoded(&[0xff; 30]).len(), 0);
    }
}
