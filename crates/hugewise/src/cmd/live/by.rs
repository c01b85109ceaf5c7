//! The memory that is switched separately: `--by`.

use std::str::FromStr;

/// How the memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The largest mappings are switched separately.
    Mapping,
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mapping" => Ok(Self::Mapping),
            "site" | "library" => Err(format!(
                "the kernel does not record which calls mapped memory that is in use; `hugewise \
                 attribute --by {text} -- COMMAND` starts the program and records them"
            )),
            _ => Err("expected mapping".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_a_running_process_are_known() {
        assert_eq!("mapping".parse(), Ok(By::Mapping));
        for calls in ["site", "library"] {
            let why = calls.parse::<By>().expect_err("a refusal");
            assert!(why.contains(&format!("attribute --by {calls}")), "{why}");
        }
        assert!("chunk".parse::<By>().is_err());
    }
}
