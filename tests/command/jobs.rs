//! A directory with a job file, and room for its ledger.

use std::fs;
use std::path::Path;

use crate::kit::Directory;
use crate::kit::process::Ended;

pub(crate) struct Jobs(Directory);

impl Jobs {
    /// Makes the directory with one of the example jobs as `job.toml`.
    pub(crate) fn new(name: &str, config: &str) -> Jobs {
        let jobs = Jobs(Directory::new(&format!("command-{name}")));
        fs::create_dir_all(jobs.path("state")).unwrap();
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
        fs::write(jobs.path("job.toml"), fs::read(configs.join(config)).unwrap()).unwrap();
        jobs
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Runs `discreet` with a limit of time.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.0.run(arguments)
    }

    /// Writes a changed job file, under the same or another name.
    pub(crate) fn changed(&self, name: &str, old: &str, new: &str) -> String {
        let config = fs::read_to_string(self.path("job.toml")).unwrap();
        assert!(config.contains(old), "{old}");
        fs::write(self.path(name), config.replace(old, new)).unwrap();
        self.path(name)
    }
}
