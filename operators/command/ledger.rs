//! `discreet ledger`: the commands of a ledger, to create, show, verify, copy, amend and repair it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use discreet::Decimal;
use discreet::accounting::{BudgetUnits, DeltaForKeys, Omega, PrivacyCost, gdp, limit};
use discreet::ledger::{AcceptedLoss, AccountSpec, AnchorEntry, Journal, Ledger, LedgerKey, Name, Published};
use discreet::time::{in_utc, in_words};
use serde_json::{Map, Value, json};

use super::values::{account, decimal};
use super::{Refusal, counted};

mod archive;
mod forecast;
mod init;
mod rekey;

/// The commands of a ledger.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LedgerCommand {
    /// State the budget account of a job file in a ledger, which is created if there is none
    Init(init::InitArgs),
    /// Print each account with its promise, its spent budget and its cap
    Show(ShowArgs),
    /// Print how many more windows the budget allows at the present pace, and when the last of them closes
    Forecast(forecast::ForecastArgs),
    /// Recompute the chain of rows and every account from the first row, or the newest archive, on; or verify
    /// an archive by itself
    Verify(archive::VerifyArgs),
    /// Copy the ledger, as of one commit, to a new file
    Export(ExportArgs),
    /// Move the rows of windows that ended before a time to a file that is verified by itself
    Archive(archive::ArchiveArgs),
    /// Print the lines of the windows that are in an archive alone
    Lines(archive::LinesArgs),
    /// Raise the cap of an account, and record who did it and why
    Amend(AmendArgs),
    /// Change the key of the ledger: everything that it encrypts or authenticates is made anew
    Rekey(rekey::RekeyArgs),
    /// Repair a ledger in doubt: releases are lost, budget is not
    Repair(RepairArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LedgerArg {
    /// The ledger: a file, or postgres://user@host/database?ledger=name
    ledger: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// The path of the copy, which must not exist yet
    to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AmendArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// The account whose cap is raised
    #[arg(long, value_parser = account())]
    account: Name,
    /// The epsilon of the new cap, with or without delta
    #[arg(long, required_unless_present = "rho", conflicts_with = "rho", value_parser = decimal())]
    epsilon: Option<Decimal>,
    /// The delta of the new cap, beside epsilon
    #[arg(long, requires = "epsilon", value_parser = decimal())]
    delta: Option<Decimal>,
    /// The part of delta for discovered keys, stable means and questions, where the account has one; three tenths of delta,
    /// or half for a cap in zCDP
    #[arg(long, requires = "delta", value_parser = decimal())]
    delta_for_keys: Option<Decimal>,
    /// The new cap in zCDP, instead of epsilon
    #[arg(long, value_parser = decimal())]
    rho: Option<Decimal>,
    /// The name of the person who is responsible for the amendment
    #[arg(long)]
    who: String,
    /// The reason, which the ledger records
    #[arg(long)]
    why: String,
}

impl LedgerCommand {
    /// Returns the answer, ready to print.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        match self {
            LedgerCommand::Init(init) => init.run(),
            LedgerCommand::Show(show) => show.run(),
            LedgerCommand::Forecast(forecast) => forecast.run(),
            LedgerCommand::Verify(verify) => verify.run(),
            LedgerCommand::Archive(archive) => archive.run(),
            LedgerCommand::Lines(lines) => lines.run(),
            LedgerCommand::Export(export) => {
                export.at.open()?.export(&export.to)?;
                Ok(format!("copied to {}\n", export.to.display()))
            }
            LedgerCommand::Amend(amend) => amend.run(),
            LedgerCommand::Rekey(rekey) => rekey.run(),
            LedgerCommand::Repair(repair) => repair.run(),
        }
    }
}

impl LedgerArg {
    /// Opens the ledger: from its checkpoint if its key lies beside it, and otherwise after verifying all of
    /// it.
    fn open(&self) -> Result<Ledger, Refusal> {
        Ok(match self.key() {
            Some(key) => Ledger::open_with_key(&self.ledger, &key)?,
            None => Ledger::open(&self.ledger)?,
        })
    }

    /// The key beside the ledger, if there is one that this user may read.
    fn key(&self) -> Option<LedgerKey> {
        LedgerKey::open(LedgerKey::beside(&self.ledger)).ok()
    }
}

