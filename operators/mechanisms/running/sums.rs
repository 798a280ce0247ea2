//! Running means, variances and ratios: each of the running totals of its sums over records.
//!
//! A person's records of all windows together are bounded by one number in each key, and the first of them count. So each
//! sum is a stream to which a person brings no more than that number of times the most of a record, and all totals of it
//! are charged as those of a [`RunningTotal`](super::RunningTotal). The charges of the sums add up, whatever a person's
//! records have in common: the noises are independent.

use super::prepared::{PreparedRunning, StreamContribution};
use super::total::TotalSpan;
use super::totals::{RunningForm, RunningNumbers, noised, prepare};
use crate::accounting::running::Strategy;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::Gaussian;
use crate::mechanisms::answer::{Estimate, Noised};
use crate::mechanisms::bound::{Range, Sensitivity};
use crate::mechanisms::keys::Key;
use crate::mechanisms::means::divided;
use crate::mechanisms::mechanism::{Mechanism, Sealed};
use crate::mechanisms::noisy::NumberForm;
use crate::mechanisms::pair_sums::{PairStatistic, PairSums};
use crate::mechanisms::ratio::{Quotient, Ratio, SUMS, UPPER};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cells, Mean, Statistic};
use crate::mechanisms::variance::{MomentUnits, SUMMING, Variance};

/// A mean, a variance or a ratio over all windows so far, or over the last ones. It is released at every window, and
/// charged once.
///
/// The contribution bound of a person holds for all windows *together*: at most `keys` keys, and in each at most `per_key`
/// records.
#[derive(Clone, Debug)]
pub struct RunningSums<S> {
    each: S,
    span: TotalSpan,
    strategy: Option<Strategy>,
}

impl<S: PairStatistic> RunningSums<S> {
    /// Creates this statistic, over this span of windows.
    ///
    /// # Errors
    /// Names `windows` if a bound limits a person's windows, since the bound here covers all of them; and `horizon` or
    /// `width` if there are no such totals.
    pub fn new(each: S, span: TotalSpan) -> Result<RunningSums<S>, Invalid> {
        if each.limits().windows().is_some() {
            let remedy = "no number of windows: a person is bounded over all of them together";
            return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
        }
        super::not_rolled_up(each.is_rolled_up())?;
        if matches!(span, TotalSpan::People { .. }) {
            let remedy =
                "totals so far, or over the last windows: what is no person does not enter and leave";
            return Err(Invalid::new("over", InvalidKind::Mixed, remedy));
        }
        span.checked()?;
        Ok(RunningSums { each, span, strategy: None })
    }

    /// Uses this strategy, and not the best one.
    #[must_use]
    pub fn by(self, strategy: Strategy) -> RunningSums<S> {
        RunningSums { strategy: Some(strategy), ..self }
    }

    /// The statistic of the records that it is of.
    pub fn each(&self) -> &S {
        &self.each
    }

    /// The windows that it covers.
    pub fn span(&self) -> TotalSpan {
        self.span
    }

    /// Returns the contribution of one person to a key in a window: that of the first `left` of these values, which are what
    /// former windows have left; and the number of these. A person is counted in the first window alone.
    pub fn contribution(&self, values: &[S::Value], left: u64, first: bool) -> (PairSums, u64) {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(values.len());
        let mut sums = self.each.contribution(&values[..most]);
        sums.people = u64::from(first && !values.is_empty());
        (sums, sums.records)
    }

    /// Prepares the totals of a sum to which a record brings at most this, and their noise in steps.
    fn total(
        &self,
        name: &'static str,
        most: u64,
        spend: Spend,
    ) -> Result<(PreparedRunning, Noised), Invalid> {
        let limits = self.each.limits();
        let reach = StreamContribution::new(most.saturating_mul(limits.per_key()), limits.keys())?;
        let running = self.span.prepare(self.strategy, reach, spend)?;
        let noise = noised(name, &running);
        Ok((running, noise))
    }
}

impl<S> Sealed for RunningSums<S> {}

impl<S: PairStatistic> Statistic for RunningSums<S> {
    type Tally = Cells<S::Key, PairSums>;

    /// The sensitivity of the sums of one window. All totals together move by more, and the charge is for that.
    fn sensitivity(&self) -> Sensitivity {
        self.each.sensitivity()
    }
}

/// A running mean: a sum of distances from the middle of the range over a count.
#[derive(Clone, Copy, Debug)]
pub struct RunningMean(Range);

/// A running variance: a sum, a sum of squares and a count.
#[derive(Clone, Copy, Debug)]
pub struct RunningVariance(MomentUnits);

