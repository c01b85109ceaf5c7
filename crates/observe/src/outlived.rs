use hugewise_text::number::counted;

/// Returns a sentence on processes that a command left running; `None` if there were none.
#[must_use]
pub fn outlived(processes: u32) -> Option<String> {
    let were = if processes == 1 { "was" } else { "were" };
    (processes > 0).then(|| {
        let processes = counted(processes.into(), "process");
        format!("{processes} outlived the command and {were} ended")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_the_singular_and_the_plural() {
        assert_eq!(outlived(0), None);
        assert_eq!(
            outlived(1).unwrap(),
            "1 process outlived the command and was ended"
        );
        assert_eq!(
            outlived(2).unwrap(),
            "2 processes outlived the command and were ended"
        );
    }
}
