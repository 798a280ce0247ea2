//! Totals so far, published in each of many windows, for a person who counts once in all of them.
//!
//! OpenDP and Tumult have nothing for a stream: with noise of its own in each window, which is paid for once since a person is in
//! one of them, the last total has that of all windows. Published for streams is the binary tree (Chan, Shi and Song 2011; Dwork,
//! Naor, Pitassi and Rothblum 2010), here with Gaussian noise at the same promise, and with Honaker's estimates of its nodes, which
//! this library offers too. The least is that of any linear strategy with Gaussian noise at the mu of the promise: the nuclear norm
//! of the totals over the number of windows.

use std::error::Error;
use std::f64::consts::PI;

use discreet::accounting::running::{Strategy, so_far};
use discreet::accounting::{BudgetUnits, gdp};
use discreet::mechanisms::running::{PreparedRunning, StreamContribution};
use discreet::noise::NoiseSource;

use super::peers::{analytic_gaussian, zcdp_rho};
use super::report::{Figure, Report, Row};
use super::{DELTA, EPSILON};

/// The number of windows that are simulated for a figure, in 2,000 streams at least.
const SIMULATED: u64 = 20_000_000;

pub(crate) fn measure(report: &mut Report) -> Result<(), Box<dyn Error>> {
    // The nuclear norm, and the variance of a tree: figures of a published table.
    assert!((nuclear(1024) - 2.909_584).abs() < 1e-6 && (nuclear(65_536) - 4.232_098).abs() < 1e-6);
    assert_eq!((tree(1023), tree(1024)), (100.0, 110.0));
    for (name, windows, released, short) in [
        ("running_58", 58, "totals so far at each of 58 months", None),
        ("running_744", 744, "totals so far at each of 744 hours", None),
        (
            "running_8760",
            8760,
            "totals so far at each of 8,760 hours",
            Some("totals so far at each hour of a year: largest deviation"),
        ),
    ] {
        report.add(row(name, windows, released, short)?);
    }
    Ok(())
}

fn row(
    name: &'static str,
    windows: u64,
    released: &str,
    short: Option<&'static str>,
) -> Result<Row, Box<dyn Error>> {
    let rho = gdp::mu_within(EPSILON, DELTA)?.powi(2) / 2.0;
    let strategy = so_far(windows, rho)?.best().strategy();
    let ours = simulated(strategy, windows, rho)?;
    let sigma = 1.0 / (2.0 * zcdp_rho(EPSILON, DELTA)).sqrt();
    // Noise of its own may be Laplace's, too.
    let laplace = super::peers::Law::laplace(1.0 / EPSILON).rms() * (windows as f64).sqrt();
    let fresh = Figure::new(laplace, "Laplace, each window")
        .or(Figure::new(sigma * (windows as f64).sqrt(), "Gaussian, zCDP, each window"));
    let honaker = simulated(Strategy::Tree, windows, zcdp_rho(EPSILON, DELTA))?;
    let plain = Figure::new(sigma * tree(windows).sqrt(), "binary tree, zCDP");
    Ok(Row {
        name,
        released: format!("{released}, 1 record a person"),
        error: "largest deviation of a total; measured there",
        ours,
        opendp: Some(fresh.clone()),
        tumult: Some(fresh),
        other: Some(plain.or(Figure { how: "tree with Honaker's estimates, zCDP".to_owned(), ..honaker })),
        least: Some(Figure::new(
            nuclear(windows) * analytic_gaussian(EPSILON, DELTA),
            "of linear strategies",
        )),
        more_is_better: false,
        short,
    })
}

/// The least mean error of any strategy, for noise of deviation 1: the mean of the singular values of a triangle of ones.
fn nuclear(windows: u64) -> f64 {
    let step = PI / (4.0 * windows as f64 + 2.0);
    (1..=windows).map(|at| 0.5 / ((2 * at - 1) as f64 * step).sin()).sum::<f64>() / windows as f64
}

/// The largest variance of totals by a binary tree, for noise of deviation 1 at one contribution: a node on each level, of which a
/// total needs as many as its number has digits of one.
fn tree(windows: u64) -> f64 {
    let levels = u64::BITS - windows.leading_zeros();
    let nodes = (1..=windows).map(u64::count_ones).max().unwrap_or(0);
    f64::from(levels * nodes)
}

/// The largest deviation of a total, as stated, and the one that is measured at the window where it is largest.
fn simulated(strategy: Strategy, windows: u64, rho: f64) -> Result<Figure, Box<dyn Error>> {
    let reach = StreamContribution::new(1, 1)?;
    let prepared =
        PreparedRunning::so_far(strategy, windows, reach, BudgetUnits::at_most_float("rho", rho)?)?;
    let prepared = prepared.rounded()?;
    let stated = prepared.deviation();
    let worst = (1..=windows).find(|&window| prepared.deviation_until(window) >= stated * (1.0 - 1e-9));
    let worst = worst.unwrap_or(windows);
    let streams = (SIMULATED / windows).clamp(2_000, 100_000);
    let (mut noise, mut squares) = (NoiseSource::from_os()?, 0.0);
    for _ in 0..streams {
        let (mut state, mut total) = (prepared.begin(), 0.0);
        for _ in 0..worst {
            total = prepared.tick(&mut state, 0, &mut noise)?;
        }
        squares += total.powi(2);
    }
    let measured = (squares / streams as f64).sqrt();
    // Six deviations of what is measured.
    let most = 6.0 / (2.0 * streams as f64).sqrt();
    if (measured / stated - 1.0).abs() > most {
        return Err(format!("totals by {strategy} err by {measured}, where {stated} is stated").into());
    }
    Ok(Figure::new(stated, strategy.name()).within(measured))
}
