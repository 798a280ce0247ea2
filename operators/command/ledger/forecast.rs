//! `discreet ledger forecast`: the number of windows that the budget still allows, and the end of the last.

use std::path::PathBuf;

use clap::Args;
use discreet::job::Job;
use discreet::ledger::{AccountSpec, EndedRelease, Forecast, Ledger, Name, Outlook, Pace};
use discreet::time::in_words;
use serde_json::{Map, Value, json};

use super::super::Refusal;
use super::super::values::account;
use super::{LedgerArg, amount, promise_sentence};

#[derive(Debug, Args)]
pub(crate) struct ForecastArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// Print this account alone
    #[arg(long, value_parser = account())]
    account: Option<Name>,
    /// Take the releases of this job file for all that its job has, with windows until its job.until; without it, a release has ended that had no row
    /// for three of its windows while others of its job had some
    #[arg(long, value_name = "JOB")]
    config: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

const ASSUMED: &str = "every statistic goes on at its newest price, from where the newest window of its job ended, with its windows as \
                       far apart as its newest two (end to end where it had one), charged in the order of their ends until \
                       the first that does not fit";

impl ForecastArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        let mut ledger = self.at.open()?;
        let mut accounts = ledger.accounts()?;
        if let Some(name) = &self.account {
            accounts.retain(|account| account.name() == name);
            if accounts.is_empty() {
                return Err(Refusal::new(format!("account: this ledger has none named {name}")));
            }
        }
        let job = self.config.as_deref().map(Job::open).transpose()?;
        if let Some(job) = &job {
            let charged = job.account();
            if !ledger.accounts()?.iter().any(|account| account.name() == charged.name()) {
                let message = format!(
                    "--config: job {} is charged to account {}, which this ledger does not have; give a job of this ledger",
                    job.name,
                    charged.name()
                );
                return Err(Refusal::new(message));
            }
        }
        let forecasts: Vec<AccountForecast> = accounts
            .into_iter()
            .map(|account| AccountForecast::of(&mut ledger, account, job.as_ref()))
            .collect::<Result<_, _>>()?;
        if self.json {
            let accounts: Map<String, Value> = forecasts
                .iter()
                .map(|forecast| (forecast.account.name().to_string(), forecast.json()))
                .collect();
            let line =
                json!({ "ledger": ledger.name().to_string(), "assumed": ASSUMED, "accounts": accounts });
            return Ok(format!("{line}\n"));
        }
        let mut page = format!("ledger {}\n", ledger.name());
        page.extend(forecasts.iter().map(AccountForecast::page));
        Ok(format!("{page}\nassumed: {ASSUMED}\n"))
    }
}

struct AccountForecast {
    account: AccountSpec,
    forecast: Forecast,
    /// The job whose file states its releases.
    of: Option<Name>,
    /// True if the account has a sealed release.
    is_charged: bool,
}

impl AccountForecast {
    fn of(ledger: &mut Ledger, account: AccountSpec, job: Option<&Job>) -> Result<AccountForecast, Refusal> {
        let forecast = match job {
            Some(job) => ledger.forecast_of(account.name(), &job.name, &job.last_windows()?)?,
            None => ledger.forecast(account.name())?,
        };
        let of = job.map(|job| job.name.clone());
        let is_charged = ledger.releases(account.name())?.0 > 0;
        Ok(AccountForecast { account, forecast, of, is_charged })
    }

    fn json(&self) -> Value {
        let (outlook, refused) = match self.forecast.outlook() {
            Outlook::Unseen => ("unseen", Value::Null),
            Outlook::Endless => ("never", Value::Null),
            Outlook::Holds => ("holds", Value::Null),
            Outlook::Refused { pace, window } => {
                let Pace { job, release, .. } = &self.forecast.paces()[*pace];
                let window = json!({ "start": instant(window.start()), "end": instant(window.end()) });
                ("refused", json!({ "job": job.as_str(), "release": release.as_str(), "window": window }))
            }
            _ => ("beyond", Value::Null),
        };
        let counted =
            matches!(self.forecast.outlook(), Outlook::Refused { .. } | Outlook::Beyond | Outlook::Holds);
        let pace = |pace: &Pace| {
            json!({
                "job": pace.job.as_str(),
                "release": pace.release.as_str(),
                "every": in_words(pace.step),
                "microseconds": pace.step,
                "price": pace.price.as_ref().map(amount),
            })
        };
        let ended = |ended: &EndedRelease| {
            json!({
                "job": ended.job.as_str(),
                "release": ended.release.as_str(),
                "last_closes": instant(ended.last),
                "over": ended.is_over,
            })
        };
        json!({
            "promise": promise_sentence(&self.account),
            "ends": outlook,
            "windows": counted.then_some(self.forecast.windows()),
            "last_closes": self.forecast.last_closes().and_then(instant),
            "refused": refused,
            "pace": self.forecast.paces().iter().map(pace).collect::<Vec<_>>(),
            "left_out": self.forecast.ended().iter().map(ended).collect::<Vec<_>>(),
        })
    }

    fn page(&self) -> String {
        let mut page = format!("\n{}\n  {}\n", self.account.name(), promise_sentence(&self.account));
        for Pace { job, release, step, price, .. } in self.forecast.paces() {
            let price = price.as_ref().map_or("prepaid".to_owned(), |price| format!("{price} a window"));
            page += &format!("  pace      {job} {release}: every {}, {price}\n", in_words(*step));
        }
        for EndedRelease { job, release, last, is_over } in self.forecast.ended() {
            let why = match &self.of {
                _ if *is_over => "the job has no window after it",
                Some(of) if of == job => "the job file does not have it",
                _ => "the others of its job went on without it",
            };
            page += &match instant(*last) {
                Some(last) => {
                    format!("  left out  {job} {release}: its last window closed {last}, and {why}\n")
                }
                None => format!("  left out  {job} {release}: its one window has no end, and was released\n"),
            };
        }
        page + &format!("  refuses   {}\n", self.end())
    }

    fn end(&self) -> String {
        let windows = self.forecast.windows();
        let last = self.forecast.last_closes().map(moment);
        let until = last.map(|last| format!("; the last of them closes {last}")).unwrap_or_default();
        let more = if windows == 1 { "window" } else { "windows" };
        match self.forecast.outlook() {
            Outlook::Unseen if self.is_charged => {
                "unknown: what was charged, such as answers, is followed by no window".into()
            }
            Outlook::Unseen => "unknown: the ledger holds no window that was charged".into(),
            Outlook::Endless => "never, at this pace".into(),
            Outlook::Holds if windows == 0 => "never: no window is to come".into(),
            Outlook::Holds => format!("never: the {windows} {more} to come fit{until}"),
            Outlook::Refused { pace, window } => {
                let Pace { job, release, .. } = &self.forecast.paces()[*pace];
                let (start, end) = (moment(window.start()), moment(window.end()));
                format!(
                    "after {windows} more {more}{until}\n            first {job} {release}, from {start} to {end}"
                )
            }
            _ => format!("not within {windows} more {more}{until}; the forecast ends there"),
        }
    }
}

/// The time in RFC 3339, in UTC; `None` beyond the year 9999, which that format cannot name.
fn instant(time: i64) -> Option<String> {
    jiff::Timestamp::from_microsecond(time).ok().map(|instant| instant.to_string())
}

fn moment(time: i64) -> String {
    instant(time).unwrap_or_else(|| "beyond the year 9999".into())
}
