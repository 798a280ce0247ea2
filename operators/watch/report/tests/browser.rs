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

/// A script that sends the measures of its page to the window around it: the number of pictures that are shown
/// with a size, and of those that are not shown; the page's width and the width available; the colour of its
/// ground; how far a text or an element reaches beyond the window; the smallest letters of a picture, in
/// tenths of a pixel; the right end of the rightmost picture; and the largest letters.
const MEASURE: &str = "<script>addEventListener('load',()=>{const d=document.documentElement,all=[...document.querySelectorAll('svg')],\
    shown=all.filter(s=>s.getClientRects().length),size=s=>s.getBoundingClientRect(),\
    seen=shown.filter(s=>size(s).width>100&&size(s).height>10).length,\
    texts=shown.flatMap(s=>[...s.querySelectorAll('text')]),\
    over=Math.max(0,...texts.map(t=>Math.max(size(t).right-d.clientWidth,-size(t).left)),\
    ...[...document.querySelectorAll('.panels,.wide,.beside,.legend,.after')].map(e=>e.scrollWidth-e.clientWidth)),\
    least=Math.min(...texts.map(t=>parseFloat(getComputedStyle(t).fontSize)*t.ownerSVGElement.getScreenCTM().a)),\
    right=Math.max(0,...shown.map(s=>size(s).right)),\
    most=Math.max(...texts.map(t=>parseFloat(getComputedStyle(t).fontSize)*t.ownerSVGElement.getScreenCTM().a));\
    parent.postMessage([seen,all.length-shown.length,d.scrollWidth,d.clientWidth,getComputedStyle(document.body).backgroundColor,\
    Math.ceil(over),Math.floor(least*10),Math.round(right),Math.ceil(most*10)].join(';'),'*')})</script>";

// Refutes a page that a browser cannot parse, pictures without a size, a page that is wider than its window, a
// picture of which a part is cut, letters that are too small to be read, and a wide window that is half empty.
#[test]
fn a_browser_shows_every_picture_within_its_window() {
    let Some(browser) = Browser::find("window") else { return };
    for (name, report) in all_samples() {
        let html = report.html();
        // The copy is without the page's policy, which would forbid the measuring script.
        let (head, rest) = html.split_once("<meta http-equiv").unwrap();
        let copy = format!("{head}{MEASURE}{}", rest.split_once('>').unwrap().1);
        fs::write(browser.place.join(format!("{name}.html")), copy).unwrap();
        for (width, scheme, ground) in [
            (1200, "1", "rgb(255, 255, 255)"),
            (700, "1", "rgb(255, 255, 255)"),
            (400, "0", "rgb(18, 22, 27)"),
        ] {
            // A browser's own window is never as narrow as that of a telephone.
            let frame = format!(
                "<!doctype html><title></title><body style=\"margin:0\"><script>onmessage=e=>document.title=e.data</script>\
                 <iframe src=\"{name}.html\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
            );
            let file = browser.place.join(format!("{name}-{width}.html"));
            fs::write(&file, frame).unwrap();
            let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
            let options =
                ["--dump-dom", "--window-size=1300,1000", "--allow-file-access-from-files", &scheme];
            let page = String::from_utf8(browser.run(&file, &options)).unwrap();
            let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
            let measured: Vec<&str> = title.split(';').collect();
            let [seen, hidden, wide, room, colour, over, letters, right, most] = measured[..] else {
                panic!("{name} was not measured: {title}")
            };
            let number = |text: &str| text.parse::<i64>().unwrap();
            let (at, all) = (format!("{name} at {width}: {title}"), html.matches("<svg").count() as i64);
            assert_eq!(number(seen) + number(hidden), all, "{at}");
            assert!(number(seen) * 2 >= all && number(seen) > 0, "{at}");
            assert!(number(wide) <= number(room) && number(over) <= 0, "{at}");
            assert!(number(letters) >= 80 && number(most) <= 210, "{at}");
            assert!(number(right) * 10 >= number(room) * 8, "{at}");
            assert_eq!(colour, ground, "{at}");
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
