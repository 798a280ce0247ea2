//! A page in a headless browser.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::scene::{PATIENCE, Scene};

/// A page in a browser that is asked over a pair of pipes; the browser is ended when this is dropped.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    asked: u64,
    session: Option<String>,
}

impl Browser {
    /// Opens a page; `None` where there is no browser.
    pub(crate) fn open(scene: &Scene, page: &str) -> Option<Browser> {
        Command::new("chromium").arg("--version").stdout(Stdio::null()).status().ok()?;
        let pipes = ["browser.to", "browser.from"].map(|name| scene.at(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        // Open at both ends, so that none waits for the other.
        let [to, mut from] =
            [0, 1].map(|at| File::options().read(true).write(true).open(&pipes[at]).unwrap());
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<>\"$0\" 4<>browser.from", "browser.to", "chromium", "--headless"])
            .args([
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", scene.at("browser").display()))
            .current_dir(scene.at("."))
            .stdout(Stdio::null())
            .stderr(File::create(scene.at("browser.err")).unwrap())
            .spawn()
            .unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            let mut room = [0; 1 << 16];
            while let Ok(read @ 1..) = from.read(&mut room) {
                held.extend_from_slice(&room[..read]);
                while let Some(end) = held.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = held.drain(..=end).collect();
                    if sender.send(serde_json::from_slice(&message[..end]).unwrap()).is_err() {
                        return;
                    }
                }
            }
        });
        let mut browser = Browser { child, to, from: receiver, asked: 0, session: None };
        let target = browser.ask("Target.createTarget", json!({ "url": page }))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        Some(browser)
    }

    /// The text that a script has as its value on the page.
    pub(crate) fn evaluate(&mut self, script: &str) -> String {
        let answer = self.ask("Runtime.evaluate", json!({ "expression": script, "returnByValue": true }));
        let text = answer["result"]["value"].as_str().unwrap_or_else(|| panic!("{answer}"));
        text.to_owned()
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut request = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.from.recv_timeout(PATIENCE).unwrap();
            if answer["id"] == self.asked {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
