//! What questions find: of people, of ids, of what is taken back, of single records.

use super::*;

/// The end of each sentence.
fn answered<'s, U: Owned<Event>, T: Fn(&Event) -> Time + 'static>(
    people: Bounded<'s, Event, U, T>,
    questions: Fed<'s, Query>,
    together: bool,
    backend: &Recorder,
) -> Replies<'s> {
    people.answer(schema(), row, questions).kept_for_tests_of_the_library_itself(together).release_at(
        backend,
        "questions",
        Exactly::new(),
    )
}

impl Case {
    /// Returns the rows of each window by a single table, of the records that came in time for it.
    fn rows<R, P, K>(
        &self,
        given: &[(Time, R)],
        event: impl Fn(&R) -> &Event,
        rule: K,
        bring: impl Fn(&ContributionSelector, &R, QueryRow) -> (P, K::Value),
    ) -> impl Fn(Interval) -> Vec<Event>
    where
        P: bounding::Identity + Eq + Clone,
        K: Rule<Share = bounding::Few<QueryRow>>,
    {
        move |window| {
            let base = ContributionSelector::new(recorder::SECRET);
            let own = if self.schedule.overlaps() { base.clone() } else { base.within(window.start()) };
            let mut table =
                PersonTable::<P, (), K>::new(own, Cap::new(1, self.per_key).unwrap(), rule.clone());
            for (declared, record) in given {
                let event = event(record);
                if (window.start()..window.end()).contains(&event.3)
                    && declared.saturating_sub(self.late) < window.end()
                {
                    let (person, value) = bring(&base, record, row(event));
                    table.add(person, &(), value);
                }
            }
            let totals = table.close(|_| true, |total: &mut Vec<QueryRow>, rows| total.extend(rows));
            totals.into_iter().flat_map(|(_, rows)| rows).map(|row| event_of(&row)).collect()
        }
    }

    /// Compares, however versions are kept.
    fn check<R: Clone + Send + Sync + 'static>(
        &self,
        (seed, unit): (u64, PrivacyUnit),
        scripts: &[Script<R>],
        rows: impl Fn(Interval) -> Vec<Event>,
        answer: impl for<'s> Fn(
            Fed<'s, R>,
            Fed<'s, Query>,
            (&Schedule, i64, Bound),
            bool,
            &Recorder,
        ) -> Replies<'s>
        + Clone
        + Send
        + Sync
        + 'static,
    ) {
        let mut expected = reference(&self.schedule, self.late, &self.asks, rows);
        if let Some((start, end)) = self.gap {
            let windows = (0..).map_while(|number| self.schedule.window(number));
            let lacking: Vec<i128> = windows
                .filter(|window| start < window.end() && window.start() < end)
                .map(|window| window.start().into())
                .collect();
            expected.0.retain(|(_, found)| !lacking.contains(&found[0]));
        }
        for together in [false, true] {
            let recorder = Recorder::new(unit);
            let (sealing, answer) = (recorder.clone(), answer.clone());
            let (schedule, late, bound) =
                (self.schedule.clone(), self.late, Bound::keys(1).per_key(self.per_key));
            let (finished, unanswered) = asked(scripts, &self.asks, move |records, questions| {
                answer(records, questions, (&schedule, late, bound), together, &sealing)
            });
            assert!(finished.is_ok(), "seed {seed}: {finished:?}");
            assert_eq!((released(&recorder), unanswered), expected, "seed {seed}, together {together}");
        }
    }
}

// Refutes an answer about a version of which one source lacks a part, and one that is withheld although none
// does.
#[test]
fn a_question_about_a_version_with_an_input_gap_is_skipped() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut case = case(seed, &mut random);
        let records = events(&mut random);
        let mut scripts = divided(&mut random, &records, case.workers);
        let script = &mut scripts[random.below(case.workers)].0;
        let place = random.below(script.len() + 1);
        let declared = script[..place].iter().filter_map(|(_, pulled)| match pulled {
            Pulled::Complete(time) => Some(*time),
            _ => None,
        });
        let start = declared.max().unwrap_or(0).max(random.below(HORIZON as usize) as Time);
        let end = start + 1 + random.below(12) as Time;
        script.insert(place, (Vec::new(), Pulled::Gap(start, end)));
        case.gap = Some((start, end));
        let given = given(&scripts);
        let bring = |base: &ContributionSelector, event: &Event, row: QueryRow| {
            (event.0, (base.record(&(event.3, row.clone())), row))
        };
        let rows = case.rows(&given, |event| event, KeptRecords::new(Values::new()), bring);
        case.check(
            (seed, PrivacyUnit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, backend| {
                let people = visits
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound);
                answered(people, questions, together, backend)
            },
        );
    }
}

