//! Answers that the CLI still waits for.

use std::collections::HashMap;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};

use crate::segment::answer::Answer;

/// The answers on their way. Dropping it ends what would make them.
#[derive(Debug, Default)]
pub(crate) struct PendingAnswers {
    tasks: JoinSet<(String, Value)>,
    /// By the ids of the requests that still want an answer.
    wanted: HashMap<String, AbortHandle>,
}

impl PendingAnswers {
    pub(crate) fn add(&mut self, request_id: String, answer: Answer) {
        let id = request_id.clone();
        let task = self.tasks.spawn(async move { (id, answer.await) });
        self.wanted.insert(request_id, task);
    }

    /// The CLI wants the answer no longer: what would make it ends, and none is sent, even if it
    /// is made already.
    pub(crate) fn withdraw(&mut self, request_id: &str) {
        if let Some(task) = self.wanted.remove(request_id) {
            task.abort();
        }
    }

    /// The next answer that is still wanted; `None` while no request is open.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        while let Some(ended) = self.tasks.join_next().await {
            // Whoever panicked or was ended has no answer.
            if let Ok((request_id, answer)) = ended
                && self.wanted.remove(&request_id).is_some()
            {
                return Some(answer);
            }
        }
        None
    }

    pub(crate) fn end(&mut self) {
        self.tasks.abort_all();
        self.wanted.clear();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_withdrawn_request_gets_no_answer() {
        let mut pending = PendingAnswers::default();
        let (person, decision) = oneshot::channel::<()>();
        let waits = async move { json!({"late": decision.await.is_ok()}) };
        pending.add("withdrawn".into(), waits.boxed());
        let made = std::future::ready(json!("made already")).boxed();
        pending.add("made".into(), made);
        tokio::task::yield_now().await;
        pending.add("wanted".into(), std::future::ready(json!("yes")).boxed());
        pending.withdraw("withdrawn");
        pending.withdraw("made");
        pending.withdraw("never asked");
        assert_eq!(pending.next().await, Some(json!("yes")));
        assert_eq!(pending.next().await, None);
        assert!(person.is_closed(), "what asked the person has ended");
    }
}
