//! The complex arithmetic that one contour integral needs, and no more.
//!
//! Every function here is accurate to a few units in the last place of the largest number that enters it; callers
//! charge for that (see the module's page), so nothing here has to be exact.

use std::ops::{Add, Div, Mul, Sub};

/// Half a unit in the last place of 1: what one rounded operation may be off by, relatively.
pub(super) const ULP: f64 = f64::EPSILON / 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ONE: Complex = Complex::new(1.0, 0.0);

    pub(super) const fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    pub(super) fn norm(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    pub(super) fn scale(self, factor: f64) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }

    pub(super) fn exp(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        Complex::new(cos, sin).scale(libm::exp(self.re))
    }

    /// `e^z - 1`, without losing the digits of a small `z`.
    pub(super) fn exp_m1(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        let half = libm::sin(self.im / 2.0);
        Complex::new(libm::expm1(self.re) * cos - 2.0 * half * half, libm::exp(self.re) * sin)
    }

    pub(super) fn ln(self) -> Complex {
        Complex::new(libm::log(self.norm()), libm::atan2(self.im, self.re))
    }

    /// `ln(1 + z)`, without losing the digits of a small `z`.
    pub(super) fn ln_1p(self) -> Complex {
        let squared = self.re * self.re + self.im * self.im;
        Complex::new(0.5 * libm::log1p(2.0 * self.re + squared), libm::atan2(self.im, 1.0 + self.re))
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, other: Complex) -> Complex {
        let squared = other.re * other.re + other.im * other.im;
        let product = self * Complex::new(other.re, -other.im);
        product.scale(1.0 / squared)
    }
}
