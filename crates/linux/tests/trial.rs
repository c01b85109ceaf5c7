fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(hugewise_linux::spawn::KEEPER_WORD) => hugewise_linux::spawn::keeper_main(),
        Some("__lab") => hugewise_lab::run(words[1..].to_vec()),
        _ => {
            use hugewise_linux::spawn::*;
            let mut launch = Launch::new(words.iter().map(Into::into).collect());
            launch.output = Output::Keep;
            let question = Question {
                preload: None,
                folios: Some(FolioQuestion {
                    page_bytes: 4096,
                    pmd_bytes: 2 << 20,
                }),
            };
            let Beginning::Suspended(s) = start(&launch, &question).unwrap() else {
                panic!()
            };
            eprintln!("{} {:?}", s.main(), s.thp_disable());
            let mut r = s.release().unwrap();
            let e = loop {
                if let Some(e) = r.wait(std::time::Duration::from_secs(1)).unwrap() {
                    break e;
                }
            };
            eprintln!("{e:#?}");
            eprintln!("{}", String::from_utf8_lossy(&r.into_printed().stdout));
            std::process::ExitCode::SUCCESS
        }
    }
}
