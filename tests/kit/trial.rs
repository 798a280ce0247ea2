//! Random choices and parallel runs of trials with whole processes.

/// A sequence of choices that is the same in every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(parts: &[usize]) -> Chance {
        Chance(
            parts.iter().fold(2026, |seed, part| (seed ^ *part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        )
    }

    /// A number below `limit`, by SplitMix64.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Runs all pieces of work, several at a time: most of a life is waiting.
pub(crate) fn in_parallel<T: Send, R: Send>(work: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = std::sync::Mutex::new(work.into_iter());
    let results = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(next) = next else { return };
                    let result = each(next);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    results.into_inner().unwrap()
}