// Refutes an answer about another version than the newest that is complete at the question's time; a record
// that counts in a version in which it does not, or that stays in one; a person with too many records; a
// filter that is read otherwise; and whatever depends on workers, batches, order, or on how versions are
// kept.
#[test]
fn every_question_finds_what_one_table_would() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let mut records = events(&mut random);
        // Some come twice.
        for _ in 0..random.below(30) {
            if !records.is_empty() {
                records.push(records[random.below(records.len())]);
            }
        }
        let scripts = divided(&mut random, &records, case.workers);
        let given = given(&scripts);
        let rule = KeptRecords::new(Values::new());
        let bring = |base: &ContributionSelector, event: &Event, row: QueryRow| {
            (event.0, (base.record(&(event.3, row.clone())), row))
        };
        let rows = case.rows(&given, |event| event, rule, bring);
        case.check(
            (seed, PrivacyUnit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, backend| {
                let people = visits
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound);
                answered(people, questions, together, backend)
            },
        );
    }
}

// Refutes a duplicate that counts, and an id that is one for all persons.
#[test]
fn questions_find_one_record_of_an_id() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let scripts = divided(&mut random, &events(&mut Random::new(seed)), case.workers);
        let given = given(&scripts);
        let bring = |_: &ContributionSelector, event: &Event, row: QueryRow| (event.0, (event.4 % 40, row));
        let rows = case.rows(&given, |event| event, Identified::new(Values::new()), bring);
        case.check(
            (seed, PrivacyUnit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, backend| {
                let people = visits
                    .protect(|visit: &Event| visit.0)
                    .identified_by(|visit| visit.4 % 40)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound);
                answered(people, questions, together, backend)
            },
        );
    }
}

// Refutes a retraction that is ignored while its window is open, or obeyed once it has closed; a net below
// zero; a change of a later time that is taken for one of now; and a bound before the net.
#[test]
fn questions_find_nothing_that_was_taken_back_in_time() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let mut changes: Vec<(Event, Time, isize)> = Vec::new();
        for event in events(&mut random) {
            for _ in 0..1 + random.below(3) {
                changes.push((event, random.below(HORIZON as usize) as Time, random.pick(&[1, 1, -1, 2])));
            }
        }
        let scripts = divided(&mut random, &changes, case.workers);
        let given: Vec<_> =
            given(&scripts).into_iter().map(|(declared, change)| (declared.max(change.1), change)).collect();
        let bring = |_: &ContributionSelector, (event, _, change): &(Event, Time, isize), row: QueryRow| {
            (event.0, (*event, row, *change as i64))
        };
        let rows = case.rows(&given, |(event, _, _)| event, Net::new(Values::new()), bring);
        case.check(
            (seed, PrivacyUnit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, backend| {
                let people = visits
                    .protect_collection(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound);
                answered(people, questions, together, backend)
            },
        );
    }
}

// Refutes a record that is bounded with others, or that is counted by two workers.
#[test]
fn questions_find_each_record_by_itself() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = Case { per_key: 1, ..case(seed, &mut random) };
        let numbered: Vec<Event> = events(&mut random);
        let scripts = divided(&mut random, &numbered, case.workers);
        let given: Vec<_> =
            given(&scripts).into_iter().zip(0u64..).map(|((at, event), n)| (at, (n, event))).collect();
        // Everybody has one.
        let bring = |base: &ContributionSelector, (number, _): &(u64, Event), row: QueryRow| {
            (*number, (base.record(number), row))
        };
        let rows = case.rows(&given, |(_, event)| event, KeptRecords::new(Values::new()), bring);
        case.check(
            (seed, PrivacyUnit::Record),
            &scripts,
            rows,
            |visits, questions, (schedule, late, _), together, backend| {
                let people = visits
                    .protect_each()
                    .scheduled(schedule.clone(), |visit: &Event| visit.3)
                    .late_by(late)
                    .one_by_one();
                answered(people, questions, together, backend)
            },
        );
    }
}