impl ShowArgs {
    fn run(self) -> Result<String, Refusal> {
        let mut ledger = self.at.open()?;
        let budget_statuses: Vec<AccountStanding> = ledger
            .accounts()?
            .into_iter()
            .map(|account| AccountStanding::of(&mut ledger, account))
            .collect::<Result<_, _>>()?;
        let ((sequence, chain), floor) = (ledger.head()?, ledger.floor()?);
        let rows = ledger.row_count()?;
        if self.json {
            let accounts: Map<String, Value> = budget_statuses
                .iter()
                .map(|budget_status| (budget_status.account.name().to_string(), budget_status.json()))
                .collect();
            let line = json!({
                "ledger": ledger.name().to_string(),
                "rows": rows,
                "sequence": sequence,
                "chain": chain.to_string(),
                "floor": floor,
                "accounts": accounts,
            });
            return Ok(format!("{line}\n"));
        }
        let mut page = format!("ledger {}, {}\n", ledger.name(), counted(rows, "row"));
        page.extend(floor.map(|floor| {
            format!("repaired: no window that starts before {} is drawn any more\n", in_utc(floor))
        }));
        page.extend(budget_statuses.iter().map(AccountStanding::page));
        page.extend(ledger.warning().map(|warning| format!("\nwarning: {warning}\n")));
        Ok(page)
    }
}

/// A budget account and its spent budget.
struct AccountStanding {
    account: AccountSpec,
    releases: u64,
    /// The amount that counts against the newest window with a charge.
    spent: PrivacyCost,
}

impl AccountStanding {
    fn of(ledger: &mut Ledger, account: AccountSpec) -> Result<AccountStanding, Refusal> {
        let (releases, newest) = ledger.releases(account.name())?;
        let spent = ledger.spent(account.name(), newest)?.0;
        Ok(AccountStanding { account, releases, spent })
    }

    fn json(&self) -> Value {
        json!({
            "spent": amount(&self.spent),
            "cap": amount(self.account.cap()),
            "releases": self.releases,
            "promise": promise_sentence(&self.account),
            "person": self.account.person(),
        })
    }

    fn page(&self) -> String {
        format!(
            "\n{}\n  {}\n  cap       {}\n  spent     {}, as the newest window counts it\n  releases  {}\n",
            self.account.name(),
            promise_sentence(&self.account),
            self.account.cap().with_epsilon(),
            self.spent,
            self.releases
        )
    }
}

/// The promise of an account, as it is printed beside every output.
fn promise_sentence(account: &AccountSpec) -> String {
    account.promise().sentence(account.neighbours(), in_words)
}

/// Converts an amount to JSON, rounded up. Decisions are made in integers, not by these floats.
fn amount(amount: &PrivacyCost) -> Value {
    match amount {
        PrivacyCost::Pure { epsilon } => json!({ "epsilon": epsilon.to_float_up() }),
        PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
            json!({ "rho": rho.to_float_up(), "delta": delta.to_float_up() })
        }
        other => json!(other.to_string()),
    }
}

impl AmendArgs {
    fn run(self) -> Result<String, Refusal> {
        let mut ledger = self.at.open()?;
        let name = self.account;
        let known = ledger.accounts()?.into_iter().find(|account| *account.name() == name);
        let known =
            known.ok_or_else(|| Refusal::new(format!("account: this ledger has none named {name}")))?;
        let (epsilon, delta, rho) = (self.epsilon.as_ref(), self.delta.as_ref(), self.rho.as_ref());
        if let Some(why) = AmendArgs::of_another_currency(&known, (delta.is_some(), rho.is_some())) {
            return Err(Refusal::new(why));
        }
        let charges_delta = known.cap().rho_and_delta().is_some_and(|(_, delta)| delta != BudgetUnits::ZERO);
        let stated = self.delta_for_keys.as_ref();
        if let (Some(stated), false) = (stated, charges_delta) {
            return Err(Refusal::new(format!(
                "--delta-for-keys: found {stated} for account {name}, which has no delta for discovered keys, stable means and \
                 questions, and an amendment adds none; leave it out, or give another account (privacy.account, `discreet \
                 ledger init`)"
            )));
        }
        // An amendment keeps a part for the deltas of charges, and the orders of the cap (omega).
        let cap = match (known.cap(), epsilon.zip(delta)) {
            (PrivacyCost::Gaussian { delta: for_keys, .. }, Some((epsilon, delta))) => match stated {
                Some(stated) => gdp::limit(epsilon, delta, DeltaForKeys::Stated(stated)),
                None if charges_delta => gdp::limit(epsilon, delta, DeltaForKeys::Usual)
                    // Not less than before, which may have been stated.
                    .ok()
                    .filter(|cap| cap.rho_and_delta().is_some_and(|(_, usual)| usual >= *for_keys))
                    .map_or_else(|| gdp::limit_beside(epsilon, delta, *for_keys), Ok),
                None => gdp::limit(epsilon, delta, DeltaForKeys::None),
            },
            (other, _) => {
                let omega = if let PrivacyCost::Zcdp { omega, .. } = other { *omega } else { Omega::EVERY };
                let usual = if charges_delta { DeltaForKeys::Usual } else { DeltaForKeys::None };
                limit(epsilon, delta, rho, stated.map_or(usual, DeltaForKeys::Stated), omega)
            }
        }?;
        ledger.amend(&name, &cap, &self.who, &self.why)?;
        let use_of_delta = delta.map(|delta| match cap.rho_and_delta().filter(|_| charges_delta) {
            Some((_, for_keys)) => format!(
                "{:.3e} of --delta {delta} is for discovered keys, stable means and questions, and the rest turns the epsilon \
                 into this rho\n",
                for_keys.to_float_up()
            ),
            None => format!(
                "--delta {delta} turns the epsilon into this rho, and is for nothing else: the account has no delta for discovered \
                 keys, stable means and questions, and an amendment adds none; a release that asks for one needs another account \
                 (privacy.account, `discreet ledger init`)\n"
            ),
        });
        let was = known.cap();
        Ok(format!("account {name}: the cap was {was}, and is {cap}\n{}", use_of_delta.unwrap_or_default()))
    }

