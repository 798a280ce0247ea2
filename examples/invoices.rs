//! Makes lines of JSON, one an invoice with an array of its items, of a shop's log in csv with one line an item.
//!
//! `cargo run --release --example invoices < retail.csv.gz > config/everything.jsonl` makes the log of
//! `config/everything.toml`. Lines of one invoice mostly follow one another; it has the time and the customer of the first.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufWriter, Read, Write, stdin, stdout};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    invoice_no: String,
    stock_code: String,
    quantity: i64,
    invoice_date: String,
    unit_price: serde_json::Number,
    #[serde(rename = "CustomerID")]
    customer_id: String,
    country: String,
}

#[derive(Serialize)]
struct Invoice {
    no: String,
    at: String,
    customer: Customer,
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Customer {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    country: String,
}

#[derive(Serialize)]
struct Item {
    code: String,
    quantity: i64,
    price: serde_json::Number,
}

/// Writes the invoices of a log.
pub fn write(log: impl Read, mut to: impl Write) -> Result<(), Box<dyn Error>> {
    let (mut invoices, mut places) = (Vec::<Invoice>::new(), HashMap::<String, usize>::new());
    for row in csv::Reader::from_reader(log).into_deserialize() {
        let Row { invoice_no, stock_code, quantity, invoice_date, unit_price, customer_id, country } = row?;
        let item = Item { code: stock_code, quantity, price: unit_price };
        let place = *places.entry(invoice_no.clone()).or_insert(invoices.len());
        match invoices.get_mut(place) {
            Some(invoice) => invoice.items.push(item),
            None => {
                let id = customer_id.strip_suffix(".0").map(str::to_owned);
                let customer = Customer { id, country };
                invoices.push(Invoice { no: invoice_no, at: invoice_date, customer, items: vec![item] });
            }
        }
    }
    for invoice in &invoices {
        writeln!(to, "{}", serde_json::to_string(invoice)?)?;
    }
    Ok(to.flush()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    write(MultiGzDecoder::new(stdin().lock()), BufWriter::new(stdout().lock()))
}
