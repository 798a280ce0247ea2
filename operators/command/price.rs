//! `discreet price`: the privacy cost of a list of mechanisms, by each accountant.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use discreet::accounting::{AccountedMechanism, Listing};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::json;
use serde_json::value::RawValue;

use super::Refusal;
use super::values::{number, read_number, read_whole};

/// The arguments of `discreet price`: a list of mechanisms, and a delta.
#[derive(Debug, Args)]
pub(crate) struct PriceArgs {
    /// A JSON file such as
    /// [{"mechanism":"gaussian","sigma":200,"count":1000},{"mechanism":"pure","epsilon":0.1}]; the mechanisms
    /// are laplace, discrete_laplace (scale), gaussian, rounded_gaussian, discrete_gaussian (sigma),
    /// randomized_response, pure (epsilon), approximate (epsilon, delta) and zcdp (rho); sensitivity and count are 1 unless given
    file: PathBuf,
    /// The delta at which epsilon is reported, from 0 to 1 and above the sum of the deltas of the list
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    delta: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl PriceArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let delta = self.delta;
        let listing = read(&self.file)?;
        let answer = PriceAnswer {
            delta,
            pld: listing.pld(delta)?,
            renyi: listing.renyi(delta)?,
            gdp: listing.gdp(delta)?,
            zcdp: listing.zcdp(delta)?,
            rho: listing.rho(),
            basic: listing.basic(delta)?,
        };
        Ok(if self.json { answer.line() } else { answer.page() })
    }
}

struct PriceAnswer {
    delta: f64,
    pld: f64,
    renyi: f64,
    /// Mu and epsilon, where each mechanism has a mu.
    gdp: Option<(f64, f64)>,
    zcdp: f64,
    rho: f64,
    basic: f64,
}

impl PriceAnswer {
    /// The least epsilon, and the name of its accountant; the more precise accountant on a tie.
    fn best(&self) -> (&'static str, f64) {
        let gdp = self.gdp.map_or(f64::INFINITY, |(_, epsilon)| epsilon);
        let ways = [
            ("pld", self.pld),
            ("gdp", gdp),
            ("renyi", self.renyi),
            ("zcdp", self.zcdp),
            ("basic", self.basic),
        ];
        ways.into_iter().fold(("pld", f64::INFINITY), |best, way| if way.1 < best.1 { way } else { best })
    }

    /// The answer as one line of JSON; an epsilon that does not exist is null.
    fn line(&self) -> String {
        let (by, epsilon) = self.best();
        let line = json!({
            "delta": self.delta,
            "pld": { "epsilon": self.pld },
            "renyi": { "epsilon": self.renyi },
            "gdp": self.gdp.map(|(mu, epsilon)| json!({ "mu": mu, "epsilon": epsilon })),
            "zcdp": { "rho": self.rho, "epsilon": self.zcdp },
            "basic": { "epsilon": self.basic },
            "best": { "by": by, "epsilon": epsilon },
        });
        format!("{line}\n")
    }

    fn page(&self) -> String {
        let say = |epsilon: f64| {
            if epsilon.is_finite() { format!("{epsilon:.6}") } else { "none up to 500".into() }
        };
        let (by, epsilon) = self.best();
        format!(
            "All of the list together, at delta = {delta:e}, is private with\n\n\
             \x20 epsilon = {best}   by {by}, the least of\n\n\
             \x20   pld      {pld:<16} exact, but for zcdp entries: privacy-loss distributions, composed\n\
             \x20   renyi    {renyi:<16} Rényi divergences of every order, added\n\
             {gdp}\x20   zcdp     {zcdp:<16} one number, rho = {rho:.9}, as an account in zCDP adds it\n\
             \x20   basic    {basic:<16} the epsilons added, delta shared among those that need one\n\n\
             Each is an upper bound, rounded up. The pld and renyi figures hold for a list that was fixed before its\n\
             first answer. The gdp and zcdp figures hold for releases that are chosen by earlier answers too, within a limit\n\
             of mu or rho that is fixed before the first, as an account has it.\n",
            delta = self.delta,
            best = say(epsilon),
            pld = say(self.pld),
            renyi = say(self.renyi),
            gdp = self.gdp.map_or(String::new(), |(mu, epsilon)| format!(
                "    gdp      {:<16} Gaussian differential privacy, mu = {mu:.6}: the squares of mu added\n",
                say(epsilon)
            )),
            zcdp = say(self.zcdp),
            rho = self.rho,
            basic = say(self.basic),
        )
    }
}

