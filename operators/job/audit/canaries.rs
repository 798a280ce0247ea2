//! The canaries of an audit: made-up people who use all of their bound, each in the data by a fair coin.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use super::copy::field;
use crate::accounting::PrivacyUnit;
use crate::dataflow::Schedule;
use crate::invalid::Invalid;
use crate::job::release_plan::ReleasePlan;
use crate::job::sources::steps;
use crate::job::statistics::CanaryValue;
use crate::time::Time;

/// The records of a canary.
#[derive(Clone, Debug)]
pub(super) struct CanaryShape {
    /// The number of its keys.
    pub(super) keys: u64,
    /// The number of its records of each key: where people are bounded, one more than count.
    pub(super) records: u64,
    /// The value of each record.
    value: CanaryValue,
    /// The steps by which it moves the number of a key.
    pub(super) moved: i64,
}

impl CanaryShape {
    /// States the shape for a plan, of a number of keys, records of each that count, and the value of a record.
    pub(super) fn of(
        plan: &ReleasePlan,
        (keys, records, value): (u64, u64, CanaryValue),
        unit: PrivacyUnit,
    ) -> Result<CanaryShape, Invalid> {
        let records_moved = i64::try_from(records).unwrap_or(i64::MAX);
        let moved = match value {
            CanaryValue::Stated(number) => {
                steps(number.to_string().as_bytes(), plan.point().count()).unwrap_or(i64::MAX)
            }
            CanaryValue::None | CanaryValue::OfKey => records_moved,
        };
        let beyond = u64::from(unit == PrivacyUnit::Person);
        Ok(CanaryShape { keys, records: records + beyond, value, moved })
    }
}

impl CanaryShape {
    /// Writes the records of a canary, with its cells and its window.
    fn write(
        &self,
        file: &mut impl Write,
        canary: u64,
        (cells, window): (Range<usize>, u64),
        plan: &ReleasePlan,
    ) -> io::Result<()> {
        let time = moment(&plan.schedule, window);
        for cell in cells {
            for record in 0..self.records {
                let mut line = json!({
                    field::PERSON: format!("audit/{canary}"),
                    field::ID: format!("{canary}/{cell}/{record}"),
                    field::PARENT: named(cell as u64 / self.keys),
                    field::KEY: named(cell as u64),
                });
                if let Some(time) = &time {
                    line[field::TIME] = time.clone().into();
                }
                match self.value {
                    CanaryValue::None => {}
                    CanaryValue::OfKey => line[field::VALUE] = cell.into(),
                    CanaryValue::Stated(number) => line[field::VALUE] = number.to_string().into(),
                }
                writeln!(file, "{line}")?;
            }
        }
        Ok(())
    }
}

/// The places of canaries: each has its own keys in one window, and those of another window may have them, too.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    canaries: u64,
    keys: u64,
    /// The windows that canaries are made for, and the number of the last of them.
    primary: u64,
    /// The distance of two of them, of which no record is in both.
    stride: u64,
}

impl Slots {
    /// Finds places in the first `windows` of a schedule.
    pub(super) fn of(schedule: &Schedule, windows: u64, (canaries, keys): (u64, u64)) -> Slots {
        // The windows that the first moment of the first window's last pane is in.
        let stride = schedule.window(0).map_or(1, |window| {
            let holding = schedule.holding(window.end() - 1);
            (holding.end - holding.start).max(1)
        });
        let primary = windows.div_ceil(stride).max(1);
        Slots { canaries, keys, primary, stride }
    }

    /// The number of canaries.
    pub(super) fn canaries(&self) -> u64 {
        self.canaries
    }

    /// Returns the number of keys.
    pub(super) fn cells(&self) -> usize {
        (self.canaries.div_ceil(self.primary) * self.keys) as usize
    }

    /// Returns the reserved keys in their order, each below its parent where there are parents.
    pub(super) fn keys(&self, parents: bool) -> Vec<Vec<String>> {
        let key = |cell: usize| {
            let parent = parents.then(|| named(cell as u64 / self.keys.max(1)));
            parent.into_iter().chain([named(cell as u64)]).collect()
        };
        (0..self.cells()).map(key).collect()
    }

    /// Returns the window of a canary, by its number.
    pub(super) fn window(&self, canary: u64) -> u64 {
        canary % self.primary * self.stride
    }

    /// Returns the cells of a canary.
    pub(super) fn cells_of(&self, canary: u64) -> Range<usize> {
        let first = (canary / self.primary * self.keys) as usize;
        first..first + self.keys as usize
    }
}

/// Returns the name of a reserved key or parent: all have the same length, so that their order is that of their numbers.
pub(super) fn named(number: u64) -> String {
    format!("audit/{number:09}")
}

/// Returns the number of a reserved key.
pub(super) fn number_of(key: &str) -> Option<u64> {
    key.strip_prefix("audit/")?.parse().ok()
}

/// The coins of canaries.
#[derive(Clone, Debug)]
pub(super) struct Coins(Vec<bool>);

impl Coins {
    /// Throws a coin for each canary, by a secret seed.
    pub(super) fn of(seed: &[u8; 32], canaries: u64) -> Coins {
        let mut words = blake3::Hasher::new_keyed(seed).finalize_xof();
        let mut bytes = vec![0; canaries.div_ceil(8) as usize];
        words.fill(&mut bytes);
        Coins((0..canaries).map(|canary| bytes[(canary / 8) as usize] >> (canary % 8) & 1 == 1).collect())
    }

    /// Returns true for a canary that is in the data.
    pub(super) fn inside(&self, canary: u64) -> bool {
        self.0.get(canary as usize).copied().unwrap_or(false)
    }
}

/// Writes the records of the canaries that are in the data.
pub(super) fn write(
    path: &Path,
    (slots, shape, coins): (&Slots, &CanaryShape, &Coins),
    plan: &ReleasePlan,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for canary in (0..slots.canaries()).filter(|canary| coins.inside(*canary)) {
        shape.write(&mut file, canary, (slots.cells_of(canary), slots.window(canary)), plan)?;
    }
    file.flush()
}

/// Writes the records of this number of canaries, each alone with keys of its own.
pub(super) fn write_alone(
    path: &Path,
    (canaries, shape): (u64, &CanaryShape),
    plan: &ReleasePlan,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let windows = plan.schedule.count();
    for canary in 0..canaries {
        let first = (canary * shape.keys) as usize;
        let cells = first..first + shape.keys as usize;
        shape.write(&mut file, canary, (cells, canary % windows), plan)?;
    }
    file.flush()
}

/// Returns a moment of a window that is in no earlier one of those that canaries are made for, as it is written.
fn moment(schedule: &Schedule, window: u64) -> Option<String> {
    /// From the years that can be written: 1970, for a window that has no start.
    const FIRST: Time = 0;
    let window = schedule.window(window)?;
    let time =
        if window.start() < -62_000_000_000_000_000 { FIRST.min(window.end() - 1) } else { window.start() };
    Timestamp::from_microsecond(time).ok().map(|moment| moment.to_string())
}
