//! What the sentence asks of whoever seals: the gate, and in tests what stands in for it.

use zeroize::Zeroizing;

use crate::accounting::PrivacyUnit;
use crate::dataflow::driver::ProcessShared;
use crate::dataflow::release::{ReleaseBackend, Wake};
use crate::gate::{Gate, Memory};
use crate::ledger::{AccountSpec, Digest, LedgerError, Name, VersionTerms};

/// The use of a ledger's key by which is chosen what is kept of a person.
pub(crate) const CHOICE: &str = "discreet-dataflow 2026-11 what is kept of a person";

/// A desk, and what was kept for its statistic.
pub(super) type Opened = (Box<dyn ReleaseBackend>, Option<Memory>);

/// Where releases are paid for and sealed.
pub(super) trait StatisticBackend {
    /// Is halted when the run fails, and refuses to be elsewhere than worker 0 is.
    fn answers_for(&self, shared: &ProcessShared);

    fn job(&self) -> Name;

    /// The identity that a statistic of this version of the job has with these parameters.
    fn version(&self, parameters: &Digest) -> Digest;

    /// What chooses the records that are kept.
    fn secret(&self) -> Zeroizing<[u8; 32]>;

    /// The budget that pays: the one of that name, or the only one for such a unit.
    fn domain(&self, named: Option<&str>, unit: PrivacyUnit) -> Result<AccountSpec, LedgerError>;

    fn open(&self, name: &Name, terms: &VersionTerms, wake: Wake) -> Result<Opened, LedgerError>;
}

/// The gate.
pub(super) struct AtGate<'a>(pub(super) &'a Gate);

impl StatisticBackend for AtGate<'_> {
    fn answers_for(&self, shared: &ProcessShared) {
        shared.on_failure(Box::new(self.0.halter()));
    }

    fn job(&self) -> Name {
        self.0.job().clone()
    }

    fn version(&self, parameters: &Digest) -> Digest {
        Digest::of_version(self.0.version(), parameters)
    }

    fn secret(&self) -> Zeroizing<[u8; 32]> {
        self.0.key().derive(CHOICE)
    }

    fn domain(&self, named: Option<&str>, unit: PrivacyUnit) -> Result<AccountSpec, LedgerError> {
        let named = named.map(|name| Name::new("domain", name)).transpose()?;
        self.0.domain(named.as_ref(), unit).cloned()
    }

    fn open(&self, name: &Name, terms: &VersionTerms, wake: Wake) -> Result<Opened, LedgerError> {
        if self.0.is_elsewhere() {
            return Err(LedgerError::refused("ledger: the process that holds worker 0 must open it"));
        }
        let mut desk = self.0.desk(name, terms.clone(), wake)?;
        let memory = desk.take_memory();
        Ok((Box::new(desk), memory))
    }
}
