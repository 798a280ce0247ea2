//! What found means remember: the frame of each key that has one.

use super::frame::Frame;
use crate::invalid::{Invalid, InvalidKind};

/// The format: this byte, which is no other statistic's; then for each key, in their order, a 0 where nothing is known of it, or a 1 and the numbers of its frame
/// ([`Frame::put`]).
const VERSION: u8 = 3;

pub(super) fn to_bytes(frames: &[Option<Frame>]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for frame in frames {
        bytes.push(u8::from(frame.is_some()));
        if let Some(frame) = frame {
            frame.put(&mut bytes);
        }
    }
    bytes
}

/// Reads what [`to_bytes`] wrote, of so many keys and coordinates.
pub(super) fn from_bytes(bytes: &[u8], keys: usize, dimension: usize) -> Result<Vec<Option<Frame>>, Invalid> {
    let Some((&VERSION, mut rest)) = bytes.split_first() else {
        return Err(Invalid::new(
            "state",
            InvalidKind::Malformed,
            "state that this version of the library wrote",
        ));
    };
    let malformed = || Invalid::new("state", InvalidKind::Malformed, "the state as it was sealed");
    let mut frames = Vec::new();
    for _ in 0..keys {
        let (&known, after) = rest.split_first().ok_or_else(malformed)?;
        rest = after;
        frames.push(match known {
            0 => None,
            1 => {
                let length = 8 * Frame::numbers(dimension);
                let (numbers, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
                rest = after;
                let (numbers, _) = numbers.as_chunks::<8>();
                let numbers: Vec<f64> =
                    numbers.iter().map(|bits| f64::from_bits(u64::from_be_bytes(*bits))).collect();
                Some(Frame::of(&numbers, dimension).ok_or_else(malformed)?)
            }
            _ => return Err(malformed()),
        });
    }
    if rest.is_empty() { Ok(frames) } else { Err(malformed()) }
}
