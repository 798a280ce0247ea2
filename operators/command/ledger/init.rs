//! `discreet ledger init`: states a budget account. No other command creates one.

use std::path::{Path, PathBuf};

use clap::Args;
use discreet::Decimal;
use discreet::accounting::{BudgetUnits, Omega, PrivacyCost};
use discreet::job::{Accounting, Job};
use discreet::ledger::{AccountSpec, Ledger, LedgerError, LedgerErrorKind, LedgerKey};
use serde_json::{Value, json};

use super::super::{Refusal, log};
use super::{amount, promise_sentence};

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The ledger: a file, or postgres://user@host/database?ledger=name; created with its key if there is
    /// none
    ledger: PathBuf,
    /// The job file whose budget account is stated
    #[arg(long)]
    config: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The outcome of the command.
struct InitOutcome<'j> {
    job: &'j Job,
    path: PathBuf,
    ledger: Ledger,
    key: LedgerKey,
    key_path: PathBuf,
    /// True if this command created the ledger.
    created: bool,
    /// True if the ledger's key existed before.
    key_existed: bool,
    /// True if this command stated the account.
    stated_now: bool,
    /// The other accounts whose people are named by the same field.
    other_accounts: Vec<String>,
}

impl InitArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        // The plan is checked before anything is created: a stated budget cannot be withdrawn.
        job.plan().map_err(|refused| Refusal::unfit(&self.config, &refused))?;
        let outcome = InitOutcome::by(&job, self.ledger)?;
        // A page is often left unread to its end; a job without its budget ends with 78.
        outcome.another_ledger().iter().for_each(|warning| log::warn(warning));
        Ok(if self.json { outcome.line() } else { outcome.page() })
    }
}

