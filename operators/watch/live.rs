//! The public state of a live run: the newest windows that have left, as a page, a report and metrics.
//!
//! It is a function of released lines and of the budget status beside them, and changes when lines leave: at
//! the public time of a window, never at the instant of a commit.

mod families;
mod page;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) use page::SCRIPT;
use page::live_page;
use serde_json::json;

use super::report::{Heading, PagePart, Report};
use crate::accounting::PrivacyCost;
use crate::alert::{Alert, Alerts};
use crate::gate::BudgetStatus;
use crate::ledger::Outlook;
use crate::mechanisms::release_line::{CellLine, ReleaseLine, Says};
use crate::time::at;

/// The most windows of each release that are kept.
pub const KEPT_WINDOWS: usize = 500;

/// The rows of each table on the live page.
const LIVE_ROWS: usize = 100;

/// The most bytes of lines that are kept, of all releases together.
const KEPT_BYTES: usize = 16 << 20;

/// The statement of a live run about itself.
#[derive(Clone, Debug, Default)]
pub struct LiveHeading {
    /// The heading of its report.
    pub heading: Heading,
    /// The version of the job.
    pub version: u64,
    /// The parts of the budget at which an alert is raised, in hundredths of a percent.
    pub thresholds: Vec<u32>,
}

/// The public state of a live run. Clones are the same state.
#[derive(Clone)]
pub struct LiveRun(Arc<SharedRun>);

struct SharedRun {
    /// The time at which the run began, by which its pages are known.
    instance: i64,
    heading: LiveHeading,
    alerts: Alerts,
    state: Mutex<PublicState>,
    changed: Condvar,
}

#[derive(Default)]
struct PublicState {
    /// The number of changes so far.
    version: u64,
    windows: VecDeque<LeftWindow>,
    counts: HashMap<String, usize>,
    bytes: usize,
    /// True once a window was dropped, or was not recalled.
    dropped: bool,
    settled: BTreeMap<(String, &'static str), u64>,
    newest: BTreeMap<String, i64>,
    budget: BTreeMap<String, BudgetStatus>,
    /// The cap of the account, as the ledger stated it when the run began.
    cap: Option<PrivacyCost>,
    /// The budget that the windows before the first one that is kept have left.
    before: Option<BudgetStatus>,
    drawn: Option<Arc<DrawnPage>>,
}

/// The page at a number of changes.
struct DrawnPage {
    version: u64,
    settled: u64,
    /// The page without parts.
    frame: Report,
    parts: Vec<PagePart>,
    /// The number of changes since which each part is as it is.
    since: Vec<u64>,
}

/// Returns the alert of a line in which a threshold alert has fired.
fn fired(line: &ReleaseLine<'_>, cell: &CellLine<'_>) -> Option<Alert> {
    let crossing = cell.noise.first()?.crossing().filter(|_| cell.value == Some("1"))?;
    Some(Alert::Fired {
        release: line.release.clone().into_owned(),
        key: cell.key_text().map(Cow::into_owned),
        start: line.window.start?.to_owned(),
        above: crossing.above(),
        left: crossing.left(),
    })
}

struct LeftWindow {
    release: String,
    lines: String,
    /// The status of its budget; `None` if it left before the run.
    status: Option<BudgetStatus>,
}

impl LiveRun {
    /// Makes the state of a run that has released nothing.
    pub fn new(heading: LiveHeading, alerts: Alerts) -> LiveRun {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let instance = jiff::Timestamp::now().as_microsecond();
        LiveRun(Arc::new(SharedRun { instance, heading, alerts, state, changed }))
    }

