//! What the releases of one account have in common: a change of it by one release is refused at another, which
//! is named with the field, and nothing is charged.

use crate::{Scene, jobs};

const HEAD: &str = "[job]\nname = \"visits\"\nversion = 1\nfrom = \"2026-01-05T00:00:00Z\"\nuntil = \"2026-01-11T00:00:00Z\"\n\
    [source]\ntype = \"csv\"\npath = \"visits.csv\"\ntime = { field = \"time\", format = \"%Y-%m-%d %H:%M:%S\" }\n\
    [privacy]\nperson = { field = \"who\", missing = \"drop\" }\npromise = \"lifetime\"\n\
    budget = { epsilon = 8, delta = 1e-6 }\nledger = \"job.ledger\"\naccount = \"visits\"\n";

/// A release of people; `rest` are its windows, keys, bound and price.
fn release(name: &str, rest: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nnoise = \"gaussian\"\n{rest}\n")
}

fn scene(releases: &[&String]) -> Scene {
    let scene = Scene::new();
    jobs::data().iter().for_each(|(name, text)| scene.write(name, text));
    scene.write("job.toml", &text(releases));
    let (code, _, error) = scene.run(&["ledger", "init", "job.ledger", "--config", "job.toml"]);
    assert_eq!(code, 0, "{error}");
    scene
}

fn text(releases: &[&String]) -> String {
    HEAD.to_owned() + &releases.iter().map(|release| &release[..]).collect::<String>()
}

/// Releases a job, which must end with a code; returns its lines, and its messages.
fn released(scene: &Scene, releases: &[&String], due: i32) -> (Vec<String>, String) {
    scene.write("edited.toml", &text(releases));
    let (code, windows, said) = scene.release("edited.toml");
    assert_eq!(code, due, "{said}");
    (windows.into_values().flatten().collect(), said)
}

// Refutes a release that changes the price of another unnoticed, and one that is refused though nothing of it
// has changed.
#[test]
fn no_release_changes_the_price_of_another_unnoticed() {
    let listed =
        "every = \"1 day\"\npeople = { by = \"page\", keys = [\"a\", \"b\"] }\nbound = { keys = 1 }\n";
    let found = "every = \"1 day\"\npeople = { by = \"page\", keys = \"discover\" }\nbound = { keys = 1 }\n";
    let shared = release("shared", &format!("{listed}share = 0.3"));
    let other = release("other", &format!("{listed}share = 0.2"));
    let wider = release("other", &format!("version = 2\n{listed}share = 0.25"));
    let priced = release("priced", &format!("{listed}cost = {{ rho = 0.01 }}"));
    let finds = release("finds", &format!("{found}share = 0.3"));

    // Another share, another cost, and one release more or fewer leave a share as it is.
    let one = scene(&[&shared, &other]);
    let (lines, _) = released(&one, &[&shared, &other], 0);
    let of_shared = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| line.contains("\"release\":\"shared\"")).cloned().collect()
    };
    assert_eq!(of_shared(&lines).len(), 6 * 3);
    for edited in [&[&shared, &wider][..], &[&shared], &[&priced, &shared], &[&wider, &priced, &shared]] {
        assert_eq!(of_shared(&released(&one, edited, 0).0), of_shared(&lines));
    }

    // The first release that discovers keys takes half of the delta of an account, and the last gives it back.
    for (before, after) in [([&shared, &priced], [&shared, &finds]), ([&shared, &finds], [&shared, &priced])]
    {
        let scene = scene(&before);
        released(&scene, &before, 0);
        let spent = scene.spent();
        let (lines, said) = released(&scene, &after, 78);
        assert!(
            said.contains("has opened shared in version 1") && said.contains("privacy.budget (was"),
            "{said}"
        );
        assert_eq!((lines, scene.spent()), (Vec::new(), spent));
    }

    // Without shares nothing depends on it: the account keeps what it was stated with.
    let costly = release("finds", &format!("{found}cost = {{ rho = 0.01, delta = 1e-9 }}"));
    let scene_of_both = scene(&[&priced, &costly]);
    let (lines, _) = released(&scene_of_both, &[&priced, &costly], 0);
    let (after, _) = released(&scene_of_both, &[&priced], 0);
    assert!(after.len() == 6 * 3 && after.iter().all(|line| lines.contains(line)));

    // The number of windows of a person is the account's.
    let bounded = release(
        "bounded",
        &format!("{listed}cost = {{ rho = 0.01 }}").replace("keys = 1 }", "keys = 1, windows = 3 }"),
    );
    let whole = release("whole", "every = \"all\"\npeople = {}\ncost = { rho = 0.01 }");
    let both = scene(&[&bounded, &whole]);
    released(&both, &[&bounded, &whole], 0);
    let spent = both.spent();
    let (lines, said) = released(&both, &[&whole], 78);
    assert!(said.contains("privacy.account: found another promise"), "{said}");
    assert_eq!((lines, both.spent()), (Vec::new(), spent));
}
