//! Zipf's law: the k-th of so many comes in proportion to k^-skew (Hörmann, Derflinger 1996, "Rejection-inversion to
//! generate variates from monotone discrete distributions"), by libm's functions, which are the same on every machine.

#[derive(Clone, Debug)]
pub(super) struct Zipf {
    count: u64,
    skew: f64,
    first: f64,
    last: f64,
    squeeze: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, skew: f64) -> Zipf {
        let mut zipf = Zipf { count, skew, first: 0.0, last: 0.0, squeeze: 0.0 };
        zipf.first = zipf.sum(1.5) - 1.0;
        zipf.last = zipf.sum(count as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.sum(2.5) - zipf.weight(2.0));
        zipf
    }

    /// From 1 on; `part` is drawn from 0 to below 1, about once.
    pub(super) fn draw(&self, mut part: impl FnMut() -> f64) -> u64 {
        loop {
            let area = self.last + part() * (self.first - self.last);
            let place = self.inverse(area);
            let found = ((place + 0.5) as u64).clamp(1, self.count);
            let near = found as f64;
            if near - place <= self.squeeze || area >= self.sum(near + 0.5) - self.weight(near) {
                return found;
            }
        }
    }

    fn weight(&self, place: f64) -> f64 {
        libm::exp(-self.skew * libm::log(place))
    }

    /// The area under the weights from 1 on.
    fn sum(&self, place: f64) -> f64 {
        let log = libm::log(place);
        let power = (1.0 - self.skew) * log;
        // Where the skew is 1 it is the logarithm.
        if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { libm::expm1(power) / power * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.skew)).max(-1.0);
        let log =
            if power.abs() < 1e-8 { area * (1.0 - power / 2.0) } else { libm::log1p(power) / power * area };
        libm::exp(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By the law itself, within five standard deviations of each count.
    #[test]
    fn counts_follow_the_law() {
        for skew in [0.0, 0.5, 1.0, 1.1, 2.0] {
            let zipf = Zipf::new(20, skew);
            let mut state = 1u64;
            let mut part = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let mut counts = [0u32; 21];
            for _ in 0..100_000 {
                counts[zipf.draw(&mut part) as usize] += 1;
            }
            let total: f64 = (1..=20).map(|place| f64::from(place).powf(-skew)).sum();
            for place in 1..=20u32 {
                let expected = 100_000.0 * f64::from(place).powf(-skew) / total;
                let found = f64::from(counts[place as usize]);
                assert!(
                    (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "{skew} {place}: {found} {expected}"
                );
            }
        }
    }
}