/// A running ratio: two sums.
#[derive(Clone, Copy, Debug)]
pub struct RunningRatio(Quotient);

macro_rules! floats {
    ($($form:ident),*) => {$(
        impl NumberForm for $form {
            type Cell = PairSums;
            type Number = f64;
            type Value = f64;
        }
    )*};
}

floats!(RunningMean, RunningVariance, RunningRatio);

impl RunningForm<2> for RunningMean {
    fn exact(&self, cell: &PairSums) -> [i128; 2] {
        [cell.sums[0], cell.records.into()]
    }

    fn estimate(&self, [sum, count]: [Estimate<i128>; 2]) -> Estimate<f64> {
        divided(&self.0, &sum, &count, [1; 2])
    }
}

impl RunningForm<3> for RunningVariance {
    fn exact(&self, cell: &PairSums) -> [i128; 3] {
        [cell.sums[0], cell.sums[1], cell.records.into()]
    }

    fn estimate(&self, [sum, squares, count]: [Estimate<i128>; 3]) -> Estimate<f64> {
        self.0.spread(&count, &sum, &squares)
    }
}

impl RunningForm<2> for RunningRatio {
    fn exact(&self, cell: &PairSums) -> [i128; 2] {
        cell.sums
    }

    fn estimate(&self, [upper, lower]: [Estimate<i128>; 2]) -> Estimate<f64> {
        self.0.of(&upper, &lower)
    }
}

/// The whole cost is that of all windows; the count has [its share](Gaussian::counting) of it and the sum the rest.
impl<K: Key> Mechanism<RunningSums<Mean<K>>> for Gaussian {
    type Prepared = RunningNumbers<K, RunningMean, 2>;

    fn prepare(&self, statistic: &RunningSums<Mean<K>>) -> Result<Self::Prepared, Invalid> {
        let (mean, counting) = (statistic.each(), self.0.counting()?);
        let stated = mean.stated();
        let numbers = |spend: Spend| {
            let (counted, summed) = spend.split(counting);
            let (sums, sum) = statistic.total("sum", mean.range().width(), summed)?;
            let (counts, count) = statistic.total("records", 1, counted)?;
            let sum = sum.with_point(stated.point);
            Ok(([sums, counts], [Noised { scale: sum.scale / 2.0, ..sum }, count]))
        };
        let form = RunningMean(*mean.range());
        prepare(&self.0, (&stated, "discreet running mean 1"), statistic.span(), form, numbers)
    }
}

/// The whole cost is that of all windows; it is divided as [that of one](crate::mechanisms::NoisyVariances).
impl<K: Key> Mechanism<RunningSums<Variance<K>>> for Gaussian {
    type Prepared = RunningNumbers<K, RunningVariance, 3>;

    fn prepare(&self, statistic: &RunningSums<Variance<K>>) -> Result<Self::Prepared, Invalid> {
        let (variance, counting) = (statistic.each(), self.0.counting()?);
        let units = variance.moments();
        let numbers = |spend: Spend| {
            let (counted, rest) = spend.split(counting);
            let (summed, squared) = rest.split(SUMMING);
            let [most, square] = variance.most_of_a_record();
            let (sums, sum) = statistic.total("sum", most, summed)?;
            let (squares, square) = statistic.total("squares", square, squared)?;
            let (counts, count) = statistic.total("records", 1, counted)?;
            Ok(([sums, squares, counts], units.noised([sum, square, count])))
        };
        let form = RunningVariance(units);
        prepare(&self.0, (&variance.stated(), "discreet running variance 1"), statistic.span(), form, numbers)
    }
}

/// The whole cost is that of all windows; both sums have half of it.
impl<K: Key> Mechanism<RunningSums<Ratio<K>>> for Gaussian {
    type Prepared = RunningNumbers<K, RunningRatio, 2>;

    fn prepare(&self, statistic: &RunningSums<Ratio<K>>) -> Result<Self::Prepared, Invalid> {
        let ratio = statistic.each();
        let numbers = |spend: Spend| {
            let (above, below) = spend.split(UPPER);
            let [(most, point), (lower_most, lower_point)] = ratio.most_of_a_record();
            let (uppers, upper) = statistic.total(SUMS[0], most, above)?;
            let (lowers, lower) = statistic.total(SUMS[1], lower_most, below)?;
            Ok(([uppers, lowers], [upper.with_point(point), lower.with_point(lower_point)]))
        };
        let form = RunningRatio(ratio.quotient());
        prepare(&self.0, (&ratio.stated(), "discreet running ratio 1"), statistic.span(), form, numbers)
    }
}
