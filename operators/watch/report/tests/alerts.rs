//! Reports of alerts.

use super::*;

fn line(hour: usize, value: u8, left: u32, tally: u8) -> String {
    format!(
        "{{\"release\":\"crowds\",\"window\":{{\"start\":\"2026-01-01T{hour:02}:00:00Z\",\"end\":\"2026-01-01T{:02}:00:00Z\"}},\
         \"key\":\"</td>\",\"value\":{value},\"interval\":[{value},1],\"confidence\":0.95,\"noise\":{{\"kind\":\"geometric\",\
         \"scale\":3.5,\"above\":1500,\"surely\":1547,\"alarms\":2,\"alarms_left\":{left}}},\"id\":\"5f\",\
         \"promise\":\"lifetime, a person, epsilon 1\",\"demo\":true,\"tally\":{tally},\"truth\":{tally}}}",
        hour + 1
    )
}

// Refutes an alarm that is drawn as a number, or left out of the page; advice about the noise of a number that is none; an alert
// whose end is not said; and a demonstration's mistake that is not counted.
#[test]
fn an_alert_is_a_table_of_its_alarms() {
    let heading = Heading { demo: true, ..Heading::default() };
    let page = |lines: &[String]| {
        let mut report = Report::new(heading.clone());
        lines.iter().for_each(|line| report.add(line, None));
        report.html()
    };
    let mut lines: Vec<String> = (0..5).map(|hour| line(hour, 0, 2, 0)).collect();
    lines.push(line(5, 1, 1, 1));
    let text = page(&lines);
    for words in [
        "Silent while the number is at most 1,500, and surely fires from 1,547 on",
        "Of 2 alarms for which it has paid, 1 has been raised. 1 alarm left.",
        "5 answers were silent, which cost nothing.",
        "<td>&lt;/td&gt;</td><td>1</td><td>yes</td>",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    lines.push(line(6, 1, 0, 0));
    let text = page(&lines);
    for words in [
        "2 have been raised. None is left: the alert has ended",
        "<td>0</td><td>no</td>",
        "1 alarm came where the number was not above 1500.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["is the mean of", "Half of the intervals", "intervals hold", "There is no number to draw"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
}
