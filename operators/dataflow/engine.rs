//! The parts of timely that are in use, by name. No other file of the library names them: every release of
//! timely moves some of them, and only this file has to follow.

pub(crate) use timely::WorkerConfig;
pub(crate) use timely::communication::allocator::ProcessBuilder;
pub(crate) use timely::communication::allocator::generic::AllocatorBuilder;
pub(crate) use timely::communication::allocator::thread::ThreadBuilder;
pub(crate) use timely::communication::allocator::zero_copy::initialize::{
    CommsGuard, initialize_networking_from_sockets,
};
pub(crate) use timely::communication::{Hooks, initialize_from};
pub(crate) use timely::container::buffer::default_capacity as message_capacity;
pub(crate) use timely::container::{
    CapacityContainerBuilder, ContainerBuilder, LengthPreservingContainerBuilder, PushInto,
};
pub(crate) use timely::dataflow::InputHandle;
pub(crate) use timely::dataflow::channels::pact::{Exchange, ExchangeCore, Pipeline};
pub(crate) use timely::dataflow::operators::generic::OutputBuilder;
pub(crate) use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
pub(crate) use timely::dataflow::operators::generic::operator::empty;
pub(crate) use timely::dataflow::operators::probe::Handle as Probe;
pub(crate) use timely::dataflow::operators::vec::{Filter, Map, ToStream};
pub(crate) use timely::dataflow::operators::{Capability, Concat, Operator, Probe as Probing};
pub(crate) use timely::logging::{TimelyEvent as GraphEvent, TimelyEventBuilder as GraphLog};
pub(crate) use timely::order::TotalOrder;
pub(crate) use timely::progress::Timestamp;
pub(crate) use timely::progress::frontier::{Antichain, MutableAntichain};
pub(crate) use timely::scheduling::current::operator_id as running_operator;
pub(crate) use timely::scheduling::{Activator, SyncActivator};
pub(crate) use timely::worker::Worker as Engine;

/// The trait of data that travels between workers.
pub use timely::ExchangeData as Travels;
/// The scope in which a dataflow is built.
pub use timely::dataflow::Scope;
/// A stream of any container of records.
pub(crate) use timely::dataflow::Stream as Shared;
/// A stream of records in vectors.
pub use timely::dataflow::StreamVec;
