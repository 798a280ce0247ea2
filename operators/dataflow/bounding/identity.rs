//! Identities: bytes that are the same on every worker, in every process and in every build.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::selector::StableHasher;
use crate::mechanisms::queries::{QueryRow, Value};
use crate::mechanisms::{Bucket, Key};

/// Something that is identified by bytes: a person, a key, a record.
///
/// Two values of one type are equal exactly when they write the same bytes, and no value's bytes begin
/// another's: that is why texts and lists write their length first. `std::hash` promises neither from one
/// build to the next.
pub trait Identity: Sized {
    /// Writes the bytes.
    fn write<S: IdentitySink>(&self, sink: &mut S);

    /// Reads what was written and moves `bytes` on behind it, or finds something else there.
    fn read(bytes: &mut &[u8]) -> Option<Self>;

    /// A keyed hash of it. Integers of up to 64 bits, and tuples of them, have a faster one than their bytes.
    fn mix(&self, hasher: &StableHasher) -> u64 {
        hasher.written(self)
    }

    /// Memory that it holds beside its own size, in bytes.
    fn heap(&self) -> usize {
        0
    }

    /// A small number that is its own among all values of its kind in this process, if it has one: a table finds it by
    /// that.
    fn code(&self) -> Option<u32> {
        None
    }
}

/// A destination of encoded identities.
pub trait IdentitySink {
    /// Takes these bytes in, after all that came before.
    fn bytes(&mut self, bytes: &[u8]);
}

impl IdentitySink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(length)?;
    *bytes = tail;
    Some(head)
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Identity for $integer {
            fn write<S: IdentitySink>(&self, sink: &mut S) {
                sink.bytes(&self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(split(bytes, size_of::<Self>())?.try_into().ok()?))
            }

            #[inline]
            fn mix(&self, hasher: &StableHasher) -> u64 {
                // Widening keeps distinct numbers distinct, signed ones too.
                hasher.number(*self as u64)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! wide_integers {
    ($($integer:ty),*) => {$(
        impl Identity for $integer {
            fn write<S: IdentitySink>(&self, sink: &mut S) {
                sink.bytes(&self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(split(bytes, size_of::<Self>())?.try_into().ok()?))
            }
        }
    )*};
}

wide_integers!(u128, i128);

impl Identity for bool {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        u8::from(*self).write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u8::read(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Identity for char {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        u32::from(*self).write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        char::from_u32(u32::read(bytes)?)
    }
}

impl Identity for String {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        (self.len() as u64).write(sink);
        sink.bytes(self.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::read(bytes)?).ok()?;
        Some(str::from_utf8(split(bytes, length)?).ok()?.to_owned())
    }

    fn heap(&self) -> usize {
        self.capacity()
    }
}

impl<T: Identity> Identity for Vec<T> {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        (self.len() as u64).write(sink);
        for item in self {
            item.write(sink);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = u64::read(bytes)?;
        // Nothing is laid out for a length that the bytes may not have.
        (0..length).map(|_| T::read(bytes)).collect()
    }

    fn heap(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(T::heap).sum::<usize>()
    }
}

impl Identity for IpAddr {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        match self {
            IpAddr::V4(address) => (4u8, *address).write(sink),
            IpAddr::V6(address) => (6u8, *address).write(sink),
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u8::read(bytes)? {
            4 => Ipv4Addr::read(bytes).map(IpAddr::V4),
            6 => Ipv6Addr::read(bytes).map(IpAddr::V6),
            _ => None,
        }
    }
}

impl Identity for Ipv4Addr {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        self.octets().write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        <[u8; 4]>::read(bytes).map(Ipv4Addr::from)
    }
}

impl Identity for Ipv6Addr {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        self.octets().write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        <[u8; 16]>::read(bytes).map(Ipv6Addr::from)
    }
}

impl<T: Identity> Identity for Option<T> {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        self.is_some().write(sink);
        if let Some(value) = self {
            value.write(sink);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        if bool::read(bytes)? { T::read(bytes).map(Some) } else { Some(None) }
    }

    fn heap(&self) -> usize {
        self.as_ref().map_or(0, T::heap)
    }
}

impl<T: Identity, const N: usize> Identity for [T; N] {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        for item in self {
            item.write(sink);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let items: Option<Vec<T>> = (0..N).map(|_| T::read(bytes)).collect();
        items?.try_into().ok()
    }

    fn heap(&self) -> usize {
        self.iter().map(T::heap).sum()
    }
}

