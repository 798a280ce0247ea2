//! How a row leaves: marked where it may not leave twice, noted in the anchor, and told with how its budget stands.

use std::collections::HashMap;
use std::sync::Arc;

use super::Driver;
use crate::gate::core::Event;
use crate::gate::doubt::HaltReason;
use crate::gate::patience;
use crate::gate::request::{BudgetStatus, GateEvent};
use crate::ledger::{Digest, Forecast, Ledger, LedgerError, LedgerErrorKind, Name, Row, failpoint};

impl Driver {
    pub(super) fn mark(&mut self, rows: Vec<Row>) -> Vec<Event<Digest, String>> {
        if rows.is_empty() {
            return Vec::new();
        }
        // A mark whose answer was lost is no news the second time; what may not leave twice does not leave then.
        let mark = |ledger: &mut Ledger| {
            failpoint::reached("after-put-before-mark", LedgerErrorKind::Unknown)?;
            let news = ledger.mark(&rows)?;
            failpoint::reached("after-mark", LedgerErrorKind::Unknown)?;
            Ok(news)
        };
        match patience::ask(&mut self.ledger, &self.claim, mark) {
            Ok(news) => {
                rows.iter().zip(news).map(|(row, new)| Event::Marked(row.release().id(), new)).collect()
            }
            Err(trouble) => vec![self.doubted(&trouble)],
        }
    }

    /// Lets rows leave, in this order, once the anchor knows of them.
    pub(super) fn tell(&mut self, rows: Vec<Row>) -> Option<Event<Digest, String>> {
        let noted = self.journal.as_mut().map_or(Ok(()), |journal| journal.note(rows.iter()));
        if let Err(trouble) = noted {
            self.cause = Some(trouble.to_string());
            return Some(Event::Doubted(HaltReason::Unknown));
        }
        let forecasts = match self.foretell(&rows) {
            Ok(forecasts) => forecasts,
            Err(trouble) => return Some(self.doubted(&trouble)),
        };
        for row in rows {
            if row.generation < self.claim.generation()
                && failpoint::reached("republish-mid", LedgerErrorKind::Unknown).is_err()
            {
                return Some(Event::Doubted(HaltReason::Unknown));
            }
            let (domain, window) = (row.release().domain.clone(), row.release().window);
            let spent = |ledger: &mut Ledger| ledger.spent(&domain, row.charged());
            let (spent, cap) = match patience::ask(&mut self.ledger, &self.claim, spent) {
                Ok(standing) => standing,
                Err(trouble) => return Some(self.doubted(&trouble)),
            };
            let name = row.release().name.clone();
            let Some(forecast) = forecasts.get(&domain).cloned() else { continue };
            let told = GateEvent::Row(
                Box::new(row),
                Box::new(BudgetStatus { domain, window, spent, cap, forecast, order: 0 }),
            );
            self.listeners.tell(name, told);
        }
        None
    }

    /// How long the budgets of these rows last, all of them written.
    fn foretell(&mut self, rows: &[Row]) -> Result<HashMap<Name, Arc<Forecast>>, LedgerError> {
        rows.iter().for_each(|row| self.pacing.row(row));
        let mut newest: HashMap<&Name, &Row> = HashMap::new();
        for row in rows {
            let newest = newest.entry(&row.release().domain).or_insert(row);
            *newest = if row.sequence() > newest.sequence() { row } else { newest };
        }
        let pacing = &self.pacing;
        let (ledger, claim) = (&mut self.ledger, &self.claim);
        let mut foretell = |(domain, row): (&Name, &Row)| {
            let forecast = patience::ask(ledger, claim, |ledger| ledger.outlook(pacing, row))?;
            Ok((domain.clone(), Arc::new(forecast)))
        };
        newest.into_iter().map(&mut foretell).collect()
    }
}