fn read(path: &Path) -> Result<Listing, Refusal> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Refusal::unreadable("file", path, &error))?;
    let mut source = serde_json::Deserializer::from_str(&text);
    let listing = NumberedList::deserialize(&mut source).and_then(|listed| source.end().map(|()| listed.0));
    listing.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let place = format!(" at line {line} column {column}");
        let message = error.to_string();
        let message = message.strip_suffix(&place).unwrap_or(&message);
        let message = match error.classify() {
            Category::Eof => format!("found an end that is too early ({message}); give {EXAMPLE}"),
            Category::Syntax | Category::Io => {
                format!("found text that is no JSON ({message}); give {EXAMPLE}")
            }
            // The message of a refused field has a remedy; the messages of the JSON parser have none.
            Category::Data if message.contains("; ") => message.to_owned(),
            Category::Data => format!("{message}; give {EXAMPLE}"),
        };
        Refusal::new(format!("{shown}:{line}:{column}: {message}"))
    })
}

/// An example of a list, for messages.
const EXAMPLE: &str = "a list such as [{\"mechanism\":\"gaussian\",\"sigma\":200,\"count\":1000}]";

/// A list whose errors name the entry, counted from 1.
struct NumberedList(Listing);

impl<'de> Deserialize<'de> for NumberedList {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<NumberedList, D::Error> {
        source.deserialize_seq(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = NumberedList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of mechanisms")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<NumberedList, A::Error> {
        let mut listing = Listing::default();
        for index in 1.. {
            let named = |error: &dyn fmt::Display| de::Error::custom(format!("entry {index}: {error}"));
            let Some(entry) =
                entries.next_element::<PriceEntry>().map_err(|error| named(&without_place(&error)))?
            else {
                break;
            };
            entry.join(&mut listing).map_err(|error| named(&error))?;
        }
        Ok(NumberedList(listing))
    }
}

/// Removes the place from a JSON error: the outer error names it as well.
fn without_place(error: &dyn fmt::Display) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// One entry of the file. The parser refuses duplicate and unknown fields. Values keep their text until their
/// field is known, so that each refusal names it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mechanism with its fields")]
struct PriceEntry {
    mechanism: Figure,
    scale: Option<Figure>,
    sigma: Option<Figure>,
    epsilon: Option<Figure>,
    delta: Option<Figure>,
    rho: Option<Figure>,
    sensitivity: Option<Figure>,
    count: Option<Figure>,
}

/// The text of a JSON value.
type Figure = Box<RawValue>;

#[derive(Clone, Copy)]
enum MechanismName {
    Laplace,
    DiscreteLaplace,
    Gaussian,
    DiscreteGaussian,
    Pure,
    Approximate,
    Zcdp,
}

impl MechanismName {
    fn read(figure: &RawValue) -> Result<MechanismName, Refusal> {
        Ok(match serde_json::from_str::<&str>(figure.get()) {
            Ok("laplace") => MechanismName::Laplace,
            Ok("discrete_laplace") => MechanismName::DiscreteLaplace,
            // Rounding a whole number's noise costs nothing and saves nothing.
            Ok("gaussian" | "rounded_gaussian") => MechanismName::Gaussian,
            Ok("discrete_gaussian") => MechanismName::DiscreteGaussian,
            // Randomised response has the largest loss among mechanisms of its epsilon, so it is accounted as
            // pure epsilon.
            Ok("randomized_response" | "pure") => MechanismName::Pure,
            Ok("approximate") => MechanismName::Approximate,
            Ok("zcdp") => MechanismName::Zcdp,
            _ => {
                return Err(Refusal::new(
                    "mechanism: found another name; give \"laplace\", \"discrete_laplace\", \"gaussian\", \
                     \"rounded_gaussian\", \"discrete_gaussian\", \"randomized_response\", \"pure\", \"approximate\" or \"zcdp\"",
                ));
            }
        })
    }
}

impl PriceEntry {
    fn join(mut self, listing: &mut Listing) -> Result<(), Refusal> {
        let mechanism = self.mechanism()?;
        let uses = self.count.take();
        self.nothing_left()?;
        Ok(listing.add(mechanism, uses.map_or(Ok(1), |uses| count("count", &uses))?)?)
    }

