use std::fs;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::QuestionService;
use super::*;
use crate::mechanisms::queries::Field;

/// A clock that stands until it is set.
#[derive(Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Time {
        self.0.load(Ordering::SeqCst)
    }
}

/// A file of questions that is followed, with its clock and what the operator was notified of.
struct Followed {
    path: PathBuf,
    clock: Arc<SetClock>,
    notices: Arc<Mutex<Vec<String>>>,
    part: QuestionPart,
}

const LAST: Time = 1_000;

fn schema() -> Schema {
    Schema::new([Field::number("age")]).unwrap()
}

impl Followed {
    fn new(name: &str) -> Followed {
        let path = std::env::temp_dir().join(format!("discreet-questions-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let (clock, notices) = (Arc::<SetClock>::default(), Arc::<Mutex<Vec<String>>>::default());
        let heard = Arc::clone(&notices);
        let notice: OperatorNotice = Arc::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()));
        let times: (Arc<dyn Clock>, Time) = (Arc::clone(&clock) as Arc<dyn Clock>, LAST);
        let asked = QuestionService::new().questions(0);
        let input = QuestionInput::followed((Some(&path), asked), &schema(), times, Some(notice));
        assert!(matches!(input.part(1), QuestionPart::Whole(questions) if questions.is_empty()));
        let part = input.part(0);
        Followed { path, clock, notices, part }
    }

