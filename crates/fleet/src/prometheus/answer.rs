//! Responses of the Prometheus HTTP API, as values.

use serde::Deserialize;

/// One series of a response, as far as rows need it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Series {
    /// Its labels.
    #[serde(rename = "metric")]
    pub labels: Labels,
    /// Its values, in chronological order.
    #[serde(rename = "values")]
    pub points: Vec<Point>,
}

/// The labels of a recorded series.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(default)]
pub struct Labels {
    /// The unit.
    pub unit: String,
    /// Its arm at the time, or `outside`.
    pub arm: String,
    /// Its stratum.
    pub stratum: String,
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since 1970.
    pub at: f64,
    /// The value, which can be NaN.
    pub value: f64,
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (at, text) = <(f64, std::borrow::Cow<'de, str>)>::deserialize(deserializer)?;
        let value = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self { at, value })
    }
}

/// Why a response cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Not a response of this API.
    #[error("this is no answer of a Prometheus: {0}")]
    Form(#[from] serde_json::Error),
    /// The server reports an error.
    #[error("{0}")]
    Server(String),
}

#[derive(Deserialize)]
struct Answer<T> {
    status: String,
    data: Option<T>,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
struct Matrix {
    result: Vec<Series>,
}

/// The series in a response of `query_range`.
///
/// # Errors
/// Fails if it is not such a response, or if the server reports an error.
pub fn range(bytes: &[u8]) -> Result<Vec<Series>, AnswerError> {
    data::<Matrix>(bytes).map(|matrix| matrix.result)
}

/// The values of a label, from a response of `label/NAME/values`.
///
/// # Errors
/// Fails if it is not such a response, or if the server reports an error.
pub fn names(bytes: &[u8]) -> Result<Vec<String>, AnswerError> {
    data(bytes)
}

fn data<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, AnswerError> {
    let answer: Answer<T> = serde_json::from_slice(bytes)?;
    match answer.data.filter(|_| answer.status == "success") {
        Some(data) => Ok(data),
        None => Err(AnswerError::Server(answer.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_labels_and_points() {
        let text = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"unit":"web-1","arm":"never","stratum":"all","metric":"x"},
             "values":[[1796083260,"0.5"],[1796083320.5,"NaN"]]}]}}"#;
        let series = range(text.as_bytes()).expect("an answer");
        assert_eq!(series[0].labels.arm, "never");
        assert_eq!(series[0].points[0].value, 0.5);
        assert_eq!(series[0].points[1].at, 1_796_083_320.5);
        assert!(series[0].points[1].value.is_nan());
    }

    #[test]
    fn what_the_server_refuses_is_said_in_its_words() {
        let text = r#"{"status":"error","errorType":"bad_data","error":"invalid parameter"}"#;
        let error = range(text.as_bytes()).expect_err("an error");
        assert_eq!(error.to_string(), "invalid parameter");
        for bad in ["", "<html>", r#"{"status":"success"}"#, r#"{"status":1}"#] {
            assert!(names(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