    /// Returns the reason for which a cap of these parameters is none of the account, whose currency an amendment keeps.
    fn of_another_currency(known: &AccountSpec, (has_delta, has_rho): (bool, bool)) -> Option<String> {
        let (name, cap) = (known.name(), known.cap());
        let other = "for another currency, state another account (privacy.account, `discreet ledger init`)";
        match cap {
            PrivacyCost::Pure { .. } if has_delta => Some(format!(
                "--delta: account {name} has a cap of {cap} and no delta, and an amendment adds none; leave --delta out, or, {other}"
            )),
            PrivacyCost::Pure { .. } if has_rho => Some(format!(
                "--rho: account {name} has a cap of {cap}, and an amendment keeps its currency; give --epsilon, or, {other}"
            )),
            PrivacyCost::Gaussian { .. } if has_rho => Some(format!(
                "--rho: account {name} has a cap of {cap}, which is of Gaussian accounting; give --epsilon and --delta, or, {other}"
            )),
            PrivacyCost::Zcdp { .. } | PrivacyCost::Gaussian { .. } if !has_delta && !has_rho => {
                Some(format!(
                    "--delta: account {name} has a cap of {cap}, which an epsilon comes to by a delta; give --delta beside --epsilon, or, \
                 {other}"
                ))
            }
            PrivacyCost::Zcdp { delta, .. } if has_rho && *delta != BudgetUnits::ZERO => Some(format!(
                "--rho: account {name} has a cap of {cap}, and a rho alone would take away its delta for discovered keys, stable \
                     means and questions; give --epsilon and --delta"
            )),
            _ => None,
        }
    }
}

// `discreet ledger repair`: the only way to go on with a ledger in doubt.

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The ledger
    ledger: PathBuf,
    /// Accept that releases are lost: no noise is drawn any more for a window that starts before now, unless
    /// its row is proven
    #[arg(long, required = true)]
    accept_loss: bool,
    /// The reason, which the ledger records
    #[arg(long)]
    reason: String,
    /// A witness of what was released: an anchor or a file of releases (.jsonl, .csv); may be given more than
    /// once
    #[arg(long)]
    anchor: Vec<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl RepairArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let (mut anchors, mut published): (Vec<AnchorEntry>, Vec<Published>) = Default::default();
        for path in &self.anchor {
            if is_empty_output(path) {
                continue;
            }
            if discreet::job::is_of_releases(path) {
                published.extend(discreet::job::published(path)?);
            } else {
                anchors.extend(Journal::read(path)?);
            }
        }
        let now = now()?;
        let loss = AcceptedLoss { reason: &self.reason, now, anchors: &anchors, published: &published };
        let repaired = Ledger::repair(&self.ledger, &loss)?;
        let torn = repaired.torn.as_ref().map(|path| path.display().to_string());
        if self.json {
            let line = json!({
                "sound": repaired.sound,
                "charges": repaired.charges,
                "floor": repaired.floor,
                "torn": torn,
            });
            return Ok(format!("{line}\n"));
        }
        let mut page = format!(
            "rows up to {} are proven and stay; {} for lost rows\n\
             no window that starts before {} is drawn any more, unless it is proven; a `lost` line for such a \
             window does not retract a value that was released for it earlier\n",
            repaired.sound,
            counted(repaired.charges as u64, "charge"),
            in_utc(repaired.floor)
        );
        page.extend(torn.map(|path| format!("the torn ledger is kept as {path}\n")));
        Ok(page)
    }
}

/// The present, in microseconds since 1970.
fn now() -> Result<i64, Refusal> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.ok().and_then(|now| i64::try_from(now.as_micros()).ok());
    now.ok_or_else(|| Refusal::new("clock: found a time before 1970; set the clock"))
}

/// Returns true if the path is named as a file of releases and is empty: a run that ended early leaves one.
fn is_empty_output(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|found| found == "jsonl" || found == "csv");
    is_named && path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
}
