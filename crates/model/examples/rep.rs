use hugewise_model::run::*;
fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let record = record::parse(&bytes).unwrap();
    let t = std::time::Instant::now();
    let table = compare::table(&record, &Default::default()).unwrap();
    eprintln!("table {:?}", t.elapsed());
    println!("{:#?}", table.verdict);
    for c in &table.comparisons {
        if c.metric == "wall_seconds" {
            println!(
                "{} {:?} {:?} {:?} {:?} p {:?} {:?}",
                c.policy, c.statistic, c.ratio, c.low, c.high, c.p, c.change
            );
        }
    }
    let r = report::Report::new(&record, table, vec![], None);
    for a in r.answers() {
        println!("{a}");
    }
    for n in [3, 5, 7, 8, 9, 10, 12, 16, 20, 25, 30, 40] {
        let mut r = record.clone();
        r.trials.retain(|t| t.round < n);
        let p = compare::progress(&r, 40 - n).unwrap();
        println!(
            "{n}: {:?} drops {:?}",
            p.policies
                .iter()
                .map(|p| (p.answer, p.estimate.map(|x| (x * 1000.0).round() / 1000.0)))
                .collect::<Vec<_>>(),
            p.drops
                .iter()
                .map(|d| (&d.policy, &d.why))
                .collect::<Vec<_>>()
        );
    }
    println!(
        "{:?}",
        (1..10).map(compare::fewest_rounds).collect::<Vec<_>>()
    );
}
