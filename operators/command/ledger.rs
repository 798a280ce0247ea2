//! `discreet ledger`: what was spent, what is left, whether it adds up.

mod forecast;
mod init;

use std::path::PathBuf;

use clap::Args;
use discreet::Decimal;
use discreet::accounting::{Omega, PrivacyCost, limit};
use discreet::ledger::{AccountSpec, Ledger, Name};
use discreet::time::{in_utc, in_words};
use serde_json::{Map, Value, json};

use super::Refusal;
use super::repair::RepairArgs;

/// What can be done with a ledger by hand.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LedgerCommand {
    /// State the domain of a job file: once, in a ledger that is made if there is none
    Init(init::Init),
    /// Say what each domain promises, what is spent of it and what its cap is
    Show(Show),
    /// Say how many more windows fit, and when the last of them closes, if all goes on as it did
    Forecast(forecast::ForecastArgs),
    /// Recompute the chain of rows and every account, from scratch
    Verify(LedgerArg),
    /// Copy the ledger, as one commit left it, to a new file
    Export(Export),
    /// Raise the cap of a domain, and keep who did it and why
    Amend(Amend),
    /// Go on with a ledger in doubt: releases are lost, budget is not
    Repair(RepairArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LedgerArg {
    /// The ledger: a file, or postgres://user@host/database?ledger=name
    ledger: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    at: LedgerArg,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    at: LedgerArg,
    /// The copy, which must not be there yet
    to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Amend {
    #[command(flatten)]
    at: LedgerArg,
    /// The domain whose cap is raised
    #[arg(long)]
    domain: String,
    /// The new cap: epsilon, with or without delta
    #[arg(long, required_unless_present = "rho", conflicts_with = "rho")]
    epsilon: Option<String>,
    /// The delta beside epsilon
    #[arg(long, requires = "epsilon")]
    delta: Option<String>,
    /// The new cap in zCDP
    #[arg(long)]
    rho: Option<String>,
    /// Who answers for it
    #[arg(long)]
    who: String,
    /// Why
    #[arg(long)]
    why: String,
}

impl LedgerCommand {
    /// The answer, ready to print.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        match self {
            LedgerCommand::Init(init) => init.run(),
            LedgerCommand::Show(show) => show.run(),
            LedgerCommand::Forecast(forecast) => forecast.run(),
            LedgerCommand::Verify(at) => {
                // Opening is verifying.
                let (rows, chain) = at.open()?.head()?;
                Ok(format!("sound: {rows} rows, all accounts the sum of theirs\nchain  {chain}\n"))
            }
            LedgerCommand::Export(export) => {
                export.at.open()?.export(&export.to)?;
                Ok(format!("copied to {}\n", export.to.display()))
            }
            LedgerCommand::Amend(amend) => amend.run(),
            LedgerCommand::Repair(repair) => repair.run(),
        }
    }
}

impl LedgerArg {
    fn open(&self) -> Result<Ledger, Refusal> {
        Ok(Ledger::open(&self.ledger)?)
    }
}

impl Show {
    fn run(self) -> Result<String, Refusal> {
        let mut ledger = self.at.open()?;
        let standings: Vec<AccountStanding> = ledger
            .domains()?
            .into_iter()
            .map(|domain| AccountStanding::of(&mut ledger, domain))
            .collect::<Result<_, _>>()?;
        let ((rows, chain), floor) = (ledger.head()?, ledger.floor()?);
        if self.json {
            let domains: Map<String, Value> = standings
                .iter()
                .map(|standing| (standing.domain.name().to_string(), standing.json()))
                .collect();
            let line = json!({
                "ledger": ledger.name().to_string(),
                "rows": rows,
                "chain": chain.to_string(),
                "floor": floor,
                "domains": domains,
            });
            return Ok(format!("{line}\n"));
        }
        let mut page = format!("ledger {}, {rows} rows\n", ledger.name());
        page.extend(floor.map(|floor| {
            format!("repaired: no window that starts before {} is drawn any more\n", in_utc(floor))
        }));
        page.extend(standings.iter().map(AccountStanding::page));
        page.extend(ledger.warning().map(|warning| format!("\nwarning: {warning}\n")));
        Ok(page)
    }
}

/// A domain and how much of it is left.
struct AccountStanding {
    domain: AccountSpec,
    releases: u64,
    /// What counts against the newest window that was charged.
    spent: PrivacyCost,
}

impl AccountStanding {
    fn of(ledger: &mut Ledger, domain: AccountSpec) -> Result<AccountStanding, Refusal> {
        let (releases, newest) = ledger.releases(domain.name())?;
        let spent = ledger.spent(domain.name(), newest)?.0;
        Ok(AccountStanding { domain, releases, spent })
    }

    fn json(&self) -> Value {
        json!({
            "spent": amount(&self.spent),
            "cap": amount(self.domain.cap()),
            "releases": self.releases,
            "promise": sentence(&self.domain),
            "person": self.domain.person(),
        })
    }

    fn page(&self) -> String {
        format!(
            "\n{}\n  {}\n  cap       {}\n  spent     {}, as the newest window counts it\n  releases  {}\n",
            self.domain.name(),
            sentence(&self.domain),
            self.domain.cap(),
            self.spent,
            self.releases
        )
    }
}

/// What a domain promises, as it is printed beside every output.
fn sentence(domain: &AccountSpec) -> String {
    domain.promise().sentence(domain.neighbours(), in_words)
}

/// Spent amounts are rounded up, and so are caps as they are shown; both are decided in integers.
fn amount(amount: &PrivacyCost) -> Value {
    match amount {
        PrivacyCost::Pure { epsilon } => json!({ "epsilon": epsilon.to_float_up() }),
        PrivacyCost::Zcdp { rho, delta, .. } => {
            json!({ "rho": rho.to_float_up(), "delta": delta.to_float_up() })
        }
        other => json!(other.to_string()),
    }
}

impl Amend {
    fn run(self) -> Result<String, Refusal> {
        let mut ledger = self.at.open()?;
        let name = Name::new("domain", &self.domain)?;
        let known = ledger.domains()?.into_iter().find(|domain| *domain.name() == name);
        let known =
            known.ok_or_else(|| Refusal::new(format!("domain: this ledger has none named {name}")))?;
        // What the old cap kept apart for the deltas of charges, and which orders it asks for, stays as it was stated.
        let (charges_delta, omega) = match known.cap() {
            PrivacyCost::Zcdp { delta, omega, .. } => {
                (*delta != discreet::accounting::BudgetUnits::ZERO, *omega)
            }
            _ => (false, Omega::EVERY),
        };
        let read = |field, text: &Option<String>| {
            text.as_deref().map(|text| Decimal::parse(field, text)).transpose()
        };
        let (epsilon, delta, rho) =
            (read("epsilon", &self.epsilon)?, read("delta", &self.delta)?, read("rho", &self.rho)?);
        let cap = limit(epsilon.as_ref(), delta.as_ref(), rho.as_ref(), charges_delta, omega)?;
        ledger.amend(&name, &cap, &self.who, &self.why)?;
        Ok(format!("domain {name}: the cap was {}, and is {cap}\n", known.cap()))
    }
}
