//! The source of randomness: one fresh 256-bit seed of the operating system per release, and one ChaCha20
//! stream, erased after use.
//!
//! There is no process-wide generator on purpose. A generator that outlives a release is copied by `fork`, by
//! a cloned virtual machine, by a thread pool: two releases then share their noise, and their difference is
//! the data. A [`NoiseSource`] is made for one release, used on one thread, and erased when it is dropped.

use std::fmt;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use super::coins::FairBits;

/// The number of bytes read from the stream at a time: enough to hide the cost of the call, little enough for
/// the first cache.
const BLOCK: usize = 2048;
const WORD: usize = size_of::<u64>();

/// The source of randomness for one release. Every sampler takes it by `&mut`; none can fail once it exists.
///
/// It cannot be cloned, its contents never print, and both the seed and the words are erased on drop.
///
/// ```
/// use discreet::noise::NoiseSource;
///
/// let mut noise = NoiseSource::from_os()?;
/// assert!(noise.below(6) < 6);
/// # Ok::<(), discreet::noise::NoRandomness>(())
/// ```
pub struct NoiseSource {
    block: [u8; BLOCK],
    next: usize,
    stream: Stream,
    #[cfg(test)]
    record: Option<Vec<RecordedDraw>>,
}

enum Stream {
    ChaCha(Box<ChaCha20Rng>),
    #[cfg(test)]
    Fixed(std::vec::IntoIter<u64>),
}

/// The error of an operating system without randomness: there is no noise, and must be no release.
///
/// There is no fallback. A caller that receives this error stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRandomness {
    source: getrandom::Error,
}

impl NoiseSource {
    /// Draws a one-time seed from the operating system.
    ///
    /// # Errors
    ///
    /// [`NoRandomness`] if the operating system returns no randomness; nothing is released then.
    pub fn from_os() -> Result<NoiseSource, NoRandomness> {
        NoiseSource::from_entropy(getrandom::fill)
    }

    fn from_entropy(
        fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>,
    ) -> Result<NoiseSource, NoRandomness> {
        let mut seed = Zeroizing::new([0; 32]);
        fill(seed.as_mut_slice()).map_err(|source| NoRandomness { source })?;
        Ok(NoiseSource::from_stream(Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(*seed)))))
    }

    fn from_stream(stream: Stream) -> NoiseSource {
        NoiseSource {
            block: [0; BLOCK],
            next: BLOCK,
            stream,
            #[cfg(test)]
            record: None,
        }
    }

    /// Records the name, the parameter and the number of the draws in a recording source. Does nothing in
    /// other sources, which are all outside tests.
    #[inline(always)]
    pub(crate) fn asked_for(&mut self, _law: &'static str, _parameter: &dyn fmt::Display, _count: usize) {
        #[cfg(test)]
        if let Some(record) = &mut self.record {
            record.push(RecordedDraw { law: _law, parameter: _parameter.to_string(), count: _count });
        }
    }

    /// Reads the next block and returns its first word.
    #[cold]
    fn refill(&mut self) -> u64 {
        self.next = match &mut self.stream {
            Stream::ChaCha(generator) => {
                generator.fill_bytes(&mut self.block);
                0
            }
            #[cfg(test)]
            Stream::Fixed(words) => {
                let word = words.next().expect("the test wrote down every word it needs");
                self.block[BLOCK - WORD..].copy_from_slice(&word.to_le_bytes());
                BLOCK - WORD
            }
        };
        self.word()
    }
}

impl FairBits for NoiseSource {
    #[inline]
    fn word(&mut self) -> u64 {
        if let Some(word) = self.block[self.next..].first_chunk() {
            self.next += WORD;
            return u64::from_le_bytes(*word);
        }
        self.refill()
    }
}

impl Drop for NoiseSource {
    fn drop(&mut self) {
        // The generator erases itself: its crate is built with the `zeroize` feature.
        self.block.zeroize();
    }
}

impl fmt::Debug for NoiseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseSource(<private>)")
    }
}

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gave no randomness; nothing was released")
    }
}

impl std::error::Error for NoRandomness {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The record of one request for draws, of a recording source.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedDraw {
    pub(crate) law: &'static str,
    pub(crate) parameter: String,
    pub(crate) count: usize,
}

/// Sources that repeat or record: for this library's own tests, and in no other build.
#[cfg(test)]
impl NoiseSource {
    /// Returns a source with the same stream for the same seed.
    pub(crate) fn seeded(seed: u64) -> NoiseSource {
        NoiseSource::from_stream(Stream::ChaCha(Box::new(ChaCha20Rng::seed_from_u64(seed))))
    }

    /// Returns a source of exactly these words; a read past the last one fails the test.
    pub(crate) fn fixed(words: impl IntoIterator<Item = u64>) -> NoiseSource {
        let words: Vec<u64> = words.into_iter().collect();
        NoiseSource::from_stream(Stream::Fixed(words.into_iter()))
    }

    /// Returns a seeded source that records its requests: neighbouring inputs must make the same ones.
    pub(crate) fn recording(seed: u64) -> NoiseSource {
        let mut noise = NoiseSource::seeded(seed);
        noise.record = Some(Vec::new());
        noise
    }

    /// The requests made of a [`recording`](NoiseSource::recording) source.
    pub(crate) fn requests(&self) -> &[RecordedDraw] {
        self.record.as_deref().unwrap_or_default()
    }

    /// The number of unread words of a [`fixed`](NoiseSource::fixed) source.
    pub(crate) fn unread(&self) -> usize {
        match &self.stream {
            Stream::Fixed(words) => words.len(),
            Stream::ChaCha(_) => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_operating_system_is_an_error_and_nothing_else() {
        let error = NoiseSource::from_entropy(|_| Err(getrandom::Error::UNSUPPORTED)).unwrap_err();
        assert_eq!(error.to_string(), "the operating system gave no randomness; nothing was released");
    }

    #[test]
    fn the_whole_seed_is_asked_for() {
        NoiseSource::from_entropy(|seed| {
            assert_eq!(seed.len(), 32);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_stream_is_chacha20_word_by_word() {
        // RFC 8439, appendix A.1, test vector 1: the first block under the zero key and nonce.
        let mut noise = NoiseSource::from_entropy(|_| Ok(())).unwrap();
        assert_eq!(noise.word().to_le_bytes(), [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        assert_eq!(noise.word().to_le_bytes(), [0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28]);
    }

    #[test]
    fn no_two_sources_share_a_stream() {
        // 4 threads x 250 sources; a collision of 64-bit words by chance has probability 3e-14.
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    (0..250).map(|_| NoiseSource::from_os().unwrap().word()).collect::<Vec<u64>>()
                })
            })
            .collect();
        let mut words: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 1000);
    }

    #[test]
    fn nothing_of_a_source_prints() {
        let mut noise = NoiseSource::seeded(1);
        noise.word();
        assert_eq!(format!("{noise:?}"), "NoiseSource(<private>)");
    }
}
