//! What questions are asked of: the records of each person that are kept.

use std::fmt;
use std::sync::Arc;

use crate::dataflow::bounding::{Cap, Few, Values};
use crate::dataflow::sentence::question::Aggregation;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answers::{QueryRow, Schema};
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::{ContributionBound, Sensitivity, Statistic, Tally};

/// Records as rows, at most `per_key` of a person.
#[derive(Clone)]
pub(super) struct RecordRows {
    version: WindowVersion,
    measure: Values<QueryRow>,
}

impl RecordRows {
    /// # Errors
    /// Names `keys` where it is not 1, and `windows` where it is bounded: a bundle pays for its answers, whatever windows
    /// they are about.
    pub(super) fn new(schema: Schema, limits: &ContributionBound) -> Result<RecordRows, Invalid> {
        if limits.keys() != 1 {
            let remedy = "1: questions have no keys, and of a person per_key records are kept";
            return Err(Invalid::new("keys", InvalidKind::TooLarge, remedy));
        }
        if limits.windows().is_some() {
            let remedy =
                "no bound on windows: a bundle pays for its answers, whatever windows they are about";
            return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
        }
        let sensitivity = Sensitivity::each(limits, limits.per_key().into())?;
        Ok(RecordRows { version: WindowVersion { schema, sensitivity }, measure: Values::new() })
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.version.schema
    }
}

/// All that is kept of one window.
#[derive(Clone)]
pub(super) struct WindowVersion {
    schema: Schema,
    sensitivity: Sensitivity,
}

impl Sealed for WindowVersion {}

impl Statistic for WindowVersion {
    type Tally = Gathered;

    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// The rows of a window. They stay where their people are bounded. Prints as `<private>`.
pub(super) struct Gathered(Vec<QueryRow>);

impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl Sealed for Gathered {}

impl Tally for Gathered {
    type Part = Vec<QueryRow>;

    fn absorb(&mut self, part: Vec<QueryRow>) {
        self.0.extend(part);
    }
}

impl Aggregation for RecordRows {
    type Key = ();
    type Measure = Values<QueryRow>;
    type Statistic = WindowVersion;
    type Total = Vec<QueryRow>;

    fn measure(&self) -> &Values<QueryRow> {
        &self.measure
    }

    fn statistic(&self) -> &WindowVersion {
        &self.version
    }

    fn listed(&self) -> Option<Arc<[()]>> {
        None
    }

    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(1, limits.per_key())
    }

    fn add(&self, total: &mut Vec<QueryRow>, share: Few<QueryRow>) {
        total.extend(share);
    }

    fn join(&self, ours: &mut Vec<QueryRow>, theirs: &Vec<QueryRow>) {
        ours.extend(theirs.iter().cloned());
    }

    fn part((): (), total: Vec<QueryRow>) -> Vec<QueryRow> {
        total
    }
}