impl InitOutcome<'_> {
    fn by(job: &Job, path: PathBuf) -> Result<InitOutcome<'_>, Refusal> {
        // SQLite would open an in-memory or temporary database under these names.
        if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
            return Err(Refusal::new(format!("ledger {}: not a file; give the path of one", path.display())));
        }
        let remote = path.to_str().is_some_and(|path| path.contains("://"));
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !remote && !directory.is_dir()) {
            let (path, directory) = (path.display(), directory.display());
            return Err(Refusal::new(format!(
                "ledger {path}: there is no directory {directory}; make it, or mount the volume it is on"
            )));
        }
        let key_path = match &job.privacy.key {
            default if *default == LedgerKey::beside(&job.privacy.ledger) && remote => {
                let message = "privacy.key: found nothing; a ledger on a server has no key beside it";
                return Err(Refusal::new(message));
            }
            default if *default == LedgerKey::beside(&job.privacy.ledger) => LedgerKey::beside(&path),
            named => named.clone(),
        };
        let key_existed = is_there(&key_path)?;
        // Only opening it shows whether there is a ledger at an address.
        let created = if remote { Ledger::open(&path).is_err_and(is_refused) } else { !is_there(&path)? };
        let (mut ledger, key) = if created {
            // The key is created first: a ledger without its key must not exist, and a key without a ledger
            // does no harm.
            let key = if key_existed { LedgerKey::open(&key_path) } else { LedgerKey::create(&key_path) }?;
            (Ledger::create_alone(&path)?, key)
        } else {
            let key = LedgerKey::open(&key_path)?;
            (Ledger::open_with_key(&path, &key)?, key)
        };
        ledger.bind(&key).map_err(|trouble| trouble.about("key", &key_path))?;
        let known = ledger.accounts()?;
        let stated_now = !known.iter().any(|known| known.name() == job.account().name());
        let own = person_field(job.account());
        let others = known.iter().filter(|known| known.name() != job.account().name());
        let others = others.filter(|known| own.is_some() && person_field(known) == own);
        let other_accounts = others.map(|known| known.name().to_string()).collect();
        ledger.register(job.account()).map_err(in_other_words)?;
        Ok(InitOutcome { job, path, ledger, key, key_path, created, key_existed, stated_now, other_accounts })
    }

    fn account(&self) -> &AccountSpec {
        self.job.account()
    }

    /// The warnings of the page.
    fn warnings(&self) -> Vec<String> {
        let orphan = (self.created && self.key_existed).then(|| {
            "its key existed already: what an earlier ledger of that key spent is not counted here".into()
        });
        let twice = self.person_twice();
        self.ledger.warning().into_iter().chain(orphan).chain(twice).collect()
    }

    /// The warning that the job charges another ledger than this one.
    fn another_ledger(&self) -> Option<String> {
        let (path, named) = (&self.path, &self.job.privacy.ledger);
        let is_same = path == named
            || path
                .canonicalize()
                .ok()
                .is_some_and(|path| named.canonicalize().is_ok_and(|named| path == named));
        (!is_same).then(|| {
            format!(
                "the job file names another ledger, {}, and this one is {}: the job does not find it there; give the path that \
                 the job names (privacy.ledger, from the directory of the job file)",
                named.display(),
                path.display()
            )
        })
    }

    /// The warning that the people of this account are in another one as well, and spend both budgets.
    fn person_twice(&self) -> Option<String> {
        let field = person_field(self.account()).filter(|_| !self.other_accounts.is_empty())?;
        let (beside, account) = (self.other_accounts.join(", "), self.account().name());
        Some(format!(
            "this ledger also states {beside}, whose people are named by the same {field}: people who are in {account} and in \
             {beside} spend both budgets, and their guarantee is the sum; where these are the same people, give one \
             account to all jobs"
        ))
    }

    fn line(&self) -> String {
        let words = &self.job.privacy.budget;
        let float = |words: &Option<Decimal>| words.as_ref().map(Decimal::to_f64);
        let budget: serde_json::Map<String, Value> =
            [("epsilon", &words.epsilon), ("delta", &words.delta), ("rho", &words.rho)]
                .into_iter()
                .filter_map(|(name, words)| Some((name.to_owned(), float(words)?.into())))
                .collect();
        let mut cap = amount(self.account().cap());
        if let PrivacyCost::Zcdp { omega, .. } = self.account().cap() {
            cap["omega"] = (*omega != Omega::EVERY).then(|| omega.to_float()).into();
        }
        let line = json!({
            "ledger": self.ledger.name().to_string(),
            "made": self.created,
            "key": self.key_path.display().to_string(),
            "fingerprint": self.key.fingerprint().to_string(),
            "account": self.account().name().as_str(),
            "stated": self.stated_now,
            "promise": promise_sentence(self.account()),
            "person": self.account().person(),
            "budget": budget,
            "accounting": self.job.accounting().map(Accounting::word),
            "cap": cap,
            "warnings": self.another_ledger().into_iter().chain(self.warnings()).collect::<Vec<_>>(),
        });
        format!("{line}\n")
    }

    fn page(&self) -> String {
        let words = &self.job.privacy.budget;
        let said: Vec<String> = [("epsilon", &words.epsilon), ("delta", &words.delta), ("rho", &words.rho)]
            .into_iter()
            .filter_map(|(name, words)| Some(format!("{name} {:?}", words.as_ref()?.to_f64())))
            .collect();
        let mut page = format!(
            "ledger  {}, {}\nkey     {}, fingerprint {}\n\naccount {}, {}\n  {}\n  budget    {}{}\n  cap       {}\n",
            self.path.display(),
            if self.created { "created now" } else { "existed already" },
            self.key_path.display(),
            self.key.fingerprint(),
            self.account().name(),
            if self.stated_now { "stated now" } else { "stated already, in the same words" },
            promise_sentence(self.account()),
            said.join(", "),
            self.accounting_words(),
            self.account().cap(),
        );
        page.extend(self.conversion().map(|conversion| format!("            {conversion}\n")));
        page.extend(self.account().person().map(|person| format!("  person    {person}\n")));
        page.extend(self.warnings().iter().map(|warning| format!("\nwarning: {warning}\n")));
        page
    }

    /// The accounting of a budget of epsilon and delta, which is fixed from now on.
    fn accounting_words(&self) -> String {
        let pair = self.job.privacy.budget.epsilon.as_ref().and(self.job.privacy.budget.delta.as_ref());
        let accounting = self.job.accounting().filter(|_| pair.is_some());
        accounting.map_or(String::new(), |accounting| format!(", accounting {}", accounting.word()))
    }

    /// The conversion of the budget to the cap; `None` if the budget is the cap as it stands.
    fn conversion(&self) -> Option<String> {
        let (epsilon, delta) =
            (self.job.privacy.budget.epsilon.as_ref()?, self.job.privacy.budget.delta.as_ref()?);
        let (_, charged) = self.account().cap().rho_and_delta()?;
        let (whole, delta) = (format!("is epsilon {:?} at delta", epsilon.to_f64()), delta.to_f64());
        Some(match charged {
            BudgetUnits::ZERO => format!("this rho {whole} {delta:?}"),
            charged => {
                let charged = charged.to_float_down();
                format!("this rho {whole} {delta:?} - {charged:.3e}, which is for the discovery of keys")
            }
        })
    }
}

/// The field that names people, without the rule for records that lack it.
fn person_field(account: &AccountSpec) -> Option<&str> {
    let person = account.person()?;
    Some(person.rsplit_once(", missing ").map_or(person, |(field, _)| field))
}

fn is_there(path: &Path) -> Result<bool, Refusal> {
    path.try_exists().map_err(|error| Refusal::new(format!("{}: {error}", path.display())))
}

fn is_refused(trouble: LedgerError) -> bool {
    trouble.kind() == LedgerErrorKind::Refused
}

fn in_other_words(trouble: LedgerError) -> Refusal {
    match trouble.kind() {
        LedgerErrorKind::Refused => Refusal::new(format!(
            "privacy: {trouble}; give the same words; a cap is raised with `discreet ledger amend`. An account of another \
             name has a budget of its own, and who is in both accounts spends both"
        )),
        _ => trouble.into(),
    }
}