    /// Adds the lines of a window that have left, with the status of its budget.
    pub fn add(&self, lines: &str, status: &BudgetStatus) {
        let mut raised = Vec::new();
        let mut state = self.state();
        let mut release = None;
        for line in lines.split('\n') {
            let Some(line) = ReleaseLine::read(line) else { continue };
            let name = line.release.clone().into_owned();
            let outcome = match &line.says {
                Says::Cell(cell) => {
                    raised.extend(fired(&line, cell));
                    None
                }
                Says::Answer(_) => None,
                Says::Closed { .. } => Some("released"),
                Says::Refused(_) => {
                    raised.push(Alert::Refused { release: name.clone() });
                    Some("refused")
                }
                Says::Never("lost", _) => Some("lost"),
                Says::Never(_, why) => {
                    if why.as_deref() == Some("input gap") {
                        raised.push(Alert::InputGap { release: name.clone() });
                    }
                    Some("skipped")
                }
            };
            if let Some(outcome) = outcome {
                *state.settled.entry((name.clone(), outcome)).or_default() += 1;
            }
            if let Some(end) = line.window.end.and_then(|end| at(end).ok()) {
                let newest = state.newest.entry(name.clone()).or_insert(end);
                *newest = (*newest).max(end);
            }
            release = Some(name);
        }
        raised.extend(self.reached(status));
        state.budget.insert(status.account.as_str().to_owned(), status.clone());
        if let Some(release) = release {
            state.keep(LeftWindow { release, lines: lines.to_owned(), status: Some(status.clone()) });
        }
        state.version += 1;
        drop(state);
        self.0.changed.notify_all();
        raised.into_iter().for_each(|alert| self.0.alerts.raise(alert));
    }

    /// Adds the lines of a window that left before the run: to the pages alone, and not to what is counted since
    /// the start.
    pub fn recall(&self, lines: &str) {
        let mut state = self.state();
        let Some(line) = lines.lines().next_back().and_then(ReleaseLine::read) else { return };
        let release = line.release.clone().into_owned();
        state.keep(LeftWindow { release, lines: lines.to_owned(), status: None });
        state.version += 1;
    }

    /// Says on the pages that older windows are not shown.
    pub fn leave_out(&self) {
        let mut state = self.state();
        state.dropped = true;
        state.version += 1;
    }

    /// States the cap of the account as its ledger does.
    pub fn state_cap(&self, cap: &PrivacyCost) {
        let mut state = self.state();
        state.cap = Some(cap.clone());
        state.version += 1;
    }

    /// Begins with the status of the budget in the ledger, before a window has left. Parts of the budget that
    /// were spent when the newest row is of this job were reported by the run that wrote it: of them, the largest
    /// is logged alone.
    pub fn begin(&self, status: &BudgetStatus) {
        let mut state = self.state();
        if !state.budget.is_empty() {
            return;
        }
        state.budget.insert(status.account.as_str().to_owned(), status.clone());
        state.before = Some(status.clone());
        state.version += 1;
        drop(state);
        self.0.changed.notify_all();
        let reached = self.reached(status);
        if status.job.as_str() != self.0.heading.heading.job {
            reached.into_iter().for_each(|alert| self.0.alerts.raise(alert));
            return;
        }
        let threshold = |alert: &&Alert| match alert {
            Alert::Budget { threshold, .. } => *threshold,
            _ => 0,
        };
        if let Some(largest) = reached.iter().max_by_key(threshold) {
            to_public!(INFO, "alert", "at the start: {largest}");
        }
        reached.into_iter().for_each(|alert| self.0.alerts.take_as_raised(alert));
    }

    /// The alerts for the parts of the budget that are spent; none where spent budget becomes available again in time for
    /// every window.
    fn reached(&self, status: &BudgetStatus) -> Vec<Alert> {
        if *status.forecast.outlook() == Outlook::Endless {
            return Vec::new();
        }
        let Some(part) = status.spent.part_of(&status.cap) else { return Vec::new() };
        let reached = |threshold: &&u32| part >= f64::from(**threshold) / 1e4;
        let account = status.account.as_str();
        let budget = |threshold: &u32| Alert::Budget { account: account.to_owned(), threshold: *threshold };
        self.0.heading.thresholds.iter().filter(reached).map(budget).collect()
    }

    /// Returns the number of changes so far.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// Waits for a change after `version`, for this long at most, and returns the number of changes.
    pub(super) fn wait(&self, version: u64, most: Duration) -> u64 {
        let state = self.state();
        let unchanged = |state: &mut PublicState| state.version == version;
        let waited = self.0.changed.wait_timeout_while(state, most, unchanged);
        waited.unwrap_or_else(PoisonError::into_inner).0.version
    }

    /// Returns the report of the windows that are kept.
    pub fn report(&self) -> Report {
        self.report_of(&self.state(), Report::new)
    }

