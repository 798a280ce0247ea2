use super::*;

#[test]
fn rough() {
    for t in [1, 2, 31, 32, 33, 64, 100, 1000,1001, 1024, 1025, 4096, 4097, 65536, 65537, 1 << 20, (1<<20)+1, 1 << 32] {
        let c = so_far(t, 0.5).unwrap();
        println!("{t} lb {} best {:?}", c.lower_bound(), c.best());
        for f in c.strategies() { println!("   {f:?}") }
    }
    for w in [1, 2, 3, 12, 24, 60, 288, 1440, 10080, 16384] {
        let c = over_last(w, 0.5).unwrap();
        println!("{w} lb {}", c.lower_bound());
        for f in c.strategies() { println!("   {f:?}") }
    }
}
