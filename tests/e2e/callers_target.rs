// callers_target.rs - as callers_target.c, in Rust
//
// SPDX-License-Identifier: Apache-2.0
extern "C" {
    fn clock() -> i64; // CPU time of the process, in us
}

static mut SPENT: [i64; 2] = [0; 2];

#[inline(never)]
fn spin(chain: usize) {
    let start = unsafe { clock() };
    let mut at = start;
    let mut sum = 0.0_f64;
    while at < start + 2000 {
        for i in 0..20000 {
            sum = std::hint::black_box(sum * 0.5 + i as f64);
        }
        at = unsafe { clock() };
    }
    unsafe { SPENT[chain] += 1000 * (at - start) };
}

#[inline(never)]
fn refine(level: u32) {
    let held = std::hint::black_box(vec![level; 4]);
    if level > 1 {
        refine(level - 1);
    } else {
        spin(0);
    }
    std::hint::black_box(held);
}

#[inline(never)]
fn sorter() {
    let mut items = vec![2, 1];
    items.sort_by(|a, b| {
        spin(1);
        a.cmp(b)
    });
    std::hint::black_box(items);
}

fn main() {
    let steps: usize = std::env::args().nth(1).map_or(100, |s| s.parse().unwrap());
    for _ in 0..steps {
        refine(4);
        sorter();
    }
    let spent = unsafe { SPENT };
    println!("{} callers::main callers::refine callers::refine callers::refine callers::refine callers::spin", spent[0]);
    println!("{} callers::main callers::sorter callers::spin", spent[1]);
}