    fn report_of(&self, state: &PublicState, empty: impl FnOnce(Heading) -> Report) -> Report {
        let mut heading = self.0.heading.heading.clone();
        heading.made = format!("{:.0}", jiff::Timestamp::now());
        if state.dropped {
            heading.made += &format!(", of the newest windows, at most {KEPT_WINDOWS} of each release");
        }
        let mut report = empty(heading);
        if let Some(cap) = &state.cap {
            report.state_cap(cap);
        }
        if let Some(before) = &state.before {
            report.begin(before);
        }
        for window in &state.windows {
            report.add(&window.lines, window.status.as_ref());
        }
        report
    }

    /// The page of the newest windows, which changes as more leave.
    /// With `asks`, it has a link to the page of questions.
    pub(super) fn page(&self, asks: bool) -> String {
        let drawn = self.drawn();
        live_page(&drawn.frame.framed(&drawn.parts), (&self.mark_of(drawn.version), drawn.settled), asks)
    }

    /// The mark of a page at a number of changes. Another run has another mark.
    pub(super) fn mark_of(&self, version: u64) -> String {
        format!("{}-{version}", self.0.instance)
    }

    /// The parts of the page that differ from the page at `version`, as one JSON object, and the number of changes
    /// that it leads to.
    pub(super) fn change(&self, version: u64) -> (u64, String) {
        let drawn = self.drawn();
        let order: Vec<&str> = drawn.parts.iter().map(|(name, _)| name.as_str()).collect();
        let changed = drawn.parts.iter().zip(&drawn.since).filter(|(_, since)| **since > version);
        let parts: BTreeMap<&str, &str> =
            changed.map(|((name, text), _)| (name.as_str(), text.as_str())).collect();
        let change = json!({
            "from": self.mark_of(version),
            "to": self.mark_of(drawn.version),
            "settled": drawn.settled,
            "order": order,
            "parts": parts,
        });
        (drawn.version, change.to_string())
    }

    /// Draws the page, once for each number of changes.
    fn drawn(&self) -> Arc<DrawnPage> {
        let mut state = self.state();
        let former = state.drawn.take();
        if let Some(drawn) = former.as_ref().filter(|drawn| drawn.version == state.version) {
            state.drawn = former.clone();
            return Arc::clone(drawn);
        }
        let frame = self.report_of(&state, |heading| Report::of_newest(heading, LIVE_ROWS));
        let (parts, version) = (frame.parts(), state.version);
        let since = |part: &PagePart| {
            let former = former.as_ref()?;
            let at = former.parts.iter().position(|old| old == part)?;
            former.since.get(at).copied()
        };
        let since = parts.iter().map(|part| since(part).unwrap_or(version)).collect();
        let settled = state.settled.values().sum();
        let drawn = Arc::new(DrawnPage { version, settled, frame, parts, since });
        state.drawn = Some(Arc::clone(&drawn));
        drawn
    }

    fn state(&self) -> MutexGuard<'_, PublicState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LiveRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LiveRun({} changes)", self.version())
    }
}

impl PublicState {
    /// Keeps a window, and drops the oldest of its release, or of all, beyond the bounds.
    fn keep(&mut self, window: LeftWindow) {
        self.bytes += window.lines.len();
        let count = self.counts.entry(window.release.clone()).or_default();
        *count += 1;
        let of_release = (*count > KEPT_WINDOWS).then(|| window.release.clone());
        self.windows.push_back(window);
        if let Some(release) = of_release
            && let Some(oldest) = self.windows.iter().position(|window| window.release == release)
        {
            self.drop_at(oldest);
        }
        while self.bytes > KEPT_BYTES && self.windows.len() > 1 {
            self.drop_at(0);
        }
    }

