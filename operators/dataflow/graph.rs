//! The operators of a job and the channels between them, as a picture.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Engine, GraphEvent, GraphLog};

/// A place for the [`Graph`] of a run, which [`Config::drawn`](super::Config::drawn) fills.
#[derive(Clone, Debug, Default)]
pub struct Drawing(Arc<Mutex<Graph>>);

impl Drawing {
    /// Creates an empty place.
    pub fn new() -> Drawing {
        Drawing::default()
    }

    /// Returns the graph that worker 0 of this process has built; an empty one before that.
    pub fn graph(&self) -> Graph {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The dataflows of a worker: operators, and channels from one to another. It depends on no record.
///
/// [`Display`](fmt::Display) writes it in the language of Graphviz; [`svg`](Graph::svg) draws it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The names, by dataflow and number.
    operators: BTreeMap<(usize, usize), String>,
    /// From one to the other.
    channels: BTreeSet<((usize, usize), (usize, usize))>,
}

/// Collects what the dataflows of a worker are made of, while they are built.
pub(in crate::dataflow) struct GraphRecorder {
    events: Rc<RefCell<Graph>>,
    drawing: Drawing,
}

impl GraphRecorder {
    /// Listens to what the worker builds. Of timely's events those of operators and channels are kept, and the others, which
    /// count messages, are dropped unseen.
    pub(in crate::dataflow) fn begin(engine: &Engine, drawing: &Drawing) -> GraphRecorder {
        let events: Rc<RefCell<Graph>> = Rc::default();
        let graph = Rc::clone(&events);
        if let Some(mut register) = engine.log_register() {
            register.insert::<GraphLog, _>("timely", move |_, logged| {
                for (_, event) in logged.iter_mut().flat_map(|logged| logged.drain(..)) {
                    graph.borrow_mut().take(event);
                }
            });
        }
        GraphRecorder { events, drawing: drawing.clone() }
    }

    /// Ends it, and fills the drawing.
    pub(in crate::dataflow) fn end(self, engine: &Engine) {
        if let Some(mut register) = engine.log_register() {
            register.flush();
            register.remove("timely");
        }
        *self.drawing.0.lock().unwrap_or_else(PoisonError::into_inner) = self.events.take();
    }
}

impl Graph {
    fn take(&mut self, event: GraphEvent) {
        match event {
            // Operators within operators belong to those.
            GraphEvent::Operates(operates) => {
                if let [dataflow, number] = operates.addr[..] {
                    self.operators.insert((dataflow, number), operates.name);
                }
            }
            GraphEvent::Channels(channel) => {
                if let [dataflow] = channel.scope_addr[..] {
                    let end = |(number, _): (usize, usize)| (dataflow, number);
                    self.channels.insert((end(channel.source), end(channel.target)));
                }
            }
            _ => {}
        }
    }

    /// Returns the name of each operator.
    pub fn operators(&self) -> impl Iterator<Item = &str> {
        self.operators.values().map(String::as_str)
    }

    /// Returns the channels, each by the names of the operators that it leads from and to.
    pub fn channels(&self) -> impl Iterator<Item = (&str, &str)> {
        let name = |end| self.operators.get(end).map(String::as_str);
        self.channels.iter().filter_map(move |(from, to)| Some((name(from)?, name(to)?)))
    }

    /// Returns the layer of each operator: one below the lowest that leads to it.
    fn layers(&self) -> BTreeMap<(usize, usize), usize> {
        let mut layers: BTreeMap<_, usize> = self.operators.keys().map(|operator| (*operator, 0)).collect();
        // A path has no more steps than there are operators; a loop would go on for ever.
        for _ in 0..self.operators.len() {
            let mut changed = false;
            for (from, to) in &self.channels {
                let Some(&above) = layers.get(from) else { continue };
                let Some(layer) = layers.get_mut(to).filter(|layer| **layer <= above) else { continue };
                // Numbers grow along every channel but those that lead back.
                if from < to {
                    (*layer, changed) = (above + 1, true);
                }
            }
            if !changed {
                break;
            }
        }
        layers
    }

    /// Draws it from top to bottom.
    pub fn svg(&self) -> String {
        let layers = self.layers();
        let mut rows: Vec<Vec<(usize, usize)>> = Vec::new();
        for (operator, layer) in &layers {
            rows.resize(rows.len().max(layer + 1), Vec::new());
            rows[*layer].push(*operator);
        }
        let mut places: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for (layer, row) in rows.iter_mut().enumerate() {
            // Below the middle of what leads to it.
            let wanted = |operator: &(usize, usize)| {
                let above = self.channels.iter().filter(|(_, to)| to == operator);
                let above: Vec<f64> =
                    above.filter_map(|(from, _)| places.get(from)).map(|place| place.0).collect();
                above.iter().sum::<f64>() / above.len().max(1) as f64
            };
            let mut wanted: Vec<(f64, (usize, usize))> =
                row.iter().map(|operator| (wanted(operator), *operator)).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut next = 0.0;
            for (middle, operator) in wanted {
                let x = f64::max(next, middle);
                next = x + WIDTH + GAP;
                places.insert(operator, (x, layer as f64 * (HEIGHT + DROP)));
            }
        }
        let width = places.values().map(|place| place.0 + WIDTH).fold(WIDTH, f64::max);
        let height = rows.len() as f64 * (HEIGHT + DROP) - DROP;
        self.svg_of(&places, (width + 2.0 * MARGIN, height + 2.0 * MARGIN)).unwrap_or_default()
    }