    fn append(&self, text: &str) {
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The ids and times of the questions of a look at this time, and what the source says after it.
    fn look(&mut self, now: Time) -> (Vec<(String, Time)>, Pulled) {
        self.clock.0.store(now, Ordering::SeqCst);
        let mut batch = Vec::new();
        if let QuestionPart::Followed(following) = &mut self.part {
            following.looked = None;
        }
        let mut pulled = self.part.pull(&mut batch).unwrap();
        while pulled == Pulled::More {
            pulled = self.part.pull(&mut batch).unwrap();
        }
        let asked = |question: &Query| (question.id().to_owned(), question.at());
        (batch.iter().map(asked).collect(), pulled)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn line(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"analyst\":\"ann\",\"count\":\"age > 17\"}}\n")
}

fn asked(ids: &[&str], at: Time) -> Vec<(String, Time)> {
    ids.iter().map(|id| ((*id).to_owned(), at)).collect()
}

// Refutes a line that is read before its end, one that is read twice, and one that is asked at another time than that of its
// look.
#[test]
fn lines_are_asked_once_each_is_whole() {
    let mut followed = Followed::new("whole");
    assert_eq!(followed.look(1), (vec![], Pulled::Complete(1)), "there is no file yet");
    let notices = std::mem::take(&mut *followed.notices.lock().unwrap());
    assert!(
        matches!(&notices[..], [one] if one.contains("found no such file; it is read once it can be")),
        "{notices:?}"
    );
    followed.append(&(line("a") + "\n" + &line("b")));
    assert_eq!(followed.look(2), (asked(&["a", "b"], 2), Pulled::Complete(2)));
    assert_eq!(followed.look(2), (vec![], Pulled::Idle));
    let (begin, rest) = (&line("c")[..20], &line("c")[20..]);
    followed.append(begin);
    assert_eq!(followed.look(3).0, []);
    followed.append(rest);
    followed.append(&line("d"));
    assert_eq!(followed.look(4).0, asked(&["c", "d"], 4));
    // Between two looks nothing is read.
    followed.append(&line("e"));
    let mut batch = Vec::new();
    assert_eq!(followed.part.pull(&mut batch).unwrap(), Pulled::Idle);
    assert!(batch.is_empty());
    assert_eq!(followed.look(5).0, asked(&["e"], 5));
    assert_eq!(followed.look(LAST), (vec![], Pulled::Complete(LAST)));
    assert_eq!(followed.look(LAST + 1), (vec![], Pulled::End));
    assert_eq!(*followed.notices.lock().unwrap(), [""; 0]);
}

// Refutes a new file that is read from the place that the old one had, and a file that ends the reading.
#[test]
fn a_file_that_is_replaced_or_cut_is_read_from_its_start() {
    let mut followed = Followed::new("replaced");
    followed.append(&(line("a") + &line("b") + "{\"id\":"));
    assert_eq!(followed.look(1).0, asked(&["a", "b"], 1));
    let other = followed.path.with_extension("new");
    fs::write(&other, line("c") + &line("d") + &line("e")).unwrap();
    fs::rename(&other, &followed.path).unwrap();
    assert_eq!(followed.look(2).0, asked(&["c", "d", "e"], 2), "without the torn line of the former file");
    fs::write(&followed.path, line("f")).unwrap();
    assert_eq!(followed.look(3).0, asked(&["f"], 3));
    fs::remove_file(&followed.path).unwrap();
    assert_eq!(followed.look(4), (vec![], Pulled::Complete(4)));
    fs::create_dir(&followed.path).unwrap();
    assert_eq!(followed.look(5), (vec![], Pulled::Complete(5)));
    fs::remove_dir(&followed.path).unwrap();
    // Written over in its place, by more than there was.
    fs::write(&followed.path, line("g")).unwrap();
    assert_eq!(followed.look(6).0, asked(&["g"], 6));
    fs::write(&followed.path, line("h") + &line("i")).unwrap();
    assert_eq!(followed.look(7).0, asked(&["h", "i"], 7));
    fs::remove_file(&followed.path).unwrap();
    // A pipe has no writer, and is not waited for.
    assert!(std::process::Command::new("mkfifo").arg(&followed.path).status().unwrap().success());
    assert_eq!(followed.look(8), (vec![], Pulled::Complete(8)));
    assert!(QuestionInput::whole(Some(&followed.path), &schema(), 9).is_err());
    let notices = followed.notices.lock().unwrap();
    let [gone, pipe] = &notices[..] else { panic!("{notices:?}") };
    assert!(gone.contains("found no such file; ") && pipe.contains("found no plain file; "), "{notices:?}");
}

// Refutes a line that keeps those behind it from being answered, and one that takes any memory.
#[test]
fn what_is_no_question_is_reported_with_its_line() {
    let mut followed = Followed::new("wrong");
    followed.append(&line("a"));
    followed.append("{\"id\":\"b\",\"analyst\":\"ann\",\"count\":\"aeg > 17\"}\n");
    followed.append(&(" ".repeat(3 << 20) + "x\n"));
    followed.append(&line("c"));
    assert_eq!(followed.look(7).0, asked(&["a", "c"], 7));
    let notices = followed.notices.lock().unwrap();
    let [wrong, long] = &notices[..] else { panic!("{notices:?}") };
    assert!(wrong.contains(":2: filter: ") && wrong.ends_with("it is not answered"), "{wrong}");
    assert!(wrong.contains("did you mean age?"), "{wrong}");
    assert!(long.contains(":3: question: ") && long.contains("at most"), "{long}");
}

// Refutes an id that is asked for two questions, by a file that was replaced as well.
#[test]
fn an_id_has_one_question() {
    let mut followed = Followed::new("one-id");
    followed.append(&(line("a") + &line("b") + &line("a").replace("17", "18") + &line("b")));
    assert_eq!(followed.look(1).0, asked(&["a", "b", "b"], 1));
    fs::write(&followed.path, line("b").replace("17", "18")).unwrap();
    assert_eq!(followed.look(2).0, []);
    let notices = followed.notices.lock().unwrap();
    let [within, after] = &notices[..] else { panic!("{notices:?}") };
    assert!(within.contains(":3: id: found that of another question, in line 1; give"), "{within}");
    assert!(after.contains(":1: id: found that of another question, in line 4; give"), "{after}");
}

// Refutes a replay that begins though a question cannot be asked.
#[test]
fn a_replay_reads_all_questions_or_none() {
    let path = std::env::temp_dir().join(format!("discreet-questions-replay-{}", std::process::id()));
    fs::write(&path, line("a") + "\n" + &line("b").replace("\"count\"", "\"at\":\"1970-01-01\",\"count\""))
        .unwrap();
    let Ok(QuestionInput::Whole(WholeQuestions { questions, .. })) =
        QuestionInput::whole(Some(&path), &schema(), 9)
    else {
        panic!()
    };
    assert_eq!(
        questions.iter().map(|question| (question.id(), question.at())).collect::<Vec<_>>(),
        [("a", 9), ("b", 0)]
    );
    fs::write(&path, line("a") + "{}\n" + &line("b") + &"x\n".repeat(30)).unwrap();
    let refused = QuestionInput::whole(Some(&path), &schema(), 9).err().unwrap();
    let all = refused.to_string();
    assert!(all.contains(":2: ") && all.contains(":4: ") && all.ends_with("and 11 lines more"), "{all}");
    assert_eq!(refused.exit_code(), 78);
    fs::write(&path, line("a") + &line("b") + &line("a") + &line("b").replace("17", "18")).unwrap();
    let refused = QuestionInput::whole(Some(&path), &schema(), 9).err().unwrap().to_string();
    assert!(
        refused.ends_with(":4: id: found that of another question, in line 2; give an id of its own"),
        "{refused}"
    );
    fs::remove_file(&path).unwrap();
    let refused = QuestionInput::whole(Some(&path), &schema(), 9).err().unwrap();
    assert!(refused.to_string().contains("found no such file"), "{refused}");
}
