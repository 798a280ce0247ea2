//! A released text has any number of lines, and a restart gives it out again byte for byte.

use super::*;

everywhere! {
    a_text_of_several_lines_or_of_none_is_delivered_again_to_the_byte
}

fn a_text_of_several_lines_or_of_none_is_delivered_again_to_the_byte(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let texts = ["", "one\ntwo", "\n"];
    let anchor = scratch.directory().join("anchor");
    let open = || at_a_desk(opening(&scratch).anchor(&anchor).open().unwrap());
    let (gate, handle) = open();
    for (window, text) in (0..).zip(texts) {
        let sealable = Box::new(move |_: &mut NoiseSource| text.to_owned());
        handle.submit(ReleaseRequest { sealable, ..request(window, &Arc::default()) }).unwrap();
    }
    let first = texts.map(|_| row(&handle));
    handle.delivered(&first[0]);
    drop((gate, handle));

    let (gate, handle) = open();
    let again = [row(&handle), row(&handle)];
    for ((first, again), text) in first[1..].iter().zip(&again).zip(&texts[1..]) {
        assert_eq!((first.line(), first.closing()), (again.line(), again.closing()));
        assert_eq!(first.line(), *text);
    }
    again.iter().for_each(|row| handle.delivered(row));
    drop((gate, handle));
    let (gate, handle) = open();
    drop(gate);
    assert!(handle.wait().is_none(), "it was delivered a third time");
    assert_eq!(Journal::read(&anchor).unwrap().len(), texts.len());
}
