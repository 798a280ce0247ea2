//! Pages in a real browser, if one is installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::samples::all_samples;

struct Browser {
    program: PathBuf,
    place: PathBuf,
}

impl Browser {
    fn find(test: &str) -> Option<Browser> {
        let paths = env::var_os("PATH").unwrap_or_default();
        let programs = ["chromium", "chromium-browser", "google-chrome"];
        let found = env::split_paths(&paths)
            .flat_map(|path| programs.map(|name| path.join(name)))
            .find(|path| path.is_file());
        let Some(program) = found else {
            println!("skipped: no chromium: nobody looks at the page of a report");
            return None;
        };
        let place = env::temp_dir().join(format!("discreet-browser-{test}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        Some(Browser { program, place })
    }

    fn run(&self, file: &Path, options: &[&str]) -> Vec<u8> {
        let profile = format!("--user-data-dir={}", self.place.join("profile").display());
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=2000",
                &profile,
            ])
            .args(options)
            .arg(format!("file://{}", file.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// A script that writes into the page's title the number of pictures with a size, the page's width and the
/// width available.
const MEASURE: &str = "<script>addEventListener('load',()=>{const seen=[...document.querySelectorAll('svg')]\
    .filter(s=>s.getBoundingClientRect().width>100&&s.getBoundingClientRect().height>10).length;\
    const d=document.documentElement;document.title=[seen,d.scrollWidth,d.clientWidth,\
    getComputedStyle(document.body).backgroundColor].join(';')})</script>";

// Refutes a page that a browser cannot parse, pictures without a size, and a page that is wider than its
// window.
#[test]
fn a_browser_shows_every_picture_within_its_window() {
    let Some(browser) = Browser::find("window") else { return };
    for (name, report) in all_samples() {
        let html = report.html();
        // The copy is without the page's policy, which would forbid the measuring script.
        let (head, rest) = html.split_once("<meta http-equiv").unwrap();
        let copy = format!("{head}{MEASURE}{}", rest.split_once('>').unwrap().1);
        let file = browser.place.join(format!("{name}.html"));
        fs::write(&file, copy).unwrap();
        for (size, scheme, ground) in
            [("1100,900", "1", "rgb(255, 255, 255)"), ("500,900", "0", "rgb(18, 22, 27)")]
        {
            let (window, scheme) =
                (format!("--window-size={size}"), format!("--blink-settings=preferredColorScheme={scheme}"));
            let page = String::from_utf8(browser.run(&file, &["--dump-dom", &window, &scheme])).unwrap();
            let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
            let measured: Vec<&str> = title.split(';').collect();
            let [seen, wide, room, colour] = measured[..] else { panic!("{name} was not measured: {title}") };
            assert_eq!(seen.parse::<usize>().unwrap(), html.matches("<svg").count(), "{name} at {size}");
            assert!(
                wide.parse::<u32>().unwrap() <= room.parse().unwrap(),
                "{name} at {size} is {wide} of {room} wide"
            );
            assert_eq!(colour, ground, "{name} at {size}");
        }
    }
}

// Refutes a picture that a browser cannot draw: an error is drawn as a page of text, and an empty picture as
// a blank page.
#[test]
fn a_browser_draws_the_picture_by_itself() {
    let Some(browser) = Browser::find("picture") else { return };
    let (_, report) = all_samples().swap_remove(0);
    let (file, shot) = (browser.place.join("report.svg"), browser.place.join("shot.png"));
    fs::write(&file, report.svg()).unwrap();
    let screenshot = format!("--screenshot={}", shot.display());
    browser.run(&file, &[&screenshot, "--window-size=1000,800"]);
    // A blank page of this size takes 5 kB, an error 15 kB.
    assert!(fs::metadata(&shot).unwrap().len() > 40_000);
    let page = String::from_utf8(browser.run(&file, &["--dump-dom"])).unwrap();
    assert!(!page.contains("parsererror") && page.contains("</svg>"), "{}", &page[..page.len().min(500)]);
}