    fn svg_of(
        &self,
        places: &BTreeMap<(usize, usize), (f64, f64)>,
        (width, height): (f64, f64),
    ) -> Result<String, fmt::Error> {
        let mut svg = String::new();
        write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\
             <title>The operators of a dataflow</title><style>{STYLE}</style>"
        )?;
        for (from, to) in &self.channels {
            let (Some((x, y)), Some((to_x, to_y))) = (places.get(from), places.get(to)) else { continue };
            let (x, y) = (x + MARGIN + WIDTH / 2.0, y + MARGIN + HEIGHT);
            let (to_x, to_y) = (to_x + MARGIN + WIDTH / 2.0, to_y + MARGIN);
            let middle = y.midpoint(to_y);
            write!(
                svg,
                "<path d=\"M{x:.0} {y:.0}C{x:.0} {middle:.0} {to_x:.0} {middle:.0} {to_x:.0} {to_y:.0}\"/>"
            )?;
        }
        for (operator, (x, y)) in places {
            let (x, y) = (x + MARGIN, y + MARGIN);
            let (text_x, text_y) = (x + WIDTH / 2.0, y + HEIGHT / 2.0 + 4.0);
            write!(
                svg,
                "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\"/>\
                 <text x=\"{text_x:.0}\" y=\"{text_y:.0}\" text-anchor=\"middle\">"
            )?;
            for letter in self.operators.get(operator).into_iter().flat_map(|name| name.chars().take(LETTERS))
            {
                match letter {
                    '&' => svg.push_str("&amp;"),
                    '<' => svg.push_str("&lt;"),
                    '>' => svg.push_str("&gt;"),
                    letter => svg.push(letter),
                }
            }
            svg.push_str("</text>");
        }
        svg.push_str("</svg>\n");
        Ok(svg)
    }
}

// In pixels.
const WIDTH: f64 = 176.0;
const HEIGHT: f64 = 28.0;
const GAP: f64 = 16.0;
const DROP: f64 = 32.0;
const MARGIN: f64 = 12.0;
/// The letters that fit.
const LETTERS: usize = 26;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1b1f24}rect{fill:#f6f8fa;stroke:#57606a}\
     path{fill:none;stroke:#57606a}@media(prefers-color-scheme:dark){text{fill:#e6e9ed}\
     rect{fill:#1c2229;stroke:#a2abb5}path{stroke:#a2abb5}}";

/// Writes the graph in the language of Graphviz.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("digraph dataflow {\n")?;
        for ((dataflow, number), name) in &self.operators {
            writeln!(f, "  o{dataflow}_{number} [shape=box, label={name:?}];")?;
        }
        for ((dataflow, from), (_, to)) in &self.channels {
            if [from, to].iter().all(|end| self.operators.contains_key(&(*dataflow, **end))) {
                writeln!(f, "  o{dataflow}_{from} -> o{dataflow}_{to};")?;
            }
        }
        f.write_str("}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::driver::{All, Config, execute};
    use crate::dataflow::engine::Map;

    fn drawn(workers: usize) -> Graph {
        let drawing = Drawing::new();
        assert_eq!(drawing.graph(), Graph::default());
        let config = Config::threads(workers).unwrap().drawn(&drawing);
        let ended = execute(config, |worker, feeds| {
            worker.dataflow(|scope| {
                let numbers = feeds.stream(scope, All::of(0..10_u64));
                numbers.through(|numbers| numbers.map(|number| number + 1));
            });
            Ok(())
        });
        ended.unwrap();
        drawing.graph()
    }

    // Refutes a graph of another worker as well, one without its last operators, and one with those of the driver, which are
    // built later.
    #[test]
    fn a_graph_has_what_the_closure_has_built() {
        let graph = drawn(1);
        assert_eq!(graph, drawn(3));
        let operators: Vec<&str> = graph.operators().collect();
        assert_eq!(operators.iter().filter(|name| **name == "Witness").count(), 1, "{operators:?}");
        assert!(!operators.contains(&"Ping"), "{operators:?}");
        let channels: Vec<(&str, &str)> = graph.channels().collect();
        for channel in [("Input", "Witness"), ("Witness", "FlatMap"), ("FlatMap", "Concatenate")] {
            assert!(channels.contains(&channel), "{channel:?} in {channels:?}");
        }
    }

    #[test]
    fn a_picture_has_each_operator_below_those_that_lead_to_it() {
        let name = |name: &str| name.to_owned();
        let operators =
            [((0, 1), name("a<b")), ((0, 2), name("b")), ((0, 3), name("c")), ((0, 4), name("d"))];
        // One leads back.
        let channels = [(1, 2), (2, 3), (1, 3), (3, 4), (4, 2)].map(|(from, to)| ((0, from), (0, to)));
        let graph = Graph { operators: operators.into(), channels: channels.into() };
        let layers: Vec<usize> = graph.layers().into_values().collect();
        assert_eq!(layers, [0, 1, 2, 3]);
        let svg = graph.svg();
        assert_eq!((svg.matches("<rect").count(), svg.matches("<path").count()), (4, 5));
        assert!(svg.contains(">a&lt;b</text>") && !svg.contains("NaN"), "{svg}");
        let dot = graph.to_string();
        assert!(dot.starts_with("digraph") && dot.contains("o0_4 -> o0_2;"), "{dot}");
        assert_eq!(Graph::default().svg().matches("<rect").count(), 0);
    }
}
