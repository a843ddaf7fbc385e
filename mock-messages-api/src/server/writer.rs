//! Writing a body as its script and an observer want it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::{
    connection::Cut,
    planner::{PlannedBody, PlannedReply},
    response::{Disconnected, OpenResponse},
    served_request::{Continued, ServedRequest, cut_of},
};
use crate::{
    observer::{ApiEvent, ReplyEnd},
    reply::{WireEvent, error_event},
    script::{Fault, FaultAction, FaultPoint, StreamOptions},
};

/// Writes a body, and strikes where the script or an observer says.
pub(crate) struct ReplyWriter<'a> {
    request: &'a ServedRequest<'a>,
    response: OpenResponse,
    body: &'a PlannedBody,
    options: &'a StreamOptions,
    /// The fault, until it has struck.
    fault: Option<&'a Fault>,
    /// Bytes of the body so far, also those that are still buffered.
    sent: usize,
    /// Bytes that wait for a write of the wanted size.
    buffered: BytesMut,
}

impl<'a> ReplyWriter<'a> {
    pub(crate) fn new(
        request: &'a ServedRequest<'a>,
        response: OpenResponse,
        reply: &'a PlannedReply,
    ) -> Self {
        Self {
            request,
            response,
            body: &reply.body,
            options: &reply.stream,
            fault: reply
                .fault
                .as_ref()
                .filter(|fault| can_strike(fault, &reply.body)),
            sent: 0,
            buffered: BytesMut::new(),
        }
    }

    /// Writes the whole body; the response is not ended yet.
    pub(crate) async fn write_body(&mut self) -> Continued<()> {
        self.strike_at(&FaultPoint::Headers).await?;
        match self.body {
            PlannedBody::Whole(bytes) => self.write(bytes).await?,
            PlannedBody::Events(events) => self.write_events(events).await?,
        }
        self.flush().await?;
        match self.fault {
            // A point past the end is the end.
            Some(fault) => self.strike(fault).await,
            None => Ok(()),
        }
    }

    async fn write_events(&mut self, events: &[WireEvent]) -> Continued<()> {
        for (index, event) in events.iter().enumerate() {
            self.strike_at(&FaultPoint::Events(index)).await?;
            self.consult(index, event).await?;
            self.pause(self.options.interval_ms).await?;
            self.write(&event.bytes).await?;
            self.request
                .state
                .record_event(&self.request.identity, &event.kind);
        }
        Ok(())
    }

    async fn consult(&mut self, index: usize, event: &WireEvent) -> Continued<()> {
        let question = ApiEvent::BeforeEvent {
            request: self.request.identity.clone(),
            index,
            event_type: event.kind.clone(),
        };
        let directive = tokio::select! {
            directive = self.request.consult(question) => directive,
            () = self.response.disconnected() => return Err(ReplyEnd::ClientDisconnected),
        };
        let Some((bytes, cut)) = cut_of(directive) else {
            return Ok(());
        };
        let part = event.bytes.slice(..bytes.min(event.bytes.len()));
        self.buffered.extend_from_slice(&part);
        self.flush().await?;
        self.response.cut(cut).await;
        Err(ReplyEnd::Cut)
    }

    async fn pause(&self, milliseconds: u64) -> Continued<()> {
        tokio::select! {
            () = pause(milliseconds) => Ok(()),
            () = self.response.disconnected() => Err(ReplyEnd::ClientDisconnected),
        }
    }

    /// Writes bytes of the body, striking in their middle where a fault says so.
    async fn write(&mut self, bytes: &Bytes) -> Continued<()> {
        let struck = match self.fault {
            Some(fault) => match fault.after {
                FaultPoint::Bytes(point) => point
                    .checked_sub(self.sent)
                    .filter(|offset| *offset < bytes.len())
                    .map(|offset| (offset, fault)),
                _ => None,
            },
            None => None,
        };
        self.sent += bytes.len();
        let Some((offset, fault)) = struck else {
            return self.write_pieces(bytes).await;
        };
        self.write_pieces(&bytes.slice(..offset)).await?;
        self.strike(fault).await?;
        self.write_pieces(&bytes.slice(offset..)).await
    }

    async fn write_pieces(&mut self, bytes: &Bytes) -> Continued<()> {
        let Some(size) = self.options.write_bytes else {
            return Ok(self.write_through(bytes.clone()).await?);
        };
        self.buffered.extend_from_slice(bytes);
        while self.buffered.len() >= size.get() {
            let piece = self.buffered.split_to(size.get()).freeze();
            self.write_through(piece).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Continued<()> {
        let rest = self.buffered.split().freeze();
        Ok(self.write_through(rest).await?)
    }

    async fn write_through(&self, bytes: Bytes) -> Result<(), Disconnected> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.response.write(bytes).await
    }

    async fn strike_at(&mut self, point: &FaultPoint) -> Continued<()> {
        match self.fault {
            Some(fault) if fault.after == *point => self.strike(fault).await,
            _ => Ok(()),
        }
    }

    async fn strike(&mut self, fault: &Fault) -> Continued<()> {
        self.fault = None;
        self.flush().await?;
        match &fault.then {
            FaultAction::Reset => self.response.cut(Cut::Reset).await,
            FaultAction::Close => self.response.cut(Cut::Close).await,
            FaultAction::Stall => self.response.disconnected().await,
            FaultAction::Error(error) => {
                let event = error_event(error, self.options.line_ending);
                self.write_through(event.bytes).await?;
                self.request
                    .state
                    .record_event(&self.request.identity, &event.kind);
            }
            FaultAction::Garbage(garbage) => {
                self.write_through(garbage.clone().into()).await?;
                return Ok(());
            }
            FaultAction::PauseMs(milliseconds) => return self.pause(*milliseconds).await,
        }
        Err(ReplyEnd::ScriptedFault)
    }
}

/// Whether a fault can strike a body: what needs events cannot strike a body that has none, such as that of the
/// whole reply which a client asks for when its stream has failed.
fn can_strike(fault: &Fault, body: &PlannedBody) -> bool {
    let needs_events =
        matches!(fault.after, FaultPoint::Events(_)) || matches!(fault.then, FaultAction::Error(_));
    let has_events = matches!(body, PlannedBody::Events(_));
    fault.after != FaultPoint::Request && (has_events || !needs_events)
}

/// Lets so many milliseconds pass.
pub(crate) async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}
