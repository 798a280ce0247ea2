#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

/// The ends of lines, found byte by byte; quotation marks have no effect.
fn ends(text: &[u8]) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=text.len()).filter(|end| text[end - 1] == b'\n').collect();
    if ends.last().copied().unwrap_or(0) < text.len() {
        ends.push(text.len());
    }
    ends
}

/// The lines within the size limit, each with its chunk, and the number of longer lines of each chunk.
type Found = (Vec<(u64, Vec<u8>)>, Vec<u64>);

fn naive(text: &[u8], sizes: Sizes) -> Found {
    let (mut lines, mut long) = (Vec::new(), Vec::new());
    let mut from = 0;
    for end in ends(text) {
        let chunk = (from / sizes.chunk) as u64;
        let line = without_end(&text[from..end]);
        if line.len() > sizes.line {
            long.push(chunk);
        } else {
            lines.push((chunk, line.to_vec()));
        }
        from = end;
    }
    (lines, long)
}

/// Reads the pieces in reads of these lengths; if `live`, also delivers the complete lines between reads.
fn cut(text: &[u8], sizes: Sizes, quote: Option<u8>, reads: &[usize], live: bool) -> (Found, u64) {
    let mut cutter = Cutter::new(sizes, quote);
    let (mut lines, mut long) = (Vec::new(), Vec::new());
    let mut most = 0;
    let mut take = |piece: Piece| {
        long.extend((0..piece.too_long).map(|_| piece.chunk));
        let has_quote = quote.is_some_and(|quote| piece.lines.contains(&quote));
        assert_eq!(piece.quotes, has_quote, "marks are reported");
        let mut from = 0;
        for end in ends(&piece.lines) {
            let line = without_end(&piece.lines[from..end]);
            if line.len() > sizes.line {
                long.push(piece.chunk)
            } else {
                lines.push((piece.chunk, line.to_vec()))
            }
            from = end;
        }
    };
    let (mut at, mut turn) = (0, 0);
    loop {
        let length = reads[turn % reads.len()].min(text.len() - at);
        turn += 1;
        let read = cutter.fill(|room| {
            let length = length.min(room.len());
            room[..length].copy_from_slice(&text[at..at + length]);
            Ok::<usize, ()>(length)
        });
        at += read.unwrap();
        while let Some(piece) = cutter.cut(Vec::new) {
            take(piece);
        }
        most = most.max(cutter.held.len() as u64);
        if live && let Some(piece) = cutter.cut_lines(Vec::new) {
            take(piece);
        }
        if at == text.len() {
            if let Some(piece) = cutter.finish(Vec::new) {
                take(piece);
            }
            return ((lines, long), most);
        }
    }
}

proptest! {
    // Refutes a line that is lost, doubled or torn, and a chunk that depends on anything but the text.
    #[test]
    fn every_line_is_in_its_chunk_whatever_is_read_at_once(
        text in "[ab,\"'\n\r]{0,80}",
        chunk in 1usize..30,
        line in 0usize..20,
        block in 1usize..20,
        reads in proptest::collection::vec(1usize..20, 1..5),
        quote in prop_oneof![Just(None), Just(Some(b'"')), Just(Some(b'\''))],
        live in any::<bool>(),
    ) {
        let sizes = Sizes { chunk, line, block, ..Sizes::USUAL };
        let mut expected = naive(text.as_bytes(), sizes);
        let mut found = cut(text.as_bytes(), sizes, quote, &reads, live).0;
        expected.1.sort_unstable();
        found.1.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}

// Refutes memory that a line without an end fills.
#[test]
fn a_long_line_is_not_held() {
    let sizes = Sizes { chunk: 64, line: 100, block: 32, ..Sizes::USUAL };
    let text = [b"a\nb\n\"", &vec![b'x'; 1_000_000][..], b"\",\nc\n"].concat();
    let ((lines, too_long), most) = cut(&text, sizes, Some(b'"'), &[32], false);
    assert_eq!(lines.iter().map(|(_, line)| &line[..]).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    assert_eq!(too_long, [0]);
    assert!(most <= 200, "{most}");
}

#[test]
fn a_first_line_is_taken_alone() {
    let mut cutter = Cutter::new(Sizes { chunk: 8, line: 10, block: 4, ..Sizes::USUAL }, Some(b'"'));
    let mut text = &b"\xef\xbb\xbf\"a b\",c\r\nd,e\n"[..];
    let mut read = |cutter: &mut Cutter| {
        cutter.fill(|room| {
            let (head, tail) = text.split_at(room.len().min(text.len()));
            room[..head.len()].copy_from_slice(head);
            text = tail;
            Ok::<usize, ()>(head.len())
        })
    };
    assert!(!cutter.skip_mark(false));
    let mut line = None;
    while line.is_none() {
        read(&mut cutter).unwrap();
        if cutter.skip_mark(false) {
            line = cutter.next_line(false).unwrap();
        }
    }
    assert_eq!(line.unwrap(), b"\"a b\",c");
    while read(&mut cutter).unwrap() > 0 {}
    let piece = cutter.cut(Vec::new).or_else(|| cutter.finish(Vec::new)).unwrap();
    assert_eq!((&piece.lines[..], piece.chunk), (&b"d,e\n"[..], 1));
    let mut cutter = Cutter::new(Sizes { chunk: 8, line: 3, block: 9, ..Sizes::USUAL }, Some(b'"'));
    cutter
        .fill(|room| {
            room.fill(b'x');
            Ok::<usize, ()>(room.len())
        })
        .unwrap();
    assert!(cutter.next_line(false).is_err());
}

// Refutes a text that keeps the room of a whole chunk while it waits for its next line.
#[test]
fn a_text_that_waits_keeps_what_it_holds_alone() {
    let sizes = Sizes { chunk: 1 << 10, ..Sizes::USUAL };
    let mut cutter = Cutter::new(sizes, None);
    let text = [b"a line\n".repeat(1_000), b"the next".to_vec()].concat();
    cutter
        .fill(|room| {
            room[..text.len()].copy_from_slice(&text);
            Ok::<_, ()>(text.len())
        })
        .unwrap();
    while cutter.cut(Vec::new).is_some() {}
    cutter.cut_lines(Vec::new);
    cutter.shrink();
    assert_eq!(cutter.held, b"the next");
    assert!(cutter.held.capacity() < 64);
}
