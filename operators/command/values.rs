//! Parsers of argument values. Each reads one text into its type, once, and refuses a text that does not fit
//! as every other parameter is refused: by the name of its argument, with the kind of value that was found
//! and the remedy.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use discreet::accounting::bounded::BoundedNoiseGoal;
use discreet::accounting::shape::DataDomain;
use discreet::accounting::{Randomizer, Relation};
use discreet::fit::RandomWalk;
use discreet::job::config::{BudgetShare, ConfigNumber};
use discreet::ledger::Name;
use discreet::mechanisms::Grid;
use discreet::mechanisms::stable::BoundingBox;
use discreet::time::{Time, at};
use discreet::{Decimal, Invalid};

use super::Refusal;

/// A parser that gets the name of its argument beside the text.
#[derive(Clone)]
struct ArgumentParser<F>(F);

impl<T, F> TypedValueParser for ArgumentParser<F>
where
    F: Fn(&str, &str) -> Result<T, Refusal> + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let name = argument.map(|argument| argument.get_long().unwrap_or(argument.get_id().as_str()));
        let (name, parse) = (name.unwrap_or("argument").to_owned(), self.0.clone());
        let named = move |text: &str| parse(&name, text);
        named.parse_ref(command, argument, value)
    }
}

fn argument<T: Clone + Send + Sync + 'static>(
    parse: impl Fn(&str, &str) -> Result<T, Refusal> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    ArgumentParser(parse)
}

/// Parses a decimal number exactly.
pub(super) fn decimal() -> impl TypedValueParser<Value = Decimal> {
    argument(|field, text| Ok(Decimal::parse(field.to_owned(), text)?))
}

/// Parses a number in plain decimal notation, for accounting in floats.
pub(super) fn number() -> impl TypedValueParser<Value = f64> {
    argument(read_number)
}

/// Parses a whole number.
pub(super) fn whole() -> impl TypedValueParser<Value = u64> {
    argument(read_whole)
}

/// Parses a whole number; all that are beyond 32 bits become the largest, which is refused as too large.
pub(super) fn whole_u32() -> impl TypedValueParser<Value = u32> {
    argument(read_whole_u32)
}

/// Parses a whole number within a range; `remedy` completes "give ..".
pub(super) fn whole_within<T>(
    range: RangeInclusive<T>,
    remedy: &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: TryFrom<u64> + PartialOrd + Clone + Send + Sync + 'static,
{
    argument(move |field, text| {
        let whole = T::try_from(read_whole(field, text)?).ok();
        whole.filter(|whole| range.contains(whole)).ok_or_else(|| out_of_range(field, remedy))
    })
}

/// Parses a type that reads itself from text, and whose refusals name the argument.
pub(super) fn parsed<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Invalid> + Clone + Send + Sync + 'static,
{
    argument(|_, text| Ok(text.parse()?))
}

/// Parses the name of an account.
pub(super) fn account() -> impl TypedValueParser<Value = Name> {
    argument(|_, text| Ok(Name::new("account", text)?))
}

/// Parses the name of a release.
pub(super) fn release() -> impl TypedValueParser<Value = Name> {
    argument(|field, text| read_release(&format!("--{field}"), text))
}

/// Parses the name of a release with the deviation of its values from one window to the next.
pub(super) fn walk() -> impl TypedValueParser<Value = (Name, f64)> {
    argument(|field, text| {
        let field = &format!("--{field}");
        let Some((release, deviation)) = text.split_once('=') else {
            return Err(malformed(field, "a release and a deviation, such as visits=20"));
        };
        let (release, deviation) = (read_release(field, release)?, read_number(field, deviation)?);
        RandomWalk::new(deviation).map_err(|refused| {
            // The deviation is the number of this argument.
            let words = refused.to_string();
            let (_, words) = words.split_once(": ").unwrap_or(("", &words));
            Refusal::new(format!("{field}: {words}"))
        })?;
        Ok((release, deviation))
    })
}

fn read_release(field: &str, text: &str) -> Result<Name, Refusal> {
    Name::new("release", text).map_err(|refused| refuse_argument(field, &refused))
}

/// Parses a date, which begins at midnight UTC, or a time.
pub(super) fn time() -> impl TypedValueParser<Value = Time> {
    argument(|field, text| at(text).map_err(|refused| malformed(field, refused.remedy())))
}

/// Parses the skew of a synthetic log, which may be negative until the log refuses it.
pub(super) fn skew() -> impl TypedValueParser<Value = ConfigNumber> {
    argument(|field, text| ConfigNumber::parse(text).map_err(|_| malformed(field, "a number from 0 to 10")))
}

/// Parses a part of a budget.
pub(super) fn part() -> impl TypedValueParser<Value = BudgetShare> {
    argument(|field, text| {
        let part = BudgetShare::of(&Decimal::parse(field.to_owned(), text)?);
        part.map_err(|refused| out_of_range(field, refused.remedy()))
    })
}

/// Parses the number of points of a grid, or `log`.
pub(super) fn grid() -> impl TypedValueParser<Value = Grid> {
    argument(|field, text| {
        if text == "log" {
            return Ok(Grid::log_from_zero());
        }
        let last = i64::try_from(read_whole(field, text)?).unwrap_or(i64::MAX).saturating_sub(1);
        Grid::linear(1, last, 1).map_err(|_| {
            Refusal::new(format!(
                "{field}: found too few or too many points; give from 3 to 1099511627777, or log"
            ))
        })
    })
}

/// Parses the width of a box of one side, from zero.
pub(super) fn width() -> impl TypedValueParser<Value = BoundingBox> {
    argument(|field, text| {
        let width = i64::try_from(read_whole(field, text)?).unwrap_or(i64::MAX);
        BoundingBox::new(vec![(0, width)]).map_err(|_| out_of_range(field, "a whole number from 1 to 2^46"))
    })
}

/// Parses the number of choices of randomised response.
pub(super) fn choices() -> impl TypedValueParser<Value = Randomizer> {
    argument(|field, text| Ok(Randomizer::Response { choices: read_whole_u32(field, text)? }))
}

/// Parses the goal of a search for bounded noise.
pub(super) fn goal() -> impl TypedValueParser<Value = BoundedNoiseGoal> {
    argument(|field, text| {
        Ok(match text {
            "bound" => BoundedNoiseGoal::Bound,
            "rms" => BoundedNoiseGoal::Rms,
            weight => BoundedNoiseGoal::Mixed(read_number(field, weight)?),
        })
    })
}

/// Parses a box from the largest magnitude of each coordinate.
pub(super) fn reaches() -> impl TypedValueParser<Value = DataDomain> {
    argument(|field, text| {
        let reaches: Result<Vec<f64>, Refusal> =
            text.split(',').map(|reach| read_number(field, reach.trim())).collect();
        Ok(DataDomain::reaching(&reaches?)?)
    })
}

/// Parses the norm, the radius and the dimension of a ball.
pub(super) fn ball() -> impl TypedValueParser<Value = DataDomain> {
    argument(|field, text| {
        let [power, radius, dimension] = text.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(Refusal::new(format!(
                "{field}: found other than three numbers; give norm, radius and dimension, such as 2,1,8"
            )));
        };
        let power = if power == "inf" { f64::INFINITY } else { read_number(field, power)? };
        let (radius, dimension) = (read_number(field, radius)?, read_whole_u32(field, dimension)?);
        DataDomain::ball(power, radius, dimension as usize)
            .map_err(|refused| refuse_argument(field, &refused))
    })
}

