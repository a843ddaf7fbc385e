//! When a failed request is repeated, and what the host hears of it.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::ApiFailure;

/// The first delay; each further one doubles up to [`LONGEST_DELAY_MS`].
const FIRST_DELAY_MS: u64 = 500;
const LONGEST_DELAY_MS: u64 = 32_000;

/// The retries of one model call.
#[derive(Debug, Clone)]
pub(crate) struct RetryPlan {
    max_retries: u64,
    base_delay_ms: u64,
    used: u64,
}

/// One retry: how long to wait, and the frame that announces it.
#[derive(Debug, Clone)]
pub(crate) struct RetryFrame {
    pub(crate) delay: Duration,
    attempt: u64,
    max_retries: u64,
    label: &'static str,
    status: Value,
    error: Value,
}

impl RetryPlan {
    /// `overloaded_base_ms` may only raise the first delay (observed on CLI 2.1.316).
    pub(crate) fn new(max_retries: u64, overloaded_base_ms: Option<u64>) -> Self {
        Self {
            max_retries,
            base_delay_ms: overloaded_base_ms.unwrap_or(0).max(FIRST_DELAY_MS),
            used: 0,
        }
    }

    /// Takes one retry, if the failure allows one and one is left.
    pub(crate) fn next(&mut self, failure: &ApiFailure) -> Option<RetryFrame> {
        if !failure.is_retryable() || self.used >= self.max_retries {
            return None;
        }
        let doubled = self.base_delay_ms.saturating_mul(1 << self.used.min(16));
        let backoff = doubled.min(LONGEST_DELAY_MS.max(self.base_delay_ms));
        self.used += 1;
        let floor = match failure {
            ApiFailure::Status(failure) => failure.retry_after_seconds.unwrap_or(0) * 1000,
            _ => 0,
        };
        let (label, status) = failure.retry_label();
        Some(RetryFrame {
            delay: Duration::from_millis(with_jitter(backoff).max(floor)),
            attempt: self.used,
            max_retries: self.max_retries,
            label,
            status,
            error: failure.recorded(),
        })
    }
}

impl RetryFrame {
    pub(crate) fn frame(&self, session_id: Uuid) -> Value {
        json!({
            "type": "system",
            "subtype": "api_retry",
            "attempt": self.attempt,
            "max_retries": self.max_retries,
            "retry_delay_ms": u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            "error_status": self.status,
            "error": self.label,
            "session_id": session_id,
            "uuid": Uuid::new_v4(),
        })
    }

    /// What the transcript says of the retry.
    pub(crate) fn entry_members(&self) -> Value {
        json!({
            "subtype": "api_error",
            "level": "error",
            "error": self.error,
            "retryInMs": u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            "retryAttempt": self.attempt,
            "maxRetries": self.max_retries,
            "source": "request_retry",
        })
    }
}

/// Up to a quarter more, so that many clients do not come back at once. A random UUID is random
/// enough for that.
fn with_jitter(milliseconds: u64) -> u64 {
    let random = u64::from(Uuid::new_v4().as_bytes()[0]);
    milliseconds + milliseconds * random / (4 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_with_up_to_a_quarter_more() {
        let mut plan = RetryPlan::new(3, None);
        for expected in [500, 1000, 2000] {
            let retry = plan
                .next(&ApiFailure::ConnectionDropped)
                .expect("a retry is left");
            let delay = u64::try_from(retry.delay.as_millis()).expect("small");
            assert!((expected..=expected * 5 / 4).contains(&delay), "{delay}");
        }
        assert!(plan.next(&ApiFailure::ConnectionDropped).is_none());
    }

    #[test]
    fn what_is_not_retryable_takes_no_retry() {
        let mut plan = RetryPlan::new(3, None);
        assert!(plan.next(&ApiFailure::NotAMessage).is_none());
    }
}
