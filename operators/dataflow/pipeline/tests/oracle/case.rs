//! A job drawn at random, and what one table that sees every record would release of it.

use super::*;

/// A job: its windows, its bound, and what came.
pub(in crate::dataflow::pipeline::tests) struct Case {
    pub(in crate::dataflow::pipeline::tests) schedule: Schedule,
    pub(in crate::dataflow::pipeline::tests) late: i64,
    keys: u64,
    per_key: u64,
    pub(in crate::dataflow::pipeline::tests) scripts: Vec<Script<Event>>,
    pub(in crate::dataflow::pipeline::tests) listed: Vec<u32>,
}

pub(in crate::dataflow::pipeline::tests) fn case(seed: u64, random: &mut Random) -> Case {
    let schedule = match random.below(4) {
        0 => Schedule::tumbling(span(10), 0, Some(HORIZON)),
        1 => Schedule::sliding(span(30), span(10), 0, Some(HORIZON)),
        2 => Schedule::sliding(span(40), span(4), 0, Some(HORIZON)),
        _ => Schedule::sliding(span(25), span(15), -20, Some(HORIZON)),
    };
    let mut records = events(random);
    // Some come twice.
    for _ in 0..random.below(30) {
        if !records.is_empty() {
            records.push(records[random.below(records.len())]);
        }
    }
    let workers = [1, 2, 4][seed as usize % 3];
    Case {
        schedule: schedule.unwrap(),
        late: random.pick(&[0, 0, 1, 7, 40]),
        keys: random.pick(&[1, 2, 3, 9]),
        per_key: random.pick(&[1, 2, 5]),
        scripts: divided(random, &records, workers),
        listed: (0..9).filter(|_| random.below(3) > 0).chain([100]).collect(),
    }
}

impl Case {
    /// The windows that a record is in time for.
    pub(in crate::dataflow::pipeline::tests) fn in_time(&self, window: Interval) -> Vec<Event> {
        let all = given(&self.scripts);
        let in_time = all.into_iter().filter(|(declared, (_, _, _, time, _))| {
            (window.start()..window.end()).contains(time) && declared.saturating_sub(self.late) < window.end()
        });
        in_time.map(|(_, record)| record).collect()
    }

    fn cap(&self) -> Cap {
        Cap::new(self.keys, self.per_key).unwrap()
    }

    pub(in crate::dataflow::pipeline::tests) fn bound(&self) -> Bound {
        Bound::keys(self.keys).per_key(self.per_key)
    }

    /// The reference.
    pub(in crate::dataflow::pipeline::tests) fn expect<K, R, T, C>(
        &self,
        rule: R,
        read: impl Fn(&ContributionSelector, &Event) -> Option<(K, R::Value)>,
        add: impl Fn(&mut T, R::Share) + Copy,
        cell: impl Fn(&T) -> C,
    ) -> BTreeMap<Time, BTreeMap<String, C>>
    where
        K: bounding::Identity + Ord + Clone + ToString,
        R: Rule,
        T: Default,
    {
        let base = ContributionSelector::new(recorder::SECRET);
        let table = |selector| PersonTable::<u64, K, R>::new(selector, self.cap(), rule.clone());
        let fill = |window, table: &mut PersonTable<u64, K, R>| {
            for event in self.in_time(window) {
                if let Some((key, value)) = read(&base, &event) {
                    table.add(event.0, &key, value);
                }
            }
        };
        tallied(&self.schedule, table, fill, |_| true, add)
            .into_iter()
            .map(|(start, keys)| {
                (start, keys.iter().map(|(key, total)| (key.to_string(), cell(total))).collect())
            })
            .collect()
    }
}