/// Parses the bits and the ways of marginals.
pub(super) fn marginals() -> impl TypedValueParser<Value = DataDomain> {
    argument(|field, text| {
        let [bits, ways] = text.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(Refusal::new(format!(
                "{field}: found other than two numbers; give bits and ways, such as 10,2"
            )));
        };
        DataDomain::marginals(read_whole_u32(field, bits)?, read_whole_u32(field, ways)?)
            .map_err(|refused| refuse_argument(field, &refused))
    })
}

/// Parses a path into a type that accepts some paths alone.
pub(super) fn path<T: Clone + Send + Sync + 'static>(
    accept: fn(PathBuf) -> Result<T, Refusal>,
) -> impl TypedValueParser<Value = T> {
    PathBufValueParser::new().try_map(accept)
}

/// The adjacency of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RelationName {
    /// One person more or less
    AddRemove,
    /// One person in place of another; the number of people is public
    Replace,
}

impl From<RelationName> for Relation {
    fn from(name: RelationName) -> Relation {
        match name {
            RelationName::AddRemove => Relation::AddRemove,
            RelationName::Replace => Relation::Replace,
        }
    }
}

/// Parses the name of a value.
pub(super) fn choice<E: ValueEnum + Send + Sync + 'static>() -> impl TypedValueParser<Value = E> {
    ChoiceParser(PhantomData)
}

/// A parser of the names of values. Unlike clap's own, it refuses as the other parsers do.
#[derive(Clone)]
struct ChoiceParser<E>(PhantomData<E>);

impl<E: ValueEnum + Send + Sync + 'static> TypedValueParser for ChoiceParser<E> {
    type Value = E;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<E, clap::Error> {
        let choice = argument(|field, text| {
            E::from_str(text, false).map_err(|_| {
                let names: Vec<String> = names::<E>().map(|name| name.get_name().to_owned()).collect();
                Refusal::new(format!(
                    "{field}: found text that is not understood; give {}",
                    names.join(" or ")
                ))
            })
        });
        choice.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names::<E>()))
    }
}

fn names<E: ValueEnum + 'static>() -> impl Iterator<Item = PossibleValue> {
    E::value_variants().iter().filter_map(E::to_possible_value)
}

/// Reads a number in plain decimal notation.
pub(super) fn read_number(field: &str, text: &str) -> Result<f64, Refusal> {
    Ok(Decimal::parse(field.to_owned(), text)?.to_f64())
}

/// Reads a whole number: 1000 and 1e3, but not 1000.5.
pub(super) fn read_whole(field: &str, text: &str) -> Result<u64, Refusal> {
    let whole = Decimal::parse(field.to_owned(), text)?.to_u64();
    whole.ok_or_else(|| {
        Refusal::new(format!("{field}: found a number that is not whole or too large; give a whole number"))
    })
}

fn read_whole_u32(field: &str, text: &str) -> Result<u32, Refusal> {
    Ok(u32::try_from(read_whole(field, text)?).unwrap_or(u32::MAX))
}

/// Refuses an argument whose parameters are refused by names of their own.
pub(super) fn refuse_argument(field: &str, refused: &Invalid) -> Refusal {
    Refusal::new(format!("{field}: {refused}"))
}

fn out_of_range(field: &str, remedy: &str) -> Refusal {
    Refusal::new(format!("{field}: found a number that is out of range; give {remedy}"))
}

fn malformed(field: &str, remedy: &str) -> Refusal {
    Refusal::new(format!("{field}: found text that is not understood; give {remedy}"))
}