macro_rules! tuples {
    ($(($($name:ident),*)),*) => {$(
        impl<$($name: Identity),*> Identity for ($($name,)*) {
            #[expect(non_snake_case, reason = "a name a place")]
            fn write<S: IdentitySink>(&self, sink: &mut S) {
                let ($($name,)*) = self;
                $($name.write(sink);)*
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($name::read(bytes)?,)*))
            }

            #[inline]
            #[expect(non_snake_case, reason = "a name a place")]
            fn mix(&self, hasher: &StableHasher) -> u64 {
                let ($($name,)*) = self;
                let hashes = [$($name.mix(hasher)),*];
                hashes.into_iter().reduce(|before, next| hasher.pair(before, next)).unwrap_or(0)
            }

            #[expect(non_snake_case, reason = "a name a place")]
            fn heap(&self) -> usize {
                let ($($name,)*) = self;
                0 $(+ $name.heap())*
            }
        }
    )*};
}

tuples!((A), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F));

/// Two ends, written as the key writes them.
impl Identity for Bucket {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        sink.bytes(&self.to_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = Bucket::EVERY.to_bytes().len();
        Bucket::from_bytes(split(bytes, length)?)
    }
}

/// Its kind, and what there is of it.
impl Identity for Value {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        match self {
            Value::None => 0u8.write(sink),
            Value::Number(number) => (1u8, *number).write(sink),
            Value::Text(text) => {
                (2u8, text.len() as u64).write(sink);
                sink.bytes(text.as_bytes());
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u8::read(bytes)? {
            0 => Some(Value::None),
            1 => i64::read(bytes).map(Value::Number),
            2 => String::read(bytes).map(Value::from),
            _ => None,
        }
    }

    fn heap(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::None | Value::Number(_) => 0,
        }
    }
}

/// As a list of its values.
impl Identity for QueryRow {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        (self.values().len() as u64).write(sink);
        self.values().iter().for_each(|value| value.write(sink));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Vec::read(bytes).map(QueryRow::new)
    }

    fn heap(&self) -> usize {
        size_of_val(self.values()) + self.values().iter().map(Value::heap).sum::<usize>()
    }
}

/// Nobody, nothing: for tables over one key.
impl Identity for () {
    fn write<S: IdentitySink>(&self, _: &mut S) {}

    fn read(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn bytes<T: Identity>(value: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        bytes
    }

    #[track_caller]
    fn comes_back<T: Identity + PartialEq + Debug>(value: T) {
        let mut written = bytes(&value);
        written.push(7);
        let mut rest = &written[..];
        assert_eq!(T::read(&mut rest), Some(value));
        assert_eq!(rest, [7], "reading stops where writing stopped");
        for cut in 0..written.len() - 1 {
            let torn = T::read(&mut &written[..cut]);
            assert_eq!(torn, None, "a torn one is nobody");
        }
    }

    #[test]
    fn what_is_written_comes_back_and_a_torn_one_does_not() {
        comes_back(7u8);
        comes_back(i64::MIN);
        comes_back(u128::MAX);
        comes_back(true);
        comes_back('ß');
        comes_back(String::from("somebody"));
        comes_back(vec![0u8, 1]);
        comes_back(Some(3u32));
        comes_back(None::<u32>);
        comes_back([String::from("a"), String::new()]);
        comes_back((1u16, String::from("b"), -1i32, Some('c')));
        comes_back(IpAddr::from([127, 0, 0, 1]));
        comes_back(QueryRow::from([Value::None, Value::Number(-1), Value::from("b")]));
        comes_back(IpAddr::from([0u16, 0, 0, 0, 0, 0xffff, 0x7f00, 1]));
        assert_eq!(String::read(&mut &bytes(&vec![0xffu8])[..]), None);
        assert_eq!(bool::read(&mut &[2u8][..]), None);
        assert_eq!(String::read(&mut &bytes(&u64::MAX)[..]), None, "a length that no memory has");
    }

    // Refutes plain concatenation, under which (ab, c) and (a, bc) would be one person.
    #[test]
    fn no_two_things_write_the_same_bytes() {
        let pair = |a: &str, b: &str| bytes(&(a.to_owned(), b.to_owned()));
        assert_ne!(pair("ab", "c"), pair("a", "bc"));
        assert_ne!(pair("", "a"), pair("a", ""));
        assert_ne!(bytes(&(Some(0u8), None::<u8>)), bytes(&(None::<u8>, Some(0u8))));
        assert_ne!(bytes(&IpAddr::from([1, 2, 3, 4])), bytes(&IpAddr::from([0u8; 16])));
        assert_ne!(bytes(&QueryRow::from([Value::None])), bytes(&QueryRow::from([])));
        assert_ne!(
            bytes(&QueryRow::from(["ab".into(), "c".into()])),
            bytes(&QueryRow::from(["a".into(), "bc".into()]))
        );
    }

    // The bytes are a format: persons who are counted in a sealed state must be found again by the next
    // version.
    #[test]
    fn the_bytes_never_change() {
        let value = (258u16, String::from("hé"), Some(-1i8), IpAddr::from([1, 2, 3, 4]));
        assert_eq!(bytes(&value), b"\x02\x01\x03\0\0\0\0\0\0\0h\xc3\xa9\x01\xff\x04\x01\x02\x03\x04");
    }
}
