//! The functions of texts in expressions. Each is a function of the text alone; `None` is a result that there is not.

use std::borrow::Cow;

/// A part of a text, or a text made of it.
pub(super) type Part<'a> = Option<Cow<'a, str>>;

/// Returns the host of a web address, or the part of a mail address behind its `@`, in lower case.
pub(super) fn domain(text: &str) -> Part<'_> {
    let text = text.trim();
    let address = match text.split_once("://") {
        Some((_, address)) => address,
        None => text.strip_prefix("//").unwrap_or(text),
    };
    let authority = address.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(numbers) => numbers.split_once(']')?.0,
        None => host.split(':').next()?,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte) || !byte.is_ascii();
    let is_host = host.bytes().all(is_plain)
        && host.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    is_host.then(|| lower(host.trim_end_matches('.')))
}

/// Returns the path of a web address or of a request, without its query.
pub(super) fn path(text: &str) -> Part<'_> {
    let text = text.trim();
    let path = match text.split_once("://") {
        // An address that ends with its host has the path `/`.
        Some((_, address)) => {
            address.find(['/', '?', '#']).map_or("/", |at| address.get(at..).unwrap_or("/"))
        }
        None => text,
    };
    let path = path.split(['?', '#']).next()?;
    match path {
        "" if !text.is_empty() && text.contains("://") => Some("/".into()),
        _ => path.starts_with('/').then(|| path.into()),
    }
}

/// Returns the first segments of a path.
pub(super) fn prefix(text: &str, depth: u32) -> Part<'_> {
    let Cow::Borrowed(path) = path(text)? else { return None };
    let ends = path.char_indices().filter(|(at, next)| *at > 0 && *next == '/').map(|(at, _)| at);
    let end = ends.chain([path.len()]).nth(depth.saturating_sub(1) as usize).unwrap_or(path.len());
    path.get(..end).map(Cow::Borrowed)
}

/// Returns the first characters of a text.
pub(super) fn start(text: &str, characters: u32) -> Part<'_> {
    let end = text.char_indices().nth(characters as usize).map_or(text.len(), |(at, _)| at);
    text.get(..end).map(Cow::Borrowed)
}

/// Returns one of the parts between separators, the first being 1.
pub(super) fn part<'a>(text: &'a str, number: u32, separator: &str) -> Part<'a> {
    text.split(separator).nth(number.checked_sub(1)? as usize).map(Cow::Borrowed)
}

pub(super) fn lower(text: &str) -> Cow<'_, str> {
    match text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        true => text.into(),
        false => text.to_lowercase().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(part: Part<'_>) -> Option<String> {
        part.map(Cow::into_owned)
    }

    #[test]
    fn a_domain_is_that_of_an_address() {
        for (text, host) in [
            ("https://user:word@WWW.Example.com:8080/x?y#z", Some("www.example.com")),
            ("http://example.com", Some("example.com")),
            ("//example.com/x", Some("example.com")),
            ("example.com/x", Some("example.com")),
            ("http://example.com.?q", Some("example.com")),
            ("somebody@Example.org", Some("example.org")),
            ("http://[2001:db8::1]:80/", Some("2001:db8::1")),
            ("http://192.0.2.1/", Some("192.0.2.1")),
            ("https://bücher.example/", Some("bücher.example")),
            ("-", None),
            ("", None),
            ("/local/path", None),
            ("http://[::1", None),
            ("http:///x", None),
            ("two words", None),
            ("...", None),
        ] {
            assert_eq!(of(domain(text)).as_deref(), host, "{text}");
        }
    }

    #[test]
    fn a_path_has_no_query_and_begins_with_a_slash() {
        for (text, expected) in [
            ("/a/b?x=1", Some("/a/b")),
            ("http://example.com/a#b", Some("/a")),
            ("http://example.com", Some("/")),
            ("http://example.com?x", Some("/")),
            ("/", Some("/")),
            ("?x", None),
            ("a/b", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(of(path(text)).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_prefix_has_as_many_segments_as_there_are() {
        for (text, depth, expected) in [
            ("/a/b/c", 1, "/a"),
            ("/a/b/c", 2, "/a/b"),
            ("/a/b/c", 3, "/a/b/c"),
            ("/a/b/c", 9, "/a/b/c"),
            ("/a/", 1, "/a"),
            ("/a/", 2, "/a/"),
            ("/", 2, "/"),
            ("//a", 1, "/"),
            ("/ä/ö?x/y", 1, "/ä"),
            ("http://example.com/a/b", 1, "/a"),
        ] {
            assert_eq!(of(prefix(text, depth)).as_deref(), Some(expected), "{text} {depth}");
        }
    }

    #[test]
    fn parts_and_starts_are_counted_in_characters_and_from_one() {
        assert_eq!(of(start("äöü", 2)).as_deref(), Some("äö"));
        assert_eq!(of(start("a", 2)).as_deref(), Some("a"));
        assert_eq!(of(part("a-b-", 2, "-")).as_deref(), Some("b"));
        assert_eq!(of(part("a-b-", 3, "-")).as_deref(), Some(""));
        assert_eq!(of(part("a-b-", 4, "-")), None);
        assert_eq!(of(part("a", 0, "-")), None);
        assert_eq!(lower("ÄB c"), "äb c");
    }
}