    fn drop_at(&mut self, at: usize) {
        let Some(dropped) = self.windows.remove(at) else { return };
        self.bytes -= dropped.lines.len();
        // Of several releases, what is dropped first need not be what left first.
        let later = |status: &BudgetStatus| self.before.as_ref().is_none_or(|b| b.order <= status.order);
        self.before = dropped.status.filter(later).or_else(|| self.before.take());
        if let Some(count) = self.counts.get_mut(&dropped.release) {
            *count -= 1;
        }
        self.dropped = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{BudgetUnits, Interval};
    use crate::decimal::Decimal;
    use crate::ledger::{Forecast, Name};
    use crate::watch::metrics::Metrics;

    fn status(spent: &str) -> BudgetStatus {
        let epsilon =
            |text: &str| BudgetUnits::at_least("epsilon", &Decimal::parse("epsilon", text).unwrap());
        let cost = |text: &str| PrivacyCost::Pure { epsilon: epsilon(text).unwrap() };
        BudgetStatus {
            account: Name::new("account", "visits").unwrap(),
            job: Name::new("job", "other").unwrap(),
            window: Interval::new(0, 1_000_000).unwrap(),
            spent: cost(spent),
            cap: cost("2"),
            forecast: Arc::new(Forecast::unseen()),
            order: 0,
            took: Duration::ZERO,
        }
    }

    fn lines(release: &str, number: usize, value: i64) -> String {
        let end = format!("2026-11-01T00:{:02}:{:02}Z", number / 60 % 60, number % 60);
        let head =
            format!(r#""release":"{release}","window":{{"start":"2026-11-01T00:00:00Z","end":"{end}"}}"#);
        format!(
            "{{{head},\"value\":{value},\"interval\":[0,9],\"confidence\":0.9,\"noise\":{{\"kind\":\"laplace\",\"scale\":2}},\
             \"id\":\"5f\",\"promise\":\"lifetime\"}}\n{{{head},\"closed\":true,\"cells\":1,\"seq\":1,\"chain\":\"ab\"}}"
        )
    }

    fn run(alerts: &Alerts) -> LiveRun {
        let heading =
            Heading { job: "a \"job\"\n".to_owned(), account: "visits".to_owned(), ..Heading::default() };
        LiveRun::new(LiveHeading { heading, version: 3, thresholds: vec![5000, 8000] }, alerts.clone())
    }

    fn metrics(run: &LiveRun) -> String {
        let mut metrics = Metrics::default();
        run.write_metrics(&mut metrics);
        metrics.text()
    }

    // Refutes an alarm that nobody hears of, a silent window that is heard, and one of a former run.
    #[test]
    fn a_threshold_alert_that_fires_is_an_alert() {
        let line = |value: u8, left: u32| {
            format!(
                "{{\"release\":\"crowds\",\"window\":{{\"start\":\"2026-01-01T00:00:00Z\",\"end\":\"2026-01-01T01:00:00Z\"}},\
                 \"key\":\"/\",\"value\":{value},\"interval\":[{value},1],\"confidence\":0.95,\"noise\":{{\"kind\":\"geometric\",\
                 \"scale\":3.5,\"above\":500,\"surely\":547,\"alarms\":2,\"alarms_left\":{left}}},\"id\":\"5f\",\
                 \"promise\":\"lifetime, a person, epsilon 1\"}}"
            )
        };
        let (alerts, heard) = (Alerts::new(), Arc::new(Mutex::new(Vec::new())));
        let hears = Arc::clone(&heard);
        alerts.listen(move |alert| hears.lock().unwrap().push(alert.to_string()));
        let run = run(&alerts);
        run.recall(&line(1, 2));
        run.add(&line(0, 2), &status("0.1"));
        assert_eq!(alerts.count("above_threshold"), 0);
        run.add(&line(1, 1), &status("0.1"));
        run.add(&line(1, 0).replace("\"/\"", "\"/a\""), &status("0.1"));
        assert_eq!(alerts.count("above_threshold"), 2);
        let said = "crowds has fired in the window from 2026-01-01T00:00:00Z on: more than 500 of";
        let heard = heard.lock().unwrap();
        assert_eq!(heard[0], format!("{said} \"/\"; 1 alarm is left"));
        assert_eq!(
            heard[1],
            format!("{said} \"/a\"; that was its last alarm: a new version is armed anew, and pays anew")
        );
    }

    // Refutes an alert of a budget that is never used up.
    #[test]
    fn a_budget_that_becomes_available_again_raises_nothing() {
        let alerts = Alerts::new();
        let run = run(&alerts);
        run.add(
            &lines("visits", 0, 7),
            &BudgetStatus { forecast: Arc::new(Forecast::endless()), ..status("2") },
        );
        assert_eq!(alerts.count("budget"), 0);
        run.add(&lines("visits", 1, 7), &status("2"));
        assert_eq!(alerts.count("budget"), 2);
    }

    // Refutes a public family that moves with a value, and a threshold that is off or raised twice.
    #[test]
    fn public_families_count_windows_and_budget_and_no_value() {
        let alerts = Alerts::new();
        let (one, other) = (run(&alerts), run(&Alerts::new()));
        for (number, spent) in ["0.5", "1", "1.5"].into_iter().enumerate() {
            one.add(&lines("visits", number, 7), &status(spent));
            other.add(&lines("visits", number, 7_000_000), &status(spent));
        }
        let text = metrics(&one);
        assert_eq!(text, metrics(&other), "neighbours");
        assert!(!text.contains("7000000"));
        assert!(
            text.contains("discreet_windows_settled_total{release=\"visits\",outcome=\"released\"} 3\n"),
            "{text}"
        );
        assert!(text.contains("discreet_budget_spent_ratio{account=\"visits\"} 0.75\n"), "{text}");
        assert!(
            text.contains("discreet_job_info{job=\"a \\\"job\\\"\\n\",version=\"3\",account=\"visits\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("discreet_alerts_total{alert=\"budget\"} 1\n"), "{text}");
        assert_eq!(alerts.count("budget"), 1);
        let head =
            r#""release":"visits","window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-01T00:00:09Z"}"#;
        for _ in 0..2 {
            one.add(&format!("{{{head},\"skipped\":true,\"why\":\"input gap\"}}"), &status("1.6"));
        }
        assert_eq!((alerts.count("input_gap"), alerts.count("budget")), (1, 2));
        assert!(metrics(&one).contains("outcome=\"skipped\"} 2\n"));
    }

    // Refutes a budget that is unknown after a restart until a window leaves, and one that goes back to it.
    #[test]
    fn the_budget_of_the_ledger_is_there_from_the_start() {
        let alerts = Alerts::new();
        let run = run(&alerts);
        assert!(!metrics(&run).contains("discreet_budget_spent_ratio{"));
        run.begin(&status("1"));
        let spent = |part: &str| format!("discreet_budget_spent_ratio{{account=\"visits\"}} {part}\n");
        assert!(metrics(&run).contains(&spent("0.5")), "{}", metrics(&run));
        assert_eq!((run.version(), alerts.count("budget")), (1, 1));
        assert!(run.report().html().contains("1 of epsilon 2 is spent"), "{}", run.report().html());
        run.add(&lines("visits", 1, 7), &status("1.5"));
        run.begin(&status("1"));
        assert!(metrics(&run).contains(&spent("0.75")));
    }

    // Refutes alerts that every restart raises anew, and a budget that another job has spent without a word.
    #[test]
    fn an_alert_for_a_part_that_a_former_run_has_spent_is_not_raised_again() {
        let own = |spent| BudgetStatus { job: Name::new("job", "web").unwrap(), ..status(spent) };
        for (before, raised) in [(own("1"), 0), (status("1"), 1)] {
            let alerts = Alerts::new();
            let heading = Heading { job: "web".to_owned(), ..Heading::default() };
            let heading = LiveHeading { heading, version: 1, thresholds: vec![5000, 8000] };
            let run = LiveRun::new(heading, alerts.clone());
            run.begin(&before);
            run.add(&lines("visits", 1, 7), &own("1.5"));
            assert_eq!(alerts.count("budget"), raised);
            run.add(&lines("visits", 2, 7), &own("1.6"));
            assert_eq!(alerts.count("budget"), raised + 1);
        }
    }

    // Refutes a page that forgets at a restart what left before it, or counts it again.
    #[test]
    fn what_left_before_is_on_the_page_and_not_among_what_settled() {
        let alerts = Alerts::new();
        let run = run(&alerts);
        run.recall(&lines("visits", 1, 1_234));
        run.begin(&status("1.8"));
        run.add(&lines("visits", 2, 4_321), &status("1.9"));
        let (page, text) = (run.page(false), metrics(&run));
        assert!(page.contains(">1234<") && page.contains(">4321<"), "{page}");
        assert!(page.contains("<b id=\"settled\">1</b>"), "{page}");
        assert!(text.contains("{release=\"visits\",outcome=\"released\"} 1\n"), "{text}");
        assert!(run.report().html().contains("1.9 of epsilon 2 is spent"));
        for number in 0..KEPT_WINDOWS {
            run.recall(&lines("visits", number + 3, 5));
        }
        assert!(run.report().html().contains("1.9 of epsilon 2 is spent"), "the status went with its window");
        assert_eq!(alerts.count("input_gap"), 0);
    }

    // Refutes a change that lacks a part, one that repeats what the page has, and one that differs from the page.
    #[test]
    fn a_change_brings_the_parts_that_the_page_does_not_have() {
        let run = run(&Alerts::new());
        run.add(&lines("often", 1, 7), &status("0.1"));
        run.add(&lines("seldom", 1, 8), &status("0.2"));
        let first = run.page(false);
        assert!(first.contains(&format!("data-mark=\"{}\"", run.mark_of(2))), "{first}");
        run.add(&lines("often", 2, 1234), &status("0.3"));
        let (version, change) = run.change(2);
        let change: serde_json::Value = serde_json::from_str(&change).unwrap();
        assert_eq!((version, change["settled"].as_u64()), (3, Some(3)));
        assert_eq!(change["from"], run.mark_of(2));
        assert_eq!(change["to"], run.mark_of(3));
        let parts = change["parts"].as_object().unwrap();
        assert!(parts["release often"].as_str().unwrap().contains(">1234</td>"), "{change}");
        assert!(parts["budget"].as_str().unwrap().contains("0.3 of"), "{change}");
        assert!(!parts.contains_key("release seldom") && !parts.contains_key("noise"), "{change}");
        let page = run.page(false);
        for part in parts.values() {
            assert!(page.contains(part.as_str().unwrap()), "{page}");
        }
        let order: Vec<&str> =
            change["order"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(order, ["heading", "release often", "release seldom", "budget", "noise", "made"]);
        assert!(run.change(3).1.contains("\"parts\":{}"), "nothing is new");
    }

    // Refutes memory that grows for as long as a job runs.
    #[test]
    fn the_newest_windows_are_kept_and_the_page_says_so() {
        let run = run(&Alerts::new());
        for number in 0..KEPT_WINDOWS + 40 {
            run.add(&lines("often", number, 1_000 + number as i64), &status("1"));
            if number < 3 {
                run.add(&lines("seldom", number, 5), &status("1"));
            }
        }
        let state = run.state();
        let kept = |name: &str| state.windows.iter().filter(|window| window.release == name).count();
        assert_eq!((kept("often"), kept("seldom")), (KEPT_WINDOWS, 3));
        assert_eq!(state.bytes, state.windows.iter().map(|window| window.lines.len()).sum::<usize>());
        drop(state);
        let page = run.page(false);
        assert!(page.contains("at most 500 of each release"));
        assert!(page.contains(&format!("<b id=\"settled\">{}</b>", KEPT_WINDOWS + 43)));
        assert!(
            page.contains("script-src 'self'; connect-src 'self'\"")
                && page.contains("<script src=\"/live.js\" defer>")
        );
        assert!(
            page.contains("<body><div id=\"live\"") && page.contains("</main>"),
            "the script finds its places"
        );
        assert_eq!(page.matches("<tr>").count(), 1 + LIVE_ROWS + 1 + 3 + 1 + 2);
        assert!(page.contains(">1539<") && !page.contains("<td class=\"number\">1040<"), "the newest rows");
        assert!(!page.contains("http://") || page.contains("http://www.w3.org"), "nothing is loaded");
        assert!(Report::is_of(page.as_bytes()));
        // Windows of former runs that were not recalled.
        let run = self::run(&Alerts::new());
        assert!(!run.report().html().contains("at most 500"));
        run.leave_out();
        assert!(run.report().html().contains("at most 500 of each release"));
    }

    #[test]
    fn a_reader_waits_for_a_change() {
        let run = run(&Alerts::new());
        assert_eq!(run.wait(0, Duration::from_millis(10)), 0);
        run.add(&lines("visits", 1, 1), &status("1"));
        assert_eq!(run.wait(0, Duration::from_secs(9)), 1);
    }
}
