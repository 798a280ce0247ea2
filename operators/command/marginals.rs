//! `discreet calibrate marginals`: the errors of several tables of counts, beside the least that is possible.

use clap::Args;
use discreet::accounting::shape::{Attributes, Marginals};
use discreet::mechanisms::Bound;
use serde_json::json;

use super::Refusal;
use super::values::{number, whole};

/// The categories, the tables and the price of a window.
#[derive(Debug, Args)]
pub(crate) struct MarginalsArgs {
    /// The numbers of categories of the attributes, such as 10,20,5
    #[arg(long, allow_hyphen_values = true)]
    sizes: String,
    /// The tables, each the places of its attributes from 0 with + between them, such as 0+1,2; an empty one is the number of all
    #[arg(long, allow_hyphen_values = true)]
    tables: String,
    /// The budget of a window, in zCDP or in Gaussian differential privacy
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: f64,
    /// The most combinations of one person in a window: the contribution bound `keys`
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    keys: u64,
    /// The most records of one person in each of them
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    per_key: u64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl MarginalsArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let MarginalsArgs { ref sizes, ref tables, rho, keys, per_key, json } = *self;
        let sizes: Vec<u64> = sizes.split(',').map(|size| read("sizes", size)).collect::<Result<_, _>>()?;
        if tables.trim().is_empty() {
            return Err(Refusal::new(format!("tables: found nothing; give {TABLES}")));
        }
        let table = |table: &str| {
            // The number of all has no attribute.
            let places = table.split('+').filter(|_| !table.trim().is_empty());
            places.map(|at| read("tables", at)).collect::<Result<Vec<_>, _>>()
        };
        let tables: Vec<Vec<u64>> = tables.split(',').map(table).collect::<Result<_, _>>()?;
        let places: Vec<Vec<usize>> = tables
            .iter()
            .map(|table| table.iter().map(|at| usize::try_from(*at).unwrap_or(usize::MAX)).collect())
            .collect();
        let places: Vec<&[usize]> = places.iter().map(Vec::as_slice).collect();
        let workload = Marginals::new(&sizes, &places)?;
        if !(rho >= 1e-12 && rho.is_finite()) {
            return Err(Refusal::new(format!("rho: found {rho}; give a number from 1e-12 on")));
        }
        let bound = Bound::keys(keys).per_key(per_key).checked()?;
        let (design, times) = (workload.design_for(bound.keys()), bound.per_key() as f64);
        let errors: Vec<f64> =
            workload.tables().iter().map(|table| times * design.cell_error(*table, rho)).collect();
        let [all, apart, least] =
            [design.error(rho), design.error_apart(rho), design.least_error(rho)].map(|error| times * error);
        let name = |table: &Attributes| table.iter().map(|at| at.to_string()).collect::<Vec<_>>().join("+");
        if json {
            let tables: Vec<_> = (workload.tables().iter().zip(&errors))
                .map(|(table, error)| json!({"table": name(table), "deviation": error}))
                .collect();
            let line = json!({
                "mechanism": "marginals",
                "rho": rho,
                "keys": keys,
                "per_key": per_key,
                "tables": tables,
                "error": all,
                "apart": apart,
                "least": least,
            });
            return Ok(format!("{line}\n"));
        }
        let mut text = format!("budget      rho {rho} a window, for all tables together\n");
        for (table, error) in workload.tables().iter().zip(&errors) {
            text += &format!("table {:<5} a deviation of {error:.4} in each cell\n", name(table));
        }
        Ok(text
            + &format!(
                "all cells   {all:.4} in the mean of squares, at most {:.6} times that of any Gaussian noise\n\
                 apart       {apart:.4}, where each table is released by itself with its best part of the budget\n",
                all / least
            ))
    }
}

/// The form of numbers of categories and of tables.
const TABLES: &str = "whole numbers, such as 10,20,5 for sizes and 0+1,2 for tables";

/// Reads one of several whole numbers.
fn read(field: &str, text: &str) -> Result<u64, Refusal> {
    text.trim()
        .parse()
        .map_err(|_| Refusal::new(format!("{field}: found other than a whole number; give {TABLES}")))
}
