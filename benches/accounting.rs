//! What accounting costs, against dp-accounting 0.6.
#[path = "accounting/filters.rs"]
mod filters;

fn main() {
    filters::filters();
    use discreet::accounting::{
        Neighbours,
        pld::{Bundle, Pair},
    };
    use std::time::Instant;
    let text = std::fs::read_to_string("../shared/reference/accounting_delta1e-6.csv")
        .or_else(|_| std::fs::read_to_string("../shared/reference/accounting_delta1e-6.csv"))
        .unwrap();
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        let get = |name: &str| -> f64 {
            f[1].split(' ')
                .find_map(|p| p.strip_prefix(name))
                .map_or(f64::NAN, |v| v.parse().unwrap())
        };
        let t = Instant::now();
        let b = Bundle::new(Neighbours::PERSON);
        let b = match f[0] {
            "laplace" => b
                .add(&Pair::laplace(get("b="), 1.0).unwrap(), get("k=") as u64)
                .unwrap(),
            "gaussian" => b
                .add(&Pair::gaussian(get("sigma="), 1.0).unwrap(), get("k=") as u64)
                .unwrap(),
            "mixed" => b
                .add(&Pair::laplace(get("b="), 1.0).unwrap(), get("kL=") as u64)
                .unwrap()
                .add(&Pair::gaussian(get("sigma="), 1.0).unwrap(), get("kG=") as u64)
                .unwrap(),
            _ => b
                .add(
                    &Pair::randomized_response(get("eps0=")).unwrap(),
                    get("k=") as u64,
                )
                .unwrap(),
        };
        let e = b.epsilon(1e-6).unwrap();
        let dt = t.elapsed().as_secs_f64();
        let x: f64 = f[3].parse().unwrap();
        let peer: f64 = f[6].parse().unwrap();
        let d = b.delta(e).unwrap();
        println!(
            "{} {} {} rel {:+.2e}  {:.3}ms  x{:.0}  delta back {:e}",
            f[0],
            f[1],
            e,
            e / x - 1.0,
            dt * 1e3,
            peer / dt,
            d
        );
    }
    for (s, k) in [
        (2000.0, 1_000_000u64),
        (0.3, 3),
        (0.3, 1),
        (1.0, 20),
        (1099511627776.0, 1 << 62),
        (5.0, 10),
    ] {
        let t = Instant::now();
        let b = Bundle::new(Neighbours::PERSON)
            .add(&Pair::discrete_gaussian(s, 1).unwrap(), k)
            .unwrap();
        let g = Bundle::new(Neighbours::PERSON)
            .add(&Pair::gaussian(s, 1.0).unwrap(), k)
            .unwrap();
        let e = b.epsilon(1e-6).unwrap();
        let dt = t.elapsed();
        println!(
            "dgauss {s} {k} {e} {} {dt:?} {}",
            g.epsilon(1e-6).unwrap(),
            b.delta(e).unwrap()
        );
    }
}