    /// Takes the fields of the mechanism out of the entry.
    fn mechanism(&mut self) -> Result<AccountedMechanism, Refusal> {
        let sensitivity = self.sensitivity.take();
        let real = || sensitivity.as_ref().map_or(Ok(1.0), |figure| float("sensitivity", figure));
        let integer = || sensitivity.as_ref().map_or(Ok(1), |figure| count("sensitivity", figure));
        let mechanism = match MechanismName::read(&self.mechanism)? {
            MechanismName::Laplace => AccountedMechanism::laplace(needed("scale", &mut self.scale)?, real()?),
            MechanismName::Gaussian => {
                AccountedMechanism::gaussian(needed("sigma", &mut self.sigma)?, real()?)
            }
            MechanismName::DiscreteLaplace => {
                AccountedMechanism::discrete_laplace(needed("scale", &mut self.scale)?, integer()?)
            }
            MechanismName::DiscreteGaussian => {
                AccountedMechanism::discrete_gaussian(needed("sigma", &mut self.sigma)?, integer()?)
            }
            name => {
                // The other mechanisms are stated by their privacy cost alone.
                if sensitivity.is_some() {
                    return Err(Refusal::new(
                        "sensitivity: found a field that this mechanism does not have; leave it out",
                    ));
                }
                match name {
                    MechanismName::Zcdp => AccountedMechanism::zcdp(needed("rho", &mut self.rho)?),
                    MechanismName::Approximate => AccountedMechanism::approximate(
                        needed("epsilon", &mut self.epsilon)?,
                        needed("delta", &mut self.delta)?,
                    ),
                    _ => AccountedMechanism::pure(needed("epsilon", &mut self.epsilon)?),
                }
            }
        };
        Ok(mechanism?)
    }

    fn nothing_left(&self) -> Result<(), Refusal> {
        let fields = [
            ("scale", &self.scale),
            ("sigma", &self.sigma),
            ("epsilon", &self.epsilon),
            ("delta", &self.delta),
            ("rho", &self.rho),
        ];
        match fields.iter().find(|(_, value)| value.is_some()) {
            Some((field, _)) => Err(Refusal::new(format!(
                "{field}: found a field that this mechanism does not have; leave it out"
            ))),
            None => Ok(()),
        }
    }
}

fn needed(field: &'static str, value: &mut Option<Figure>) -> Result<f64, Refusal> {
    let value = value.take();
    let value = value.ok_or_else(|| {
        Refusal::new(format!("{field}: found nothing; give a number, this mechanism needs it"))
    })?;
    float(field, &value)
}

fn float(field: &'static str, value: &RawValue) -> Result<f64, Refusal> {
    read_number(field, &value.get().replace('E', "e"))
}

/// Parses a whole number: 1000 and 1e3, but not 1000.5.
fn count(field: &'static str, value: &RawValue) -> Result<u64, Refusal> {
    read_whole(field, &value.get().replace('E', "e"))
}
